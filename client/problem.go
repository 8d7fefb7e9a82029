package client

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// maxProblem bounds an error answer, in bytes; what is beyond is not read.
const maxProblem = 1 << 20

// codeBusy is the problem of a full queue: nothing was recorded.
const codeBusy = "busy"

// Problem is a refusal by the server, from its RFC 9457 answer. Of an answer that is not one, such as a proxy's, only
// Status is certain.
type Problem struct {
	Status     int     `json:"status"`      // the HTTP status
	Code       string  `json:"code"`        // stable, for programs; GET /docs lists them
	Title      string  `json:"title"`       // what the code means
	Detail     string  `json:"detail"`      // what is wrong this time; it repeats nothing that was sent
	Pointer    string  `json:"pointer"`     // JSON pointer of the place in what was sent, "" for the whole or none
	Parameter  string  `json:"parameter"`   // the query parameter or header at fault, if it is one
	Causes     []Cause `json:"causes"`      // every rule that is broken
	Seq        *int64  `json:"seq"`         // the entry that stands in the way, nil for none
	Erasure    *int64  `json:"erasure_seq"` // the erasure that destroyed the entry's content, nil for none
	Envelope   []byte  `json:"envelope"`    // the erased entry's leaf
	retryAfter time.Duration
}

// Cause is one of several broken rules.
type Cause struct {
	Rule    string `json:"rule"`
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}

func (p *Problem) Error() string {
	b := strconv.AppendInt(nil, int64(p.Status), 10)
	b = append(append(b, ' '), cmp.Or(p.Code, strings.ToLower(http.StatusText(p.Status)))...)
	if place := p.Pointer + p.Parameter; place != "" {
		b = append(append(b, " at "...), place...)
	}
	if text := cmp.Or(p.Detail, p.Title); text != "" {
		b = append(append(b, ": "...), text...)
	}
	if p.Seq != nil {
		b = fmt.Appendf(b, " (entry %d)", *p.Seq)
	}
	return string(b)
}

// problem reads an answer that is no success. The status line counts, whatever the body says.
func (c *Client) problem(res *http.Response, body []byte) *Problem {
	p := &Problem{}
	if !isMedia(res.Header, "application/problem+json") || json.Unmarshal(body, p) != nil {
		p = &Problem{}
		if res.StatusCode/100 == 3 {
			p.Detail = "redirects are not followed, give the final URL"
		}
	}
	p.Status, p.retryAfter = res.StatusCode, c.retry.retryAfter(res.Header)
	return p
}

// OutcomeUnknownError says that a write may or may not have taken effect: the attempts ended without an answer. Unless
// Once is set, the same call may be repeated: it takes effect at most once.
type OutcomeUnknownError struct {
	Key  string // the Idempotency-Key that was sent; a repeated call must be given it. "" when the call needs none
	Once bool   // the call has no key and must not be repeated blindly
	Err  error  // what ended the last attempt
}

func (e *OutcomeUnknownError) Error() string {
	const unknown = "; the outcome is unknown"
	switch {
	case e.Once:
		return e.Err.Error() + unknown + ": look before repeating the call"
	case e.Key != "":
		return e.Err.Error() + unknown + ": the same call may be repeated with the key " + e.Key + ", it takes effect at most once"
	}
	return e.Err.Error() + unknown + ": the same call may be repeated, it takes effect at most once"
}

// Unwrap returns what ended the last attempt: a *Problem, or the network's or context's error.
func (e *OutcomeUnknownError) Unwrap() error { return e.Err }

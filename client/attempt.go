package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"
)

// request is one call of the API, sent once or more.
type request struct {
	doing  string // what failed, in errors
	method string
	path   string
	query  url.Values
	body   []byte // JSON, nil for none
	key    string // Idempotency-Key, "" for none
	effect effect
	file   *download // where a successful answer goes that is a file, nil for JSON
}

// lostError is a request whose answer did not arrive, or not whole.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// unsentError is a request that could not be made, or whose context had ended before.
type unsentError struct{ err error }

func (e *unsentError) Error() string { return e.err.Error() }
func (e *unsentError) Unwrap() error { return e.err }

// attempt sends a request once. An error is an *unsentError, a *lostError, a *Problem, or says that a successful answer
// can't be read.
func (c *Client) attempt(ctx context.Context, r request, out any) (http.Header, error) {
	req, err := c.build(ctx, r)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, &unsentError{err}
	}
	res, err := c.http.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // without the URL, whose query may name people
		}
		return nil, &lostError{err}
	}
	defer res.Body.Close()
	if r.file != nil && res.StatusCode/100 == 2 {
		return res.Header, r.file.receive(res)
	}
	limit := c.limit
	if res.StatusCode/100 != 2 {
		limit = min(limit, maxProblem)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	switch {
	case err != nil:
		return nil, &lostError{fmt.Errorf("reading the answer: %w", err)}
	case res.StatusCode/100 != 2:
		return nil, c.problem(res, body)
	case int64(len(body)) > limit:
		return nil, fmt.Errorf("the answer has more than %d bytes", limit)
	}
	return res.Header, decode(res, body, out)
}

func (c *Client) build(ctx context.Context, r request) (*http.Request, error) {
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "ledgerd-client")
	req.Header.Set("Accept", "application/json, application/problem+json")
	if r.file != nil {
		req.Header.Set("Accept", "application/zip, application/problem+json")
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	return req, nil
}

// decode reads a successful answer. Members that this version does not know are ignored: a newer server may have more.
func decode(res *http.Response, body []byte, out any) error {
	if out == nil {
		return nil
	}
	if !isMedia(res.Header, "application/json") {
		return fmt.Errorf("the answer with status %d is not JSON: is this a ledgerd?", res.StatusCode)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	return nil
}

func isMedia(h http.Header, want string) bool {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && media == want
}

package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// EvidenceQuery selects what goes into an evidence file: just the Seqs; or by Kind and Key, with From and To as recorded
// times; or, with any of the five ids, the usage reports whose lines match, with From and To required and instants of as_of.
// Empty selects all that the token may read.
type EvidenceQuery struct {
	Seqs       []int64
	Kind, Key  string
	From, To   time.Time // half-open; zero for none
	CustomerID string
	ProviderID string
	RequestID  string
	TurnID     string
	FrameID    string
	Since      int64 // prove too that the newest log grew from this many leaves; 0 for no proof
}

// Values is the question as the API's query string has it.
func (q EvidenceQuery) Values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{
		"kind": q.Kind, "key": q.Key, "customer_id": q.CustomerID, "provider_id": q.ProviderID, "request_id": q.RequestID, "turn_id": q.TurnID, "frame_id": q.FrameID,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	for name, at := range map[string]time.Time{"from": q.From, "to": q.To} {
		if !at.IsZero() {
			v.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	seqs := make([]string, len(q.Seqs))
	for i, seq := range q.Seqs {
		seqs[i] = strconv.FormatInt(seq, 10)
	}
	if len(seqs) > 0 {
		v.Set("seq", strings.Join(seqs, ","))
	}
	if q.Since > 0 {
		v.Set("since", strconv.FormatInt(q.Since, 10))
	}
	return v
}

// Evidence writes an evidence file to w, for an auditor's or billing's token, and returns its length in bytes. Check it with
// `ledgerd verify evidence`. It may be large: no time limit but that of ctx and no size limit applies. After an error what was
// written is no evidence file; it is asked for again only as long as nothing was.
func (c *Client) Evidence(ctx context.Context, q EvidenceQuery, w io.Writer) (int64, error) {
	return c.downloadFile(ctx, request{doing: "downloading evidence", method: http.MethodGet, path: "/v1/evidence", query: q.Values()}, w)
}

// downloadFile answers a request that gives a file.
func (c *Client) downloadFile(ctx context.Context, r request, w io.Writer) (int64, error) {
	unhurried, hc := *c, *c.http
	hc.Timeout = 0
	unhurried.http = &hc
	r.file = &download{to: w}
	_, err := unhurried.call(ctx, r, nil)
	return r.file.written, err
}

// download is an answer that is a file.
type download struct {
	to      io.Writer
	written int64
}

// receive copies the answer's body. Only a download that nothing was written of yet may be tried again.
func (d *download) receive(res *http.Response) error {
	if !isMedia(res.Header, "application/zip") {
		return fmt.Errorf("the answer with status %d is not a zip file: is this a ledgerd?", res.StatusCode)
	}
	n, err := io.Copy(d.to, res.Body)
	d.written += n
	switch {
	case err != nil && d.written == 0:
		return &lostError{fmt.Errorf("reading the file: %w", err)}
	case err != nil:
		return fmt.Errorf("the download broke off after %d bytes: %w", d.written, err)
	}
	return nil
}

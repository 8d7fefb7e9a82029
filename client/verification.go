package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// VerificationReport is what was checked of one entry again.
type VerificationReport struct {
	Seq        int64               `json:"seq"`
	Kind       string              `json:"kind"`
	Result     string              `json:"result"`
	Checks     []VerificationCheck `json:"checks"`
	Against    *VerifiedAgainst    `json:"against"`
	NotChecked []VerificationLimit `json:"not_checked"` // what the report does not show, whatever its result
}

// VerificationCheck is one check and what became of it.
type VerificationCheck struct {
	Check  string `json:"check"`
	Result string `json:"result"`
	Fault  string `json:"fault,omitzero"`
	Reason string `json:"reason,omitzero"`
	Says   string `json:"says"` // what passing means
}

// VerifiedAgainst is the checkpoint that a report rests on.
type VerifiedAgainst struct {
	Origin     string `json:"origin"`
	TreeSize   int64  `json:"tree_size"`
	RootHash   string `json:"root_hash"`
	Checkpoint string `json:"checkpoint"`
	Key        string `json:"key"` // that signed it, "" for none
}

// VerificationLimit is something that a report does not show.
type VerificationLimit struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// VerifyEntry has an entry of any kind verified again, by the server. at is the instant at which a receipt bundle is judged
// under the current policy, zero for now. To rely on no server, see Evidence.
func (c *Client) VerifyEntry(ctx context.Context, seq int64, at time.Time) (VerificationReport, error) {
	n := strconv.FormatInt(seq, 10)
	q := url.Values{}
	if !at.IsZero() {
		q.Set("at", at.UTC().Format(time.RFC3339Nano))
	}
	var v VerificationReport
	_, err := c.call(ctx, request{doing: "verifying entry " + n, method: http.MethodGet, path: "/v1/entries/" + n + "/verification", query: q}, &v)
	return v, err
}

package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"ledgerd/frames"
	"ledgerd/receipts"
)

// EgressQuery asks what left the machine, to whom, who agreed, when.
type EgressQuery struct {
	From, To   time.Time // half-open; instants of as_of, the effective time that the hosts claimed
	ProviderID string    // "" for all
	CustomerID string    // "" for all
}

// Values is the question as the API's query string has it.
func (q EgressQuery) Values() url.Values {
	v := url.Values{"from": {q.From.UTC().Format(time.RFC3339Nano)}, "to": {q.To.UTC().Format(time.RFC3339Nano)}}
	if q.ProviderID != "" {
		v.Set("provider_id", q.ProviderID)
	}
	if q.CustomerID != "" {
		v.Set("customer_id", q.CustomerID)
	}
	return v
}

// Verdict is what the ledger can say about one scope at the instant of one egress.
type Verdict string

// The verdicts, best first.
const (
	Consented     Verdict = "consented"      // a grant was in force at that instant and had been recorded by then
	RecordedAfter Verdict = "recorded-after" // in force on paper, but recorded only after the egress
	Expired       Verdict = "expired"        // granted before, and lapsed by then
	GrantedAfter  Verdict = "granted-after"  // granted later than the egress
	Unconsented   Verdict = "unconsented"    // no readable grant
)

// The flags of a line.
const (
	FlagNoConsent    = "no-recorded-consent" // no consent of any scope is recorded for the provider
	FlagReachUnknown = "reach-unknown"       // some reports served nothing, but the query itself went to the provider
	FlagErased       = "erased"              // parts of what was served were erased
)

// EgressAnswer answers an EgressQuery. Sums are decimal strings, so that no reader rounds them, and each token is counted
// once, however many scopes its provider has.
type EgressAnswer struct {
	Period   Period       `json:"period"`
	TreeSize int64        `json:"tree_size"` // the answer covers entries below this size
	Lines    []EgressLine `json:"lines"`
	Totals   EgressTotals `json:"totals"`
	Notes    []string     `json:"notes"` // what the answer does not show
}

// Period is a half-open period of instants.
type Period struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// EgressTotals are sums over all lines.
type EgressTotals struct {
	Reports      int    `json:"reports"` // reports per provider, added up
	FramesServed string `json:"frames_served"`
	Tokens       string `json:"tokens"`
}

// EgressLine is one provider's part of the answer.
type EgressLine struct {
	ProviderID   string        `json:"provider_id"`
	Reports      int           `json:"reports"`
	FirstAsOf    time.Time     `json:"first_as_of"`
	LastAsOf     time.Time     `json:"last_as_of"`
	FramesServed string        `json:"frames_served"`
	Tokens       string        `json:"tokens"`
	Frames       []EgressFrame `json:"frames"`
	Scopes       []EgressScope `json:"scopes"`
	Flags        []string      `json:"flags"`
	Seqs         []int64       `json:"seqs"` // the usage reports
}

// EgressFrame is one frame that left, by identity, over all reports of the line.
type EgressFrame struct {
	frames.FrameID
	Times  int     `json:"times"`
	Tokens string  `json:"tokens"`
	Seqs   []int64 `json:"seqs"`
}

// EgressScope is one class of destination that somebody agreed to for the provider. Verdict is the worst of Verdicts, which
// counts reports.
type EgressScope struct {
	Scope    receipts.EgressScope `json:"scope"`
	Verdict  Verdict              `json:"verdict"`
	Verdicts map[Verdict]int      `json:"verdicts"`
	Grants   []EgressGrant        `json:"grants"`
	Seqs     []int64              `json:"seqs"` // the consents
}

// EgressGrant is who agreed, when, and to whom by name at that time. Who agreed is what a host's token claimed.
type EgressGrant struct {
	Grantor         *receipts.Grantor `json:"grantor"` // nil once erased
	ProviderName    string            `json:"provider_name"`
	ProviderVersion string            `json:"provider_version"`
	GrantedAt       string            `json:"granted_at"` // as written by the host
	ExpiresAt       *string           `json:"expires_at"`
	RecordedAt      time.Time         `json:"recorded_at"`
	Seq             int64             `json:"seq"`
}

// Egress asks the auditor's question, for an auditor's token.
func (c *Client) Egress(ctx context.Context, q EgressQuery) (EgressAnswer, error) {
	var a EgressAnswer
	_, err := c.call(ctx, request{doing: "asking what left", method: http.MethodGet, path: "/v1/audit/egress", query: q.Values()}, &a)
	return a, err
}

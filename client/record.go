package client

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"ledgerd/frames"
	"ledgerd/metering"
	"ledgerd/receipts"
	"ledgerd/receipts/air"
)

// Recorded acknowledges a write: the entry is committed, and a signed checkpoint covers it.
type Recorded struct {
	Seq        int64            `json:"seq"` // its place in the log
	Kind       string           `json:"kind"`
	Key        string           `json:"key"`
	RecordedAt time.Time        `json:"recorded_at"` // the server's clock
	LeafHash   [32]byte         `json:"leaf_hash"`
	Findings   []frames.Finding `json:"findings"`         // what an auditor wants to know although it was accepted
	Proof      *Proof           `json:"proof,omitzero"`   // nil unless the call asked for one
	Verdict    *air.Result      `json:"verdict,omitzero"` // of a receipt bundle: what was found, and what that does not prove
	Replayed   bool             `json:"-"`                // it had been recorded before, by an earlier attempt or call
}

// Proof proves that an entry is in the log. TlogProof is for ledger.ParseProof, with the leaf and the log's verifier keys.
type Proof struct {
	Seq        int64    `json:"seq"`
	TreeSize   int64    `json:"tree_size"`
	LeafHash   [32]byte `json:"leaf_hash"`
	Hashes     []string `json:"hashes"`     // standard base64
	Checkpoint *string  `json:"checkpoint"` // nil when none of that size is kept
	TlogProof  *string  `json:"tlog_proof"` // nil without a checkpoint
}

// UsageReport is one request's usage. RequestID is the entry's key: the same one with another content is a conflict.
type UsageReport struct {
	RequestID  string               `json:"request_id"` // 1 to 256 bytes
	TurnID     string               `json:"turn_id"`
	CustomerID string               `json:"customer_id"`
	Report     metering.UsageReport `json:"report"` // as_of at most 400 days old and 5 minutes ahead
}

// PostUsageReport records a usage report, for a host's token. The same report again is a replay.
func (c *Client) PostUsageReport(ctx context.Context, u UsageReport) (Recorded, error) {
	return c.record(ctx, request{doing: "posting a usage report", method: http.MethodPost, path: "/v1/usage-reports"}, u)
}

// PostConsentReceipt records a grant of consent, for a host's token. The key, 1 to 256 bytes, makes this grant one entry
// however often the call is repeated. With "" the client makes a random one for this call and its retries; should the
// outcome stay unknown, the error has it.
func (c *Client) PostConsentReceipt(ctx context.Context, r receipts.ConsentReceipt, key string) (Recorded, error) {
	return c.recordUnder(ctx, request{doing: "posting a consent receipt", method: http.MethodPost, path: "/v1/consent-receipts", key: key}, r)
}

// PostProviderDeclaration records how a provider introduced itself, for a host's token; with the key as for a consent
// receipt. Post it before content goes there: what was declared later never makes an egress look better.
func (c *Client) PostProviderDeclaration(ctx context.Context, d receipts.Declaration, key string) (Recorded, error) {
	return c.recordUnder(ctx, request{doing: "posting a provider declaration", method: http.MethodPost, path: "/v1/provider-declarations", key: key}, d)
}

// recordUnder records under the request's key, or a random one.
func (c *Client) recordUnder(ctx context.Context, r request, v any) (Recorded, error) {
	if r.key == "" {
		r.key = "client-" + rand.Text()
	}
	if len(r.key) > 256 || !utf8.ValidString(r.key) || containsControl(r.key) {
		return Recorded{}, errors.New(r.doing + ": a key is 1 to 256 bytes of UTF-8 without control characters")
	}
	return c.record(ctx, r, v)
}

func containsControl(s string) bool {
	for _, r := range s {
		if unicode.IsControl(r) {
			return true
		}
	}
	return false
}

// PostReceiptBundle records an AI Interaction Receipt bundle, for a host's token. An invalid one is a *Problem with every
// rule that it breaks as its Causes. requestID is the request that the exchange belonged to, "" when it is not known.
func (c *Client) PostReceiptBundle(ctx context.Context, bundle []byte, requestID string) (Recorded, error) {
	r := request{doing: "posting a receipt bundle", method: http.MethodPost, path: "/v1/receipt-bundles", body: bundle}
	if requestID != "" {
		r.query = url.Values{"request_id": {requestID}}
	}
	return c.send(ctx, r)
}

// record sends v as the body.
func (c *Client) record(ctx context.Context, r request, v any) (Recorded, error) {
	r, err := withBody(r, v)
	if err != nil {
		return Recorded{}, err
	}
	return c.send(ctx, r)
}

func withBody(r request, v any) (request, error) {
	var err error
	if r.body, err = json.Marshal(v); err != nil {
		return r, errors.New(r.doing + ": it can't be written as JSON, which demands valid UTF-8")
	}
	return r, nil
}

func (c *Client) send(ctx context.Context, r request) (Recorded, error) {
	var answer Recorded
	r.effect = idempotent
	header, err := c.call(ctx, r, &answer)
	if err != nil {
		return Recorded{}, err
	}
	answer.Replayed = header.Get("Idempotent-Replayed") == "true"
	return answer, nil
}

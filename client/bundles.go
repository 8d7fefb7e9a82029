package client

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/receipts/air"
)

// ReceiptBundle is a recorded bundle with the verdict that the ledger reached when it received it. Show a verdict together
// with its disclosures: they say what it does not prove.
type ReceiptBundle struct {
	Seq           int64            `json:"seq"`
	RecordedAt    time.Time        `json:"recorded_at"`
	RequestID     *string          `json:"request_id"` // the request that the host said it belongs to
	ReceiptDigest string           `json:"receipt_digest"`
	PolicySeq     *int64           `json:"policy_seq"`  // the trust-policy entry that it was judged under, nil for none
	VerifiedAt    string           `json:"verified_at"` // the instant that it was judged at
	Verdict       air.Result       `json:"verdict"`
	Disclosures   []air.Disclosure `json:"disclosures"`
	Bundle        jsontext.Value   `json:"bundle"`
	ErasedBy      *int64           `json:"erased_by,omitzero"` // only in listings: the erasure that destroyed it
}

// ReceiptBundle reads a recorded bundle, for the token of the host that posted it or an auditor's.
func (c *Client) ReceiptBundle(ctx context.Context, seq int64) (ReceiptBundle, error) {
	n := strconv.FormatInt(seq, 10)
	var b ReceiptBundle
	_, err := c.call(ctx, request{doing: "reading receipt bundle " + n, method: http.MethodGet, path: "/v1/receipt-bundles/" + n}, &b)
	return b, err
}

package client

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/frames"
	"ledgerd/ledger"
)

// Entry is a recorded entry, with everything that is needed to recompute its leaf: see package ledger.
type Entry struct {
	Seq          int64            `json:"seq"`
	Kind         string           `json:"kind"`
	Key          string           `json:"key"`
	RecordedAt   time.Time        `json:"recorded_at"`
	Actor        ledger.Actor     `json:"actor"`   // who a token claimed to be
	Content      jsontext.Value   `json:"content"` // artifact, context and receiver, parsed from ContentBytes
	Findings     []frames.Finding `json:"findings"`
	LeafHash     [32]byte         `json:"leaf_hash"`
	Envelope     []byte           `json:"envelope"` // the leaf
	Meta         []byte           `json:"meta"`     // the exact bytes that the envelope commits to
	MetaSalt     ledger.Salt      `json:"meta_salt"`
	ContentSalt  ledger.Salt      `json:"content_salt"`
	ErasedBy     *int64           `json:"erased_by,omitzero"` // the erasure that destroyed the content, nil for none
	ContentBytes []byte           `json:"content_bytes"`      // the exact bytes that the envelope commits to
}

// Entry reads one entry. A host sees what was posted under its own token, an auditor all of its tenant. An entry that does
// not exist and one that may not be seen are the same *Problem with status 404; an erased one is 410.
func (c *Client) Entry(ctx context.Context, seq int64) (Entry, error) {
	n := strconv.FormatInt(seq, 10)
	var e Entry
	_, err := c.call(ctx, request{doing: "reading entry " + n, method: http.MethodGet, path: "/v1/entries/" + n}, &e)
	return e, err
}

// Ready says whether the service can record and answer now. It asks once and needs no token.
func (c *Client) Ready(ctx context.Context) error {
	one := *c
	one.retry.attempts = 1
	_, err := one.call(ctx, request{doing: "checking readiness", method: http.MethodGet, path: "/readyz"}, nil)
	return err
}

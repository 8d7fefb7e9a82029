package api

import (
	"context"
	"encoding/base64"
	"errors"
	"math"

	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// prover proves entries and trees of the log; size and to 0 stand for the newest signed tree. An entry is proven in the log of its
// own incarnation, trees are the newest log's. A proof fits the checkpoint that it comes with, which is nil when none of that size is
// kept. kinds.ErrNotFound for an entry that is not visible, ledger.ErrSize for a tree that the log does not have or that does not have
// the entry.
type prover interface {
	EntryProof(ctx context.Context, tenant string, see kinds.Visibility, seq, size int64) (ledger.InclusionProof, error)
	Consistency(ctx context.Context, from, to int64) (ledger.ConsistencyProof, error)
}

// ProofBody proves that an entry is in the log. Whoever has the entry recomputes leaf_hash and needs the log's verifier key.
type ProofBody struct {
	Seq        int64    `json:"seq"`
	TreeSize   int64    `json:"tree_size" jsonschema:"leaves of the tree that the proof is of"`
	LeafHash   string   `json:"leaf_hash" jsonschema:"standard base64"`
	Hashes     []string `json:"hashes" jsonschema:"from the leaf's sibling to the root's child (RFC 9162 §2.1.3.1), standard base64"`
	Checkpoint *string  `json:"checkpoint" jsonschema:"signed note of tree_size; null when none of that size is kept, and the hashes are for somebody who holds it"`
	TlogProof  *string  `json:"tlog_proof" jsonschema:"index, hashes and checkpoint as a C2SP tlog-proof; null without a checkpoint"`
}

// ConsistencyBody proves that the log's first from leaves are the beginning of its first to leaves.
type ConsistencyBody struct {
	From       int64    `json:"from"`
	To         int64    `json:"to"`
	Hashes     []string `json:"hashes" jsonschema:"RFC 9162 §2.1.4.1, standard base64; none when from is 0 or to"`
	Checkpoint *string  `json:"checkpoint" jsonschema:"signed note of size to; null when none of that size is kept"`
}

// proofParam is on every route that appends.
var proofParam = Param{Name: "proof", Form: "boolean", Doc: "true: the answer has an inclusion proof with a checkpoint that covers the entry."}

func (a *API) proofRoutes() []*Route {
	size := Param{Name: "size", Form: "integer", Doc: "Prove against the tree of this many leaves, such as that of a checkpoint kept earlier; the newest by default."}
	return []*Route{
		{
			Method: "GET", Path: "/v1/entries/{seq}/proof", Name: "getProof", Summary: "Prove that an entry is in the log",
			Doc: "For whoever may read the entry; an erased one is proven as ever. The proof fits the checkpoint in the same answer. " +
				"Checkpoints are kept one a minute: at another older size the answer has the hashes and no checkpoint, for somebody who holds it.",
			Roles: anyRole, Segments: seqParam("The entry's place in the log."), Query: []Param{size},
			Replies: []Reply{{Status: 200, Doc: "The proof.", Body: ProofBody{}}}, Problems: []string{"not-found", "log-read-only"}, handle: a.getProof,
		},
		{
			Method: "GET", Path: "/v1/log/consistency", Name: "getConsistency", Summary: "Prove that the log only grew",
			Doc:   "Between any two sizes up to the newest; who holds both checkpoints verifies that nothing between them was changed or removed.",
			Roles: anyRole,
			Query: []Param{
				{Name: "from", Required: true, Form: "integer", Doc: "Size of the earlier tree, 0 or more."},
				{Name: "to", Form: "integer", Doc: "Size of the later tree; the newest by default."},
			},
			Replies: []Reply{{Status: 200, Doc: "The proof.", Body: ConsistencyBody{}}}, Problems: []string{"log-read-only"}, handle: a.getConsistency,
		},
	}
}

func (a *API) getProof(c *call) (reply, error) {
	seq, err := seqSegment(c)
	if err != nil {
		return reply{}, err
	}
	size, err := c.query.number("size", 0, 1, math.MaxInt64)
	if err != nil {
		return reply{}, err
	}
	p, err := a.store.EntryProof(c.ctx(), c.who.Tenant, kinds.VisibleTo(c.who.Role, c.who.TokenID), seq, size)
	if errors.Is(err, ledger.ErrSize) {
		return reply{}, badParam("size", "the log is shorter than that, or its tree of that size does not have the entry yet")
	}
	return reply{status: 200, body: proofBody(seq, p)}, err
}

// proofOf proves an entry to whom it was just acknowledged, who may have posted the same as another token before.
func (a *API) proofOf(c *call, seq int64) (*ProofBody, error) {
	p, err := a.store.EntryProof(c.ctx(), c.who.Tenant, kinds.Visibility{All: true}, seq, 0)
	if err != nil {
		return nil, err
	}
	body := proofBody(seq, p)
	return &body, nil
}

func proofBody(seq int64, p ledger.InclusionProof) ProofBody {
	b := ProofBody{
		Seq: seq, TreeSize: p.Size, LeafHash: base64.StdEncoding.EncodeToString(p.Leaf[:]), Hashes: base64Hashes(p.Hashes), Checkpoint: noteText(p.Checkpoint),
	}
	if b.Checkpoint != nil {
		b.TlogProof = noteText(p.Format())
	}
	return b
}

func (a *API) getConsistency(c *call) (reply, error) {
	from, err := c.query.number("from", 0, 0, math.MaxInt64)
	if err != nil {
		return reply{}, err
	}
	to, err := c.query.number("to", 0, 1, math.MaxInt64)
	if err != nil {
		return reply{}, err
	}
	p, err := a.store.Consistency(c.ctx(), from, to)
	if errors.Is(err, ledger.ErrSize) {
		return reply{}, badParam("to", "from, to and the size of the log must be in this order")
	}
	return reply{status: 200, body: ConsistencyBody{From: p.From, To: p.To, Hashes: base64Hashes(p.Hashes), Checkpoint: noteText(p.Checkpoint)}}, err
}

func base64Hashes(hashes []tlog.Hash) []string {
	list := make([]string, 0, len(hashes))
	for _, h := range hashes {
		list = append(list, base64.StdEncoding.EncodeToString(h[:]))
	}
	return list
}

func noteText(note []byte) *string {
	if note == nil {
		return nil
	}
	s := string(note)
	return &s
}

package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// plan sorts a batch: what is new, and what each of the others is answered. Nobody is answered before answer is called.
type plan struct {
	fresh   []*pending
	answers []func()
}

func (p *plan) answer() {
	for _, fresh := range p.fresh {
		fresh.answer(fresh.result, nil)
	}
	for _, f := range p.answers {
		f()
	}
}

func (p *plan) refuse(req *pending, err error) {
	p.answers = append(p.answers, func() { req.answer(kinds.Recorded{}, err) })
}

// resolve decides each request of a batch against what is stored and against the requests before it in the same batch.
func (a *Appender) resolve(ctx context.Context, batch []*pending, l locked) (*plan, error) {
	stored, err := a.known(ctx, l)
	if err != nil {
		return nil, err
	}
	p := &plan{}
	inBatch := map[[16]byte]*pending{}
	next := l.head.Next()
	for _, req := range batch {
		if seq, ok := l.keys[req.keyHash]; ok {
			p.replay(req, stored[seq])
			continue
		}
		if first, ok := inBatch[req.keyHash]; ok {
			p.join(req, first)
			continue
		}
		if err := req.claim(l.claims, next); err != nil {
			p.refuse(req, err)
			continue
		}
		inBatch[req.keyHash] = req
		p.fresh = append(p.fresh, req)
		req.result.Seq = next
		next++
	}
	return p, nil
}

// join answers a request whose key an earlier one of the same batch has.
func (p *plan) join(req, first *pending) {
	if string(req.submitted) != string(first.submitted) {
		p.answers = append(p.answers, func() { req.answer(kinds.Recorded{}, &kinds.ConflictError{Seq: first.result.Seq}) })
		return
	}
	p.answers = append(p.answers, func() {
		r := first.result
		r.Replayed = true
		req.answer(r, nil)
	})
}

// claim checks a request's claims and notes those that it is the first to make.
func (p *pending) claim(held map[claimKey]claimValue, seq int64) error {
	p.newClaims = nil
	for _, c := range p.accepted.Claims {
		key := claimKey{p.prepared.Meta().Tenant, c.Space, c.Name}
		have, ok := held[key]
		switch {
		case !ok && c.Reserves:
			p.newClaims = append(p.newClaims, c)
		case ok && have.value != c.Value:
			return &kinds.ConflictError{Seq: have.seq, Space: c.Space}
		}
	}
	for _, c := range p.newClaims {
		held[claimKey{p.prepared.Meta().Tenant, c.Space, c.Name}] = claimValue{c.Value, seq}
	}
	return nil
}

// knownEntry is what a replay needs of a stored entry.
type knownEntry struct {
	recorded kinds.Recorded
	content  []byte // nil when erased
}

// known reads the entries that hold keys of the batch.
func (a *Appender) known(ctx context.Context, l locked) (map[int64]knownEntry, error) {
	if len(l.keys) == 0 {
		return nil, nil
	}
	seqs := make([]int64, 0, len(l.keys))
	for _, seq := range l.keys {
		seqs = append(seqs, seq)
	}
	rows, err := a.conn.Query(ctx, `
		SELECT e.seq, e.kind, e.key, e.recorded_at, e.leaf_hash, c.content
		FROM ledger.entries e JOIN ledger.contents c USING (seq) WHERE e.seq = ANY($1)`, seqs)
	if err != nil {
		return nil, unavailable(err)
	}
	entries := map[int64]knownEntry{}
	var k knownEntry
	var leaf []byte
	_, err = pgx.ForEachRow(rows, []any{&k.recorded.Seq, &k.recorded.Kind, &k.recorded.Key, &k.recorded.RecordedAt, &leaf, &k.content}, func() error {
		k.recorded.LeafHash = tlog.Hash(leaf)
		k.recorded.RecordedAt = k.recorded.RecordedAt.UTC()
		entries[k.recorded.Seq] = k
		k.content = nil
		return nil
	})
	return entries, unavailable(err)
}

// replay answers a request whose key is known: the same submission is acknowledged again, with the findings of then.
func (p *plan) replay(req *pending, e knownEntry) {
	switch {
	case e.content == nil:
		p.refuse(req, &kinds.ErasedError{Seq: e.recorded.Seq})
	case !ledger.SameSubmission(e.content, req.submitted):
		p.refuse(req, &kinds.ConflictError{Seq: e.recorded.Seq})
	default:
		r := e.recorded
		r.Replayed = !req.tried // found by its own second attempt after an unknown outcome: that is its first answer
		findings, err := kinds.StoredFindings(e.content)
		if err != nil {
			p.refuse(req, fmt.Errorf("reading entry %d: %w", r.Seq, err))
			return
		}
		r.Findings = findings
		p.answers = append(p.answers, func() { req.answer(r, nil) })
	}
}

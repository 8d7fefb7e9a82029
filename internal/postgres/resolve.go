package postgres

import (
	"bytes"
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// plan is what becomes of a batch: fresh are the submissions that are recorded; all others have their answer already.
// Nobody is told before the batch is through.
type plan struct {
	batch   []*pending
	fresh   []*pending
	next    int64                 // seq of the next fresh one
	inBatch map[[16]byte]*pending // fresh ones by key
	claims  map[claimKey]claimValue
	keys    map[[16]byte]int64
	stored  map[int64]knownEntry
}

// resolve decides each submission of a batch against what is stored and against those before it in the same batch.
func (a *Appender) resolve(ctx context.Context, batch []*pending, l locked) (*plan, error) {
	stored, err := a.known(ctx, l)
	if err != nil {
		return nil, err
	}
	if err := a.guardErasures(ctx, batch); err != nil {
		return nil, err
	}
	return newPlan(batch, l, stored), nil
}

// newPlan decides by what is known of the log: its head, keys, claims and what stands under the keys.
func newPlan(batch []*pending, l locked, stored map[int64]knownEntry) *plan {
	p := &plan{batch: batch, next: l.head.Next(), inBatch: make(map[[16]byte]*pending, len(batch)), claims: l.claims, keys: l.keys, stored: stored}
	for _, part := range apart(batch) {
		p.decide(part)
	}
	return p
}

// decide is for one submission, or for all of a whole unit: when one of these is refused none is recorded.
func (p *plan) decide(part []*pending) {
	before := len(p.fresh)
	refused := false
	for _, req := range part {
		req.err, req.twin, req.newClaims = nil, nil, nil
		p.decideOne(req)
		refused = refused || req.err != nil
	}
	if !refused || len(part) == 1 {
		return
	}
	for _, req := range p.fresh[before:] {
		delete(p.inBatch, req.keyHash)
		for _, c := range req.newClaims {
			delete(p.claims, req.claimKey(c))
		}
	}
	p.next -= int64(len(p.fresh) - before)
	p.fresh = p.fresh[:before]
	for _, req := range part {
		var conflict *kinds.ConflictError
		switch {
		case req.err == nil:
			req.result, req.twin, req.err = kinds.Recorded{}, nil, kinds.ErrNotRecorded
		case errors.As(req.err, &conflict) && conflict.Seq >= p.next: // with one of the same unit
			conflict.Seq = -1
		}
	}
}

func (p *plan) decideOne(req *pending) {
	if seq, ok := p.keys[req.keyHash]; ok {
		req.result, req.err = req.replay(p.stored[seq])
		return
	}
	if first, ok := p.inBatch[req.keyHash]; ok {
		if string(req.submitted) != string(first.submitted) {
			req.err = &kinds.ConflictError{Seq: first.result.Seq}
			return
		}
		req.twin = first
		return
	}
	if req.err = req.refused; req.err != nil {
		return
	}
	if req.err = req.claim(p.claims, p.next); req.err != nil {
		return
	}
	req.result = kinds.Recorded{Seq: p.next}
	p.inBatch[req.keyHash] = req
	p.fresh = append(p.fresh, req)
	p.next++
}

// answer tells everybody.
func (p *plan) answer() {
	for _, req := range p.batch {
		req.answer()
	}
}

func (p *pending) claimKey(c kinds.Claim) claimKey {
	return claimKey{p.prepared.Meta().Tenant, c.Space, c.Name}
}

// claim checks a submission's claims and notes those that it is the first to make.
func (p *pending) claim(held map[claimKey]claimValue, seq int64) error {
	for _, c := range p.claims {
		have, ok := held[p.claimKey(c)]
		switch {
		case !ok && c.Reserves:
			p.newClaims = append(p.newClaims, c)
		case ok && have.value != c.Value:
			p.newClaims = nil
			return &kinds.ConflictError{Seq: have.seq, Space: c.Space}
		}
	}
	for _, c := range p.newClaims {
		held[p.claimKey(c)] = claimValue{c.Value, seq}
	}
	return nil
}

// knownEntry is what a replay needs of a stored entry.
type knownEntry struct {
	recorded kinds.Recorded
	salt     []byte // of the meta, which tells whose attempt recorded it
	content  []byte // nil when erased
	erasedBy int64  // the erasure's seq, 0 when not erased
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
		SELECT e.seq, e.kind, e.key, e.recorded_at, e.leaf_hash, e.meta_salt, c.content, coalesce(x.erasure_seq, 0)
		FROM ledger.entries e JOIN ledger.contents c USING (seq) LEFT JOIN ledger.erased x USING (seq) WHERE e.seq = ANY($1)`, seqs)
	if err != nil {
		return nil, unavailable(err)
	}
	entries := map[int64]knownEntry{}
	var k knownEntry
	var leaf []byte
	_, err = pgx.ForEachRow(rows, []any{&k.recorded.Seq, &k.recorded.Kind, &k.recorded.Key, &k.recorded.RecordedAt, &leaf, &k.salt, &k.content, &k.erasedBy}, func() error {
		k.recorded.LeafHash = tlog.Hash(leaf)
		k.recorded.RecordedAt = k.recorded.RecordedAt.UTC()
		entries[k.recorded.Seq] = k
		k.salt, k.content = nil, nil
		return nil
	})
	return entries, unavailable(err)
}

// replay is the answer to a submission whose key is known: the same one is acknowledged again, with the findings of then.
func (p *pending) replay(e knownEntry) (kinds.Recorded, error) {
	switch {
	case e.content == nil:
		return kinds.Recorded{}, &kinds.ErasedError{Seq: e.recorded.Seq, ErasureSeq: e.erasedBy}
	case !ledger.SameSubmission(e.content, p.submitted):
		return kinds.Recorded{}, &kinds.ConflictError{Seq: e.recorded.Seq}
	}
	r := e.recorded
	r.Replayed = !p.made(e) // found by its own second attempt after an unknown outcome: that is its first answer
	var err error
	if r.Findings, err = kinds.StoredFindings(r.Seq, e.content); err != nil {
		return kinds.Recorded{}, err
	}
	return r, nil
}

// made says whether an earlier attempt of this very submission made the entry, and not the same one of somebody else.
func (p *pending) made(e knownEntry) bool {
	salt := p.prepared.MetaSalt()
	return bytes.Equal(e.salt, salt[:])
}

package postgres

import (
	"bytes"
	"slices"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// edge is where a log ends: what the next batch is sealed on.
type edge struct {
	head     ledger.Head
	frontier ledger.Frontier
	kept     time.Time // when a checkpoint was last kept in ledger.checkpoints
}

// sealed is what step 2 made: the next edge and everything that goes with it.
type sealed struct {
	edge
	buffers  buffers
	erasures []int64 // seqs of erasures, to be carried out before the commit
}

// buffers are what a batch fills, by table.
type buffers map[string]*copyBuffer

// checkpointInterval is how often a checkpoint is kept beside the head's.
const checkpointInterval = time.Minute

// seal gives each fresh entry its seq and time, grows the tree, signs, and encodes the rows.
func (a *Appender) seal(from edge, plan *plan, to buffers) (sealed, error) {
	for _, b := range to {
		b.reset()
	}
	head := from.head
	at := a.now().UTC().Truncate(time.Microsecond)
	if at.Before(head.RecordedAt) { // a clock that went back, or another machine's
		at = head.RecordedAt
	}
	next := sealed{edge: edge{head: head, frontier: from.frontier.Clone(), kept: from.kept}, buffers: to}
	to["contents"].grow(plan.fresh)
	for _, p := range plan.fresh {
		entry := p.prepared.Seal(head.Origin, next.head.Next(), at)
		if err := addRows(to, p, entry); err != nil {
			return sealed{}, err
		}
		for _, t := range next.frontier.Append(entry.LeafHash) {
			if err := to["tiles"].add(head.Incarnation, int16(t.Level), t.Index, t.Root[:], t.Hashes); err != nil {
				return sealed{}, err
			}
		}
		if p.erases != nil {
			next.erasures = append(next.erasures, entry.Seq)
		}
		next.head.Size++
		p.result = recorded(p, entry)
	}
	if err := addKeys(to["keys"], plan.fresh); err != nil {
		return sealed{}, err
	}
	next.head.RecordedAt, next.head.Root = at, next.frontier.Root()
	msg, err := ledger.Checkpoint{Origin: head.Origin, Size: next.head.Size, Root: next.head.Root}.Sign(a.keys.signers()...)
	if err != nil {
		return sealed{}, err
	}
	next.head.Checkpoint = string(msg)
	if at.Sub(from.kept) >= checkpointInterval {
		next.kept = at
		if err := to["checkpoints"].add(head.Incarnation, next.head.Size, at, next.head.Checkpoint); err != nil {
			return sealed{}, err
		}
	}
	return next, nil
}

// addKeys encodes the keys of a batch in their own order: the index over them is met from left to right instead of at random.
func addKeys(to *copyBuffer, fresh []*pending) error {
	sorted := slices.Clone(fresh)
	slices.SortFunc(sorted, func(a, b *pending) int { return bytes.Compare(a.keyHash[:], b.keyHash[:]) })
	for _, p := range sorted {
		if err := to.add(p.keyHash, p.result.Seq); err != nil {
			return err
		}
	}
	return nil
}

// addRows encodes an entry's own rows and its projections.
func addRows(to buffers, p *pending, e ledger.Entry) error {
	m := e.Meta
	if err := to["entries"].add(e.Seq, e.RecordedAt, m.Tenant, m.Kind, m.Key, m.Actor.TokenID, e.MetaBytes, e.MetaSalt[:], e.Envelope, e.LeafHash[:]); err != nil {
		return err
	}
	if err := to["contents"].add(e.Seq, e.Content, e.ContentSalt[:]); err != nil {
		return err
	}
	for _, c := range p.newClaims {
		if err := to["claims"].add(m.Tenant, c.Space, c.Name, c.Value, e.Seq); err != nil {
			return err
		}
	}
	own := []any{e.Seq, m.Tenant}
	for _, rows := range p.rows {
		target := to[rows.Table.Name]
		for _, values := range rows.Values {
			if err := target.addParts(own, values); err != nil {
				return err
			}
		}
	}
	return nil
}

func recorded(p *pending, e ledger.Entry) kinds.Recorded {
	return kinds.Recorded{
		Seq: e.Seq, Kind: e.Meta.Kind, Key: e.Meta.Key, RecordedAt: e.RecordedAt, LeafHash: e.LeafHash, Findings: p.findings,
	}
}

package postgres

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// recordCheck checks records by themselves. Each goroutine has its own.
type recordCheck struct {
	fsck    *fsck
	entries audit.EntryCheck
	types   *pgtype.Map // it caches what it learns, so it can't be shared
	buf     []byte
}

func newRecordCheck(f *fsck) *recordCheck {
	return &recordCheck{
		fsck: f, types: pgtype.NewMap(),
		entries: audit.EntryCheck{Paranoid: f.options.Paranoid, Erased: f.erased, Policies: f.policies},
	}
}

func (c *recordCheck) check(ctx context.Context, b *batch) {
	for i, r := range b.records {
		b.results[i] = c.record(ctx, r)
	}
	close(b.done)
}

func (c *recordCheck) record(ctx context.Context, r record) checked {
	var out checked
	log, ok := c.fsck.logOf(r.seq)
	if !ok {
		c.outside(&out, r)
		return out
	}
	c.entries.Origin, out.log = c.fsck.logs[log].head.Origin, log
	for _, part := range []int{partEntry, partContent} {
		if n := len(r.parts[part]); n > 1 {
			out.fault(r.seq, audit.FaultDuplicate, fmt.Sprintf("ledger.%s has %d rows of it", c.fsck.streams[part].table, n))
		}
	}
	if len(r.parts[partEntry]) == 0 {
		return out // whoever collects finds it missing
	}
	e := storedEntry(r)
	derived, faults := c.entries.Check(e)
	out.present, out.recordedAt, out.leaf, out.faults = true, derived.RecordedAt, derived.Leaf, append(out.faults, faults...)
	if derived.Meta != (ledger.Meta{}) {
		c.keys(&out, r, derived.Meta)
	}
	switch {
	case derived.Known:
		out.claims = c.claims(&out, r, derived)
		c.projections(&out, r, derived)
		c.judgedAgain(ctx, &out, derived)
	case e.Content == nil && c.fsck.erased[r.seq]:
		c.erased(&out, r, derived.Meta)
	}
	return out
}

// judgedAgain reaches the verdict on a context record again.
func (c *recordCheck) judgedAgain(ctx context.Context, out *checked, d audit.Derived) {
	fault, err := c.fsck.parts.judgedAgain(ctx, d)
	if err != nil {
		c.fsck.cancel(fmt.Errorf("reading what a context record was judged with: %w", err))
	}
	if fault != nil {
		out.faults = append(out.faults, *fault)
	}
}

func (c *checked) fault(seq int64, code audit.FaultCode, detail string) {
	c.faults = append(c.faults, audit.Fault{Seq: seq, Code: code, Detail: detail})
}

// outside reports the tables that have rows where the log has no entry. The service's own role could add such rows.
func (c *recordCheck) outside(out *checked, r record) {
	for i, rows := range r.parts {
		if len(rows) > 0 {
			out.fault(r.seq, audit.FaultOutside, "ledger."+c.fsck.streams[i].table+" has a row of it, and the log has no such entry")
		}
	}
}

func storedEntry(r record) audit.StoredEntry {
	row := r.parts[partEntry][0]
	e := audit.StoredEntry{
		Seq: r.seq, RecordedAt: instant(row[1]), Tenant: row[2], Kind: row[3], Key: row[4], TokenID: row[5],
		Meta: row[6], MetaSalt: row[7], Envelope: row[8], LeafHash: row[9],
	}
	if contents := r.parts[partContent]; len(contents) > 0 {
		e.Content, e.ContentSalt = contents[0][1], contents[0][2]
	}
	return e
}

// keys demands that the key table leads to the entry by its own key, and by no other.
func (c *recordCheck) keys(out *checked, r record, m ledger.Meta) {
	want := keyHash(m.Tenant, m.Kind, m.Key)
	own, foreign := 0, 0
	for _, row := range r.parts[partKey] {
		if bytes.Equal(row[1], want[:]) {
			own++
		} else {
			foreign++
		}
	}
	if own == 0 {
		out.fault(r.seq, audit.FaultKey, "ledger.keys has no row of the entry's key")
	}
	if foreign > 0 || own > 1 {
		out.fault(r.seq, audit.FaultKey, "ledger.keys leads to it by a key that is not its own")
	}
}

// claims compares the rows of the entry's own claims, and returns those that only the table as a whole can judge.
func (c *recordCheck) claims(out *checked, r record, d audit.Derived) []claimCheck {
	var rest []claimCheck
	stored := r.parts[partClaim]
	used := 0
	for _, claim := range d.Projection.Claims {
		if claim.Reserves && slices.ContainsFunc(stored, func(row [][]byte) bool { return isClaim(row, d.Meta.Tenant, claim) }) {
			used++
			continue
		}
		rest = append(rest, claimCheck{seq: r.seq, key: claimKey{d.Meta.Tenant, claim.Space, claim.Name}, claim: claim})
	}
	if used != len(stored) {
		out.fault(r.seq, audit.FaultClaim, "ledger.claims has a row of it that its content does not give")
	}
	return rest
}

func isClaim(row [][]byte, tenant string, c kinds.Claim) bool {
	return string(row[1]) == tenant && string(row[2]) == c.Space && string(row[3]) == c.Name && string(row[4]) == c.Value
}

package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// loadErased learns which contents may be absent: those that an erasure entry names and could. Such an entry is checked itself
// when its turn comes, so a forged one does not go unnoticed. The table beside it, which serves look-ups, must say the same.
func (f *fsck) loadErased(ctx context.Context) error {
	by := map[int64]naming{} // entry → the first erasure that names it
	rows, err := f.control.Query(ctx, `
		SELECT e.seq, e.tenant, c.content FROM ledger.entries e JOIN ledger.contents c USING (seq) WHERE e.kind = $1 AND c.content IS NOT NULL ORDER BY e.seq`, kinds.Erasure.Name)
	if err != nil {
		return err
	}
	var n naming
	var content []byte
	_, err = pgx.ForEachRow(rows, []any{&n.erasure, &n.tenant, &content}, func() error {
		for _, erased := range namedBy(content) {
			if _, known := by[erased]; !known && erased < n.erasure {
				by[erased] = n
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := f.dropForbidden(ctx, by); err != nil {
		return err
	}
	f.erased = make(map[int64]bool, len(by))
	for seq := range by {
		f.erased[seq] = true
	}
	return f.compareErased(ctx, by)
}

// naming is where an entry is named as erased.
type naming struct {
	erasure int64  // the erasure's seq
	tenant  string // the erasure's
}

// dropForbidden reports and removes what no erasure can name: an entry of another tenant, or of a kind that stays. The append
// path refuses such an erasure, so one in the log was written past it, and must not excuse the absence of a content.
func (f *fsck) dropForbidden(ctx context.Context, by map[int64]naming) error {
	rows, err := f.control.Query(ctx, `SELECT seq, tenant, kind FROM ledger.entries WHERE seq = ANY($1) ORDER BY seq`, slices.Collect(maps.Keys(by)))
	if err != nil {
		return err
	}
	var seq int64
	var tenant, kind string
	_, err = pgx.ForEachRow(rows, []any{&seq, &tenant, &kind}, func() error {
		k := kinds.Lookup(kind)
		if tenant == by[seq].tenant && k != nil && k.Erasable() {
			return nil
		}
		f.options.Fault(audit.Fault{Seq: by[seq].erasure, Code: audit.FaultErased, Detail: fmt.Sprintf("it names entry %d, which is of another tenant or of a kind that is never erased", seq)})
		delete(by, seq)
		return nil
	})
	return err
}

// namedBy lists the entries that an erasure names; none when its content is not one, which its own check reports.
func namedBy(content []byte) []int64 {
	a, err := kinds.ReadErasure(ledger.Entry{Content: content})
	if err != nil {
		return nil
	}
	return a.Seqs
}

func (f *fsck) compareErased(ctx context.Context, by map[int64]naming) error {
	rows, err := f.control.Query(ctx, `SELECT seq, erasure_seq FROM ledger.erased ORDER BY seq`)
	if err != nil {
		return err
	}
	fault := func(seq int64, detail string) {
		f.options.Fault(audit.Fault{Seq: seq, Code: audit.FaultErased, Detail: detail})
	}
	var seq, erasure int64
	_, err = pgx.ForEachRow(rows, []any{&seq, &erasure}, func() error {
		switch named, ok := by[seq]; {
		case !ok:
			fault(seq, "ledger.erased has a row of it, and no erasure entry that could names it")
		case named.erasure != erasure:
			fault(seq, fmt.Sprintf("ledger.erased names another erasure than entry %d, the first that names it", named.erasure))
		}
		delete(by, seq)
		return nil
	})
	for seq := range by {
		fault(seq, "an erasure entry names it, and ledger.erased has no row of it")
	}
	return err
}

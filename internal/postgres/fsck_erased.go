package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// loadErased learns which contents may be absent: those that an erasure entry names. Such an entry is checked itself when
// its turn comes, so a forged one does not go unnoticed. The table beside it, which serves look-ups, must say the same.
func (f *fsck) loadErased(ctx context.Context) error {
	by := map[int64]int64{} // entry → the first erasure that names it
	rows, err := f.control.Query(ctx, `
		SELECT e.seq, c.content FROM ledger.entries e JOIN ledger.contents c USING (seq) WHERE e.kind = $1 AND c.content IS NOT NULL ORDER BY e.seq`, kinds.Erasure.Name)
	if err != nil {
		return err
	}
	var seq int64
	var content []byte
	_, err = pgx.ForEachRow(rows, []any{&seq, &content}, func() error {
		for _, erased := range namedBy(content) {
			if _, known := by[erased]; !known && erased < seq {
				by[erased] = seq
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	f.erased = make(map[int64]bool, len(by))
	for seq := range by {
		f.erased[seq] = true
	}
	return f.compareErased(ctx, by)
}

// namedBy lists the entries that an erasure names; none when its content is not one, which its own check reports.
func namedBy(content []byte) []int64 {
	a, err := kinds.ReadErasure(ledger.Entry{Content: content})
	if err != nil {
		return nil
	}
	return a.Seqs
}

func (f *fsck) compareErased(ctx context.Context, by map[int64]int64) error {
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
			fault(seq, "ledger.erased has a row of it, and no erasure entry names it")
		case named != erasure:
			fault(seq, fmt.Sprintf("ledger.erased names another erasure than entry %d, the first that names it", named))
		}
		delete(by, seq)
		return nil
	})
	for seq := range by {
		fault(seq, "an erasure entry names it, and ledger.erased has no row of it")
	}
	return err
}

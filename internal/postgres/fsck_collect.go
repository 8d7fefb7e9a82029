package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
)

// collect goes through what was checked in order of seq: it grows the trees, looks up claims, and reports.
func (f *fsck) collect(ctx context.Context, ordered <-chan *batch, tiles, checkpoints *stream) error {
	report := func(fault audit.Fault) {
		if ctx.Err() == nil { // a run that failed saw rows end early
			f.options.Fault(fault)
		}
	}
	if err := f.strays(ctx, report); err != nil {
		return err
	}
	w := &logWalk{fsck: f, report: report, tiles: tiles, checkpoints: checkpoints}
	w.begin()
	done, size := int64(0), f.size()
	for b := range ordered {
		select {
		case <-b.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := f.lookUpClaims(ctx, b); err != nil {
			return err
		}
		for i, r := range b.results {
			if r.present {
				w.entry(b.records[i].seq, r)
				done++
			}
			for _, fault := range r.faults {
				report(fault)
			}
		}
		f.options.Progress(done, size)
	}
	w.finish()
	return context.Cause(ctx)
}

// strays reports tiles and checkpoints that no tree can have.
func (f *fsck) strays(ctx context.Context, report func(audit.Fault)) error {
	rows, err := f.control.Query(ctx, straysSQL, f.incarnations())
	if err != nil {
		return err
	}
	codes := map[string]audit.FaultCode{"tiles": audit.FaultTile, "checkpoints": audit.FaultCheckpoint}
	var table string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&table, &n}, func() error {
		if n > 0 {
			report(audit.Fault{Seq: audit.NoSeq, Code: codes[table], Detail: fmt.Sprintf("ledger.%s has %d rows of a place or incarnation that the log does not have", table, n)})
		}
		return nil
	})
	return err
}

// claimCheck is a claim whose row another entry should have made: the name is reserved before it for the same value, or, for
// one that does not reserve, for no other value.
type claimCheck struct {
	seq   int64
	key   claimKey
	claim kinds.Claim
}

// lookUpClaims adds what is wrong with the claims of a batch that were left to the table as a whole.
func (f *fsck) lookUpClaims(ctx context.Context, b *batch) error {
	var tenants, spaces, names []string
	for _, r := range b.results {
		for _, c := range r.claims {
			tenants, spaces, names = append(tenants, c.key.tenant), append(spaces, c.key.space), append(names, c.key.name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	rows, err := f.control.Query(ctx, `
		SELECT c.* FROM unnest($1::text[], $2::text[], $3::text[]) AS want(tenant, space, name)
		CROSS JOIN LATERAL (SELECT tenant, space, name, value, seq FROM ledger.claims
			WHERE tenant = want.tenant AND space = want.space AND name = want.name OFFSET 0) c`, tenants, spaces, names)
	if err != nil {
		return err
	}
	held := map[claimKey]claimValue{}
	var k claimKey
	var v claimValue
	if _, err := pgx.ForEachRow(rows, []any{&k.tenant, &k.space, &k.name, &v.value, &v.seq}, func() error { held[k] = v; return nil }); err != nil {
		return err
	}
	for i := range b.results {
		for _, c := range b.results[i].claims {
			have, ok := held[c.key]
			switch earlier := ok && have.seq < c.seq; {
			case earlier && have.value != c.claim.Value:
				b.results[i].fault(c.seq, audit.FaultClaim, "it claims a "+c.claim.Space+" that was held for another value")
			case !earlier && c.claim.Reserves:
				b.results[i].fault(c.seq, audit.FaultClaim, "ledger.claims has no row of the "+c.claim.Space+" that it reserves")
			}
		}
	}
	return nil
}

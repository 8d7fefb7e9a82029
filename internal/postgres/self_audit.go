package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/note"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
)

// SelfAudit re-verifies the ledger a stretch at a time, for relay's loop. What it finds is recorded by the one append path.
type SelfAudit struct {
	Store     *Store
	Append    func(context.Context, kinds.Poster, *kinds.Accepted) (kinds.Recorded, error)
	Verifiers []note.Verifier
}

// Hold takes or prolongs the lease of the one self-audit among all processes; false when another one has it. The clock is the
// database's.
func (a *SelfAudit) Hold(ctx context.Context, holder string, lease time.Duration) (bool, error) {
	tag, err := a.Store.pool.Exec(ctx, `
		UPDATE work.self_audit SET holder = $1, lease_until = clock_timestamp() + $2::interval
		WHERE holder = $1 OR lease_until < clock_timestamp()`, holder, lease)
	return tag.RowsAffected() == 1, unavailable(err)
}

// Release gives the lease back.
func (a *SelfAudit) Release(ctx context.Context, holder string) error {
	_, err := a.Store.pool.Exec(ctx, `UPDATE work.self_audit SET lease_until = '-infinity' WHERE holder = $1`, holder)
	return unavailable(err)
}

// State says how far the passes are, and how many entries fail by what was last recorded of each.
func (a *SelfAudit) State(ctx context.Context) (s audit.SelfAuditState, err error) {
	var sampled, began, done *float64
	err = a.Store.pool.QueryRow(ctx, `
		SELECT extract(epoch FROM clock_timestamp() - sampled_at)::float8, extract(epoch FROM clock_timestamp() - full_began_at)::float8,
		       extract(epoch FROM clock_timestamp() - full_done_at)::float8, full_next, full_end, checked,
		       (SELECT count(*) FROM (SELECT DISTINCT ON (of_seq) result FROM ledger.reverifications WHERE cause = $1 ORDER BY of_seq, seq DESC) last WHERE result = $2)
		FROM work.self_audit`, kinds.CauseSelfAudit, string(audit.Failed)).Scan(&sampled, &began, &done, &s.FullNext, &s.FullEnd, &s.Checked, &s.Failing)
	if err != nil {
		return s, unavailable(err)
	}
	s.SinceSample, s.SinceFullBegan = seconds(*sampled), seconds(*began)
	if done != nil {
		d := seconds(*done)
		s.SinceFull = &d
	}
	return s, nil
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// BeginFull begins a pass over all that is recorded by now.
func (a *SelfAudit) BeginFull(ctx context.Context) error {
	head, err := a.Store.Head(ctx)
	if err != nil {
		return err
	}
	_, err = a.Store.pool.Exec(ctx, `UPDATE work.self_audit SET full_next = 0, full_end = $1, full_began_at = clock_timestamp()`, head.Next())
	return unavailable(err)
}

// NextFull checks the next entries of the pass under way and keeps the place; a crash before that leads to the same entries
// again. Failures are those that are news.
func (a *SelfAudit) NextFull(ctx context.Context, limit int) (n int, news []audit.SelfAuditNews, err error) {
	var next, end int64
	if err = a.Store.pool.QueryRow(ctx, `SELECT full_next, full_end FROM work.self_audit`).Scan(&next, &end); err != nil {
		return 0, nil, unavailable(err)
	}
	to := min(next+int64(limit), end)
	if news, err = a.check(ctx, next, to); err != nil {
		return 0, news, err
	}
	_, err = a.Store.pool.Exec(ctx, `
		UPDATE work.self_audit SET full_next = $1, checked = checked + $2, full_done_at = CASE WHEN $1 >= full_end THEN clock_timestamp() ELSE full_done_at END`, to, to-next)
	return int(to - next), news, unavailable(err)
}

// NextSample checks entries from where the last sample ended, at the log's end from its begin on.
func (a *SelfAudit) NextSample(ctx context.Context, limit int) (n int, news []audit.SelfAuditNews, err error) {
	head, err := a.Store.Head(ctx)
	if err != nil {
		return 0, nil, err
	}
	var next int64
	if err = a.Store.pool.QueryRow(ctx, `SELECT sample_next FROM work.self_audit`).Scan(&next); err != nil {
		return 0, nil, unavailable(err)
	}
	if next >= head.Next() {
		next = 0
	}
	to := min(next+int64(limit), head.Next())
	if news, err = a.check(ctx, next, to); err != nil {
		return 0, news, err
	}
	_, err = a.Store.pool.Exec(ctx, `UPDATE work.self_audit SET sample_next = $1, checked = checked + $2`, to, to-next)
	return int(to - next), news, unavailable(err)
}

// Sampled notes that a sample is over.
func (a *SelfAudit) Sampled(ctx context.Context) error {
	_, err := a.Store.pool.Exec(ctx, `UPDATE work.self_audit SET sampled_at = clock_timestamp()`)
	return unavailable(err)
}

// check verifies a stretch, whosever the entries are, and records what is news.
func (a *SelfAudit) check(ctx context.Context, from, to int64) (news []audit.SelfAuditNews, err error) {
	if from >= to {
		return nil, nil
	}
	head, err := a.Store.Head(ctx)
	if err != nil {
		return nil, err
	}
	owners, err := a.Store.owners(ctx, from, to)
	if err != nil {
		return nil, err
	}
	last, err := a.Store.selfAudited(ctx, from, to)
	if err != nil {
		return nil, err
	}
	reports := map[int64]audit.Report{}
	for tenant, seqs := range owners.seqs {
		checked, err := a.Store.VerifyEntries(ctx, tenant, seqs, head, a.Verifiers...)
		if err != nil {
			return nil, err
		}
		for seq, r := range checked {
			reports[seq] = r
		}
	}
	for seq := from; seq < to; seq++ {
		r, found := reports[seq]
		if !found {
			r = audit.MissingEntry(seq)
		}
		failure, err := a.note(ctx, owners.tenant[seq], r, last[seq])
		if err != nil {
			return news, err
		}
		if failure != nil {
			news = append(news, *failure)
		}
	}
	return news, nil
}

// note records a report that is news. One that can't be recorded, because the log is read-only, is news every time.
func (a *SelfAudit) note(ctx context.Context, tenant string, r audit.Report, last *audit.SelfAudited) (*audit.SelfAuditNews, error) {
	entry, err := audit.NewsOf(r, last)
	if entry == nil || err != nil {
		return nil, err
	}
	found := &audit.SelfAuditNews{Seq: r.Seq, Ended: r.Whole(), Failures: r.Failures()}
	_, err = a.Append(ctx, kinds.Poster{Tenant: tenant, Role: kinds.Operator, TokenID: kinds.CauseSelfAudit}, entry)
	var conflict *kinds.ConflictError
	switch {
	case err == nil, errors.As(err, &conflict): // another process found the same in another tree
	case errors.Is(err, kinds.ErrReadOnly):
		found.Unrecorded = true
	default:
		return nil, fmt.Errorf("recording that entry %d does not verify (%s): %w", r.Seq, r.Failures(), err)
	}
	return found, nil
}

// owners says whose the entries of a stretch are, by the column, since nothing else may be readable.
type owners struct {
	seqs   map[string][]int64
	tenant map[int64]string
}

func (s *Store) owners(ctx context.Context, from, to int64) (owners, error) {
	o := owners{map[string][]int64{}, map[int64]string{}}
	rows, err := s.pool.Query(ctx, `SELECT seq, tenant FROM ledger.entries WHERE seq >= $1 AND seq < $2 ORDER BY seq`, from, to)
	if err != nil {
		return o, unavailable(err)
	}
	var seq int64
	var tenant string
	_, err = pgx.ForEachRow(rows, []any{&seq, &tenant}, func() error {
		o.seqs[tenant], o.tenant[seq] = append(o.seqs[tenant], seq), tenant
		return nil
	})
	return o, unavailable(err)
}

// selfAudited reads what was last recorded of the entries of a stretch.
func (s *Store) selfAudited(ctx context.Context, from, to int64) (map[int64]*audit.SelfAudited, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT DISTINCT ON (of_seq) of_seq, seq, result, digest FROM ledger.reverifications
		WHERE of_seq >= $1 AND of_seq < $2 AND cause = $3 ORDER BY of_seq, seq DESC`, from, to, kinds.CauseSelfAudit)
	if err != nil {
		return nil, unavailable(err)
	}
	last := map[int64]*audit.SelfAudited{}
	var of int64
	var a audit.SelfAudited
	_, err = pgx.ForEachRow(rows, []any{&of, &a.Seq, &a.Result, &a.Digest}, func() error {
		kept := a
		last[of] = &kept
		return nil
	})
	return last, unavailable(err)
}

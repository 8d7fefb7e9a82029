package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// ErasureTargets finds, in order of seq, the entries of a tenant among seqs that an erasure may name.
func (s *Store) ErasureTargets(ctx context.Context, tenant string, seqs []int64) ([]kinds.ErasureTarget, error) {
	return s.erasureTargets(ctx, `
		SELECT e.seq, e.kind, x.seq IS NOT NULL FROM ledger.entries e LEFT JOIN ledger.erased x USING (seq)
		WHERE e.tenant = $1 AND e.seq = ANY ($2) ORDER BY e.seq`, tenant, seqs)
}

// FindErasureTargets finds, in order of seq, the entries of a tenant that a filter selects. Entries that are erased already
// no longer say what a filter asks for, and are not found. ErrTooMuch beyond kinds.MaxErasure.
func (s *Store) FindErasureTargets(ctx context.Context, tenant string, f kinds.ErasureFilter) ([]kinds.ErasureTarget, error) {
	targets, err := s.erasureTargets(ctx, `
		WITH asked AS (SELECT $1::text AS tenant, $2::text AS grantor, $3::text AS customer, $4::text AS provider, $5::timestamptz AS since, $6::timestamptz AS until),
		found AS (
			SELECT u.seq FROM ledger.usage_lines u, asked a
			WHERE u.tenant = a.tenant AND a.grantor = '' AND (a.customer = '' OR u.customer_id = a.customer) AND (a.provider = '' OR u.provider_id = a.provider)
			  AND (a.since IS NULL OR u.as_of >= a.since) AND (a.until IS NULL OR u.as_of < a.until)
			UNION SELECT c.seq FROM ledger.consents c, asked a
			WHERE c.tenant = a.tenant AND a.customer = '' AND (a.grantor = '' OR c.grantor_id = a.grantor) AND (a.provider = '' OR c.provider_id = a.provider)
			  AND (a.since IS NULL OR c.granted_at >= a.since) AND (a.until IS NULL OR c.granted_at < a.until)
			UNION SELECT r.seq FROM ledger.consent_revocations r, asked a
			WHERE r.tenant = a.tenant AND a.customer = '' AND (a.grantor = '' OR r.revoked_by_id = a.grantor) AND (a.provider = '' OR r.provider_id = a.provider)
			  AND (a.since IS NULL OR r.revoked_at >= a.since) AND (a.until IS NULL OR r.revoked_at < a.until)
			UNION SELECT b.seq FROM ledger.consent_records b, asked a
			WHERE b.tenant = a.tenant AND a.customer = '' AND a.grantor = '' AND (a.provider = '' OR b.provider_id = a.provider)
			  AND (a.since IS NULL OR b.granted_at >= a.since) AND (a.until IS NULL OR b.granted_at < a.until)
			UNION SELECT v.seq FROM ledger.frame_verdicts v, asked a
			WHERE v.tenant = a.tenant AND a.customer = '' AND a.grantor = '' AND (a.provider = '' OR v.provider_id = a.provider)
			  AND (a.since IS NULL OR v.verified_at >= a.since) AND (a.until IS NULL OR v.verified_at < a.until)
			UNION SELECT p.seq FROM ledger.receipts p, asked a
			WHERE p.tenant = a.tenant AND a.grantor = '' AND a.provider = ''
			  AND (a.customer = '' OR p.request_id IN (SELECT u.request_id FROM ledger.usage_lines u WHERE u.tenant = a.tenant AND u.customer_id = a.customer))
			  AND (a.since IS NULL OR p.exchanged_at >= a.since) AND (a.until IS NULL OR p.exchanged_at < a.until))
		SELECT f.seq, e.kind, false FROM found f JOIN ledger.entries e USING (seq) LEFT JOIN ledger.erased x USING (seq)
		WHERE x.seq IS NULL ORDER BY f.seq LIMIT $7`,
		tenant, f.GrantorID, f.CustomerID, f.ProviderID, f.From, f.To, kinds.MaxErasure+1)
	if err == nil && len(targets) > kinds.MaxErasure {
		err = kinds.ErrTooMuch
	}
	return targets, err
}

func (s *Store) erasureTargets(ctx context.Context, sql string, args ...any) ([]kinds.ErasureTarget, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[kinds.ErasureTarget])
	return list, unavailable(err)
}

// erasedBy fills in which erasure destroyed the contents that are missing.
func (s *Store) erasedBy(ctx context.Context, entries []ledger.Entry) error {
	index := map[int64]int{}
	var seqs []int64
	for i, e := range entries {
		if e.Erased() {
			index[e.Seq] = i
			seqs = append(seqs, e.Seq)
		}
	}
	if len(seqs) == 0 {
		return nil
	}
	rows, err := s.pool.Query(ctx, `SELECT seq, erasure_seq FROM ledger.erased WHERE seq = ANY ($1)`, seqs)
	if err != nil {
		return unavailable(err)
	}
	var seq, by int64
	_, err = pgx.ForEachRow(rows, []any{&seq, &by}, func() error {
		entries[index[seq]].ErasedBy = by
		return nil
	})
	return unavailable(err)
}

package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// ErasureTargets finds, in order of seq, the entries of a tenant among seqs that an erasure may name.
func (s *Store) ErasureTargets(ctx context.Context, tenant string, seqs []int64) ([]kinds.ErasureTarget, error) {
	return erasureTargets(ctx, s.pool, targetsBySeq, tenant, seqs)
}

// guardErasures holds each erasure of a batch against what it names, under the head's lock and whatever route it came by.
func (a *Appender) guardErasures(ctx context.Context, batch []*pending) error {
	for _, req := range batch {
		if req.refused = nil; req.erases == nil {
			continue
		}
		targets, err := erasureTargets(ctx, a.conn, targetsBySeq, req.prepared.Meta().Tenant, req.erases)
		if err != nil {
			return err
		}
		req.refused = kinds.CheckErasure(kinds.ErasureArtifact{Seqs: req.erases}, targets)
	}
	return nil
}

// FindErasureTargets finds, in order of seq, the entries of a tenant that a filter selects. Entries that are erased already
// no longer say what a filter asks for, and are not found. ErrTooMuch beyond kinds.MaxErasure.
func (s *Store) FindErasureTargets(ctx context.Context, tenant string, f kinds.ErasureFilter) ([]kinds.ErasureTarget, error) {
	// Planned with the values at hand (QueryExecModeExec): conditions that are not asked fall away, and the index of one that
	// is can be used.
	targets, err := erasureTargets(ctx, s.pool, targetsByFilter, pgx.QueryExecModeExec,
		tenant, f.GrantorID, f.CustomerID, f.ProviderID, f.From, f.To, kinds.MaxErasure+1)
	if err == nil && len(targets) > kinds.MaxErasure {
		err = kinds.ErrTooMuch
	}
	return targets, err
}

const targetsBySeq = `
	SELECT e.seq, e.kind, x.seq IS NOT NULL FROM ledger.entries e LEFT JOIN ledger.erased x USING (seq)
	WHERE e.tenant = $1 AND e.seq = ANY ($2) ORDER BY e.seq`

// targetsByFilter asks each projection that knows all of the given conditions: grantor $2, customer $3, provider $4, and a
// half-open period from $5 to $6.
const targetsByFilter = `
	WITH found AS (
		SELECT seq FROM ledger.usage_lines WHERE tenant = $1 AND $2::text = '' AND ($3::text = '' OR customer_id = $3) AND ($4::text = '' OR provider_id = $4)
			AND ($5::timestamptz IS NULL OR as_of >= $5) AND ($6::timestamptz IS NULL OR as_of < $6)
		UNION SELECT seq FROM ledger.reports_without_lines WHERE tenant = $1 AND $2 = '' AND $4 = '' AND ($3 = '' OR customer_id = $3)
			AND ($5 IS NULL OR as_of >= $5) AND ($6 IS NULL OR as_of < $6)
		UNION SELECT seq FROM ledger.corrections WHERE tenant = $1 AND $2 = '' AND $4 = '' AND ($3 = '' OR customer_id = $3)
			AND ($5 IS NULL OR as_of >= $5) AND ($6 IS NULL OR as_of < $6)
		UNION SELECT seq FROM ledger.consents WHERE tenant = $1 AND $3 = '' AND ($2 = '' OR grantor_id = $2) AND ($4 = '' OR provider_id = $4)
			AND ($5 IS NULL OR granted_at >= $5) AND ($6 IS NULL OR granted_at < $6)
		UNION SELECT seq FROM ledger.consent_revocations WHERE tenant = $1 AND $3 = '' AND ($2 = '' OR revoked_by_id = $2) AND ($4 = '' OR provider_id = $4)
			AND ($5 IS NULL OR revoked_at >= $5) AND ($6 IS NULL OR revoked_at < $6)
		UNION SELECT seq FROM ledger.consent_records WHERE tenant = $1 AND $3 = '' AND $2 = '' AND ($4 = '' OR provider_id = $4)
			AND ($5 IS NULL OR granted_at >= $5) AND ($6 IS NULL OR granted_at < $6)
		UNION SELECT seq FROM ledger.provider_declarations WHERE tenant = $1 AND $3 = '' AND $2 = '' AND ($4 = '' OR provider_id = $4)
			AND ($5 IS NULL OR declared_at >= $5) AND ($6 IS NULL OR declared_at < $6)
		UNION SELECT seq FROM ledger.frame_verdicts WHERE tenant = $1 AND $3 = '' AND $2 = '' AND ($4 = '' OR provider_id = $4)
			AND ($5 IS NULL OR verified_at >= $5) AND ($6 IS NULL OR verified_at < $6)
		UNION SELECT seq FROM ledger.disputes WHERE tenant = $1 AND $2 = '' AND $4 = '' AND customer_id = $3 AND $5 IS NULL AND $6 IS NULL
		UNION SELECT seq FROM ledger.receipts WHERE tenant = $1 AND $2 = '' AND $4 = ''
			AND ($3 = '' OR request_id IN (SELECT request_id FROM ledger.usage_lines WHERE tenant = $1 AND customer_id = $3))
			AND ($5 IS NULL OR exchanged_at >= $5) AND ($6 IS NULL OR exchanged_at < $6))
	SELECT f.seq, e.kind, false FROM found f JOIN ledger.entries e USING (seq) LEFT JOIN ledger.erased x USING (seq)
	WHERE x.seq IS NULL ORDER BY f.seq LIMIT $7`

func erasureTargets(ctx context.Context, q querier, sql string, args ...any) ([]kinds.ErasureTarget, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[kinds.ErasureTarget])
	return list, unavailable(err)
}

// erasedBy fills in which erasure destroyed the contents that are missing.
func erasedBy(ctx context.Context, q querier, entries []ledger.Entry) error {
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
	rows, err := q.Query(ctx, `SELECT seq, erasure_seq FROM ledger.erased WHERE seq = ANY ($1)`, seqs)
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

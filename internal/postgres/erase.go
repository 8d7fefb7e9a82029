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

// FindErasureTargets finds, in order of seq, the entries of a tenant that a filter selects, and with them what only they lead
// to: see followed. Entries that are erased already no longer say what a filter asks for, and are not found. ErrTooMuch beyond
// kinds.MaxErasure.
func (s *Store) FindErasureTargets(ctx context.Context, tenant string, f kinds.ErasureFilter) ([]kinds.ErasureTarget, error) {
	// Planned with the values at hand (QueryExecModeExec): conditions that are not asked fall away, and the index of one that
	// is can be used.
	targets, err := erasureTargets(ctx, s.pool, targetsByFilter, pgx.QueryExecModeExec,
		tenant, kinds.MaxErasure+1, f.GrantorID, f.CustomerID, f.ProviderID, f.From, f.To, timeless)
	if err == nil && len(targets) > kinds.MaxErasure {
		err = kinds.ErrTooMuch
	}
	return targets, err
}

// ErasureLeavings finds, in order of seq and at most kinds.MaxErasure, what an erasure of seqs alone would leave of what they
// lead to: what a filter that found them would have found with them.
func (s *Store) ErasureLeavings(ctx context.Context, tenant string, seqs []int64) ([]kinds.ErasureTarget, error) {
	return erasureTargets(ctx, s.pool, leftBySeq, tenant, kinds.MaxErasure, seqs)
}

const targetsBySeq = `
	SELECT e.seq, e.kind, x.seq IS NOT NULL FROM ledger.entries e LEFT JOIN ledger.erased x USING (seq)
	WHERE e.tenant = $1 AND e.seq = ANY ($2) ORDER BY e.seq`

// timeless are the kinds whose artifacts state no instant that a projection has: a period finds them by when they were
// recorded.
var timeless = []string{
	kinds.ContextProfile.Name, kinds.ContextSnapshot.Name, kinds.ContextPlan.Name, kinds.ContextAssembly.Name, kinds.ContextCompaction.Name, kinds.ContextRecovery.Name,
	kinds.Conflict.Name,
}

// targetsByFilter asks each projection that knows all of the given conditions: grantor $3, customer $4, provider $5, and a
// half-open period from $6 to $7. An instant that could not be read is taken to be that of recording. At most $2 are found.
const targetsByFilter = `
	WITH matched AS (
		SELECT seq FROM ledger.usage_lines WHERE tenant = $1 AND $3::text = '' AND ($4::text = '' OR customer_id = $4) AND ($5::text = '' OR provider_id = $5)
			AND ($6::timestamptz IS NULL OR as_of >= $6) AND ($7::timestamptz IS NULL OR as_of < $7)
		UNION SELECT seq FROM ledger.reports_without_lines WHERE tenant = $1 AND $3 = '' AND $5 = '' AND ($4 = '' OR customer_id = $4)
			AND ($6 IS NULL OR as_of >= $6) AND ($7 IS NULL OR as_of < $7)
		UNION SELECT seq FROM ledger.corrections WHERE tenant = $1 AND $3 = '' AND $5 = '' AND ($4 = '' OR customer_id = $4)
			AND ($6 IS NULL OR as_of >= $6) AND ($7 IS NULL OR as_of < $7)
		UNION SELECT c.seq FROM ledger.consents c JOIN ledger.entries e USING (seq) WHERE c.tenant = $1 AND $4 = '' AND ($3 = '' OR grantor_id = $3) AND ($5 = '' OR provider_id = $5)
			AND ($6 IS NULL OR coalesce(granted_at, e.recorded_at) >= $6) AND ($7 IS NULL OR coalesce(granted_at, e.recorded_at) < $7)
		UNION SELECT seq FROM ledger.consent_revocations WHERE tenant = $1 AND $4 = '' AND ($3 = '' OR revoked_by_id = $3) AND ($5 = '' OR provider_id = $5)
			AND ($6 IS NULL OR revoked_at >= $6) AND ($7 IS NULL OR revoked_at < $7)
		UNION SELECT c.seq FROM ledger.consent_records c JOIN ledger.entries e USING (seq) WHERE c.tenant = $1 AND $4 = '' AND $3 = '' AND ($5 = '' OR provider_id = $5)
			AND ($6 IS NULL OR coalesce(granted_at, e.recorded_at) >= $6) AND ($7 IS NULL OR coalesce(granted_at, e.recorded_at) < $7)
		UNION SELECT seq FROM ledger.provider_declarations WHERE tenant = $1 AND $4 = '' AND $3 = '' AND ($5 = '' OR provider_id = $5)
			AND ($6 IS NULL OR declared_at >= $6) AND ($7 IS NULL OR declared_at < $7)
		UNION SELECT seq FROM ledger.frame_verdicts WHERE tenant = $1 AND $4 = '' AND $3 = '' AND ($5 = '' OR provider_id = $5)
			AND ($6 IS NULL OR verified_at >= $6) AND ($7 IS NULL OR verified_at < $7)
		UNION SELECT d.seq FROM ledger.disputes d JOIN ledger.entries e USING (seq) WHERE d.tenant = $1 AND $3 = '' AND $5 = '' AND ($4 = '' OR customer_id = $4)
			AND ($6 IS NULL OR to_at > $6 OR to_at IS NULL AND e.recorded_at >= $6) AND ($7 IS NULL OR coalesce(from_at, e.recorded_at) < $7)
		UNION SELECT seq FROM ledger.receipts WHERE tenant = $1 AND $3 = '' AND $5 = ''
			AND ($4 = '' OR request_id IN (SELECT request_id FROM ledger.usage_lines WHERE tenant = $1 AND customer_id = $4
				UNION ALL SELECT request_id FROM ledger.reports_without_lines WHERE tenant = $1 AND customer_id = $4))
			AND ($6 IS NULL OR exchanged_at >= $6) AND ($7 IS NULL OR exchanged_at < $7)
		UNION SELECT seq FROM ledger.entries WHERE tenant = $1 AND $3 = '' AND $4 = '' AND $5 = '' AND kind = ANY ($8::text[])
			AND ($6 IS NULL OR recorded_at >= $6) AND ($7 IS NULL OR recorded_at < $7)
	), found AS MATERIALIZED (
		SELECT seq FROM matched m WHERE NOT EXISTS (SELECT 1 FROM ledger.erased x WHERE x.seq = m.seq) LIMIT $2
	)` + followed + `
	SELECT f.seq, e.kind, false FROM (TABLE found UNION TABLE followed) f JOIN ledger.entries e USING (seq)
	WHERE NOT EXISTS (SELECT 1 FROM ledger.erased x WHERE x.seq = f.seq) ORDER BY f.seq LIMIT $2`

const leftBySeq = `
	WITH found AS MATERIALIZED (SELECT seq FROM ledger.entries WHERE tenant = $1 AND seq = ANY ($3))` + followed + `
	SELECT f.seq, e.kind, false FROM (TABLE followed EXCEPT TABLE found) f JOIN ledger.entries e USING (seq)
	WHERE NOT EXISTS (SELECT 1 FROM ledger.erased x WHERE x.seq = f.seq) ORDER BY f.seq LIMIT $2`

// followed goes on from the entries of tenant $1 in found: from usage reports to their corrections, the receipts of the same
// requests and the context records of the same turns, from these to their plans, from requests and receipts to disputes about
// them, and from anything to the second contents that were refused because of it. Once what leads to them is erased, no filter
// of a person finds them any more.
const followed = `, reports AS MATERIALIZED (
		SELECT u.seq, request_id, turn_id FROM ledger.usage_lines u JOIN found USING (seq)
		UNION SELECT r.seq, request_id, turn_id FROM ledger.reports_without_lines r JOIN found USING (seq)
		UNION SELECT c.seq, request_id, NULL FROM ledger.corrections c JOIN found USING (seq)
	), turns AS MATERIALIZED (SELECT DISTINCT turn_id FROM reports WHERE turn_id IS NOT NULL
	), turned AS MATERIALIZED (
		SELECT seq FROM ledger.context_snapshots WHERE tenant = $1 AND turn_id IN (TABLE turns)
		UNION SELECT seq FROM ledger.context_assemblies WHERE tenant = $1 AND turn_id IN (TABLE turns)
		UNION SELECT seq FROM ledger.context_compactions WHERE tenant = $1 AND turn_id IN (TABLE turns)
		UNION SELECT seq FROM ledger.context_recoveries WHERE tenant = $1 AND turn_id IN (TABLE turns)
		UNION TABLE found
	), along AS MATERIALIZED (
		SELECT seq FROM ledger.corrections WHERE tenant = $1 AND report_seq IN (SELECT seq FROM reports)
		UNION SELECT seq FROM ledger.receipts WHERE tenant = $1 AND request_id IN (SELECT request_id FROM reports)
		UNION SELECT p.seq FROM ledger.context_plans p JOIN ledger.context_snapshots s USING (tenant, snapshot_id) JOIN turned t ON t.seq = s.seq WHERE p.tenant = $1
		UNION SELECT p.seq FROM ledger.context_plans p JOIN ledger.context_assemblies a USING (tenant, context_assembly_id) JOIN turned t ON t.seq = a.seq WHERE p.tenant = $1
		UNION TABLE turned
	), followed AS (
		SELECT seq FROM ledger.disputes WHERE tenant = $1 AND request_id IN (SELECT request_id FROM reports)
		UNION SELECT d.seq FROM ledger.disputes d JOIN ledger.receipts r USING (tenant, receipt_id) JOIN along a ON a.seq = r.seq WHERE d.tenant = $1
		UNION SELECT c.seq FROM ledger.conflicts c JOIN along a ON a.seq = c.held_by WHERE c.tenant = $1
		UNION TABLE along
	)`

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

package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// turnSQL finds the entries of a turn: its snapshot and the profile revision that it binds, the plans under the snapshot, and
// what names the turn.
const turnSQL = `
	WITH snapshots AS MATERIALIZED (
		SELECT seq, snapshot_id, profile_revision_id FROM ledger.context_snapshots WHERE tenant = $1 AND turn_id = $2),
	found AS (
		SELECT seq FROM snapshots
		UNION SELECT p.seq FROM snapshots s JOIN ledger.context_profiles p ON p.tenant = $1 AND p.profile_revision_id = s.profile_revision_id
		UNION SELECT p.seq FROM snapshots s JOIN ledger.context_plans p ON p.tenant = $1 AND p.snapshot_id = s.snapshot_id
		UNION SELECT seq FROM ledger.context_assemblies WHERE tenant = $1 AND turn_id = $2
		UNION SELECT seq FROM ledger.context_compactions WHERE tenant = $1 AND turn_id = $2
		UNION SELECT seq FROM ledger.context_recoveries WHERE tenant = $1 AND turn_id = $2)
	SELECT f.seq, coalesce(octet_length(c.content), 0) FROM found f JOIN ledger.contents c USING (seq) WHERE f.seq < $3 ORDER BY f.seq LIMIT $4`

// Turn reads what the ledger has of a turn, below a tree size: its context records that the asker may see, what was refused
// because of them, and the turn's usage reports with what is known of their providers. Its entries are empty where there is no
// such turn. kinds.ErrTooMuch beyond audit.MaxTurnEntries or audit.MaxTurnBytes.
func (s *Store) Turn(ctx context.Context, tenant string, see kinds.Visibility, turnID string, size int64) (e audit.TurnEvidence, err error) {
	seqs, err := s.turnSeqs(ctx, tenant, turnID, size)
	if err != nil {
		return e, err
	}
	all, err := s.entriesAt(ctx, tenant, seqs)
	if err != nil {
		return e, err
	}
	if e.Entries = visible(all, see); len(e.Entries) == 0 {
		return e, err
	}
	if e.Conflicts, err = s.conflicts(ctx, tenant, seqsOf(e.Entries), size); err != nil {
		return e, err
	}
	e.Evidence, err = s.turnUsage(ctx, tenant, turnID, size)
	return e, err
}

func (s *Store) turnSeqs(ctx context.Context, tenant, turnID string, size int64) (seqs []int64, err error) {
	rows, err := s.pool.Query(ctx, turnSQL, tenant, turnID, size, audit.MaxTurnEntries+1)
	if err != nil {
		return nil, unavailable(err)
	}
	var seq, bytes, sum int64
	_, err = pgx.ForEachRow(rows, []any{&seq, &bytes}, func() error {
		seqs, sum = append(seqs, seq), sum+bytes
		return nil
	})
	if err == nil && (len(seqs) > audit.MaxTurnEntries || sum > audit.MaxTurnBytes) {
		return nil, kinds.ErrTooMuch
	}
	return seqs, unavailable(err)
}

func seqsOf(entries []ledger.Entry) []int64 {
	seqs := make([]int64, len(entries))
	for i, e := range entries {
		seqs[i] = e.Seq
	}
	return seqs
}

// conflicts lists what was refused because of some entries.
func (s *Store) conflicts(ctx context.Context, tenant string, holders []int64, size int64) ([]audit.TurnConflict, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT seq, held_by, of_kind, of_key, claim FROM ledger.conflicts WHERE tenant = $1 AND held_by = ANY($2) AND seq < $3 ORDER BY seq`, tenant, holders, size)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[audit.TurnConflict])
	return list, unavailable(err)
}

// turnUsage reads the usage reports of a turn, and the consent and the declarations of their providers.
func (s *Store) turnUsage(ctx context.Context, tenant, turnID string, size int64) (e audit.Evidence, err error) {
	rows, err := s.pool.Query(ctx, `
		SELECT p.seq, e.recorded_at, p.request_id, p.provider_id, p.as_of, p.frames_served, p.tokens,
		       p.frame_providers, p.frame_ids, p.frame_digests, p.frame_tokens
		FROM ledger.usage_lines p`+recordedOf+`WHERE p.tenant = $1 AND p.turn_id = $2 AND p.seq < $3 AND p.corrects IS NULL ORDER BY p.seq, p.line LIMIT $4`,
		tenant, turnID, size, audit.MaxEgressLines+1)
	if err != nil {
		return e, unavailable(err)
	}
	if e.Usage, err = pgx.CollectRows(rows, scanUsageLine); err != nil {
		return e, unavailable(err)
	}
	if len(e.Usage) > audit.MaxEgressLines {
		return e, kinds.ErrTooMuch
	}
	providers, _ := subjects(e.Usage)
	if e.Consents, err = s.consents(ctx, tenant, providers, size); err != nil {
		return e, err
	}
	e.Declarations, err = s.declarations(ctx, tenant, providers, size)
	return e, err
}

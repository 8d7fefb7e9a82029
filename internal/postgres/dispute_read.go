package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// Dispute reads a recorded dispute by its id. kinds.ErrNotFound when there is none, *kinds.ErasedError when it was erased.
func (s *Store) Dispute(ctx context.Context, tenant, id string) (ledger.Entry, kinds.DisputeArtifact, error) {
	seq, err := s.seqOfKey(ctx, tenant, &kinds.Dispute, id)
	if err != nil {
		return ledger.Entry{}, kinds.DisputeArtifact{}, err
	}
	if seq == nil {
		return ledger.Entry{}, kinds.DisputeArtifact{}, kinds.ErrNotFound
	}
	entries, err := s.entriesAt(ctx, tenant, []int64{*seq})
	if err != nil || len(entries) == 0 {
		return ledger.Entry{}, kinds.DisputeArtifact{}, unavailable(err)
	}
	a, err := kinds.ReadDispute(entries[0])
	return entries[0], a, err
}

// Disputes lists a tenant's recorded disputes in order of seq.
func (s *Store) Disputes(ctx context.Context, tenant string, q kinds.DisputeQuery) ([]kinds.DisputeRow, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT p.seq, p.dispute_id, e.recorded_at, p.customer_id, p.from_at, p.to_at, p.billing_event, p.request_id, p.receipt_id, p.result
		FROM ledger.disputes p`+recordedOf+`
		WHERE p.tenant = $1 AND p.seq > $2 AND p.seq < $3 AND ($4::text = '' OR p.customer_id = $4) AND ($5::text = '' OR p.result = $5)
		ORDER BY p.seq LIMIT $6`, pgx.QueryExecModeExec, tenant, q.After, q.Size, q.CustomerID, q.Result, q.Limit)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[kinds.DisputeRow])
	for i := range list {
		list[i].RecordedAt = list[i].RecordedAt.UTC()
	}
	return list, unavailable(err)
}

// Reverifications reads what was found when a dispute was decided again, the newest last, at most limit of them.
func (s *Store) Reverifications(ctx context.Context, tenant string, seq int64, limit int) ([]ledger.Entry, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT seq FROM ledger.reverifications WHERE of_seq = $2 AND cause = $3 AND tenant = $1 ORDER BY seq DESC LIMIT $4`, tenant, seq, kinds.CauseDispute, limit)
	if err != nil {
		return nil, unavailable(err)
	}
	seqs, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, unavailable(err)
	}
	return s.entriesAt(ctx, tenant, seqs)
}

// lastReverification is the newest one of a dispute, nil for none.
func (s *Store) lastReverification(ctx context.Context, seq int64) (last *int64, err error) {
	err = s.pool.QueryRow(ctx, `SELECT max(seq) FROM ledger.reverifications WHERE of_seq = $1 AND cause = $2`, seq, kinds.CauseDispute).Scan(&last)
	return last, unavailable(err)
}

// Page reads some of a dispute's reports again, with the claims on them, consent and receipts, and all of its intents: verified
// in the newest tree.
func (d *Disputes) Page(ctx context.Context, tenant string, a kinds.DisputeArtifact, reports []int64) (audit.DisputeEvidence, error) {
	head, err := d.Store.Head(ctx)
	if err != nil {
		return audit.DisputeEvidence{}, err
	}
	r := &disputeRead{
		store: d.Store, tenant: tenant, size: head.Next(), e: audit.DisputeEvidence{Question: a.Question}, have: map[int64]bool{}, intents: map[int64]bool{}, reports: reports,
	}
	for _, step := range []func(context.Context) error{
		r.configs,
		func(ctx context.Context) error { return r.readLines(ctx, `p.seq = ANY($4)`, reports) },
		r.claimed,
		func(ctx context.Context) error { return r.readIntents(ctx, a.Entries.Intents) },
		r.lines, r.replacements, r.outcomes, r.receipts, r.consent,
	} {
		if err := step(ctx); err != nil {
			return r.e, err
		}
	}
	return r.e, d.verify(ctx, tenant, &r.e, reports, head, unobserved)
}

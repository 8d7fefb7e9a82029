package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// ReceiptBundles lists a tenant's recorded bundles in order of seq, at most q.Limit of them and q.Bytes of their contents.
// next is where to go on, or -1 at the end. As with Entries, an asker that sees only some of them may get short pages.
func (s *Store) ReceiptBundles(ctx context.Context, tenant string, see kinds.Visibility, q kinds.BundleQuery) (list []ledger.Entry, next int64, err error) {
	// Each filter is "not asked, or equal": with the values known when the statement is planned, Postgres drops the ones
	// that are not asked and picks the index of one that is, so it must not be planned once for all (QueryExecModeExec).
	rows, err := s.pool.Query(ctx, `
		SELECT r.seq FROM ledger.receipts r
		WHERE r.tenant = $1 AND r.seq > $2 AND r.seq < $3
		  AND ($4::text IS NULL OR r.receipt_id = $4) AND ($5::text IS NULL OR r.receipt_digest = $5)
		  AND ($6::text IS NULL OR r.request_digest = $6) AND ($7::text IS NULL OR r.response_digest = $7)
		  AND ($8::text IS NULL OR r.endpoint_host = $8) AND ($9::text IS NULL OR r.model_id = $9)
		  AND ($10::text IS NULL OR r.retention_class = $10) AND ($11::text IS NULL OR r.provider = $11)
		  AND ($12::text IS NULL OR r.witness_mode = $12) AND ($13::text IS NULL OR r.status = $13)
		  AND ($14::text IS NULL OR r.request_id = $14)
		  AND ($15::timestamptz IS NULL OR r.exchanged_at >= $15) AND ($16::timestamptz IS NULL OR r.exchanged_at < $16)
		ORDER BY r.seq LIMIT $17`,
		pgx.QueryExecModeExec, tenant, q.After, q.Size, q.ReceiptID, q.ReceiptDigest, q.RequestDigest, q.ResponseDigest, q.EndpointHost, q.ModelID,
		q.RetentionClass, q.Provider, q.WitnessMode, q.Status, q.RequestID, q.From, q.To, q.Limit)
	if err != nil {
		return nil, -1, unavailable(err)
	}
	seqs, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, -1, unavailable(err)
	}
	return s.page(ctx, see, seqs, q.Limit, q.Bytes)
}

// TrustPolicyAt reads one recorded trust policy of the tenant. ErrNotFound when seq is no such entry.
func (s *Store) TrustPolicyAt(ctx context.Context, tenant string, seq int64) (*kinds.TrustPolicy, error) {
	e, err := s.Entry(ctx, tenant, kinds.Visibility{Kinds: []string{kinds.TrustPolicyKind.Name}}, seq)
	if err != nil {
		return nil, err
	}
	return kinds.ReadTrustPolicy(e)
}

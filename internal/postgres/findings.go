package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ledgerd/frames"
	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
)

// Findings reads what findings about a period are computed from. kinds.ErrTooMuch when the period holds more than
// audit.MaxEgressLines usage lines, or as many verdicts or receipts.
func (s *Store) Findings(ctx context.Context, tenant string, q audit.FindingQuery) (e audit.FindingEvidence, err error) {
	usage := audit.EgressQuery{From: q.From, To: q.To, ProviderID: q.ProviderID, Size: q.Size}
	if e.Usage, err = s.usage(ctx, tenant, usage); err != nil {
		return e, err
	}
	providers, _ := subjects(e.Usage)
	if e.Consents, err = s.consents(ctx, tenant, providers, q.Size); err != nil {
		return e, err
	}
	if e.Declarations, err = s.declarations(ctx, tenant, providers, q.Size); err != nil {
		return e, err
	}
	if e.Verdicts, err = s.frameVerdicts(ctx, tenant, q); err != nil {
		return e, err
	}
	if q.ProviderID == "" { // a receipt names no provider of frames
		e.Missing, err = s.withoutUsage(ctx, tenant, q)
	}
	return e, err
}

// frameVerdicts reads the verdicts up to the end of the period: what was called stale before it must not be served in it.
// Rows whose frame was erased say nothing any more.
func (s *Store) frameVerdicts(ctx context.Context, tenant string, q audit.FindingQuery) ([]audit.FrameVerdict, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT seq, verified_at, provider_id, frame_id, content_digest, result, replacement_digest FROM ledger.frame_verdicts
		WHERE tenant = $1 AND verified_at < $2 AND seq < $3 AND ($4::text = '' OR provider_id = $4) AND frame_id IS NOT NULL
		ORDER BY verified_at, seq LIMIT $5`, pgx.QueryExecModeExec, tenant, q.To, q.Size, q.ProviderID, audit.MaxEgressLines+1)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (audit.FrameVerdict, error) {
		var v audit.FrameVerdict
		var digest, replacement *string
		err := row.Scan(&v.Seq, &v.VerifiedAt, &v.Frame.ProviderID, &v.Frame.FrameID, &digest, &v.Result, &replacement)
		v.VerifiedAt = v.VerifiedAt.UTC()
		v.Frame.ContentDigest, v.Replacement = frames.DigestOf(digest), frames.DigestOf(replacement)
		return v, err
	})
	if err == nil && len(list) > audit.MaxEgressLines {
		return nil, kinds.ErrTooMuch
	}
	return list, unavailable(err)
}

// withoutUsage lists the receipts of the period that name a request of which no usage report is recorded. A report is found
// by its key, which is the request: one that reached no provider has no usage lines.
func (s *Store) withoutUsage(ctx context.Context, tenant string, q audit.FindingQuery) ([]audit.Exchange, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT seq, exchanged_at, request_id FROM ledger.receipts
		WHERE tenant = $1 AND exchanged_at >= $2 AND exchanged_at < $3 AND seq < $4 AND request_id IS NOT NULL
		ORDER BY seq LIMIT $5`, tenant, q.From, q.To, q.Size, audit.MaxEgressLines+1)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (x audit.Exchange, err error) {
		err = row.Scan(&x.Seq, &x.ExchangedAt, &x.RequestID)
		x.ExchangedAt = x.ExchangedAt.UTC()
		return x, err
	})
	if err != nil || len(list) == 0 {
		return nil, unavailable(err)
	}
	if len(list) > audit.MaxEgressLines {
		return nil, kinds.ErrTooMuch
	}
	hashes := make([][16]byte, len(list))
	for i, x := range list {
		hashes[i] = keyHash(tenant, kinds.UsageReport.Name, x.RequestID)
	}
	found, err := s.knownKeys(ctx, hashes, q.Size)
	if err != nil {
		return nil, err
	}
	missing := list[:0]
	for i, x := range list {
		if !found[hashes[i]] {
			missing = append(missing, x)
		}
	}
	return missing, nil
}

// knownKeys says which keys are recorded by entries below size.
func (s *Store) knownKeys(ctx context.Context, hashes [][16]byte, size int64) (map[[16]byte]bool, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT k.key_hash FROM unnest($1::uuid[]) AS want(h)
		CROSS JOIN LATERAL (SELECT key_hash, seq FROM ledger.keys WHERE key_hash = want.h OFFSET 0) k WHERE k.seq < $2`, hashes, size)
	if err != nil {
		return nil, unavailable(err)
	}
	known := map[[16]byte]bool{}
	var hash [16]byte
	_, err = pgx.ForEachRow(rows, []any{&hash}, func() error { known[hash] = true; return nil })
	return known, unavailable(err)
}

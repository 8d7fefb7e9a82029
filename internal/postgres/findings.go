package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ledgerd/frames"
	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
)

// Findings reads what findings about a period are computed from, and nothing that the asked kind does not need.
// kinds.ErrTooMuch when the period holds more than audit.MaxEgressLines usage lines, or as many verdicts or receipts.
func (s *Store) Findings(ctx context.Context, tenant string, q audit.FindingQuery) (e audit.FindingEvidence, err error) {
	if q.WantsUsage() {
		if e, err = s.findingUsage(ctx, tenant, q); err != nil {
			return e, err
		}
	}
	if q.WantsVerdicts() {
		if e.Verdicts, err = s.frameVerdicts(ctx, tenant, q, e.Usage); err != nil {
			return e, err
		}
	}
	if q.Wants(audit.FindingUsageMissing) && q.ProviderID == "" { // a receipt names no provider of frames
		e.Missing, err = s.withoutUsage(ctx, tenant, q)
	}
	return e, err
}

// findingUsage reads the usage of the period, and what it is held against: what was served before, and consent.
func (s *Store) findingUsage(ctx context.Context, tenant string, q audit.FindingQuery) (e audit.FindingEvidence, err error) {
	if e.Usage, err = s.usage(ctx, tenant, audit.EgressQuery{From: q.From, To: q.To, ProviderID: q.ProviderID, Size: q.Size}, nil); err != nil {
		return e, err
	}
	if q.WantsBefore() {
		if e.Before, err = s.usageBefore(ctx, tenant, q); err != nil {
			return e, err
		}
	}
	if !q.Wants(audit.FindingUnconsented) {
		return e, nil
	}
	providers, _ := subjects(e.Usage)
	if e.Consents, err = s.consents(ctx, tenant, providers, q.Size); err != nil {
		return e, err
	}
	e.Declarations, err = s.declarations(ctx, tenant, providers, q.Size)
	return e, err
}

// usageBeforeSQL reads the newest lines before a period that served something.
const usageBeforeSQL = usageColumns + `
	WHERE p.tenant = $1 AND p.as_of < $2 AND p.seq < $3 AND p.corrects IS NULL AND ($4::text = '' OR p.provider_id = $4) AND p.frames_served > 0
	ORDER BY p.as_of DESC, p.provider_id DESC LIMIT $5`

func (s *Store) usageBefore(ctx context.Context, tenant string, q audit.FindingQuery) ([]audit.UsageLine, error) {
	rows, err := s.pool.Query(ctx, usageBeforeSQL, pgx.QueryExecModeExec, tenant, q.From, q.Size, q.ProviderID, audit.MaxLookBack)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, scanUsageLine)
	return list, unavailable(err)
}

// frameVerdicts reads the verdicts of the period, after the last one before it on each identity that was served in it: what
// was called stale before must not be served in it.
func (s *Store) frameVerdicts(ctx context.Context, tenant string, q audit.FindingQuery, usage []audit.UsageLine) ([]audit.FrameVerdict, error) {
	var before []audit.FrameVerdict
	if q.Wants(audit.FindingStaleReuse) {
		var err error
		if before, err = s.verdictsBefore(ctx, tenant, q, usage); err != nil {
			return nil, err
		}
	}
	of, err := s.verdictsOf(ctx, tenant, q)
	return append(before, of...), err
}

// verdictsOfSQL reads a period. Rows whose frame was erased say nothing any more.
const verdictsOfSQL = `
	SELECT seq, verified_at, provider_id, frame_id, content_digest, result, replacement_digest FROM ledger.frame_verdicts
	WHERE tenant = $1 AND verified_at >= $2 AND verified_at < $3 AND seq < $4 AND ($5::text = '' OR provider_id = $5) AND frame_id IS NOT NULL
	ORDER BY verified_at, seq LIMIT $6`

func (s *Store) verdictsOf(ctx context.Context, tenant string, q audit.FindingQuery) ([]audit.FrameVerdict, error) {
	rows, err := s.pool.Query(ctx, verdictsOfSQL, pgx.QueryExecModeExec, tenant, q.From, q.To, q.Size, q.ProviderID, audit.MaxEgressLines+1)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, scanVerdict)
	if err == nil && len(list) > audit.MaxEgressLines {
		return nil, kinds.ErrTooMuch
	}
	return list, unavailable(err)
}

// verdictsBeforeSQL looks up, for each identity, the last verdict that settles whether it may be reused. What it costs grows
// with the identities and not with the verdicts.
const verdictsBeforeSQL = `
	SELECT v.seq, v.verified_at, want.provider_id, want.frame_id, want.content_digest, v.result, NULL::text
	FROM unnest($2::text[], $3::text[], $4::text[]) AS want(provider_id, frame_id, content_digest)
	CROSS JOIN LATERAL (
		SELECT seq, verified_at, result FROM ledger.frame_verdicts
		WHERE tenant = $1 AND provider_id = want.provider_id AND frame_id = want.frame_id
		  AND content_digest IS NOT DISTINCT FROM want.content_digest AND result IN ('valid', 'stale', 'gone')
		  AND verified_at < $5 AND seq < $6
		ORDER BY verified_at DESC, seq DESC LIMIT 1) v
	ORDER BY v.verified_at, v.seq`

func (s *Store) verdictsBefore(ctx context.Context, tenant string, q audit.FindingQuery, usage []audit.UsageLine) ([]audit.FrameVerdict, error) {
	var providers, ids []string
	var digests []*string
	seen := map[frames.FrameID]bool{}
	for _, u := range usage {
		for _, f := range u.Frames {
			if seen[f.ID] {
				continue
			}
			seen[f.ID] = true
			var digest *string
			if value, ok := f.ID.ContentDigest.Value(); ok {
				digest = &value
			}
			providers, ids, digests = append(providers, f.ID.ProviderID), append(ids, f.ID.FrameID), append(digests, digest)
		}
	}
	rows, err := s.pool.Query(ctx, verdictsBeforeSQL, pgx.QueryExecModeExec, tenant, providers, ids, digests, q.From, q.Size)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, scanVerdict)
	return list, unavailable(err)
}

func scanVerdict(row pgx.CollectableRow) (audit.FrameVerdict, error) {
	var v audit.FrameVerdict
	var digest, replacement *string
	err := row.Scan(&v.Seq, &v.VerifiedAt, &v.Frame.ProviderID, &v.Frame.FrameID, &digest, &v.Result, &replacement)
	v.VerifiedAt = v.VerifiedAt.UTC()
	v.Frame.ContentDigest, v.Replacement = frames.DigestOf(digest), frames.DigestOf(replacement)
	return v, err
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

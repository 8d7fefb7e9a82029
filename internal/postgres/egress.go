package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ledgerd/frames"
	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/receipts"
)

// Egress reads what an egress question needs. ErrTooMuch when it covers more than audit.MaxEgressLines usage lines.
func (s *Store) Egress(ctx context.Context, tenant string, q audit.EgressQuery) ([]audit.UsageLine, []audit.Grant, error) {
	usage, err := s.usageLines(ctx, tenant, q)
	if err != nil {
		return nil, nil, err
	}
	if len(usage) > audit.MaxEgressLines {
		return nil, nil, kinds.ErrTooMuch
	}
	providers := map[string]bool{}
	var names []string
	for _, u := range usage {
		if !providers[u.ProviderID] {
			providers[u.ProviderID] = true
			names = append(names, u.ProviderID)
		}
	}
	grants, err := s.grants(ctx, tenant, names, q.Size)
	return usage, grants, err
}

func (s *Store) usageLines(ctx context.Context, tenant string, q audit.EgressQuery) ([]audit.UsageLine, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT u.seq, e.recorded_at, u.request_id, u.provider_id, u.as_of, u.frames_served, u.tokens,
		       u.frame_providers, u.frame_ids, u.frame_digests, u.frame_tokens
		FROM ledger.usage_lines u JOIN ledger.entries e USING (seq)
		WHERE u.tenant = $1 AND u.as_of >= $2 AND u.as_of < $3 AND u.seq < $4
		  AND ($5 = '' OR u.provider_id = $5) AND ($6 = '' OR u.customer_id = $6)
		LIMIT $7`, tenant, q.From, q.To, q.Size, q.ProviderID, q.CustomerID, audit.MaxEgressLines+1)
	if err != nil {
		return nil, unavailable(err)
	}
	lines, err := pgx.CollectRows(rows, scanUsageLine)
	return lines, unavailable(err)
}

func scanUsageLine(row pgx.CollectableRow) (audit.UsageLine, error) {
	var u audit.UsageLine
	var providers, ids []string
	var digests []*string
	var tokens []int64
	err := row.Scan(&u.Seq, &u.RecordedAt, &u.RequestID, &u.ProviderID, &u.AsOf, &u.FramesServed, &u.Tokens, &providers, &ids, &digests, &tokens)
	if err != nil {
		return u, err
	}
	u.RecordedAt, u.AsOf = u.RecordedAt.UTC(), u.AsOf.UTC()
	for i, id := range ids {
		f := audit.ServedFrame{ID: frames.FrameID{ProviderID: u.ProviderID, FrameID: id, ContentDigest: frames.DigestOf(digests[i])}, Tokens: tokens[i]}
		if providers != nil {
			f.ID.ProviderID = providers[i]
		}
		u.Frames = append(u.Frames, f)
	}
	return u, nil
}

func (s *Store) grants(ctx context.Context, tenant string, providers []string, size int64) ([]audit.Grant, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT c.seq, e.recorded_at, c.provider_id, c.scope, c.provider_name, c.provider_version, c.grantor_kind, c.grantor_id,
		       c.granted_at_text, c.expires_at_text
		FROM ledger.consents c JOIN ledger.entries e USING (seq)
		WHERE c.tenant = $1 AND c.provider_id = ANY($2) AND c.seq < $3 ORDER BY c.seq`, tenant, providers, size)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (audit.Grant, error) {
		var g audit.Grant
		var r receipts.ConsentReceipt
		var grantor *string
		err := row.Scan(&g.Seq, &g.RecordedAt, &r.ProviderID, &r.Scope, &r.ProviderName, &r.ProviderVersion, &r.Grantor.Kind, &grantor, &r.GrantedAt, &r.ExpiresAt)
		if grantor != nil {
			r.Grantor.ID = *grantor
		}
		g.Receipt, g.Erased, g.RecordedAt = r, grantor == nil, g.RecordedAt.UTC()
		return g, err
	})
	return list, unavailable(err)
}

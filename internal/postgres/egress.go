package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ledgerd/frames"
	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
)

// recordedOf joins the recorded time to a projection's rows, aliased p. LATERAL with OFFSET 0 keeps it one look-up in the
// primary key per row whatever the planner believes: a plain join may become a scan over all entries.
const recordedOf = ` CROSS JOIN LATERAL (SELECT recorded_at FROM ledger.entries WHERE seq = p.seq OFFSET 0) e `

// usageSQL reads the usage lines of a question. Each filter is "not asked, or equal": with the values known when the
// statement is planned, Postgres drops those that are not asked and picks the index of one that is, so it must not be
// planned once for all (QueryExecModeExec).
const usageSQL = `
	SELECT p.seq, e.recorded_at, p.request_id, p.provider_id, p.as_of, p.frames_served, p.tokens,
	       p.frame_providers, p.frame_ids, p.frame_digests, p.frame_tokens
	FROM ledger.usage_lines p` + recordedOf + `
	WHERE p.tenant = $1 AND p.as_of >= $2 AND p.as_of < $3 AND p.seq < $4
	  AND ($5::text = '' OR p.provider_id = $5) AND ($6::text = '' OR p.customer_id = $6)
	  AND ($7::text = '' OR $7 = ANY(p.frame_ids)) AND ($8::text = '' OR $8 = ANY(p.frame_digests))
	LIMIT $9`

// Egress reads what an egress question needs. Everything below q.Size is there for good, so no transaction is needed for
// one consistent view. kinds.ErrTooMuch when it covers more than audit.MaxEgressLines usage lines.
func (s *Store) Egress(ctx context.Context, tenant string, q audit.EgressQuery) (e audit.Evidence, err error) {
	if e.Usage, err = s.usage(ctx, tenant, q); err != nil {
		return e, err
	}
	providers, requests := subjects(e.Usage)
	if e.Consents, err = s.consents(ctx, tenant, providers, q.Size); err != nil {
		return e, err
	}
	if e.Declarations, err = s.declarations(ctx, tenant, providers, q.Size); err != nil {
		return e, err
	}
	e.Exchanges, err = s.exchanges(ctx, tenant, requests, q.Size)
	return e, err
}

// subjects are the distinct providers and requests of usage lines.
func subjects(usage []audit.UsageLine) (providers, requests []string) {
	seenProvider, seenRequest := map[string]bool{}, map[string]bool{}
	for _, u := range usage {
		if !seenProvider[u.ProviderID] {
			seenProvider[u.ProviderID] = true
			providers = append(providers, u.ProviderID)
		}
		if !seenRequest[u.RequestID] {
			seenRequest[u.RequestID] = true
			requests = append(requests, u.RequestID)
		}
	}
	return providers, requests
}

func (s *Store) usage(ctx context.Context, tenant string, q audit.EgressQuery) ([]audit.UsageLine, error) {
	rows, err := s.pool.Query(ctx, usageSQL, pgx.QueryExecModeExec, tenant, q.From, q.To, q.Size, q.ProviderID, q.CustomerID,
		q.FrameID, q.ContentDigest, audit.MaxEgressLines+1)
	if err != nil {
		return nil, unavailable(err)
	}
	all, err := pgx.CollectRows(rows, scanUsageLine)
	if err != nil {
		return nil, unavailable(err)
	}
	if len(all) > audit.MaxEgressLines {
		return nil, kinds.ErrTooMuch
	}
	lines := all[:0]
	for _, u := range all {
		if narrow, concerned := q.Narrow(u); concerned {
			lines = append(lines, narrow)
		}
	}
	return lines, nil
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

// exchanges reads the receipts that name one of the requests, with the disclosures that were recorded with each.
func (s *Store) exchanges(ctx context.Context, tenant string, requests []string, size int64) ([]audit.Exchange, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT p.seq, p.exchanged_at, p.request_id, p.endpoint_host, p.model_id, p.provider, p.retention_class, p.witness_mode, p.status, c.content
		FROM ledger.receipts p JOIN ledger.contents c USING (seq)
		WHERE p.tenant = $1 AND p.request_id = ANY($2) AND p.seq < $3 ORDER BY p.seq`, tenant, requests, size)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (audit.Exchange, error) {
		var x audit.Exchange
		var content []byte
		err := row.Scan(&x.Seq, &x.ExchangedAt, &x.RequestID, &x.EndpointHost, &x.ModelID, &x.Provider, &x.RetentionClass, &x.WitnessMode, &x.Status, &content)
		if err != nil || content == nil {
			return x, err
		}
		x.Disclosures, err = kinds.StoredDisclosures(content)
		return x, err
	})
	return list, unavailable(err)
}

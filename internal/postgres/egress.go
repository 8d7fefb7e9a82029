package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
)

// recordedOf joins the recorded time to a projection's rows, aliased p. LATERAL with OFFSET 0 keeps it one look-up in the
// primary key per row whatever the planner believes: a plain join may become a scan over all entries.
const recordedOf = ` CROSS JOIN LATERAL (SELECT recorded_at FROM ledger.entries WHERE seq = p.seq OFFSET 0) e `

// usageColumns are what a usage line is scanned from.
const usageColumns = `
	SELECT p.seq, e.recorded_at, p.request_id, p.provider_id, p.as_of, p.frames_served, p.tokens,
	       p.frame_providers, p.frame_ids, p.frame_digests, p.frame_tokens
	FROM ledger.usage_lines p` + recordedOf

// usageSQL reads the usage lines of a question: those of reports. What left the machine is not changed by a correction, which is
// about what is counted and billed. Each filter is "not asked, or equal": with the values known when the
// statement is planned, Postgres drops those that are not asked and picks the index of one that is, so it must not be
// planned once for all (QueryExecModeExec).
const usageSQL = usageColumns + `
	WHERE p.tenant = $1 AND p.as_of >= $2 AND p.as_of < $3 AND p.seq < $4 AND p.corrects IS NULL
	  AND ($5::text = '' OR p.provider_id = $5) AND ($6::text = '' OR p.customer_id = $6)
	  AND ($7::text = '' OR $7 = ANY(p.frame_ids)) AND ($8::text = '' OR $8 = ANY(p.frame_digests))
	  AND ($9::text[] IS NULL OR p.provider_id = ANY($9))
	LIMIT $10`

// Egress reads what an egress question needs. Everything below q.Size is there for good, so no transaction is needed for
// one consistent view. kinds.ErrTooMuch when it covers more than audit.MaxEgressLines usage lines.
func (s *Store) Egress(ctx context.Context, tenant string, q audit.EgressQuery) (e audit.Evidence, err error) {
	among, err := s.egressProviders(ctx, tenant, q)
	if err != nil {
		return e, err
	}
	if e.Usage, err = s.usage(ctx, tenant, q, among); err != nil {
		return e, err
	}
	providers, requests := subjects(e.Usage)
	if e.Consents, err = s.consents(ctx, tenant, providers, q.Size); err != nil {
		return e, err
	}
	if e.Declarations, err = s.declarations(ctx, tenant, providers, q.Size); err != nil {
		return e, err
	}
	if e.Exchanges, err = s.exchanges(ctx, tenant, requests, q.Size); err != nil {
		return e, err
	}
	e.Erased, err = s.erasedOf(ctx, tenant, q)
	return e, err
}

// The providers that a question about who agreed, or to what, can be about: those that were agreed to, and those that
// declared the scope. A provider that declares that nothing leaves need not name the scope local-only.
const (
	agreedProvidersSQL = `
		SELECT DISTINCT provider_id FROM ledger.consents
		WHERE tenant = $1 AND seq < $2 AND ($3::text = '' OR grantor_id = $3) AND ($4::text = '' OR grantor_kind = $4) AND ($5::text = '' OR scope = $5)
		LIMIT $6`
	scopeProvidersSQL = `
		SELECT provider_id FROM ledger.consents WHERE tenant = $1 AND seq < $2 AND scope = $3
		UNION SELECT provider_id FROM ledger.provider_declarations WHERE tenant = $1 AND seq < $2 AND ($3 = ANY(egress_scopes) OR $3 = 'local-only' AND NOT egress)
		LIMIT $4`
)

// egressProviders resolves the filters on consent, so that the limit on usage lines counts only lines that can be asked
// for. nil selects all.
func (s *Store) egressProviders(ctx context.Context, tenant string, q audit.EgressQuery) ([]string, error) {
	sql, args := agreedProvidersSQL, []any{pgx.QueryExecModeExec, tenant, q.Size, q.Grantor, q.GrantorKind, q.Scope, audit.MaxConsentEvents + 1}
	switch {
	case q.Grantor == "" && q.GrantorKind == "" && q.Scope == "":
		return nil, nil
	case q.Grantor == "" && q.GrantorKind == "":
		sql, args = scopeProvidersSQL, []any{pgx.QueryExecModeExec, tenant, q.Size, q.Scope, audit.MaxConsentEvents + 1}
	}
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, unavailable(err)
	}
	names, err := pgx.AppendRows([]string{}, rows, pgx.RowTo[string])
	if err == nil && len(names) > audit.MaxConsentEvents {
		return nil, kinds.ErrTooMuch
	}
	return names, unavailable(err)
}

// erasedOf counts what of the period was erased, by indexes that hold nothing else. The filters can't be applied: what they
// ask about is what was erased.
func (s *Store) erasedOf(ctx context.Context, tenant string, q audit.EgressQuery) (n audit.Erased, err error) {
	err = s.pool.QueryRow(ctx, erasedSQL, tenant, q.From, q.To, q.Size).Scan(&n.Reports, &n.Exchanges)
	return n, unavailable(err)
}

const erasedSQL = `
	SELECT (SELECT count(DISTINCT seq) FROM ledger.usage_lines
	        WHERE tenant = $1 AND as_of >= $2 AND as_of < $3 AND seq < $4 AND frame_ids IS NULL AND frames_served > 0 AND corrects IS NULL),
	       (SELECT count(*) FROM ledger.receipts
	        WHERE tenant = $1 AND exchanged_at >= $2 AND exchanged_at < $3 AND seq < $4 AND receipt_id IS NULL)`

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

// usage reads the lines of a question, of those providers only unless among is nil.
func (s *Store) usage(ctx context.Context, tenant string, q audit.EgressQuery, among []string) ([]audit.UsageLine, error) {
	rows, err := s.pool.Query(ctx, usageSQL, pgx.QueryExecModeExec, tenant, q.From, q.To, q.Size, q.ProviderID, q.CustomerID,
		q.FrameID, q.ContentDigest, among, audit.MaxEgressLines+1)
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
	var f frameColumns
	err := row.Scan(&u.Seq, &u.RecordedAt, &u.RequestID, &u.ProviderID, &u.AsOf, &u.FramesServed, &u.Tokens, &f.providers, &f.ids, &f.digests, &f.tokens)
	if err != nil {
		return u, err
	}
	u.RecordedAt, u.AsOf, u.Frames = u.RecordedAt.UTC(), u.AsOf.UTC(), f.served(u.ProviderID)
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
		x.Disclosures, err = kinds.StoredDisclosures(x.Seq, content)
		return x, err
	})
	return list, unavailable(err)
}

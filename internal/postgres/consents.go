package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/receipts"
)

// Consents reads the history of consent that a question is about: of one provider, or of all, or of those that a grantor
// ever agreed to. kinds.ErrTooMuch beyond audit.MaxConsentEvents events.
func (s *Store) Consents(ctx context.Context, tenant string, q audit.ConsentQuery) (audit.Consents, error) {
	if q.ProviderID != "" {
		return s.consents(ctx, tenant, []string{q.ProviderID}, q.Size)
	}
	providers, err := s.consentProviders(ctx, tenant, q)
	if err != nil {
		return audit.Consents{}, err
	}
	return s.consents(ctx, tenant, providers, q.Size)
}

// consentProviders names the providers that consent was given to, or taken back from.
func (s *Store) consentProviders(ctx context.Context, tenant string, q audit.ConsentQuery) ([]string, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT provider_id FROM ledger.consents
		WHERE tenant = $1 AND seq < $2 AND ($3::text = '' OR grantor_id = $3) AND ($4::text = '' OR scope = $4) AND ($5::text = '' OR grantor_kind = $5)
		UNION SELECT provider_id FROM ledger.consent_revocations
		WHERE tenant = $1 AND seq < $2 AND $3::text = '' AND ($4::text = '' OR scope = $4) AND $5::text = ''
		UNION SELECT provider_id FROM ledger.consent_records WHERE tenant = $1 AND seq < $2 AND $3::text = '' AND $4::text = '' AND $5::text = ''
		LIMIT $6`, pgx.QueryExecModeExec, tenant, q.Size, q.Grantor, q.Scope, q.GrantorKind, audit.MaxConsentEvents+1)
	if err != nil {
		return nil, unavailable(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err == nil && len(names) > audit.MaxConsentEvents {
		return nil, kinds.ErrTooMuch
	}
	return names, unavailable(err)
}

// The history of consent and declarations of some providers, in order of seq.
const (
	ofProviders = recordedOf + ` WHERE p.tenant = $1 AND p.provider_id = ANY($2) AND p.seq < $3 ORDER BY p.seq LIMIT $4`

	grantsSQL = `
		SELECT p.seq, e.recorded_at, p.provider_id, p.scope, p.provider_name, p.provider_version, p.grantor_kind, p.grantor_id,
		       p.granted_at_text, p.expires_at_text
		FROM ledger.consents p` + ofProviders
	revocationsSQL = `
		SELECT p.seq, e.recorded_at, p.provider_id, p.scope, p.revoked_by_kind, p.revoked_by_id, p.revoked_at_text, p.reason
		FROM ledger.consent_revocations p` + ofProviders
	recordsSQL = `
		SELECT p.seq, e.recorded_at, p.provider_id, p.granted_scope, p.granted_at_text, p.reads, p.writes, p.egress, p.egress_scopes
		FROM ledger.consent_records p` + ofProviders
	declarationsSQL = `
		SELECT p.seq, e.recorded_at, p.declared_at, p.provider_id, p.provider_name, p.provider_version, p.declared_at_text,
		       p.reads, p.writes, p.egress, p.egress_scopes
		FROM ledger.provider_declarations p` + ofProviders
)

// consents reads all consent of the providers, in order of seq.
func (s *Store) consents(ctx context.Context, tenant string, providers []string, size int64) (c audit.Consents, err error) {
	const limit = audit.MaxConsentEvents + 1
	b := &pgx.Batch{}
	b.Queue(grantsSQL, tenant, providers, size, limit).Query(collect(&c.Grants, scanGrant))
	b.Queue(revocationsSQL, tenant, providers, size, limit).Query(collect(&c.Revocations, scanRevocation))
	b.Queue(recordsSQL, tenant, providers, size, limit).Query(collect(&c.Records, scanRecord))
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return c, unavailable(err)
	}
	if c.Count() > audit.MaxConsentEvents {
		return c, kinds.ErrTooMuch
	}
	return c, nil
}

// collect reads all rows of a batched query into a list.
func collect[T any](into *[]T, scan pgx.RowToFunc[T]) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectRows(rows, scan)
		return err
	}
}

func scanGrant(row pgx.CollectableRow) (audit.Grant, error) {
	var g audit.Grant
	var grantor *string
	r := &g.Receipt
	err := row.Scan(&g.Seq, &g.RecordedAt, &r.ProviderID, &r.Scope, &r.ProviderName, &r.ProviderVersion, &r.Grantor.Kind, &grantor, &r.GrantedAt, &r.ExpiresAt)
	g.RecordedAt = g.RecordedAt.UTC()
	r.Grantor.ID, g.Erased = orErased(grantor)
	return g, err
}

func scanRevocation(row pgx.CollectableRow) (audit.Revocation, error) {
	var v audit.Revocation
	var scope, by *string
	r := &v.Event
	err := row.Scan(&v.Seq, &v.RecordedAt, &r.ProviderID, &scope, &r.RevokedBy.Kind, &by, &r.RevokedAt, &r.Reason)
	v.RecordedAt = v.RecordedAt.UTC()
	r.RevokedBy.ID, v.Erased = orErased(by)
	if r.Boolean = scope == nil; !r.Boolean {
		r.Scope = receipts.EgressScope(*scope)
	}
	return v, err
}

func scanRecord(row pgx.CollectableRow) (audit.Record, error) {
	var v audit.Record
	var granted *string
	r := &v.Record
	err := row.Scan(&v.Seq, &v.RecordedAt, &r.ProviderID, &granted, &r.GrantedAt, &r.DataFlow.Reads, &r.DataFlow.Writes, &r.DataFlow.Egress, &r.DataFlow.EgressScopes)
	v.RecordedAt = v.RecordedAt.UTC()
	r.GrantedScope, _ = orErased(granted)
	return v, err
}

func orErased(personal *string) (value string, erased bool) {
	if personal == nil {
		return "", true
	}
	return *personal, false
}

// declarations reads what the providers declared, in order of seq.
func (s *Store) declarations(ctx context.Context, tenant string, providers []string, size int64) ([]audit.Declaration, error) {
	rows, err := s.pool.Query(ctx, declarationsSQL, tenant, providers, size, audit.MaxConsentEvents+1)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, scanDeclaration)
	if err == nil && len(list) > audit.MaxConsentEvents {
		return nil, kinds.ErrTooMuch
	}
	return list, unavailable(err)
}

func scanDeclaration(row pgx.CollectableRow) (audit.Declaration, error) {
	var d audit.Declaration
	c := &d.Event
	f := &c.Provider.DataFlow
	var declared time.Time
	err := row.Scan(&d.Seq, &d.RecordedAt, &declared, &c.ProviderID, &c.Provider.Name, &c.Provider.Version, &c.DeclaredAt, &f.Reads, &f.Writes, &f.Egress, &f.EgressScopes)
	d.RecordedAt, d.DeclaredAt = d.RecordedAt.UTC(), declared.UTC()
	return d, err
}

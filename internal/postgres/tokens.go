package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
)

const tokenColumns = `id, coalesce(tenant, ''), role, name, hash, created_at, expires_at, revoked_at`

func scanToken(row pgx.CollectableRow) (kinds.Token, error) {
	var t kinds.Token
	var hash []byte
	if err := row.Scan(&t.ID, &t.Tenant, &t.Role, &t.Name, &hash, &t.CreatedAt, &t.ExpiresAt, &t.RevokedAt); err != nil {
		return kinds.Token{}, err
	}
	t.Hash = [32]byte(hash)
	t.CreatedAt, t.ExpiresAt = t.CreatedAt.UTC(), t.ExpiresAt.UTC()
	return t, nil
}

// CreateToken stores a token. ErrNotFound when its tenant does not exist.
func (s *Store) CreateToken(ctx context.Context, t kinds.Token) error {
	return s.inTx(ctx, func(tx pgx.Tx) error { return insertToken(ctx, tx, t) })
}

func insertToken(ctx context.Context, tx pgx.Tx, t kinds.Token) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO work.tokens (id, tenant, role, name, hash, created_at, expires_at) VALUES ($1, nullif($2, ''), $3, $4, $5, $6, $7)`,
		t.ID, t.Tenant, t.Role, t.Name, t.Hash[:], t.CreatedAt, t.ExpiresAt)
	return noSuchTenant(err)
}

// TokenByHash finds a token, be it expired or revoked. It is the one read without a tenant: the token tells the tenant.
func (s *Store) TokenByHash(ctx context.Context, hash [32]byte) (kinds.Token, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+tokenColumns+` FROM work.tokens WHERE hash = $1`, hash[:])
	if err != nil {
		return kinds.Token{}, unavailable(err)
	}
	t, err := pgx.CollectExactlyOneRow(rows, scanToken)
	return t, unavailable(err)
}

// Tokens lists a tenant's tokens, oldest first, revoked and expired ones included, at most limit after the given place.
func (s *Store) Tokens(ctx context.Context, tenant string, afterTime time.Time, afterID string, limit int) ([]kinds.Token, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT `+tokenColumns+` FROM work.tokens WHERE tenant = $1 AND (created_at, id) > ($2, $3) ORDER BY created_at, id LIMIT $4`,
		tenant, afterTime, afterID, limit)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, scanToken)
	return list, unavailable(err)
}

// RevokeToken ends a token of the tenant at once and for good. Revoking again changes nothing. ErrNotFound for another
// tenant's.
func (s *Store) RevokeToken(ctx context.Context, tenant, id string, now time.Time) (kinds.Token, error) {
	rows, err := s.pool.Query(ctx, `
		UPDATE work.tokens SET revoked_at = coalesce(revoked_at, $3) WHERE tenant = $1 AND id = $2 RETURNING `+tokenColumns, tenant, id, now)
	if err != nil {
		return kinds.Token{}, unavailable(err)
	}
	t, err := pgx.CollectExactlyOneRow(rows, scanToken)
	return t, unavailable(err)
}

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
)

// Token is a bearer token as it is stored: never the token itself, only its SHA-256.
type Token struct {
	ID        string
	Tenant    string // "" for an operator
	Role      kinds.Role
	Name      string
	Hash      [32]byte
	CreatedAt time.Time
	ExpiresAt time.Time
	RevokedAt *time.Time
}

const tokenColumns = `id, coalesce(tenant, ''), role, name, hash, created_at, expires_at, revoked_at`

func scanToken(row pgx.CollectableRow) (Token, error) {
	var t Token
	var hash []byte
	if err := row.Scan(&t.ID, &t.Tenant, &t.Role, &t.Name, &hash, &t.CreatedAt, &t.ExpiresAt, &t.RevokedAt); err != nil {
		return Token{}, err
	}
	t.Hash = [32]byte(hash)
	t.CreatedAt, t.ExpiresAt = t.CreatedAt.UTC(), t.ExpiresAt.UTC()
	return t, nil
}

// CreateToken stores a token. ErrNotFound when its tenant does not exist.
func (s *Store) CreateToken(ctx context.Context, t Token) error {
	return s.inTx(ctx, func(tx pgx.Tx) error { return insertToken(ctx, tx, t) })
}

func insertToken(ctx context.Context, tx pgx.Tx, t Token) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO work.tokens (id, tenant, role, name, hash, created_at, expires_at) VALUES ($1, nullif($2, ''), $3, $4, $5, $6, $7)`,
		t.ID, t.Tenant, t.Role, t.Name, t.Hash[:], t.CreatedAt, t.ExpiresAt)
	return noSuchTenant(err)
}

// TokenByHash finds a token, be it expired or revoked. It is the one read without a tenant: the token tells the tenant.
func (s *Store) TokenByHash(ctx context.Context, hash [32]byte) (Token, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+tokenColumns+` FROM work.tokens WHERE hash = $1`, hash[:])
	if err != nil {
		return Token{}, unavailable(err)
	}
	t, err := pgx.CollectExactlyOneRow(rows, scanToken)
	return t, unavailable(err)
}

// Tokens lists a tenant's tokens, oldest first, revoked and expired ones included, at most limit after the given place.
func (s *Store) Tokens(ctx context.Context, tenant string, afterTime time.Time, afterID string, limit int) ([]Token, error) {
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
func (s *Store) RevokeToken(ctx context.Context, tenant, id string, now time.Time) (Token, error) {
	rows, err := s.pool.Query(ctx, `
		UPDATE work.tokens SET revoked_at = coalesce(revoked_at, $3) WHERE tenant = $1 AND id = $2 RETURNING `+tokenColumns, tenant, id, now)
	if err != nil {
		return Token{}, unavailable(err)
	}
	t, err := pgx.CollectExactlyOneRow(rows, scanToken)
	return t, unavailable(err)
}

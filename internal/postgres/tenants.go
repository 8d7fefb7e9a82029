package postgres

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ledgerd/internal/kinds"
)

// CreateTenant makes a tenant with its key secret and its first admin token, or neither.
func (s *Store) CreateTenant(ctx context.Context, t kinds.Tenant, admin kinds.Token) error {
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return err
	}
	return s.inTx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO work.tenants (id, key_secret, created_at) VALUES ($1, $2, $3)`, t.ID, secret, t.CreatedAt)
		if isUnique(err) {
			return kinds.ErrExists
		}
		if err != nil {
			return err
		}
		return insertToken(ctx, tx, admin)
	})
}

// Tenants lists all tenants by name, at most limit of those after the given one.
func (s *Store) Tenants(ctx context.Context, after string, limit int) ([]kinds.Tenant, error) {
	rows, err := s.pool.Query(ctx, `SELECT id, created_at FROM work.tenants WHERE id > $1 ORDER BY id LIMIT $2`, after, limit)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (kinds.Tenant, error) {
		var t kinds.Tenant
		err := row.Scan(&t.ID, &t.CreatedAt)
		t.CreatedAt = t.CreatedAt.UTC()
		return t, err
	})
	return list, unavailable(err)
}

// keySecret is the tenant's HMAC key for entries without a key of their own.
func (s *Store) keySecret(ctx context.Context, tenant string) (secret []byte, err error) {
	err = s.pool.QueryRow(ctx, `SELECT key_secret FROM work.tenants WHERE id = $1`, tenant).Scan(&secret)
	return secret, unavailable(err)
}

func (s *Store) inTx(ctx context.Context, f func(pgx.Tx) error) error {
	return unavailable(pgx.BeginFunc(ctx, s.pool, f))
}

func isUnique(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23505"
}

// noSuchTenant turns a broken reference into ErrNotFound: a token must not name a tenant that is not there.
func noSuchTenant(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "23503" {
		return kinds.ErrNotFound
	}
	return err
}

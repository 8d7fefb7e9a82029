package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"ledgerd/internal/kinds"
	"ledgerd/metering/billing"
)

// Store reads the ledger and keeps the operational tables. It is safe for concurrent use.
type Store struct {
	pool *pgxpool.Pool
}

// Limits of the service's sessions. A session that stops while it holds the head must not stop the others for longer
// (spec "Append transaction" 5); transaction_timeout would be the better one but needs Postgres 17.
var sessionParameters = map[string]string{
	"application_name":                    "ledgerd",
	"timezone":                            "UTC",
	"lock_timeout":                        "2s",
	"idle_in_transaction_session_timeout": "3s",
	"statement_timeout":                   "30s",
	"search_path":                         "pg_catalog",
}

const synchronousCommit = "synchronous_commit"

// Open connects as the service role and refuses a login that could change what it must only append to.
func Open(ctx context.Context, url string) (*Store, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the database URL is malformed (its text is not shown, it may hold a password)")
	}
	for k, v := range sessionParameters {
		cfg.ConnConfig.RuntimeParams[k] = v
	}
	// Acknowledged is durable, whatever a role, a database or a server has as its default. The URL may ask for more, or for
	// less than a standby's word.
	if asked := cfg.ConnConfig.RuntimeParams[synchronousCommit]; asked != "local" && asked != "remote_write" && asked != "remote_apply" {
		cfg.ConnConfig.RuntimeParams[synchronousCommit] = "on"
	}
	cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to Postgres: %w", err)
	}
	s := &Store{pool: pool}
	if err := s.checkLogin(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

// Close ends all connections.
func (s *Store) Close() { s.pool.Close() }

// Ping says whether the database answers.
func (s *Store) Ping(ctx context.Context) error { return unavailable(s.pool.Ping(ctx)) }

// Volatile names the settings by which this server may lose or damage what it has acknowledged when it crashes: fsync and
// full_page_writes where they are off. A session can't change them.
func (s *Store) Volatile(ctx context.Context) ([]string, error) {
	rows, err := s.pool.Query(ctx, `SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name`)
	if err != nil {
		return nil, unavailable(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return names, unavailable(err)
}

// unavailable turns a driver error into a domain error where the domain has one. A nil error stays nil.
func unavailable(err error) error {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrNoRows):
		return kinds.ErrNotFound
	case errors.Is(err, kinds.ErrStored): // it was read, by a scan of ours
		return err
	case errors.As(err, &pg) && (pg.ConstraintName == "billing_claimed_once" || pg.ConstraintName == "billing_replaced_once"):
		return billing.ErrClaimed
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case !errors.As(err, &pg), pg.Code[:2] == "08", pg.Code[:2] == "57", pg.Code[:2] == "53", pg.Code == "55P03", pg.Code == "25006", pg.Code == "25P03":
		// Not an answer of the server (connection lost or refused), or one about its own state: shutting down, out of
		// resources, lock not to be had in time, a standby, a session that was ended since we had paused.
		return fmt.Errorf("%w: %w", kinds.ErrUnavailable, err)
	}
	return err
}

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

// ErrPrivileged says that a login may do more than append.
var ErrPrivileged = errors.New("the database login is too powerful for the service")

// checkLogin proves least privilege: not a superuser, no role above the service, no right to change an append-only table or one
// of its columns, but for those of the head that move.
func (s *Store) checkLogin(ctx context.Context) error {
	var super, owner, change bool
	var above, column *string
	err := s.pool.QueryRow(ctx, `
		SELECT r.rolsuper OR r.rolcreaterole OR r.rolcreatedb OR r.rolbypassrls OR r.rolreplication,
		       EXISTS (SELECT 1 FROM pg_namespace n WHERE n.nspname IN ('ledger', 'work')
		               AND (pg_has_role(current_user, n.nspowner, 'MEMBER') OR has_schema_privilege(n.oid, 'CREATE'))),
		       EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		               WHERE n.nspname = 'ledger' AND c.relkind IN ('r', 'p')
		               AND has_table_privilege(c.oid, 'UPDATE, DELETE, TRUNCATE, TRIGGER, REFERENCES')),
		       (SELECT min(g.rolname) FROM pg_roles g WHERE g.rolname <> current_user AND pg_has_role(current_user, g.oid, 'MEMBER')
		               AND (g.rolsuper OR g.rolcreaterole OR g.rolcreatedb OR g.rolbypassrls OR g.rolreplication
		                    OR g.rolname IN ('pg_write_all_data', 'pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')
		                    OR EXISTS (SELECT 1 FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'ledger' AND p.proowner = g.oid))),
		       (SELECT min(c.relname || '.' || a.attname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
		               WHERE n.nspname = 'ledger' AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
		               AND has_column_privilege(c.oid, a.attnum, 'UPDATE, REFERENCES')
		               AND NOT (c.relname = 'head' AND a.attname IN ('size', 'root', 'recorded_at', 'checkpoint')))
		FROM pg_roles r WHERE r.rolname = current_user`).Scan(&super, &owner, &change, &above, &column)
	switch {
	case err != nil:
		return fmt.Errorf("checking the database login: %w", unavailable(err))
	case super:
		return fmt.Errorf("%w: it is a superuser or may manage roles or databases; use the service role (ledger_svc)", ErrPrivileged)
	case owner:
		return fmt.Errorf("%w: it owns the schema or may create in it; use the service role (ledger_svc), and the owner only for `ledgerd migrate`", ErrPrivileged)
	case change:
		return fmt.Errorf("%w: it may update, delete or truncate append-only tables", ErrPrivileged)
	case above != nil:
		return fmt.Errorf("%w: it is a member of %s, and could act as that role", ErrPrivileged, *above)
	case column != nil:
		return fmt.Errorf("%w: it may update ledger.%s", ErrPrivileged, *column)
	}
	return nil
}

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

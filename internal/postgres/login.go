package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// ErrPrivileged says that a login may do more than append.
var ErrPrivileged = errors.New("the database login is too powerful for the service")

// checkLogin proves least privilege: not a superuser, and nothing beyond what the service is meant to have, neither by itself nor
// by any role that it could act as. What it is meant to have is what the migrations grant to ledger_svc.
func (s *Store) checkLogin(ctx context.Context) error {
	var excess string
	switch err := s.pool.QueryRow(ctx, firstExcess).Scan(&excess); {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("checking the database login: %w", unavailable(err))
	}
	return fmt.Errorf("%w: %s", ErrPrivileged, excess)
}

// firstExcess says the worst of what the login may do beyond its task; no row when there is nothing.
//
// It asks of every role that the session could become, since a member without inheritance has a role's rights after a SET ROLE
// only; and of the session's user, since a SET ROLE can be undone. In schema work the service may change
// every row, so only who owns that schema matters. A database without the schemas is another's, which CheckSchema says better.
const firstExcess = `
	WITH roles AS (
		SELECT r.*, CASE r.rolname WHEN session_user THEN 'it' ELSE format('it is a member of %s, which', r.rolname) END AS who
		FROM pg_roles r WHERE pg_has_role(session_user, r.oid, 'MEMBER')
	), relations AS (
		SELECT c.oid, c.relname, c.relkind, c.relowner FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'ledger' AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
	), tables AS (
		SELECT * FROM relations WHERE relkind <> 'S'
	), functions AS (
		SELECT p.oid, format('%s(%s)', p.proname, oidvectortypes(p.proargtypes)) AS signature, p.proowner
		FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'ledger'
	), schemas AS (
		SELECT oid, nspname, nspowner FROM pg_namespace WHERE nspname IN ('ledger', 'work')
	), excess (rank, says) AS (
		SELECT 1, who || ' is a superuser or may manage roles or databases, replicate, or bypass policies; use the service role (ledger_svc)'
		FROM roles WHERE rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls OR rolreplication
	UNION ALL
		SELECT 2, who || ' owns the schema ' || nspname || ' or may create in it; use the service role (ledger_svc), and the owner only for ` + "`ledgerd migrate`" + `'
		FROM roles r, schemas n WHERE n.nspowner = r.oid OR has_schema_privilege(r.oid, n.oid, 'CREATE')
	UNION ALL
		SELECT 3, who || ' may act on the server''s files or programs, or write every table'
		FROM roles WHERE rolname IN ('pg_write_all_data', 'pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program', 'pg_maintain')
	UNION ALL
		SELECT 4, who || ' owns the database' FROM roles r JOIN pg_database d ON d.datdba = r.oid WHERE d.datname = current_database()
	UNION ALL
		SELECT 4, who || ' owns ledger.' || relname FROM roles r JOIN relations c ON c.relowner = r.oid
	UNION ALL
		SELECT 4, who || ' owns ledger.' || signature FROM roles r JOIN functions f ON f.proowner = r.oid
	UNION ALL
		SELECT 5, who || ' may create schemas in the database; revoke CREATE' FROM roles WHERE has_database_privilege(oid, current_database(), 'CREATE')
	UNION ALL
		SELECT 5, who || ' may make temporary tables in the database; revoke TEMPORARY, which PUBLIC has unless it is taken away'
		FROM roles r, schemas n WHERE nspname = 'ledger' AND has_database_privilege(r.oid, current_database(), 'TEMPORARY')
	UNION ALL
		SELECT 6, who || ' may update, delete, truncate, reference or put triggers on ledger.' || relname
		FROM roles r, tables c WHERE has_table_privilege(r.oid, c.oid, 'UPDATE, DELETE, TRUNCATE, TRIGGER, REFERENCES')
	UNION ALL
		SELECT 7, who || ' may insert into ledger.' || relname
		FROM roles r, tables c WHERE (relname = 'erased' OR relkind NOT IN ('r', 'p')) AND has_any_column_privilege(r.oid, c.oid, 'INSERT')
	UNION ALL
		SELECT 8, who || ' may update or reference ledger.' || relname || '.' || attname
		FROM roles r, tables c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE has_column_privilege(r.oid, c.oid, a.attnum, 'UPDATE, REFERENCES')
		  AND NOT (relname = 'head' AND attname IN ('size', 'root', 'recorded_at', 'checkpoint') AND NOT has_column_privilege(r.oid, c.oid, a.attnum, 'REFERENCES'))
	UNION ALL
		SELECT 9, who || ' may execute ledger.' || signature
		FROM roles r, functions f WHERE has_function_privilege(r.oid, f.oid, 'EXECUTE')
		  AND signature NOT IN ('seq_at(timestamp with time zone)', 'expect_head(integer, bigint, bytea)', 'erase(bigint)')
	)
	SELECT says FROM excess ORDER BY rank, says LIMIT 1`

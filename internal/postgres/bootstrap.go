package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
)

// The roles: the owner migrates, the service appends and reads, the eraser owns the one function that may destroy a content.
const (
	OwnerRole   = "ledger_owner"
	ServiceRole = "ledger_svc"
	EraserRole  = "ledger_eraser"
)

// Bootstrap makes the roles and the database named in adminURL's place, as a superuser. It may be run again: what exists
// is kept, passwords are set anew, and what the roles can do beyond their task is taken back. It must run before the first migration and needs no right afterwards.
func Bootstrap(ctx context.Context, adminURL, database, ownerPassword, servicePassword string) error {
	admin, err := pgx.Connect(ctx, adminURL)
	if err != nil {
		return fmt.Errorf("connecting as superuser: %w", err)
	}
	defer admin.Close(context.WithoutCancel(ctx))
	if err := makeRoles(ctx, admin, ownerPassword, servicePassword); err != nil {
		return err
	}
	return makeDatabase(ctx, admin, adminURL, database)
}

func makeRoles(ctx context.Context, admin *pgx.Conn, ownerPassword, servicePassword string) error {
	if strings.ContainsRune(ownerPassword+servicePassword, 0) {
		return errors.New("making roles: a password must not hold a NUL")
	}
	roles := []struct{ name, with string }{
		{OwnerRole, "LOGIN PASSWORD " + quoteLiteral(ownerPassword)},
		{ServiceRole, "LOGIN PASSWORD " + quoteLiteral(servicePassword)},
		{EraserRole, "NOLOGIN"},
	}
	for _, r := range roles {
		var exists bool
		if err := admin.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = $1)`, r.name).Scan(&exists); err != nil {
			return fmt.Errorf("making role %s: %w", r.name, err)
		}
		verb := "CREATE"
		if exists {
			verb = "ALTER"
		}
		if _, err := admin.Exec(ctx, verb+" ROLE "+r.name+" WITH NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS "+r.with); err != nil {
			return fmt.Errorf("making role %s: %w", r.name, redactPassword(err))
		}
	}
	if _, err := admin.Exec(ctx, takeBack); err != nil {
		return fmt.Errorf("taking the other roles from %s: %w", ServiceRole, err)
	}
	// The statement of a batch that is refused holds a signed checkpoint of what was never committed: no log may keep it.
	for _, sql := range []string{"GRANT " + EraserRole + " TO " + OwnerRole, "ALTER ROLE " + ServiceRole + " SET log_min_error_statement = panic"} {
		if _, err := admin.Exec(ctx, sql); err != nil {
			return fmt.Errorf("making roles: %w", err)
		}
	}
	return nil
}

// takeBack ends the service's memberships in the owner and the eraser, whoever granted them: since Postgres 16 a REVOKE takes back
// no more than one grantor's.
const takeBack = `DO $$
	DECLARE
		m record;
	BEGIN
		FOR m IN SELECT r.rolname AS role, g.rolname AS grantor FROM pg_auth_members a
			JOIN pg_roles r ON r.oid = a.roleid JOIN pg_roles s ON s.oid = a.member LEFT JOIN pg_roles g ON g.oid = a.grantor
			WHERE s.rolname = '` + ServiceRole + `' AND r.rolname IN ('` + OwnerRole + `', '` + EraserRole + `')
		LOOP
			EXECUTE format('REVOKE %I FROM ` + ServiceRole + `', m.role) || coalesce(' GRANTED BY ' || quote_ident(m.grantor), '') || ' CASCADE';
		END LOOP;
	END $$`

// redactPassword keeps the statement, and so the password, out of an error's text: only the server's code is kept.
func redactPassword(err error) error {
	return fmt.Errorf("the server refused it (%w)", unavailable(err))
}

func makeDatabase(ctx context.Context, admin *pgx.Conn, adminURL, database string) error {
	name := pgx.Identifier{database}.Sanitize()
	var exists bool
	if err := admin.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)`, database).Scan(&exists); err != nil {
		return fmt.Errorf("making the database: %w", err)
	}
	if !exists {
		if _, err := admin.Exec(ctx, "CREATE DATABASE "+name+" OWNER "+OwnerRole+" ENCODING 'UTF8' TEMPLATE template0"); err != nil {
			return fmt.Errorf("making the database: %w", err)
		}
	}
	inside, err := databaseURL(adminURL, database)
	if err != nil {
		return err
	}
	return Harden(ctx, inside)
}

// Harden takes from PUBLIC what a service must not have: temporary tables, creation in schema public, and large objects,
// which any login may otherwise write. adminURL is a superuser's, in the database itself.
func Harden(ctx context.Context, adminURL string) error {
	conn, err := pgx.Connect(ctx, adminURL)
	if err != nil {
		return fmt.Errorf("connecting as superuser: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	name := pgx.Identifier{conn.Config().Database}.Sanitize()
	for _, sql := range []string{
		"ALTER DATABASE " + name + " OWNER TO " + OwnerRole,
		"REVOKE ALL ON DATABASE " + name + " FROM PUBLIC",
		"GRANT CONNECT ON DATABASE " + name + " TO " + ServiceRole,
		"REVOKE CREATE ON SCHEMA public FROM PUBLIC",
		"GRANT CREATE, USAGE ON SCHEMA public TO " + OwnerRole,
		"REVOKE EXECUTE ON FUNCTION lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea), lo_put(oid, bigint, bytea), lowrite(integer, bytea) FROM PUBLIC",
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("hardening the database: %w", err)
		}
	}
	return nil
}

// databaseURL is a connection URL with its database replaced.
func databaseURL(raw, database string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" {
		return "", errors.New("a database URL of the form postgres://… is required")
	}
	u.Path = "/" + database
	return u.String(), nil
}

// LoginURL is a connection URL with its login and database replaced, for handing out what Bootstrap made.
func LoginURL(adminURL, database, role, password string) (string, error) {
	u, err := url.Parse(adminURL)
	if err != nil || u.Scheme == "" {
		return "", errors.New("a database URL of the form postgres://… is required")
	}
	u.User = url.UserPassword(role, password)
	u.Path = "/" + database
	return u.String(), nil
}

// quoteLiteral quotes a string for statements that take no parameters (CREATE ROLE), whatever the server's settings.
func quoteLiteral(s string) string {
	return " E'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + "'"
}

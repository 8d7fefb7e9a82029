package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
)

// ledgerTables asks the catalogue, so that a new table can't be forgotten.
func ledgerTables(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `
		SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'ledger' AND c.relkind IN ('r', 'p') ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(names) < 10 {
		t.Fatalf("tables of schema ledger: %v, %v", names, err)
	}
	return names
}

func connect(tb testing.TB, url string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close(context.WithoutCancel(tb.Context())) })
	return conn
}

// refusedWith runs a statement in a transaction of its own, which is rolled back, and demands the SQLSTATE.
func refusedWith(t *testing.T, conn *pgx.Conn, code, sql string) {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = tx.Exec(t.Context(), sql)
	if rollback := tx.Rollback(t.Context()); rollback != nil {
		t.Fatal(rollback)
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != code {
		t.Errorf("%s: %v, want SQLSTATE %s", sql, err, code)
	}
}

// The service can't talk the database out of being append-only, whatever it tries.
func TestServiceCanOnlyAppend(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	if _, err := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "k", "p")); err != nil {
		t.Fatal(err)
	}
	svc := connect(t, l.ServiceURL)
	const denied = "42501"
	for _, table := range ledgerTables(t, svc) {
		for _, sql := range []string{
			"DELETE FROM ledger." + table,
			"TRUNCATE ledger." + table,
			"LOCK ledger." + table + " IN SHARE MODE",
			"ALTER TABLE ledger." + table + " DISABLE TRIGGER ALL",
			"ALTER TABLE ledger." + table + " RENAME TO gone",
			"ALTER TABLE ledger." + table + " OWNER TO ledger_svc",
			"DROP TABLE ledger." + table,
			"CREATE TRIGGER mine BEFORE INSERT ON ledger." + table + " FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change()",
			"CREATE RULE mine AS ON DELETE TO ledger." + table + " DO INSTEAD NOTHING",
			"COPY ledger." + table + " FROM PROGRAM 'true'",
			"COPY ledger." + table + " TO '/tmp/ledger'",
		} {
			refusedWith(t, svc, denied, sql)
		}
		if table != "head" {
			refusedWith(t, svc, denied, "UPDATE ledger."+table+" SET "+anyColumn(t, svc, table)+" = DEFAULT")
		}
	}
	for _, sql := range []string{
		"UPDATE ledger.head SET origin = 'evil'", "UPDATE ledger.head SET base = 1", "UPDATE ledger.head SET incarnation = 1",
		"SET session_replication_role = replica", "SET ROLE ledger_owner", "SET ROLE ledger_eraser",
		"CREATE TABLE ledger.mine (x int)", "CREATE TABLE work.mine (x int)", "CREATE TABLE public.mine (x int)", "CREATE TEMP TABLE mine (x int)",
		"CREATE OR REPLACE FUNCTION ledger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
		"CREATE FUNCTION public.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
		"CALL ledger.protect('work.tokens')", "SELECT pg_read_file('postgresql.conf')", "SELECT lo_creat(-1)", "SELECT lo_import('/etc/passwd')",
		"CREATE ROLE mine", "ALTER ROLE ledger_svc SUPERUSER", "CREATE EXTENSION pg_trgm",
	} {
		refusedWith(t, svc, denied, sql)
	}
}

func anyColumn(t *testing.T, conn *pgx.Conn, table string) string {
	t.Helper()
	var name string
	err := conn.QueryRow(t.Context(), `SELECT attname FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 ORDER BY attnum LIMIT 1`, "ledger."+table).Scan(&name)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// The triggers refuse even those who have the right: the owner, and a superuser in replica mode.
func TestTriggersRefuseEverybody(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	if _, err := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "k", "p")); err != nil {
		t.Fatal(err)
	}
	const restricted = "23001"
	for name, conn := range map[string]*pgx.Conn{"owner": connect(t, l.OwnerURL), "superuser": connect(t, l.AdminURL)} {
		if name == "superuser" {
			if _, err := conn.Exec(t.Context(), "SET session_replication_role = replica"); err != nil {
				t.Fatal(err)
			}
		}
		for _, table := range ledgerTables(t, conn) {
			refusedWith(t, conn, restricted, "TRUNCATE ledger."+table)
			var rows int
			if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM ledger."+table).Scan(&rows); err != nil {
				t.Fatal(err)
			}
			if rows > 0 { // row triggers need a row
				refusedWith(t, conn, restricted, "DELETE FROM ledger."+table)
			}
			if rows > 0 && table != "head" {
				column := anyColumn(t, conn, table)
				refusedWith(t, conn, restricted, "UPDATE ledger."+table+" SET "+column+" = "+column)
			}
		}
		refusedWith(t, conn, restricted, "UPDATE ledger.head SET size = size - 1")
		refusedWith(t, conn, restricted, "UPDATE ledger.head SET origin = 'evil'")
		refusedWith(t, conn, restricted, `UPDATE ledger.head SET root = sha256('evil')`)
	}
}

// Every table of the schema has both triggers, and they fire always.
func TestEveryTableIsProtected(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	conn := connect(t, l.AdminURL)
	for _, table := range ledgerTables(t, conn) {
		var always int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_trigger WHERE tgrelid = to_regclass($1) AND tgenabled = 'A' AND NOT tgisinternal`, "ledger."+table).Scan(&always)
		if err != nil || always != 2 {
			t.Errorf("ledger.%s has %d always-firing triggers, want 2 (%v)", table, always, err)
		}
	}
}

func TestServiceRefusesPowerfulLogins(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	for name, url := range map[string]string{"owner": l.OwnerURL, "superuser": l.AdminURL} {
		if _, err := postgres.Open(t.Context(), url); !errors.Is(err, postgres.ErrPrivileged) {
			t.Errorf("opened as %s: %v", name, err)
		}
	}
}

func TestMakeLogKeepsItsKey(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	if _, err := l.Store.MakeLog(t.Context(), l.Keys, time.Now()); err != nil {
		t.Errorf("opening the log again: %v", err)
	}
	_, other := ledgertest.NewKeys(t, "other.example/log")
	if _, err := l.Store.MakeLog(t.Context(), other, time.Now()); !errors.Is(err, postgres.ErrOrigin) {
		t.Errorf("with the key of another log: %v", err)
	}
	_, forged := ledgertest.NewKeys(t, l.Keys.Signer.Name())
	if _, err := l.Store.MakeLog(t.Context(), forged, time.Now()); err == nil {
		t.Error("a key of the same name that never signed the head is accepted")
	}
}

func TestMigrateDownRefusesEntries(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	m, err := postgres.OpenMigrator(l.OwnerURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	if err := l.Store.CheckSchema(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "k", "p")); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Down(t.Context()); !errors.Is(err, postgres.ErrHasEntries) {
		t.Errorf("down with entries: %v", err)
	}
}

func TestMigrateDownAndUp(t *testing.T) {
	t.Parallel()
	l := ledgertest.Empty(t)
	m, err := postgres.OpenMigrator(l.OwnerURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	states, err := m.Status(t.Context())
	if err != nil || len(states) < 4 {
		t.Fatalf("status: %v, %v", states, err)
	}
	for range states {
		if _, err := m.Down(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if applied, err := m.Up(t.Context()); err != nil || len(applied) != len(states) {
		t.Errorf("up again: %v, %v", applied, err)
	}
}

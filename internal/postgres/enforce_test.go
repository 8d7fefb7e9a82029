package postgres_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"slices"
	"strings"
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

// rolledBack runs statements in a transaction of their own, which is rolled back, and returns their error.
func rolledBack(t *testing.T, conn *pgx.Conn, sql string) error {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = tx.Exec(t.Context(), sql)
	if rollback := tx.Rollback(t.Context()); rollback != nil {
		t.Fatal(rollback)
	}
	return err
}

// refusedWith runs statements like rolledBack and demands the SQLSTATE.
func refusedWith(t *testing.T, conn *pgx.Conn, code, sql string) {
	t.Helper()
	var pg *pgconn.PgError
	if err := rolledBack(t, conn, sql); !errors.As(err, &pg) || pg.Code != code {
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
		for _, column := range columnsOf(t, svc, table) {
			if table != "head" || !slices.Contains([]string{"size", "root", "recorded_at", "checkpoint"}, column) {
				refusedWith(t, svc, denied, "UPDATE ledger."+table+" SET "+column+" = DEFAULT")
			}
		}
	}
	for _, sql := range []string{
		"INSERT INTO ledger.erased VALUES (1, 2)", "SET session_replication_role = replica", "SET ROLE ledger_owner", "SET ROLE ledger_eraser",
		"CREATE TABLE ledger.mine (x int)", "CREATE TABLE work.mine (x int)", "CREATE TABLE public.mine (x int)", "CREATE TEMP TABLE mine (x int)",
		"CREATE OR REPLACE FUNCTION ledger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
		"CREATE FUNCTION public.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
		"CALL ledger.protect('work.tokens')", "SELECT pg_read_file('postgresql.conf')", "SELECT lo_creat(-1)", "SELECT lo_import('/etc/passwd')",
		"CREATE ROLE mine", "ALTER ROLE ledger_svc SUPERUSER", "CREATE EXTENSION pg_trgm",
	} {
		refusedWith(t, svc, denied, sql)
	}
}

func columnsOf(t *testing.T, conn *pgx.Conn, table string) []string {
	t.Helper()
	names := texts(t, conn, `SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = 'ledger.`+table+`'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`)
	if len(names) == 0 {
		t.Fatalf("ledger.%s has no columns", table)
	}
	return names
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
				column := columnsOf(t, conn, table)[0]
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

// A right that crept in keeps the service from starting, whichever way it was given.
func TestServiceRefusesRightsThatItShouldNotHave(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	admin := connect(t, l.AdminURL)
	login := "crept_" + strings.ToLower(rand.Text()) // roles are the server's, which other tests share
	database := pgx.Identifier{admin.Config().Database}.Sanitize()
	exec := func(sql string) {
		t.Helper()
		sql = strings.NewReplacer("LOGIN", login, " DATABASE this ", " DATABASE "+database+" ").Replace(sql)
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	exec("CREATE ROLE LOGIN WITH login PASSWORD 'secret' IN ROLE ledger_svc")
	t.Cleanup(func() {
		for _, sql := range []string{"DROP OWNED BY " + login, "DROP ROLE " + login} {
			if _, err := admin.Exec(context.WithoutCancel(t.Context()), sql); err != nil {
				t.Error(err)
			}
		}
	})
	u, err := url.Parse(l.ServiceURL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(login, "secret")
	open := func() error {
		s, err := postgres.Open(t.Context(), u.String())
		if err == nil {
			s.Close()
		}
		return err
	}
	if err := open(); err != nil {
		t.Fatalf("as nothing but the service: %v", err)
	}
	for _, right := range []struct{ grant, revoke, says string }{
		{"GRANT UPDATE (content) ON ledger.contents TO LOGIN", "REVOKE UPDATE (content) ON ledger.contents FROM LOGIN", "ledger.contents.content"},
		{"GRANT UPDATE (origin) ON ledger.head TO LOGIN", "REVOKE UPDATE (origin) ON ledger.head FROM LOGIN", "ledger.head.origin"},
		{"GRANT REFERENCES (seq) ON ledger.entries TO LOGIN", "REVOKE REFERENCES (seq) ON ledger.entries FROM LOGIN", "ledger.entries.seq"},
		{"GRANT REFERENCES (size) ON ledger.head TO LOGIN", "REVOKE REFERENCES (size) ON ledger.head FROM LOGIN", "ledger.head.size"},
		{"GRANT DELETE ON ledger.keys TO LOGIN", "REVOKE DELETE ON ledger.keys FROM LOGIN", "ledger.keys"},
		{"GRANT TRUNCATE ON ledger.tiles TO LOGIN", "REVOKE TRUNCATE ON ledger.tiles FROM LOGIN", "ledger.tiles"},
		{"GRANT TRIGGER ON ledger.entries TO LOGIN", "REVOKE TRIGGER ON ledger.entries FROM LOGIN", "ledger.entries"},
		{"GRANT INSERT ON ledger.erased TO LOGIN", "REVOKE INSERT ON ledger.erased FROM LOGIN", "insert into ledger.erased"},
		{"GRANT INSERT (seq) ON ledger.erased TO LOGIN", "REVOKE INSERT (seq) ON ledger.erased FROM LOGIN", "insert into ledger.erased"},
		{"CREATE VIEW ledger.all_keys AS TABLE ledger.keys; GRANT DELETE ON ledger.all_keys TO PUBLIC", "DROP VIEW ledger.all_keys", "ledger.all_keys"},
		{"CREATE VIEW ledger.all_keys AS TABLE ledger.keys; GRANT INSERT ON ledger.all_keys TO LOGIN", "DROP VIEW ledger.all_keys", "ledger.all_keys"},
		{"GRANT CREATE ON SCHEMA ledger TO LOGIN", "REVOKE CREATE ON SCHEMA ledger FROM LOGIN", "the schema ledger"},
		{"CREATE TABLE ledger.own (x int); ALTER TABLE ledger.own OWNER TO LOGIN", "DROP TABLE ledger.own", "owns ledger.own"},
		{"CREATE SEQUENCE ledger.own; ALTER SEQUENCE ledger.own OWNER TO LOGIN", "DROP SEQUENCE ledger.own", "owns ledger.own"},
		{"ALTER FUNCTION ledger.seq_at OWNER TO LOGIN", "ALTER FUNCTION ledger.seq_at OWNER TO ledger_owner", "owns ledger.seq_at"},
		{"ALTER DATABASE this OWNER TO LOGIN", "ALTER DATABASE this OWNER TO ledger_owner", "owns the database"},
		{"GRANT CREATE ON DATABASE this TO LOGIN", "REVOKE CREATE ON DATABASE this FROM LOGIN", "CREATE"},
		{"GRANT TEMP ON DATABASE this TO PUBLIC", "REVOKE TEMP ON DATABASE this FROM PUBLIC", "TEMPORARY"},
		{"GRANT EXECUTE ON PROCEDURE ledger.protect TO LOGIN", "REVOKE EXECUTE ON PROCEDURE ledger.protect FROM LOGIN", "execute ledger.protect(regclass)"},
		{"CREATE FUNCTION ledger.erase(text) RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'; GRANT EXECUTE ON FUNCTION ledger.erase(text) TO PUBLIC", "DROP FUNCTION ledger.erase(text)", "execute ledger.erase(text)"},
		{"GRANT ledger_owner TO LOGIN", "REVOKE ledger_owner FROM LOGIN", "ledger_owner"},
		{"GRANT ledger_eraser TO LOGIN", "REVOKE ledger_eraser FROM LOGIN", "ledger_eraser"},
		{"GRANT pg_write_all_data TO LOGIN", "REVOKE pg_write_all_data FROM LOGIN", "pg_write_all_data"},
		{"GRANT pg_execute_server_program TO LOGIN", "REVOKE pg_execute_server_program FROM LOGIN", "pg_execute_server_program"},
		{"GRANT CONNECT ON DATABASE this TO LOGIN; CREATE ROLE LOGIN_other; GRANT DELETE ON ledger.keys TO LOGIN_other; ALTER ROLE LOGIN NOINHERIT; GRANT LOGIN_other TO LOGIN",
			"ALTER ROLE LOGIN INHERIT; DROP OWNED BY LOGIN_other; DROP ROLE LOGIN_other", "ledger.keys"},
		{"ALTER ROLE LOGIN CREATEROLE", "ALTER ROLE LOGIN NOCREATEROLE", "manage roles"},
		{"ALTER ROLE LOGIN REPLICATION", "ALTER ROLE LOGIN NOREPLICATION", "replicate"},
		{"ALTER ROLE LOGIN BYPASSRLS", "ALTER ROLE LOGIN NOBYPASSRLS", "bypass"},
		{"ALTER ROLE LOGIN SUPERUSER; ALTER ROLE LOGIN SET role = ledger_svc", "ALTER ROLE LOGIN NOSUPERUSER; ALTER ROLE LOGIN RESET role", "superuser"},
	} {
		exec(right.grant)
		if err := open(); !errors.Is(err, postgres.ErrPrivileged) || !strings.Contains(err.Error(), right.says) {
			t.Errorf("%s: %v", right.grant, err)
		}
		exec(right.revoke)
	}
	exec("GRANT pg_monitor, pg_signal_backend TO LOGIN") // harmless to the log
	if err := open(); err != nil {
		t.Errorf("after all was taken back: %v", err)
	}
}

// What is acknowledged is on disk, also where somebody made the role or the server faster; the URL may ask for another way of it.
func TestCommitsAreSynchronous(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	if _, err := connect(t, l.AdminURL).Exec(t.Context(), `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database()); END $$`); err != nil {
		t.Fatal(err)
	}
	for asked, want := range map[string]string{"": "on", "off": "on", "false": "on", "local": "local", "remote_apply": "remote_apply"} {
		u, err := url.Parse(l.ServiceURL)
		if err != nil {
			t.Fatal(err)
		}
		if q := u.Query(); asked != "" {
			q.Set("synchronous_commit", asked)
			u.RawQuery = q.Encode()
		}
		s, err := postgres.Open(t.Context(), u.String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		if got, err := s.Setting(t.Context(), "synchronous_commit"); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", asked, got, err, want)
		}
	}
}

// The tests' own server flushes nothing, which must be said of it.
func TestVolatileServerIsKnown(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	if got, err := l.Store.Volatile(t.Context()); err != nil || !slices.Equal(got, []string{"fsync", "full_page_writes"}) {
		t.Errorf("%q, %v", got, err)
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

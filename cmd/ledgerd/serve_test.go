package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"ledgerd/api"
	"ledgerd/internal/devstack/chtest"
	"ledgerd/internal/devstack/pgtest"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

// command runs one command line in this process and returns its exit status and what it said.
func command(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(ctx, args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func writeKey(t *testing.T, l *ledgertest.Ledger) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "signing.key")
	if err := os.WriteFile(path, []byte(l.SignerKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Mistakes of configuration are found at the start, and named, and no secret is shown.
func TestServeRefusesBadSettings(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	key := writeKey(t, l)
	other := filepath.Join(t.TempDir(), "other.key")
	if code, _, stderr := command(t.Context(), "key", "new", "--origin", "other.example/log", "--out", other); code != 0 {
		t.Fatal(stderr)
	}
	empty := pgtest.NewDatabase(t)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no database":       {[]string{"--signing-key-file", key}, "database-url"},
		"no key":            {[]string{"--database-url", l.ServiceURL}, "key new"},
		"malformed key":     {[]string{"--database-url", l.ServiceURL, "--signing-key", "PRIVATE+KEY+secretsecret"}, "malformed"},
		"malformed URL":     {[]string{"--database-url", "postgres://secretsecret@[", "--signing-key-file", key}, "malformed"},
		"the owner's login": {[]string{"--database-url", l.OwnerURL, "--signing-key-file", key}, "service role"},
		"a superuser":       {[]string{"--database-url", l.AdminURL, "--signing-key-file", key}, "service role"},
		"no schema":         {[]string{"--database-url", strings.Replace(l.ServiceURL, databaseOf(l.ServiceURL), databaseOf(empty), 1), "--signing-key-file", key}, "migrate"},
		"another log's key": {[]string{"--database-url", l.ServiceURL, "--signing-key-file", other}, "origin"},
		"taken address":     {[]string{"--database-url", l.ServiceURL, "--signing-key-file", key, "--listen", "256.0.0.1:1"}, "listening"},
		"flushes nothing":   {[]string{"--database-url", l.ServiceURL, "--signing-key-file", key, "--listen", "256.0.0.1:1"}, "fsync"},
	} {
		code, _, stderr := command(t.Context(), append([]string{"serve", "--listen", "127.0.0.1:0", "--checkpoint-file", filepath.Join(t.TempDir(), "kept")}, c.args...)...)
		if code == 0 || !strings.Contains(stderr, c.says) || strings.Contains(stderr, "secretsecret") {
			t.Errorf("%s: exit %d, %q", name, code, stderr)
		}
	}
}

func databaseOf(url string) string {
	rest := url[strings.LastIndex(url[:strings.Index(url+"?", "?")], "/")+1:]
	name, _, _ := strings.Cut(rest, "?")
	return name
}

// databases is how many databases of a name a server has.
func databases(t *testing.T, admin, name string) int {
	t.Helper()
	return count(t, admin, `SELECT count(*) FROM pg_database WHERE datname = $1`, name)
}

// logsStatements is how many of the service's roles don't keep the statements that the server refuses out of its log.
func logsStatements(t *testing.T, admin string) int {
	t.Helper()
	return count(t, admin, `SELECT count(*) FROM pg_roles WHERE rolname = 'ledger_svc' AND NOT coalesce('log_min_error_statement=panic' = ANY(rolconfig), false)`)
}

// empower gives the service's role what it must not have, and another run of bootstrap takes back.
func empower(t *testing.T, admin string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), admin)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `ALTER ROLE ledger_svc SUPERUSER CREATEDB CREATEROLE REPLICATION BYPASSRLS;
		GRANT ledger_owner TO ledger_svc; GRANT ledger_eraser TO ledger_svc WITH ADMIN OPTION`); err != nil {
		t.Fatal(err)
	}
}

// excessive is how many attributes and memberships the service's role has that serve would refuse.
func excessive(t *testing.T, admin string) int {
	t.Helper()
	return count(t, admin, `
		SELECT rolsuper::int + rolcreatedb::int + rolcreaterole::int + rolreplication::int + rolbypassrls::int
			+ (SELECT count(*) FROM pg_auth_members m WHERE m.member = r.oid)
		FROM pg_roles r WHERE rolname = 'ledger_svc'`)
}

func count(t *testing.T, admin, sql string, args ...any) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), admin)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Bootstrap makes everything that serve needs, refuses what is malformed before it changes anything, can be run again, and serve answers with its tokens.
func TestBootstrapThenServe(t *testing.T) {
	t.Parallel()
	cluster := pgtest.NewCluster(t)
	dir := t.TempDir()
	admin := cluster.AdminURL("postgres")
	login := func(role string) string {
		return strings.NewReplacer("ledger_admin:", role+":pw-of-", "/postgres?", "/audit?").Replace(admin)
	}
	key := filepath.Join(dir, "signing.key")
	args := []string{
		"bootstrap", "--admin-url", admin, "--migrate-url", login("ledger_owner"), "--database-url", login("ledger_svc"),
		"--data-dir", dir, "--signing-key-file", key, "--origin", "audit.example/ledger", "--tenant", "north", "--clickhouse-url", chtest.NewDatabase(t),
	}
	malformed := slices.Concat(args[:len(args)-1], []string{"clickhouse.example:9000"})
	if code, _, stderr := command(t.Context(), malformed...); code != 1 || !strings.Contains(stderr, "LEDGERD_CLICKHOUSE_URL") || strings.Contains(stderr, "clickhouse.example") {
		t.Fatalf("a malformed ClickHouse URL: exit %d, %s", code, stderr)
	}
	if n := databases(t, admin, "audit"); n != 0 {
		t.Fatal("a bootstrap that was refused made the database")
	}
	for again := range 2 {
		if again > 0 {
			empower(t, admin)
		}
		if code, stdout, stderr := command(t.Context(), args...); code != 0 || !strings.Contains(stdout, "dev.json") {
			t.Fatalf("bootstrap: exit %d, %s%s", code, stdout, stderr)
		}
		if n := excessive(t, admin); n != 0 {
			t.Fatalf("the service's role has %d attributes or memberships that it should not have", n)
		}
	}
	if n := logsStatements(t, admin); n != 0 {
		t.Error("the server's log may keep refused statements of the service")
	}
	conn, err := readConnection(dir)
	if err != nil || len(conn.Tokens) != len(kinds.Roles) || !strings.HasPrefix(conn.LogKeys[0], "audit.example/ledger+") {
		t.Fatalf("dev.json: %+v, %v", conn, err)
	}
	for _, verb := range []string{"status", "up"} {
		if code, stdout, stderr := command(t.Context(), "migrate", verb, "--migrate-url", conn.MigrateURL, "--clickhouse-url", conn.ClickHouseURL); code != 0 || strings.Contains(stdout, "pending") {
			t.Errorf("migrate %s: exit %d, %s%s", verb, code, stdout, stderr)
		}
	}
	chtest.Exec(t, conn.ClickHouseURL, "SELECT throwIf(count() != 0) FROM usage")
	s, stop := startServe(t, conn, key)
	if status := get(t, s+"/readyz", ""); status != http.StatusOK {
		t.Errorf("readyz: %d", status)
	}
	if status := get(t, s+"/v1/tenants", conn.Tokens[kinds.Operator]); status != http.StatusOK {
		t.Errorf("the operator's token: %d", status)
	}
	var shipping api.ShippingBody
	if _, raw := fetch(t, s+"/v1/shipping", conn.Tokens[kinds.Operator]); json.Unmarshal(raw, &shipping) != nil || !shipping.Configured {
		t.Errorf("it does not ship: %s", raw)
	}
	if code := stop(); code != 0 {
		t.Errorf("serve ended with %d", code)
	}
}

// startServe runs `ledgerd serve` in this process and returns its URL, and what ends it and gives its exit status.
func startServe(t *testing.T, conn connectionFile, key string) (url string, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"serve", "--listen", "127.0.0.1:0", "--database-url", conn.PostgresURL, "--signing-key-file", key, "--checkpoint-file", key + ".checkpoint", "--clickhouse-url", conn.ClickHouseURL, "--log-format", "json"}, nil, io.Discard, writer)
		writer.Close()
	}()
	t.Cleanup(cancel)
	found := make(chan string, 1)
	go func() {
		var seen bytes.Buffer
		chunk := make([]byte, 4096)
		for {
			n, err := reader.Read(chunk)
			seen.Write(chunk[:n])
			if _, rest, ok := strings.Cut(seen.String(), `"url":"`); ok && url == "" {
				if at, _, ok := strings.Cut(rest, `"`); ok {
					found <- at
					io.Copy(io.Discard, reader) //nolint:errcheck // until the writer closes
					return
				}
			}
			if err != nil {
				found <- ""
				return
			}
		}
	}()
	if url = <-found; url == "" {
		t.Fatalf("serve did not start, exit %d", <-done)
	}
	return url, func() int { cancel(); return <-done }
}

func get(t *testing.T, url, token string) int {
	t.Helper()
	status, _ := fetch(t, url, token)
	return status
}

func fetch(t *testing.T, url, token string) (status int, body []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err = io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, body
}

func TestHelpListsEverySetting(t *testing.T) {
	t.Parallel()
	for command, settings := range map[string][]string{
		"serve":     {"LEDGERD_LISTEN", "LEDGERD_DATABASE_URL", "LEDGERD_SIGNING_KEY_FILE", "LEDGERD_CHECKPOINT_FILE", "LEDGERD_PRIVATE_LISTEN", "LEDGERD_LOG_LEVEL", "LEDGERD_SELF_AUDIT_EVERY", "LEDGERD_SELF_AUDIT_FULL"},
		"dev":       {"LEDGERD_LISTEN", "LEDGERD_DATA_DIR", "LEDGERD_ORIGIN"},
		"migrate":   {"LEDGERD_MIGRATE_URL", "status", "down"},
		"bootstrap": {"LEDGERD_ADMIN_URL", "LEDGERD_TENANT"},
	} {
		code, stdout, _ := commandHelp(t, command)
		for _, s := range settings {
			if code != 0 || !strings.Contains(stdout, s) {
				t.Errorf("ledgerd %s --help (exit %d) does not name %s", command, code, s)
			}
		}
	}
}

func commandHelp(t *testing.T, name string) (int, string, string) {
	t.Helper()
	return command(t.Context(), name, "--help")
}

func TestUnknownCommandLine(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"frobnicate"}, {"serve", "--frobnicate"}, {"verify", "cases"}} {
		if code, _, stderr := command(t.Context(), args...); code != 2 || !strings.Contains(stderr, "--help") {
			t.Errorf("ledgerd %v: exit %d, %q", args, code, stderr)
		}
	}
}

func TestKeyNewAndShow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "k")
	_, made, _ := command(t.Context(), "key", "new", "--origin", "a.example/l", "--out", path)
	_, shown, _ := command(t.Context(), "key", "show", path)
	if made == "" || made != shown || !strings.HasPrefix(made, "a.example/l+") {
		t.Errorf("made %q, shown %q", made, shown)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file: %v, %v", info, err)
	}
	if code, _, _ := command(t.Context(), "key", "new", "--out", path); code == 0 {
		t.Error("an existing key was overwritten")
	}
	if code, _, _ := command(t.Context(), "key", "new", "--origin", "has space", "--out", path+"2"); code == 0 {
		t.Error("an origin with a space is accepted")
	}
}

// While the log changes its key, its file has several.
func TestKeyShowOfSeveral(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	newKey := func(origin string) (file, vkey string) {
		t.Helper()
		file = filepath.Join(dir, rand.Text())
		code, made, stderr := command(t.Context(), "key", "new", "--origin", origin, "--out", file)
		if code != 0 {
			t.Fatal(stderr)
		}
		return string(mustRead(t, file)), made
	}
	old, oldShown := newKey("a.example/l")
	fresh, freshShown := newKey("a.example/l")
	other, _ := newKey("b.example/l")
	for _, c := range []struct{ name, file, shown string }{
		{"one", old, oldShown},
		{"without a line end", strings.TrimSpace(old), oldShown},
		{"two", fresh + old, freshShown + oldShown},
		{"of two logs", fresh + other, ""},
		{"one is cut off", fresh + old[:20] + "\n", ""},
		{"empty", "", ""},
	} {
		path := filepath.Join(dir, "shown")
		if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, shown, stderr := command(t.Context(), "key", "show", path); shown != c.shown || (code == 0) != (c.shown != "") || strings.Contains(stderr, "PRIVATE") {
			t.Errorf("%s: exit %d, %q, %q", c.name, code, shown, stderr)
		}
	}
}

// The log changes its key: old alone, both, new alone; each checkpoint is good for who knows a key that signed it.
func TestKeyRotation(t *testing.T) {
	t.Parallel()
	cluster := pgtest.NewCluster(t)
	s := newRealService(t, cluster.AdminURL("postgres"))
	old := s.LogKeys[0]
	name, _, _ := strings.Cut(old, "+")
	fresh := filepath.Join(t.TempDir(), "new.key")
	_, made, _ := command(t.Context(), "key", "new", "--origin", name, "--out", fresh)
	newKey := strings.TrimSpace(made)
	i := &instance{connectionFile: s.connectionFile}
	for step, c := range []struct {
		keys         []string // files, in order
		goodFor, not []string
	}{
		{[]string{s.key}, []string{old}, []string{newKey}},
		{[]string{fresh, s.key}, []string{old, newKey}, nil},
		{[]string{fresh}, []string{newKey}, []string{old}},
	} {
		joined := filepath.Join(t.TempDir(), "keys")
		var text []byte
		for _, file := range c.keys {
			text = append(text, mustRead(t, file)...)
		}
		if err := os.WriteFile(joined, text, 0o600); err != nil {
			t.Fatal(err)
		}
		running := *s
		running.key = joined
		running.start(t)
		status, _, err := i.do(t.Context(), "POST", "/v1/consent-receipts", kinds.Host, consentFor(fmt.Sprint("provider-", step)))
		_, checkpoint, _ := i.do(t.Context(), "GET", "/log/checkpoint", kinds.Operator, "")
		running.stop(t)
		if err != nil || status != 201 {
			t.Fatalf("step %d: recording: %d %v", step, status, err)
		}
		for _, vkey := range append(c.goodFor, c.not...) {
			verifiers, err := ledger.ParseVerifierKeys(name, vkey)
			if err != nil {
				t.Fatal(err)
			}
			_, err = ledger.OpenCheckpoint(checkpoint, name, verifiers...)
			if good := slices.Contains(c.goodFor, vkey); good != (err == nil) {
				t.Errorf("step %d: %s: %v", step, vkey, err)
			}
		}
	}
}

func TestVerifyCommands(t *testing.T) {
	t.Parallel()
	corpus := filepath.Join("..", "..", "receipts", "air", "testdata", "corpus.json")
	code, stdout, stderr := command(t.Context(), "verify", "cases", corpus)
	if code != 0 || !strings.Contains(stdout, " passed, 0 failed\n") {
		t.Errorf("the own corpus: exit %d, %s", code, stderr)
	}
	code, stdout, _ = command(t.Context(), "verify", "receipt-bundle", filepath.Join(t.TempDir(), "missing"), "-")
	if lines := strings.Split(strings.TrimSpace(stdout), "\n"); code != 1 || len(lines) != 2 || !strings.Contains(lines[0], `"status":"unreadable"`) || !strings.Contains(lines[1], `"status":"invalid"`) {
		t.Errorf("a missing file and an empty one: exit %d, %s", code, stdout)
	}
	bad := filepath.Join(t.TempDir(), "bundle.json")
	if err := os.WriteFile(bad, []byte(`{"profile":"x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, _ = command(t.Context(), "verify", "receipt-bundle", bad)
	if code != 1 || strings.Count(stdout, "\n") != 1 || !strings.Contains(stdout, `"status":"invalid"`) || !strings.Contains(stdout, `"disclosures":[{`) {
		t.Errorf("an invalid bundle: exit %d, %s", code, stdout)
	}
}

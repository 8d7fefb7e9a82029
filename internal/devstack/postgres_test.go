package devstack

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSecondStartFindsTheData(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	opts := PostgresOptions{DataDir: dir}
	first, err := StartPostgres(t.Context(), opts)
	check(t, err)
	query(t, first, "CREATE TABLE t AS SELECT 42 AS n")
	check(t, first.Stop(t.Context()))
	check(t, first.Stop(t.Context()))

	var told progress
	opts.Log = &told
	second := start(t, opts)
	if got := query(t, second, "SELECT n::text FROM t"); got != "42" {
		t.Errorf("the table holds %q", got)
	}
	if first.AdminURL("x") != second.AdminURL("x") {
		t.Error("the URL changed")
	}
	if strings.Contains(told.String(), "creating") {
		t.Errorf("the second start said %q", told.String())
	}
}

func TestFolderInUseIsRefused(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	p := startVolatile(t, dir)
	if _, err := StartPostgres(t.Context(), PostgresOptions{DataDir: dir}); !errors.Is(err, ErrInUse) {
		t.Errorf("a second start: %v", err)
	}
	if err := Remove(dir); !errors.Is(err, ErrInUse) {
		t.Errorf("removal: %v", err)
	}
	query(t, p, "SELECT 'unharmed'")
	check(t, p.Stop(t.Context()))
	check(t, Remove(dir))
	if err := Remove(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removal of nothing: %v", err)
	}
}

func TestServerIsPrivate(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	p := startVolatile(t, dir)
	if got := query(t, p, "SHOW listen_addresses"); got != "" {
		t.Errorf("listens on %q", got)
	}
	for _, path := range []string{p.socket, folder(dir).cluster(), folder(dir).password(), folder(dir).log()} {
		info, err := os.Stat(path)
		check(t, err)
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
	}
	if got := query(t, p, "SELECT count(*)::text FROM pg_hba_file_rules WHERE auth_method <> 'scram-sha-256'"); got != "0" {
		t.Errorf("%s rules let somebody in without a password", got)
	}
}

// An ALTER SYSTEM, perhaps left over from an experiment, must not take durability away.
func TestDurabilityCannotBeSetAway(t *testing.T) {
	t.Parallel()
	p := start(t, PostgresOptions{DataDir: newDir(t)})
	for _, setting := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		query(t, p, "ALTER SYSTEM SET "+setting+" = off")
	}
	check(t, p.Restart(t.Context()))
	if got := query(t, p, "SELECT count(*)::text FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes', 'data_checksums') AND setting = 'on'"); got != "4" {
		t.Errorf("%s of 4 settings are on", got)
	}
}

func TestLogKeepsNothingThatClientsStore(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	p := startVolatile(t, dir)
	query(t, p, "CREATE TABLE t (who text PRIMARY KEY)")
	query(t, p, `DO $$ BEGIN
		INSERT INTO t VALUES ('a-person');
		INSERT INTO t VALUES ('a-person');
	EXCEPTION WHEN unique_violation THEN RAISE WARNING 'caught' USING DETAIL = 'a-person'; END $$`)
	path := folder(dir).log()
	eventually(t, "the log has the warning", func() bool { return strings.Contains(read(t, path), "caught") })
	if text := read(t, path); strings.Contains(text, "a-person") {
		t.Errorf("the log says\n%s", text)
	}
}

func TestLongPathsGetASocketElsewhere(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(newDir(t), strings.Repeat("long/", 30))
	p := startVolatile(t, dir)
	if strings.HasPrefix(p.socket, dir) {
		t.Errorf("socket in %s", p.socket)
	}
	query(t, p, "SELECT 'reached'")
	check(t, p.Stop(t.Context()))
	if _, err := os.Stat(p.socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket's folder outlives the server: %v", err)
	}
}

func TestStopWithoutPatienceIsHardAndSaysSo(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	p, err := StartPostgres(t.Context(), PostgresOptions{DataDir: dir})
	check(t, err)
	query(t, p, "CREATE TABLE t AS SELECT 42 AS n")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Stop(gone); !errors.Is(err, errForced) {
		t.Errorf("Stop: %v", err)
	}
	if err := p.Err(); err != nil {
		t.Errorf("a requested end counts as unexpected: %v", err)
	}
	if got := query(t, start(t, PostgresOptions{DataDir: dir}), "SELECT n::text FROM t"); got != "42" {
		t.Errorf("the table holds %q", got)
	}
}

func TestRestartAfterStopIsRefused(t *testing.T) {
	t.Parallel()
	p := startVolatile(t, newDir(t))
	check(t, p.Stop(t.Context()))
	if err := p.Restart(t.Context()); err == nil {
		t.Error("restarted")
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	check(t, err)
	return string(text)
}

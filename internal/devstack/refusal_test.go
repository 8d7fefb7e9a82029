package devstack

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCancelledStartLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	told := &progress{each: cancel} // cancelled when the cluster is about to be created
	if _, err := StartPostgres(ctx, PostgresOptions{DataDir: dir, Log: told}); !errors.Is(err, context.Canceled) {
		t.Errorf("start: %v", err)
	}
	if left := serversOf(t, siteOf(t, dir)); len(left) > 0 {
		t.Errorf("running: %v", left)
	}
	if _, err := StartPostgres(ctx, PostgresOptions{DataDir: dir}); !errors.Is(err, context.Canceled) {
		t.Errorf("start by a cancelled context: %v", err)
	}
	startVolatile(t, dir)
}

// As root it is the server's account that is kept out, else we are.
func TestFolderOutOfReachIsNamed(t *testing.T) {
	t.Parallel()
	closed, want, mode := newDir(t), ErrUnreachable, os.FileMode(0o700)
	if os.Geteuid() != 0 {
		want, mode = fs.ErrPermission, 0
	}
	check(t, os.Mkdir(closed, 0o700))
	check(t, os.Chmod(closed, mode))
	_, err := StartPostgres(t.Context(), PostgresOptions{DataDir: filepath.Join(closed, "data")})
	if !errors.Is(err, want) || !strings.Contains(err.Error(), closed) {
		t.Errorf("start: %v", err)
	}
}

func TestClosedFolderIsTheOutermost(t *testing.T) {
	t.Parallel()
	top := newDir(t)
	dir := filepath.Join(top, "a", "b")
	check(t, os.MkdirAll(dir, 0o755))
	stranger := account{uid: 1 << 20, gid: 1 << 20}
	if got := closedFolder(dir, stranger); got != "" {
		t.Errorf("open folders: %s", got)
	}
	check(t, os.Chmod(dir, 0o700))
	check(t, os.Chmod(filepath.Dir(dir), 0o700))
	if got := closedFolder(dir, stranger); got != filepath.Dir(dir) {
		t.Errorf("closed: %s", got)
	}
	if got := closedFolder(dir, account{uid: os.Geteuid()}); got != "" {
		t.Errorf("the owner's own: %s", got)
	}
}

func TestLostPasswordIsExplained(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	check(t, startVolatile(t, dir).Stop(t.Context()))
	check(t, os.Remove(folder(dir).password()))
	if _, err := StartPostgres(t.Context(), PostgresOptions{DataDir: dir}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "password") {
		t.Errorf("without the file: %v", err)
	}
	check(t, os.WriteFile(folder(dir).password(), []byte("guess\n"), 0o600))
	if _, err := StartPostgres(t.Context(), PostgresOptions{DataDir: dir}); sqlState(err) != codeWrongPassword {
		t.Errorf("with another: %v", err)
	}
}

func TestServerThatRefusesIsQuoted(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	check(t, startVolatile(t, dir).Stop(t.Context()))
	conf := filepath.Join(folder(dir).cluster(), "postgresql.conf")
	check(t, os.WriteFile(conf, []byte("nonsense = 1\n"), 0o600))
	_, err := StartPostgres(t.Context(), PostgresOptions{DataDir: dir})
	if err == nil || !strings.Contains(err.Error(), `"nonsense"`) || !strings.Contains(err.Error(), folder(dir).log()) {
		t.Errorf("start: %v", err)
	}
}

func TestForeignSocketFoldersAreRefused(t *testing.T) {
	t.Parallel()
	a := account{name: "me", uid: os.Geteuid()}
	top := newDir(t)
	check(t, os.Mkdir(top, 0o755))
	if err := privateDir(top, a); err == nil {
		t.Error("one that is open to others was taken")
	}
	check(t, os.Chmod(top, 0o700))
	check(t, privateDir(top, a))
	link := top + "-link"
	check(t, os.Symlink(top, link))
	if err := privateDir(link, a); err == nil {
		t.Error("a link was taken")
	}
}

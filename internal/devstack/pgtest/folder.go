package pgtest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ledgerd/internal/devstack"
)

// folderPattern names the clusters' folders.
const folderPattern = "ledgerd-pgtest-*"

// abandonedAfter is the age from which an unused folder counts as abandoned. A younger one may be about to be used.
const abandonedAfter = time.Hour

// newFolder makes a folder for a cluster. It is not tb.TempDir, whose path is too long for a socket and whose parents
// keep out the account that Postgres runs as when the tests run as root.
func newFolder() (string, error) {
	dir, err := os.MkdirTemp("", folderPattern)
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o711)
}

// removeAbandoned deletes what killed runs left behind. A folder in use is locked and stays; so does one that is another
// user's.
func removeAbandoned() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), folderPattern)) // fails for a malformed pattern only
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > abandonedAfter {
			_ = devstack.Remove(dir) // in use or not ours: none of our business
		}
	}
}

// NewCluster starts a cluster for this test alone, with full durability: for tests that kill the server, stop it or create
// roles. It is stopped and removed with the test.
func NewCluster(tb testing.TB) *devstack.Postgres {
	tb.Helper()
	dir, err := newFolder()
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Errorf("pgtest: removing a cluster: %v", err)
		}
	})
	p, err := devstack.StartPostgres(tb.Context(), devstack.PostgresOptions{DataDir: dir})
	if err != nil {
		tb.Fatalf("pgtest: %v\nthese tests need a Postgres server's programs: run scripts/deps run", err)
	}
	tb.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			tb.Errorf("pgtest: %v", err)
		}
	})
	return p
}

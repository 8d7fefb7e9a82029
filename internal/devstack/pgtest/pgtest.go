// Package pgtest gives tests a real Postgres: one throwaway cluster for a test binary, and in it a database for each test.
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
//
//	var schema = pgtest.NewTemplate("schema", func(ctx context.Context, adminURL string) error { … })
//
//	func TestAppend(t *testing.T) {
//		t.Parallel()
//		url := schema.NewDatabase(t) // or pgtest.NewDatabase(t) for an empty one
//		…
//	}
//
// The cluster starts with the first test that asks for it. It trades durability for speed; a test that pulls the plug
// takes a cluster of its own, see [NewCluster]. Without Postgres a test fails, it never skips.
//
// A test binary that is killed takes its server along. Its folder stays, and a later run removes it.
package pgtest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"ledgerd/internal/devstack"
)

// shared is the cluster of this test binary.
var shared cluster

// cluster starts a server when it is first asked for, and once.
type cluster struct {
	mu       sync.Mutex
	allowed  bool // Run has begun, so somebody will stop it
	dir      string
	postgres *devstack.Postgres
	err      error
}

// Main runs a package's tests with a cluster at hand and exits. It is all of a TestMain.
func Main(m *testing.M) {
	os.Exit(Run(m))
}

// Run runs a package's tests with a cluster at hand and returns the exit code. It is for a TestMain with more to do.
func Run(m *testing.M) int {
	shared.allow()
	code := m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintf(os.Stderr, "pgtest: %v\n", err)
		return max(code, 1)
	}
	return code
}

// AdminURL returns the superuser's URL of the cluster's own database, postgres. Roles belong to the whole cluster: tests
// that create some give them random names or take a cluster of their own.
func AdminURL(tb testing.TB) string {
	tb.Helper()
	return shared.require(tb).AdminURL("postgres")
}

func (c *cluster) allow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.allowed = true
}

// require returns the running server or fails the test.
func (c *cluster) require(tb testing.TB) *devstack.Postgres {
	tb.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.allowed {
		tb.Fatal("pgtest: this package needs func TestMain(m *testing.M) { pgtest.Main(m) }")
	}
	if c.postgres == nil && c.err == nil {
		c.start()
	}
	if c.err != nil {
		tb.Fatalf("pgtest: %v\nthese tests need a Postgres server's programs: run scripts/deps run", c.err)
	}
	return c.postgres
}

// start remembers its failure: a second try would only take its time again, for every test.
func (c *cluster) start() {
	removeAbandoned()
	if c.dir, c.err = newFolder(); c.err != nil {
		return
	}
	c.postgres, c.err = devstack.StartPostgres(context.Background(), devstack.PostgresOptions{DataDir: c.dir, Volatile: true})
}

func (c *cluster) stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.postgres != nil {
		if err := c.postgres.Stop(context.Background()); err != nil {
			return err
		}
	}
	if c.dir == "" {
		return nil
	}
	return os.RemoveAll(c.dir)
}

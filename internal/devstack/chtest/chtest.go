// Package chtest gives tests a real, current ClickHouse: one embedded engine for a test binary, and in it a database for
// each test. Without the engine's library a test fails, it never skips: scripts/deps fetches it.
package chtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"ledgerd/internal/devstack/engine"
)

// Setup is called first in TestMain: in the engine's own process it serves and does not return. It returns what stops the
// shared engine, to be called after the tests.
func Setup() (stop func()) {
	if engine.IsChild() {
		if err := engine.RunChild(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	return shared.stop
}

var shared instance

type instance struct {
	once   sync.Once
	dir    string
	engine *engine.Engine
	err    error
}

func (i *instance) start() {
	if i.dir, i.err = os.MkdirTemp("", "ledgerd-chtest-"); i.err == nil {
		i.engine, i.err = launch(context.Background(), i.dir)
	}
}

func (i *instance) stop() {
	if i.engine != nil {
		_ = i.engine.Stop() // the process ends either way
	}
	_ = os.RemoveAll(i.dir) // of a temporary folder; "" is nothing
}

func launch(ctx context.Context, dir string) (*engine.Engine, error) {
	library, err := engine.FindLibrary()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return engine.Start(ctx, engine.Options{Folder: dir, Library: library, Command: []string{self}, Log: os.Stderr})
}

// NewEngine starts an engine for this test alone, for tests that kill it.
func NewEngine(tb testing.TB) *engine.Engine {
	tb.Helper()
	e, err := launch(tb.Context(), tb.TempDir())
	if err != nil {
		tb.Fatalf("chtest: %v", err)
	}
	tb.Cleanup(func() {
		if err := e.Stop(); err != nil {
			tb.Errorf("chtest: %v", err)
		}
	})
	return e
}

// NewDatabase makes an empty database in the shared engine and returns its URL.
func NewDatabase(tb testing.TB) string {
	tb.Helper()
	shared.once.Do(shared.start)
	if shared.err != nil {
		tb.Fatalf("chtest: %v", shared.err)
	}
	return Database(tb, shared.engine)
}

// Database makes an empty database in an engine and returns its URL.
func Database(tb testing.TB, e *engine.Engine) string {
	tb.Helper()
	name := "test_" + strings.ToLower(rand.Text()[:12])
	Exec(tb, e.URL(), "CREATE DATABASE "+name)
	u, err := url.Parse(e.URL())
	if err != nil {
		tb.Fatalf("chtest: %v", err)
	}
	u.Path = "/" + name
	return u.String()
}

// Exec runs a statement without a result.
func Exec(tb testing.TB, at, statement string) {
	tb.Helper()
	u, err := url.Parse(at)
	if err != nil {
		tb.Fatalf("chtest: %v", err)
	}
	u.RawQuery, u.Path = url.Values{"database": {strings.TrimPrefix(u.Path, "/")}}.Encode(), "/"
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, u.String(), strings.NewReader(statement))
	if err != nil {
		tb.Fatalf("chtest: %v", err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		tb.Fatalf("chtest: %v", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		tb.Fatalf("chtest: %s answers %s, code %s", statement, res.Status, res.Header.Get("X-ClickHouse-Exception-Code"))
	}
}

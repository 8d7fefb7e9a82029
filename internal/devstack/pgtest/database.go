package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/devstack"
)

// statementTimeout bounds one statement of this package; creating a database takes tens of milliseconds.
const statementTimeout = time.Minute

// NewDatabase creates an empty database and returns the superuser's URL of it. It is dropped at the end of the test,
// with whatever connections are left to it.
func NewDatabase(tb testing.TB) string {
	tb.Helper()
	return newDatabase(tb, shared.require(tb), "template0")
}

// Template is a database that is prepared once for a test binary, and copied for each test.
type Template struct {
	label   string
	prepare func(ctx context.Context, adminURL string) error

	once sync.Once
	name string
	err  error
}

// NewTemplate describes a template; label appears in its name and in errors. The first test that wants a copy has it
// prepared: prepare gets the superuser's URL of an empty database and closes its connections before it returns. Roles that
// it creates belong to the cluster and so to all templates.
func NewTemplate(label string, prepare func(ctx context.Context, adminURL string) error) *Template {
	return &Template{label: label, prepare: prepare}
}

// NewDatabase copies the template and returns the superuser's URL of the copy, which is dropped like any other.
func (t *Template) NewDatabase(tb testing.TB) string {
	tb.Helper()
	p := shared.require(tb)
	t.once.Do(func() { t.name, t.err = t.make(p) })
	if t.err != nil {
		tb.Fatalf("pgtest: preparing template %s: %v", t.label, t.err)
	}
	return newDatabase(tb, p, t.name)
}

// make prepares the template. Not being a test's context, that of the template doesn't end with the first test.
func (t *Template) make(p *devstack.Postgres) (string, error) {
	name := randomName("template_" + t.label)
	if err := create(p, name, "template0"); err != nil {
		return "", err
	}
	if err := t.prepare(context.Background(), p.AdminURL(name)); err != nil {
		return "", err
	}
	// A stray connection would make every copy fail, much later: keep all out.
	return name, exec(p, "ALTER DATABASE "+quote(name)+" WITH ALLOW_CONNECTIONS false")
}

func newDatabase(tb testing.TB, p *devstack.Postgres, template string) string {
	tb.Helper()
	name := randomName("test")
	if err := create(p, name, template); err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	tb.Cleanup(func() {
		if err := exec(p, "DROP DATABASE "+quote(name)+" WITH (FORCE)"); err != nil {
			tb.Errorf("pgtest: %v", err)
		}
	})
	return p.AdminURL(name)
}

func create(p *devstack.Postgres, name, template string) error {
	return exec(p, "CREATE DATABASE "+quote(name)+" TEMPLATE "+quote(template))
}

// exec runs one statement as the superuser, on a connection of its own: a test may run in any number.
func exec(p *devstack.Postgres, sql string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.AdminURL("postgres"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	if _, err := conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

func randomName(prefix string) string {
	return prefix + "_" + strings.ToLower(rand.Text()[:12])
}

func quote(name string) string {
	return pgx.Identifier{name}.Sanitize()
}

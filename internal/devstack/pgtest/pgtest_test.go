package pgtest_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/devstack/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var prepared atomic.Int32

var template = pgtest.NewTemplate("numbers", func(ctx context.Context, adminURL string) error {
	prepared.Add(1)
	conn, err := pgx.Connect(ctx, adminURL)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE TABLE numbers AS SELECT generate_series(1, 3) AS n")
	return errors.Join(err, conn.Close(ctx))
})

func TestTemplateIsPreparedOnceAndCopiedForEachTest(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			conn := connect(t, template.NewDatabase(t))
			if got := count(t, conn, "DELETE FROM numbers WHERE n = 1"); got != 1 {
				t.Errorf("another test's changes show: %d rows of 1", got)
			}
			if got := prepared.Load(); got != 1 {
				t.Errorf("template prepared %d times", got)
			}
		})
	}
}

func TestNewDatabaseIsEmptyAndDropped(t *testing.T) {
	t.Parallel()
	var name string
	t.Run("inner", func(t *testing.T) {
		conn := connect(t, pgtest.NewDatabase(t)) // still open when the database is dropped
		name = conn.Config().Database
		if got := count(t, conn, "SELECT FROM pg_class WHERE relnamespace = 'public'::regnamespace"); got != 0 {
			t.Errorf("%d relations in a new database", got)
		}
	})
	conn := connect(t, pgtest.AdminURL(t))
	if got := count(t, conn, "SELECT FROM pg_database WHERE datname = $1", name); got != 0 {
		t.Errorf("database %s outlives its test", name)
	}
}

func TestNewClusterIsDurableAndSeparate(t *testing.T) {
	t.Parallel()
	p := pgtest.NewCluster(t)
	if p.AdminURL("postgres") == pgtest.AdminURL(t) {
		t.Fatal("the cluster is the shared one")
	}
	conn := connect(t, p.AdminURL("postgres"))
	if got := count(t, conn, "SELECT FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes') AND setting = 'on'"); got != 3 {
		t.Errorf("%d of 3 settings for durability are on", got)
	}
}

// connect opens a connection and leaves it open: a database must go at the end of its test all the same.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func count(t *testing.T, conn *pgx.Conn, sql string, args ...any) int64 {
	t.Helper()
	tag, err := conn.Exec(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	return tag.RowsAffected()
}

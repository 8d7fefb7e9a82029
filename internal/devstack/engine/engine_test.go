package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"ledgerd/internal/devstack/chtest"
	"ledgerd/internal/devstack/engine"
)

func TestMain(m *testing.M) {
	stop := chtest.Setup()
	code := m.Run()
	stop()
	os.Exit(code)
}

func open(t *testing.T, at string) driver.Conn {
	t.Helper()
	o, err := clickhouse.ParseDSN(at)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := clickhouse.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func exec(t *testing.T, conn driver.Conn, sql string) {
	t.Helper()
	if err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// Several clients at once, each with parameters and settings of its own: none may see another's.
func TestParametersAndSettingsDoNotMix(t *testing.T) {
	t.Parallel()
	conn := open(t, chtest.NewDatabase(t))
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			ctx := clickhouse.Context(t.Context(), clickhouse.WithParameters(clickhouse.Parameters{"x": fmt.Sprintf("it's \\ %d", i)}),
				clickhouse.WithSettings(clickhouse.Settings{"max_block_size": 1000 + i}))
			var got string
			var size uint64
			if err := conn.QueryRow(ctx, "SELECT {x:String}, toUInt64(getSetting('max_block_size'))").Scan(&got, &size); err != nil {
				t.Error(err)
			}
			if got != fmt.Sprintf("it's \\ %d", i) || size != uint64(1000+i) {
				t.Errorf("%d: got %q and %d", i, got, size)
			}
		})
	}
	group.Wait()
}

func TestInsertAndReadBack(t *testing.T) {
	t.Parallel()
	conn := open(t, chtest.NewDatabase(t))
	exec(t, conn, `CREATE TABLE t (id Int64, name LowCardinality(String), at DateTime64(3, 'UTC') CODEC(Delta, ZSTD), note Nullable(String), list Nested(a String, n Int64)) ENGINE = MergeTree ORDER BY id`)
	batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO t (id, name, at, note, list.a, list.n)")
	if err != nil {
		t.Fatal(err)
	}
	defer batch.Close()
	at := time.Date(2031, 3, 4, 5, 6, 7, 891e6, time.UTC)
	for i := range int64(1000) {
		if err := batch.Append(i, "näme", at, nil, []string{"x", "\x00'"}, []int64{i, -i}); err != nil {
			t.Fatal(err)
		}
	}
	if err := batch.Send(); err != nil {
		t.Fatal(err)
	}
	var n uint64
	var got time.Time
	var text string
	var sum int64
	err = conn.QueryRow(t.Context(), "SELECT count(), max(at), any(list.a[2]), sum(list.n[1]) FROM t").Scan(&n, &got, &text, &sum)
	if err != nil || n != 1000 || !got.Equal(at) || text != "\x00'" || sum != 499500 {
		t.Fatalf("%d %v %q %d, %v", n, got, text, sum, err)
	}
}

func TestErrorsHaveTheirCode(t *testing.T) {
	t.Parallel()
	conn := open(t, chtest.NewDatabase(t))
	for sql, code := range map[string]int32{"SELEC 1": 62, "SELECT * FROM missing": 60, "SELECT missing": 47, "SELECT throwIf(1)": 395} {
		_, err := conn.Query(t.Context(), sql)
		var e *clickhouse.Exception
		if !errors.As(err, &e) || e.Code != code {
			t.Errorf("%s: %v, want code %d", sql, err, code)
		}
	}
	wrong, err := url.Parse(chtest.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	wrong.User = url.UserPassword("ledgerd", "guess")
	var e *clickhouse.Exception
	if err := open(t, wrong.String()).Ping(t.Context()); !errors.As(err, &e) || e.Code != 516 {
		t.Errorf("a wrong secret: %v", err)
	}
}

// Many queries that their client gives up, then one that works: none may hold a session.
func TestCancelledQueriesFreeTheEngine(t *testing.T) {
	t.Parallel()
	conn := open(t, chtest.NewDatabase(t))
	for range 125 { // 1,000 in all
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
				defer cancel()
				if rows, err := conn.Query(ctx, "SELECT sum(cityHash64(number)) FROM numbers(100000000000)"); err == nil {
					rows.Close()
					t.Error("the query was not cancelled")
				}
			})
		}
		group.Wait()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var one uint8
	if err := conn.QueryRow(ctx, "SELECT 1").Scan(&one); err != nil || one != 1 {
		t.Fatal(err)
	}
}

func TestADeadEngineComesBackWithItsData(t *testing.T) {
	t.Parallel()
	e := chtest.NewEngine(t)
	conn := open(t, chtest.Database(t, e))
	exec(t, conn, "CREATE TABLE t (id Int64) ENGINE = MergeTree ORDER BY id")
	exec(t, conn, "INSERT INTO t SELECT number FROM numbers(1000)")
	if err := e.Kill(); err != nil {
		t.Fatal(err)
	}
	deadline, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		var n uint64
		err := conn.QueryRow(deadline, "SELECT count() FROM t").Scan(&n)
		if err == nil && n == 1000 {
			return
		}
		if deadline.Err() != nil {
			t.Fatalf("%d rows, %v", n, err)
		}
	}
}

func TestAMissingLibraryIsSaid(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	_, err = engine.Start(t.Context(), engine.Options{Folder: t.TempDir(), Library: "/missing/libchdb.so", Command: []string{self}, Log: &said})
	if err == nil || !strings.Contains(said.String(), "/missing/libchdb.so") {
		t.Fatalf("%v, said %q", err, said.String())
	}
}

// The script that fetches the library and the code that looks for it name one version.
func TestOneVersionIsPinned(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../../../scripts/deps")
	if err != nil || !strings.Contains(string(script), "engine_version="+engine.LibraryVersion+"\n") {
		t.Fatalf("scripts/deps pins another version than %s: %v", engine.LibraryVersion, err)
	}
}

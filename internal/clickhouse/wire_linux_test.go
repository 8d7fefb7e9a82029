package clickhouse_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"ledgerd/internal/clickhouse"
	"ledgerd/internal/devstack/chtest"
	"ledgerd/metering"
)

// oldSchema is migrations/clickhouse in the types that Debian's server of 2018 has, and a view that refuses a row: it has no
// constraints.
var oldSchema = []string{
	`CREATE TABLE usage_events (tenant String, customer_id String, as_of DateTime, request_id String, turn_id String, provider_id String,
		entry_seq Int64, frames_served Int64, frames_rejected Int64, tokens Int64,
		frames Nested (provider_id String, frame_id String, content_digest Nullable(String), tokens Int64), erased UInt8, version UInt64)
		ENGINE = ReplacingMergeTree(version) PARTITION BY toYYYYMM(as_of)
		ORDER BY (tenant, customer_id, toStartOfHour(as_of), request_id, provider_id, entry_seq)`,
	`CREATE VIEW usage AS SELECT * FROM usage_events FINAL`,
	`CREATE MATERIALIZED VIEW guard ENGINE = Null AS SELECT throwIf(request_id = 'bad') AS refused FROM usage_events`,
}

// wire is a client that speaks the native protocol to a server, by way of a cutter.
func wire(t *testing.T, cuts, after int64) (*clickhouse.Client, *chtest.Cutter) {
	t.Helper()
	server := chtest.NewServer(t)
	direct := openOld(t, server.URL(server.Addr()))
	for _, statement := range oldSchema {
		check(t, direct.Exec(t.Context(), statement))
	}
	cutter := chtest.NewCutter(t, server.Addr(), cuts, after)
	return openOld(t, server.URL(cutter.Addr())), cutter
}

func openOld(t *testing.T, dsn string) *clickhouse.Client {
	t.Helper()
	c, err := clickhouse.OpenOld(dsn)
	check(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func lines(from, count int) []metering.Line {
	list := make([]metering.Line, count)
	for i := range list {
		list[i] = line(int64(from + i))
	}
	return list
}

// holds demands what lines 0 to count-1 sum up to, read as everybody reads.
func holds(t *testing.T, c *clickhouse.Client, count int) {
	t.Helper()
	var rows, seqs uint64
	var tokens, frameTokens int64
	check(t, c.Row(t.Context(), `SELECT count(), uniqExact(entry_seq), sum(tokens), sum(arraySum(frames.tokens)) FROM usage`, &rows, &seqs, &tokens, &frameTokens))
	if n := int64(count); rows != uint64(n) || seqs != uint64(n) || tokens != 10*n || frameTokens != 10*n {
		t.Fatalf("%d rows of %d entries, %d and %d tokens; want %d", rows, seqs, tokens, frameTokens, n)
	}
}

// What is sent over the native protocol arrives, once, and as it was.
func TestNativeProtocol(t *testing.T) {
	t.Parallel()
	c, _ := wire(t, 0, 1)
	check(t, c.Ping(t.Context()))
	check(t, c.Insert(t.Context(), "1", lines(0, 3000)))
	check(t, c.Insert(t.Context(), "1", lines(0, 3000)))
	check(t, c.Insert(t.Context(), "2", lines(2000, 2000)))
	holds(t, c, 4000)
	var customer, turn, request string
	var asOf time.Time
	var providers, ids []string
	var digests []*string
	check(t, c.Row(t.Context(), `SELECT customer_id, turn_id, request_id, as_of, frames.provider_id, frames.frame_id, frames.content_digest FROM usage WHERE entry_seq = 7`,
		&customer, &turn, &request, &asOf, &providers, &ids, &digests))
	if customer != "c" || turn != "t" || request != "r7" || !asOf.Equal(noon) || fmt.Sprint(providers, ids) != "[p other] [f7 bare]" || *digests[0] != "sha256:1" || digests[1] != nil {
		t.Errorf("%s %s %s %s %v %v %v", customer, turn, request, asOf, providers, ids, digests)
	}
	check(t, c.Empty(t.Context()))
	holds(t, c, 0)
}

// After a row that the server refuses, the next batch is a new one, on a connection that works.
func TestNativeProtocolAfterARefusal(t *testing.T) {
	t.Parallel()
	c, _ := wire(t, 0, 1)
	for range 20 {
		bad := lines(0, 100)
		bad[50].RequestID = "bad"
		if err := c.Insert(t.Context(), "bad", bad); !errors.Is(err, clickhouse.ErrRejected) {
			t.Fatal(err)
		}
		check(t, c.Ping(t.Context()))
	}
	check(t, c.Empty(t.Context())) // this server writes a block before its views have seen it
	check(t, c.Insert(t.Context(), "good", lines(0, 100)))
	holds(t, c, 100)
}

// A connection that is reset in the middle of Send leaves the outcome unknown; the same lines on a new batch make it known.
func TestNativeProtocolIsReset(t *testing.T) {
	t.Parallel()
	const cuts = 5
	c, cutter := wire(t, cuts, 40_000)
	for range cuts {
		if err := c.Insert(t.Context(), "1", lines(0, 1000)); !errors.Is(err, clickhouse.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	check(t, c.Insert(t.Context(), "1", lines(0, 1000)))
	holds(t, c, 1000)
	if cutter.Left() >= 0 {
		t.Fatalf("%d connections left to cut", cutter.Left())
	}
}

// Queries that are given up leave no connection behind, and the next one is answered.
func TestNativeProtocolIsCancelled(t *testing.T) {
	t.Parallel()
	c, _ := wire(t, 0, 1)
	for i := range 30 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i%10)*time.Millisecond)
		var n uint64
		if err := c.Row(ctx, `SELECT count() FROM system.numbers`, &n); err == nil {
			t.Fatal("it has an end")
		}
		cancel()
	}
	check(t, c.Insert(t.Context(), "1", lines(0, 10)))
	holds(t, c, 10)
	if n := c.Connections(); n > 8 {
		t.Errorf("%d connections are open", n)
	}
}

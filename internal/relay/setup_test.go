package relay_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/clickhouse"
	"ledgerd/internal/devstack/chtest"
	"ledgerd/internal/devstack/pgtest"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/internal/relay"
	"ledgerd/metering"
)

func TestMain(m *testing.M) {
	stop := chtest.Setup()
	// A round of the property moves real data through two servers.
	if err := flag.Set("rapid.checks", "10"); err != nil {
		panic(err)
	}
	code := pgtest.Run(m)
	stop()
	os.Exit(code)
}

var admin = kinds.Poster{Tenant: ledgertest.Tenant, Role: kinds.Admin, TokenID: "tok_admin"}

// rig is a ledger, a projection, and a net between them that tears when it is told to.
type rig struct {
	*ledgertest.Ledger
	dsn    string
	client *clickhouse.Client
	net    *faulty
	posted int
	sent   []*kinds.Accepted // what was posted, in order

	corrected map[int]bool // by the report's place
}

func newRig(tb testing.TB) *rig {
	tb.Helper()
	return newRigOn(tb, chtest.NewDatabase(tb))
}

func newRigOn(tb testing.TB, dsn string) *rig {
	tb.Helper()
	r := &rig{Ledger: ledgertest.New(tb), dsn: dsn, corrected: map[int]bool{}}
	if _, err := clickhouse.Migrate(tb.Context(), dsn); err != nil {
		tb.Fatal(err)
	}
	var err error
	if r.client, err = clickhouse.Open(dsn); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { r.client.Close() })
	r.net = &faulty{Client: r.client}
	return r
}

func rejects(err error) bool { return errors.Is(err, clickhouse.ErrRejected) }

func (r *rig) shipper(holder string, maxLines int) *relay.Shipper {
	return relay.NewShipper(relay.Options{
		Log: r.Store, Projection: r.net, Rejects: rejects, Holder: holder, Logger: quiet,
		MaxLines: maxLines, Poll: 5 * time.Millisecond, Reconcile: func(context.Context) error { return nil },
	})
}

// report is a usage report of two providers; n makes it differ from others.
func report(tb testing.TB, n int, asOf time.Time) *kinds.Accepted {
	tb.Helper()
	const frame = `{"frame":{"provider_id":%q,"frame_id":"page/%d","content_digest":"sha256:%064x"},"token_cost":%d}`
	artifact := fmt.Appendf(nil, `{"budget_requested":2000,"budget_consumed":%d,"as_of":%q,"providers":[`+
		`{"provider_id":"north","frames_served":2,"frames_rejected":1,"token_cost":%d,"served_frames":[%s,%s]},`+
		`{"provider_id":"idle","frames_served":0,"frames_rejected":1,"token_cost":0}]}`,
		n+7, asOf.UTC().Format("2006-01-02T15:04:05.000Z"), n+7, fmt.Sprintf(frame, "north", n, n, n), fmt.Sprintf(frame, "south", n, 1, 7))
	ctx := fmt.Appendf(nil, `{"request_id":"req-%d","turn_id":"turn-%d","customer_id":"customer-%d"}`, n, n/2, n%3)
	a, err := kinds.UsageReport.Accept(kinds.Submission{Artifact: artifact, Context: ctx}, kinds.Env{Now: time.Now()})
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// post records reports that lie hours apart, so that they fall on several days.
func (r *rig) post(tb testing.TB, count int) {
	tb.Helper()
	list := make([]*kinds.Accepted, count)
	for i := range list {
		list[i] = report(tb, r.posted, time.Now().Add(-time.Duration(r.posted%100)*time.Hour))
		r.posted++
	}
	r.sent = append(r.sent, list...)
	for _, o := range r.Appender.AppendAll(tb.Context(), ledgertest.Host, list) {
		if o.Err != nil {
			tb.Fatal(o.Err)
		}
	}
}

// postAgain sends the n-th report once more, by way of an appender. Nothing is recorded, unless it is erased meanwhile.
func (r *rig) postAgain(tb testing.TB, by *postgres.Appender, n int) {
	tb.Helper()
	o, err := by.Append(tb.Context(), ledgertest.Host, r.sent[n])
	if err != nil && !errors.As(err, new(*kinds.ErasedError)) || err == nil && !o.Replayed {
		tb.Fatalf("%+v, %v", o, err)
	}
}

func (r *rig) erase(tb testing.TB, seqs ...int64) {
	tb.Helper()
	raw, err := json.Marshal(kinds.ErasureArtifact{Reason: "asked by the person", Seqs: seqs})
	if err != nil {
		tb.Fatal(err)
	}
	a, err := kinds.Erasure.Accept(kinds.Submission{Artifact: raw}, kinds.Env{Now: time.Now()})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := r.Appender.Append(tb.Context(), admin, a); err != nil {
		tb.Fatal(err)
	}
}

// drain ships, whatever goes wrong on the way, until nothing is left.
func (r *rig) drain(tb testing.TB, s *relay.Shipper) {
	tb.Helper()
	for range 10_000 {
		more, err := s.Step(tb.Context())
		if v, state := r.Store.Shipping(tb.Context()); err == nil && !more && state == nil && v.LagEntries == 0 {
			return
		}
	}
	tb.Fatal("shipping does not come to an end")
}

// equal demands that both stores hold the same: count, sum and hash of each day. It returns the number of lines.
func (r *rig) equal(tb testing.TB) (lines int64) {
	tb.Helper()
	drifts, err := relay.Reconcile(tb.Context(), r.Store, r.client, rejects, false)
	if err != nil || len(drifts) > 0 {
		tb.Fatalf("Postgres and ClickHouse differ: %s, %v", describe(drifts), err)
	}
	sums, _, _, err := r.Store.ShippedSums(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	for _, s := range sums {
		lines += s.Lines
	}
	return lines
}

func describe(drifts []relay.Drift) string {
	var b strings.Builder
	for _, d := range drifts {
		fmt.Fprintf(&b, "%s: %d lines, %s tokens, %x against %d, %s, %x; ", d.Truth.Day.Format(time.DateOnly),
			d.Truth.Lines, d.Truth.Tokens, d.Truth.Hash, d.Projected.Lines, d.Projected.Tokens, d.Projected.Hash)
	}
	return b.String()
}

// fault is what becomes of a call.
type fault int

const (
	none       fault = iota
	notWritten       // an error, and nothing was done
	answerLost       // done, and an error nevertheless
)

var errFault = errors.New("made up by the test")

// faulty is a client whose next calls fail as they are told.
type faulty struct {
	*clickhouse.Client
	faults  []fault // of the next calls
	down    atomic.Bool
	inserts int
}

func (f *faulty) next() fault {
	if len(f.faults) == 0 {
		return none
	}
	is := f.faults[0]
	f.faults = f.faults[1:]
	return is
}

func (f *faulty) do(call func() error) error {
	if f.down.Load() {
		return errFault
	}
	switch f.next() {
	case notWritten:
		return errFault
	case answerLost:
		return errors.Join(call(), errFault)
	}
	return call()
}

func (f *faulty) Insert(ctx context.Context, token string, lines []metering.Line) error {
	f.inserts++
	return f.do(func() error { return f.Client.Insert(ctx, token, lines) })
}

func (f *faulty) Delete(ctx context.Context, seqs []int64) error {
	if len(seqs) == 0 {
		return nil
	}
	return f.do(func() error { return f.Client.Delete(ctx, seqs) })
}

var quiet = slog.New(slog.DiscardHandler)

// settle waits until loops have shipped everything.
func (r *rig) settle(tb testing.TB, limit time.Duration) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), limit)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		v, err := r.Store.Shipping(ctx)
		if err != nil {
			tb.Fatal(err)
		}
		if v.LagEntries == 0 && v.Attempts == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tb.Fatalf("not shipped in time: %+v", v)
		}
	}
}

func (r *rig) release(tb testing.TB) {
	tb.Helper()
	for _, holder := range []string{"a", "b"} {
		if err := r.Store.ReleaseShipping(tb.Context(), holder); err != nil {
			tb.Fatal(err)
		}
	}
}

// someReport is the seq of the n-th report.
func (r *rig) someReport(tb testing.TB, n int) int64 {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), r.AdminURL)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close(tb.Context())
	var seq int64
	if err := conn.QueryRow(tb.Context(), `SELECT seq FROM ledger.entries WHERE key = $1`, fmt.Sprintf("req-%d", n)).Scan(&seq); err != nil {
		tb.Fatal(err)
	}
	return seq
}

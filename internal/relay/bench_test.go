package relay_test

import (
	"fmt"
	"runtime/debug"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/devstack/chtest"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/metering"
)

// fill writes usage lines straight into the tables, as a superuser: one per entry, each with frames of distinct digests.
func (r *rig) fill(b testing.TB, entries, frames int) {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), r.AdminURL)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(b.Context())
	for _, step := range []struct {
		sql  string
		args []any
	}{
		{`INSERT INTO ledger.usage_lines (seq, tenant, line, request_id, turn_id, customer_id, provider_id, as_of, frames_served, frames_rejected, tokens,
		                                  frame_ids, frame_digests, frame_tokens)
		  SELECT n, $3, 0, 'req-' || n, 'turn-' || n / 4, 'customer-' || n % 100, 'provider-' || n % 7, now() - n * interval '1 second', $2, 0, 10 * $2::int,
		         array_agg('page/' || n % 500 || '/' || f), array_agg('sha256:' || encode(sha256((n || '/' || f)::bytea), 'hex')), array_agg(10)
		  FROM generate_series(0, $1::int - 1) n, generate_series(1, $2::int) f GROUP BY n`, []any{entries, frames, ledgertest.Tenant}},
		{`UPDATE ledger.head SET size = $1, root = sha256('made up')`, []any{entries}},
	} {
		if _, err := conn.Exec(b.Context(), step.sql, step.args...); err != nil {
			b.Fatal(err)
		}
	}
}

// What a rebuild ships in a second, to the embedded engine.
func BenchmarkShip(b *testing.B) {
	debug.SetGCPercent(400) // as ledgerd does
	for _, frames := range []int{2, 8} {
		b.Run(fmt.Sprintf("frames=%d", frames), func(b *testing.B) {
			const entries = 100_000
			r := newRig(b)
			r.fill(b, entries, frames)
			for b.Loop() {
				if err := r.client.Empty(b.Context()); err != nil {
					b.Fatal(err)
				}
				if err := r.Store.RestartShipping(b.Context()); err != nil {
					b.Fatal(err)
				}
				r.drain(b, r.shipper("a", 0))
			}
			b.ReportMetric(float64(entries)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// One customer's month among five million events of a year.
func BenchmarkCustomerMonth(b *testing.B) {
	r := newRig(b)
	chtest.Exec(b, r.dsn, `INSERT INTO usage_events (tenant, customer_id, as_of, request_id, provider_id, entry_seq, frames_served, tokens, version)
		SELECT 'acme', concat('customer-', toString(number % 1000)), toDateTime64('2026-01-01 00:00:00', 6, 'UTC') + toIntervalSecond(number * 6), concat('req-', toString(number)),
		       concat('provider-', toString(number % 7)), number, 3, 60, number FROM numbers(5000000)`)
	q := metering.Question{
		Tenant: "acme", CustomerID: "customer-7", From: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC),
		Below: 1 << 62, By: metering.ByProvider, Zone: "UTC", Limit: 100,
	}
	for b.Loop() {
		if groups, err := r.client.Usage(b.Context(), q); err != nil || len(groups) != 7 {
			b.Fatal(groups, err)
		}
	}
}

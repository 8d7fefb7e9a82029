package relay_test

import (
	"fmt"
	"runtime/debug"
	"testing"
	"time"

	"ledgerd/internal/devstack/chtest"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/metering"
)

// What a rebuild ships in a second, to the embedded engine.
func BenchmarkShip(b *testing.B) {
	debug.SetGCPercent(400) // as ledgerd does
	for _, frames := range []int{2, 8} {
		b.Run(fmt.Sprintf("frames=%d", frames), func(b *testing.B) {
			const entries = 100_000
			r := newRig(b)
			ledgertest.FillUsage(b, r.AdminURL, entries, frames)
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

package relay_test

import (
	"testing"
	"time"
)

// What one process bills in a second, planning included: events of 16 customers to the fake.
func BenchmarkBill(b *testing.B) {
	const hours = 64
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"}
	r := newBillRig(b, names...)
	biller := r.biller(r.books)
	for b.Loop() {
		b.StopTimer()
		for h := range hours {
			for _, n := range names {
				r.use(b, n, r.clock.now().Add(-time.Duration(h+2)*time.Hour), 1)
			}
		}
		b.StartTimer()
		if run := r.bill(b, biller); run.Confirmed != hours*len(names) {
			b.Fatalf("%+v", run)
		}
	}
	b.ReportMetric(float64(hours*len(names)*b.N)/b.Elapsed().Seconds(), "events/s")
}

package postgres_test

import (
	"fmt"
	"runtime/debug"
	"sync"
	"testing"

	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
)

// BenchmarkFsck checks a log of consents, entries of some 300 bytes, as a whole each time.
func BenchmarkFsck(b *testing.B) {
	const entries = 150_000
	debug.SetGCPercent(400) // as ledgerd does
	l := ledgertest.New(b)
	fillConsents(b, l, entries)
	for _, paranoid := range []bool{false, true} {
		b.Run(fmt.Sprintf("paranoid=%v", paranoid), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if head, found := fsck(b, l, func(o *postgres.FsckOptions) { o.Paranoid = paranoid }); head.Size != entries || len(found) > 0 {
					b.Fatal(head.Size, found)
				}
			}
			b.ReportMetric(float64(entries*b.N)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}

func fillConsents(b *testing.B, l *ledgertest.Ledger, n int) {
	b.Helper()
	const writers = 2000
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := w; i < n; i += writers {
				a := ledgertest.Consent(b, fmt.Sprintf("consent-%d", i), fmt.Sprintf("provider-%06d", i))
				if _, err := l.Appender.Append(b.Context(), ledgertest.Host, a); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ledgerd/internal/kinds"

	"ledgerd/internal/postgres/ledgertest"
)

// What the append path alone makes of submissions that come in streams, by size of the content.
func BenchmarkSubmit(b *testing.B) {
	for _, size := range []int{300, 3500} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			l := ledgertest.New(b)
			const group, inFlight = 256, 16
			waits := make(chan func() []kinds.Outcome, inFlight)
			failed := make(chan error, 1)
			go func() {
				defer close(failed)
				for wait := range waits {
					for _, o := range wait() {
						if o.Err != nil {
							failed <- o.Err
							return
						}
					}
				}
			}()
			list := make([]*kinds.Accepted, 0, b.N)
			for i := range b.N {
				list = append(list, paddedConsent(b, fmt.Sprintf("k%d", i), size))
			}
			b.ResetTimer()
			start := time.Now()
			for len(list) > 0 {
				n := min(group, len(list))
				waits <- l.Appender.Submit(b.Context(), ledgertest.Host, list[:n])
				list = list[n:]
			}
			close(waits)
			if err := <-failed; err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "entries/s")
		})
	}
}

func paddedConsent(tb testing.TB, key string, size int) *kinds.Accepted {
	tb.Helper()
	artifact := `{"provider_id":"north-llm","scope":"third-party-model","provider_name":"N","provider_version":"1",` +
		`"grantor":{"kind":"human","id":"maria@example"},"granted_at":"2026-01-10T08:00:00Z","note":"`
	artifact += strings.Repeat("x", max(0, size-len(artifact)-2)) + `"}`
	a, err := kinds.ConsentReceipt.Accept(kinds.Submission{Artifact: []byte(artifact), Key: key}, kinds.Env{Now: time.Now()})
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

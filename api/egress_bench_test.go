package api_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

// BenchmarkEgress asks what left for one customer in one month of a year, over HTTP, in a ledger of a million usage lines over
// 200 providers and 5,000 consents, and the same in one of a quarter of that: the cost grows with the answer.
func BenchmarkEgress(b *testing.B) {
	for _, reports := range []int{62_500, 250_000} {
		v := ledgertest.Volume{
			Reports: reports, Rows: 4, Providers: 200, Customers: reports / 2_500, Consents: 5_000,
			From: time.Now().Add(-360 * 24 * time.Hour).UTC().Truncate(time.Second), Over: 360 * 24 * time.Hour,
		}
		b.Run(fmt.Sprintf("lines=%d", v.Lines()), func(b *testing.B) {
			s := newService(b)
			s.FillVolume(b, v)
			var took []time.Duration
			var bytes int64
			b.ResetTimer()
			for i := 0; b.Loop(); i++ {
				from := v.From.Add(time.Duration(i%12) * 30 * 24 * time.Hour)
				url := fmt.Sprintf("%s/v1/audit/egress?from=%s&to=%s&customer_id=customer-%d", s.url, from.Format(time.RFC3339),
					from.Add(30*24*time.Hour).Format(time.RFC3339), i*7%v.Customers)
				start := time.Now()
				bytes += s.fetch(b, url)
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(bytes)/float64(len(took))/1024, "KB/answer")
		})
	}
}

func (s *service) fetch(b *testing.B, url string) int64 {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.tokens[kinds.Auditor])
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		b.Fatal(res.StatusCode, err)
	}
	return n
}

package assembly

import (
	"encoding/json"
	"fmt"
	"testing"
)

// BenchmarkVerify verifies parsed records; the aim is under 2 ms for 16 positions of 64 contributions, and the cost per
// contribution shows that it is linear.
func BenchmarkVerify(b *testing.B) {
	for _, m := range []int{4, 16, 64, 256} {
		b.Run(fmt.Sprintf("16x%d", m), func(b *testing.B) {
			a := must(Parse(must(json.Marshal(record(16, m)))))
			b.ReportAllocs()
			for b.Loop() {
				if r := Verify(a, a.Anchors()); r.Verdict != Verified {
					b.Fatal(r.Verdict, r.Findings, r.Missing)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*16*m), "ns/contribution")
		})
	}
}

// BenchmarkParse reads the same records, which is most of the work of verifying a document.
func BenchmarkParse(b *testing.B) {
	for _, m := range []int{16, 64, 256} {
		b.Run(fmt.Sprintf("16x%d", m), func(b *testing.B) {
			src := must(json.Marshal(record(16, m)))
			b.ReportAllocs()
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				must(Parse(src))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*16*m), "ns/contribution")
		})
	}
}

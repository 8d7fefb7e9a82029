package evidence_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"ledgerd/internal/audit/evidence"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// report4K is a usage report whose content has some 4 KB, as a request with 20 frames has.
func (b *book) report4K(n int) *kinds.Accepted {
	b.tb.Helper()
	const served = 21
	var frames strings.Builder
	for i := range served {
		if i > 0 {
			frames.WriteByte(',')
		}
		fmt.Fprintf(&frames, `{"frame":{"provider_id":"north-llm","frame_id":"wiki/space-%d/page-%06d","content_digest":"sha256:%064x"},"token_cost":100}`, i, n, n)
	}
	return b.accept(&kinds.UsageReport, fmt.Sprintf(`{"budget_requested":4000,"budget_consumed":%d,"as_of":"2026-11-30T14:59:00Z","providers":[{"provider_id":"north-llm","frames_served":%d,"frames_rejected":0,"token_cost":%[1]d,"served_frames":[%[3]s]}]}`, served*100, served, frames.String()),
		fmt.Sprintf(`{"request_id":"req-%d","turn_id":"turn-%[1]d","customer_id":"customer"}`, n), kinds.Env{})
}

// BenchmarkVerify verifies a file of usage reports of 4 KB offline, on one core.
func BenchmarkVerify(b *testing.B) {
	const entries = 5_000
	l := newBook(b)
	for n := range entries {
		l.record(tenant, l.report4K(n))
	}
	file := l.file(l.items()...)
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	b.ReportAllocs()
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if r, err := l.verify(file, evidence.Options{}); err != nil || r.Failed() || r.Entries != entries {
			b.Fatal(err, remarks(r))
		}
	}
	b.ReportMetric(entries*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}

// BenchmarkWrite writes such a file.
func BenchmarkWrite(b *testing.B) {
	const entries = 5_000
	l := newBook(b)
	for n := range entries {
		l.record(tenant, l.report4K(n))
	}
	items := l.items()
	var out bytes.Buffer
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		w := evidence.NewWriter(&out, subject, []string{l.key.vkey}, l.key.evidence)
		err := w.Open(evidence.Opening{Heads: []ledger.Head{l.headAt(entries)}, Matched: entries})
		for _, i := range items {
			if err == nil {
				err = w.Add(i)
			}
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(entries*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}

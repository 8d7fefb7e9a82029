package postgres_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

// fillKinds appends n entries: the four that samples name, and all kinds in turn.
func fillKinds(tb testing.TB, l *ledgertest.Ledger, n int) {
	tb.Helper()
	all := ledgertest.Harmless()
	first := ledgertest.SampleFirst(tb)
	for _, a := range first {
		if _, err := l.Appender.Append(tb.Context(), ledgertest.Host, a); err != nil {
			tb.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for w := range 16 {
		var mine []*kinds.Accepted
		for i := w + len(first); i < n; i += 16 {
			mine = append(mine, ledgertest.Sample(tb, all[(i-len(first))%len(all)], i))
		}
		wg.Go(func() {
			for _, a := range mine {
				if _, err := l.Appender.Append(tb.Context(), ledgertest.Host, a); err != nil {
					tb.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// fillWithoutLines appends n reports that reached no provider, the only ones with a row in ledger.reports_without_lines.
func fillWithoutLines(tb testing.TB, l *ledgertest.Ledger, n int) {
	tb.Helper()
	for i := range n {
		s := kinds.Submission{
			Artifact: fmt.Appendf(nil, `{"budget_requested":1,"budget_consumed":0,"as_of":%q}`, time.Now().UTC().Format("2006-01-02T15:04:05Z")),
			Context:  fmt.Appendf(nil, `{"request_id":"bare-%d","turn_id":"turn","customer_id":"customer"}`, i),
		}
		a, err := kinds.UsageReport.Accept(s, kinds.Env{Now: time.Now()})
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := l.Appender.Append(tb.Context(), ledgertest.Host, a); err != nil {
			tb.Fatal(err)
		}
	}
}

// fsck runs a check, and gives the newest head and what it found.
func fsck(tb testing.TB, l *ledgertest.Ledger, change ...func(*postgres.FsckOptions)) (ledger.Head, []audit.Fault) {
	tb.Helper()
	var found []audit.Fault
	o := postgres.FsckOptions{
		Verifiers: []note.Verifier{l.Keys.Verifier}, Fault: func(f audit.Fault) { found = append(found, f) }, Progress: func(int64, int64) {},
	}
	for _, f := range change {
		f(&o)
	}
	heads, err := l.Store.Fsck(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	return heads[len(heads)-1], found
}

func TestFsckClean(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	if head, found := fsck(t, l); head.Size != 0 || len(found) > 0 {
		t.Errorf("an empty log: %+v", found)
	}
	fillKinds(t, l, 300) // past a tile's edge
	for _, paranoid := range []bool{false, true} {
		var progress []string
		head, found := fsck(t, l, func(o *postgres.FsckOptions) {
			o.Paranoid = paranoid
			o.Progress = func(done, size int64) { progress = append(progress, fmt.Sprint(done, " of ", size)) }
		})
		if len(found) > 0 {
			t.Errorf("paranoid %v: %+v", paranoid, found)
		}
		if n := len(progress); head.Size != 300 || n == 0 || progress[n-1] != "300 of 300" {
			t.Errorf("checked %d entries, progress %v", head.Size, progress)
		}
	}
}

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ledgerd/client"
	"ledgerd/internal/devstack/pgtest"
	"ledgerd/internal/kinds"
	"ledgerd/receipts"
)

// twins are two processes on one database, both of which record.
type twins struct {
	tb         testing.TB
	one, other *realService
	next       atomic.Int64

	mu    sync.Mutex
	seqs  map[string]int64 // key → acknowledged seq, of both
	worst time.Duration    // that a post to the first took
}

func newTwins(tb testing.TB) *twins {
	tb.Helper()
	one := newRealService(tb, pgtest.NewCluster(tb).AdminURL("postgres"))
	other := *one
	other.URL, other.checkpoint = "http://"+freeAddress(tb), filepath.Join(tb.TempDir(), "checkpoint")
	one.start(tb)
	other.start(tb)
	return &twins{tb: tb, one: one, other: &other, seqs: map[string]int64{}}
}

// record posts from four clients to a twin until ctx ends.
func (w *twins) record(ctx context.Context, to *realService) {
	host, err := client.New(to.URL, to.Tokens[kinds.Host], client.WithMaxAttempts(100))
	if err != nil {
		w.tb.Error(err)
		return
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				key := fmt.Sprintf("twin-%d", w.next.Add(1))
				start := time.Now()
				r, err := host.PostConsentReceipt(w.tb.Context(), receipts.ConsentReceipt{
					ProviderID: key, Scope: receipts.ThirdPartyModel, ProviderName: "N", ProviderVersion: "1",
					Grantor: receipts.Grantor{Kind: receipts.Human, ID: "maria"}, GrantedAt: "2026-01-10T08:00:00Z",
				}, key)
				if err != nil {
					w.tb.Errorf("posting %s: %v", key, err)
					return
				}
				w.note(key, r.Seq, to, time.Since(start))
			}
		})
	}
	wg.Wait()
}

func (w *twins) note(key string, seq int64, to *realService, took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seqs[key] = seq
	if to == w.one {
		w.worst = max(w.worst, took)
	}
}

func (w *twins) acknowledged() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seqs)
}

// await returns once so many more posts were acknowledged.
func (w *twins) await(more int) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for goal := w.acknowledged() + more; w.acknowledged() < goal && w.tb.Context().Err() == nil && !w.tb.Failed(); {
		<-tick.C
	}
}

// pauses stops the other twin at random moments while both record, and demands each time that the first goes on.
func (w *twins) pauses(times int) {
	ctx, stop := context.WithCancel(w.tb.Context())
	var wg sync.WaitGroup
	for _, to := range []*realService{w.one, w.other} {
		wg.Go(func() { w.record(ctx, to) })
	}
	for range times {
		w.await(rand.IntN(60) + 20) //nolint:gosec // moments, not secrets
		w.signal(syscall.SIGSTOP)
		w.await(40)
		w.signal(syscall.SIGCONT)
	}
	stop()
	wg.Wait()
}

func (w *twins) signal(s syscall.Signal) {
	if err := w.other.cmd.Process.Signal(s); err != nil {
		w.tb.Error(err)
	}
}

// A process that is stopped by whatever stops processes, also in the middle of a batch, does not keep another one from
// recording; once it goes on it records as well, and nothing that either acknowledged is lost or doubled.
func TestPausedTwin(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	w.pauses(4)
	w.other.stop(t)
	w.one.stop(t)
	if n := distinctValues(w.seqs); n != len(w.seqs) || n == 0 {
		t.Errorf("%d posts were acknowledged with %d seqs", len(w.seqs), n)
	}
	code, stdout, stderr := command(t.Context(), "fsck", "--database-url", w.one.PostgresURL, "--log-key", w.one.LogKeys[0], "--since", w.other.checkpoint)
	if code != 0 {
		t.Errorf("fsck: exit %d\n%s%s", code, stdout, stderr)
	}
}

// BenchmarkPausedTwin measures how long a post to one process takes at worst while another one is stopped at random moments.
func BenchmarkPausedTwin(b *testing.B) {
	w := newTwins(b)
	for range b.N {
		w.pauses(30)
	}
	b.ReportMetric(w.worst.Seconds(), "worst-s")
	b.ReportMetric(0, "ns/op")
	w.other.stop(b)
	w.one.stop(b)
}

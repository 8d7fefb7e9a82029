package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"ledgerd/api"
	"ledgerd/internal/clickhouse"
	"ledgerd/internal/devstack"
	"ledgerd/internal/devstack/chtest"
	"ledgerd/internal/devstack/pgtest"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

// BenchmarkShippingLag records as fast as it goes while the same process ships to the embedded engine: single posts from 64
// connections, and one bulk stream. lag-p99 is of samples taken all the time, the age of the oldest entry that is not shipped;
// drain is how long the rest took afterwards.
func BenchmarkShippingLag(b *testing.B) {
	for _, c := range []struct {
		name string
		load func(b *testing.B, s *realService) (perSecond float64)
	}{
		{"posts", func(b *testing.B, s *realService) float64 {
			b.Helper()
			rate, _ := postLoad(b, s.connectionFile, 8, benchRound)
			return rate
		}},
		{"bulk", func(b *testing.B, s *realService) float64 {
			b.Helper()
			const lines = 100_000
			body := bulkReports(fmt.Sprint("lag-", benchRun.Add(1)), 2, lines)
			return lines / postLines(b, s.connectionFile, body, lines).Seconds()
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, _ := newShippingService(b)
			s.start(b)
			defer s.kill(b)
			var lags, rates []float64
			var drain time.Duration
			for b.Loop() {
				during, stop := context.WithCancel(b.Context())
				var sampler sync.WaitGroup
				sampler.Go(func() { lags = append(lags, s.sampleLag(during)...) })
				rates = append(rates, c.load(b, s))
				stop()
				sampler.Wait()
				drain += s.drain(b)
			}
			slices.Sort(lags)
			b.ReportMetric(slices.Max(rates), "entries/s")
			b.ReportMetric(lags[len(lags)*99/100], "lag-p99-s")
			b.ReportMetric(drain.Seconds()/float64(len(rates)), "drain-s")
			b.ReportMetric(peakMemory(b, s.cmd.Process.Pid), "rss-MB")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// newShippingService is a service that ships to a database of the embedded engine.
func newShippingService(b *testing.B) (*realService, *devstack.Postgres) {
	b.Helper()
	cluster := pgtest.NewCluster(b)
	s := newRealService(b, cluster.AdminURL("postgres"))
	s.ClickHouseURL = chtest.NewDatabase(b)
	if _, err := clickhouse.Migrate(b.Context(), s.ClickHouseURL); err != nil {
		b.Fatal(err)
	}
	s.more = append(s.more, "LEDGERD_CLICKHOUSE_URL="+s.ClickHouseURL)
	return s, cluster
}

func (s *realService) shipping(ctx context.Context) (v api.ShippingBody, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/shipping", nil)
	if err != nil {
		return v, err
	}
	req.Header.Set("Authorization", "Bearer "+s.Tokens[kinds.Operator])
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return v, err
	}
	defer res.Body.Close()
	return v, json.UnmarshalRead(res.Body, &v)
}

// sampleLag asks how far shipping is behind, every 20 ms until ctx ends.
func (s *realService) sampleLag(ctx context.Context) (lags []float64) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if v, err := s.shipping(ctx); err == nil {
			lags = append(lags, v.LagSeconds)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return lags
		}
	}
}

// drain waits until everything is shipped.
func (s *realService) drain(b *testing.B) time.Duration {
	b.Helper()
	start := time.Now()
	for {
		v, err := s.shipping(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if v.LagEntries == 0 {
			return time.Since(start)
		}
		if time.Since(start) > time.Minute {
			b.Fatalf("not shipped in time: %+v", v)
		}
	}
}

// BenchmarkRebuild runs `ledgerd clickhouse rebuild` of 300,000 reports with 8 frames of distinct digests each, the real binary
// with its own start and end. rss-MB is the most memory that it ever had.
func BenchmarkRebuild(b *testing.B) {
	const entries, frames = 300_000, 8
	s, cluster := newShippingService(b)
	s.start(b) // it makes the log
	s.stop(b)
	ledgertest.FillUsage(b, cluster.AdminURL("ledger"), entries, frames)
	path, err := binary()
	if err != nil {
		b.Fatal(err)
	}
	var most int64
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), path, "clickhouse", "rebuild", "--database-url", s.PostgresURL, "--clickhouse-url", s.ClickHouseURL)
		cmd.Env = append(os.Environ(), "LEDGERD_LOG_LEVEL=error")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		most = max(most, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	}
	b.ReportMetric(float64(entries)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(most)/1024, "rss-MB")
}

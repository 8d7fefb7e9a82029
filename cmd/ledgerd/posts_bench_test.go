package main

import (
	"bufio"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/devstack/pgtest"
	"ledgerd/internal/kinds"
)

// How the single-post benchmark measures: interleaved rounds of the two sides on one server, so that what disturbs the
// machine disturbs both.
const (
	benchClients = 64
	benchRounds  = 3
	benchSeconds = 4
)

// BenchmarkSinglePosts compares single posts over HTTP at 64 connections with pgbench doing one-row INSERTs of the same
// bytes into a plain table at 64 clients: ratio = posts per second / inserts per second, medians of interleaved rounds.
func BenchmarkSinglePosts(b *testing.B) {
	for _, frames := range []int{1, 22} { // about 300 bytes and 3 KB of content
		body := benchReport("%%", frames)
		b.Run(fmt.Sprintf("%dB", len(body)), func(b *testing.B) { benchPosts(b, frames, body) })
	}
}

func benchPosts(b *testing.B, frames int, body string) {
	b.Helper()
	cluster := pgtest.NewCluster(b)
	s := newRealService(b, cluster.AdminURL("postgres"))
	s.start(b)
	defer s.kill(b)
	conn := s.connectionFile
	plain(b, cluster.AdminURL("postgres"))
	var posts, inserts []float64
	var latencies []time.Duration
	b.ResetTimer()
	for range b.N {
		for range benchRounds {
			inserts = append(inserts, pgbench(b, cluster.AdminURL("postgres"), body))
			rate, took := postLoad(b, conn, frames)
			posts, latencies = append(posts, rate), append(latencies, took...)
		}
	}
	b.StopTimer()
	slices.Sort(posts)
	slices.Sort(inserts)
	slices.Sort(latencies)
	p, i := posts[len(posts)/2], inserts[len(inserts)/2]
	b.ReportMetric(p, "posts/s")
	b.ReportMetric(i, "inserts/s")
	b.ReportMetric(p/i, "ratio")
	b.ReportMetric(float64(latencies[len(latencies)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(latencies[len(latencies)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(0, "ns/op")
}

// benchReport is a consistent usage report with the given number of frames.
func benchReport(requestID string, frames int) string {
	var served strings.Builder
	for i := range frames {
		if i > 0 {
			served.WriteByte(',')
		}
		fmt.Fprintf(&served, `{"frame":{"provider_id":"wiki","frame_id":"page/%04d","content_digest":"sha256:%064x"},"token_cost":100}`, i, i)
	}
	return fmt.Sprintf(`{"request_id":"%s","turn_id":"t","customer_id":"c","report":{"budget_requested":100000,"budget_consumed":%d,"as_of":"%s","providers":[{"provider_id":"wiki","frames_served":%d,"frames_rejected":0,"token_cost":%d,"served_frames":[%s]}]}}`,
		requestID, frames*100, time.Now().UTC().Format("2006-01-02T15:04:05Z"), frames, frames*100, served.String())
}

// plain makes the table that pgbench fills: the same bytes, one row each, a primary key, no more.
func plain(b *testing.B, admin string) {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), admin)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(b.Context())
	if _, err := conn.Exec(b.Context(), `CREATE TABLE plain (id bigserial PRIMARY KEY, content text NOT NULL)`); err != nil {
		b.Fatal(err)
	}
}

var tps = regexp.MustCompile(`tps = ([0-9.]+)`)

func pgbench(b *testing.B, admin, body string) float64 {
	b.Helper()
	script := filepath.Join(b.TempDir(), "insert.sql")
	if err := os.WriteFile(script, []byte("INSERT INTO plain (content) VALUES ('"+body+"');\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	bin, err := exec.LookPath("pgbench")
	if err != nil {
		found, globbed := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
		if globbed != nil || len(found) == 0 {
			b.Fatal("pgbench is not installed (Debian: postgresql-contrib)")
		}
		bin = found[len(found)-1]
	}
	out, err := exec.CommandContext(b.Context(), bin, "-n", "-c", strconv.Itoa(benchClients), "-j", "2", "-T", strconv.Itoa(benchSeconds), "-f", script, admin).CombinedOutput()
	m := tps.FindSubmatch(out)
	if err != nil || m == nil {
		b.Fatalf("pgbench: %v\n%s", err, out)
	}
	rate, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		b.Fatal(err)
	}
	return rate
}

var benchRun atomic.Int64 // keeps request ids of rounds apart

// postLoad posts from 64 connections, one request at a time each, for the given seconds. The client writes prepared bytes
// and reads as little as it can, since it shares the machine with what it measures.
func postLoad(b *testing.B, conn connectionFile, frames int) (rate float64, latencies []time.Duration) {
	b.Helper()
	base, err := url.Parse(conn.URL)
	if err != nil {
		b.Fatal(err)
	}
	run := benchRun.Add(1)
	deadline := time.Now().Add(benchSeconds * time.Second)
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := time.Now()
	for w := range benchClients {
		wg.Go(func() {
			own, err := postUntil(base.Host, conn.Tokens[kinds.Host], fmt.Sprintf("%d-%d", run, w), frames, deadline)
			mu.Lock()
			defer mu.Unlock()
			latencies = append(latencies, own...)
			if err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	return float64(len(latencies)) / time.Since(start).Seconds(), latencies
}

func postUntil(host, token, name string, frames int, deadline time.Time) (latencies []time.Duration, err error) {
	c, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	in := bufio.NewReader(c)
	const mark = "@@@@@@@@"
	body := benchReport(name+"-"+mark, frames)
	head := fmt.Sprintf("POST /v1/usage-reports HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", host, token, len(body))
	request := []byte(head + body)
	at := strings.Index(string(request), mark)
	for n := 0; time.Now().Before(deadline); n++ {
		copy(request[at:], fmt.Sprintf("%08d", n))
		start := time.Now()
		if _, err := c.Write(request); err != nil {
			return latencies, err
		}
		if err := readCreated(in); err != nil {
			return latencies, err
		}
		latencies = append(latencies, time.Since(start))
	}
	return latencies, nil
}

// readCreated reads one answer and demands that it is a 201.
func readCreated(in *bufio.Reader) error {
	status, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	length := 0
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		if value, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			if length, err = strconv.Atoi(value); err != nil {
				return err
			}
		}
	}
	if _, err := in.Discard(length); err != nil {
		return err
	}
	if !strings.HasPrefix(status, "HTTP/1.1 201") {
		return fmt.Errorf("answered %q", strings.TrimSpace(status))
	}
	return nil
}

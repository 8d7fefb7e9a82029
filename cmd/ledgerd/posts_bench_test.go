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
	benchRound   = 4 * time.Second
)

// BenchmarkSinglePosts compares single posts over HTTP at 64 connections with pgbench at 64 clients, medians of interleaved
// rounds: ratio = posts per second / one-row INSERTs per second of the same bytes into a plain table; rows-ratio = posts per
// second / transactions per second that insert just the rows of a post, without a head, a tree, a check or HTTP.
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
	postLoad(b, conn, frames, time.Second/10) // a post whose rows can be copied
	apart := copyOfRows(b, cluster.AdminURL("ledger"))
	var posts, inserts, rows []float64
	var latencies []time.Duration
	b.ResetTimer()
	for range b.N {
		for range benchRounds {
			inserts = append(inserts, pgbench(b, cluster.AdminURL("postgres"), "INSERT INTO plain (content) VALUES ('"+body+"');\n"))
			rows = append(rows, pgbench(b, cluster.AdminURL("ledger"), apart))
			rate, took := postLoad(b, conn, frames, benchRound)
			posts, latencies = append(posts, rate), append(latencies, took...)
		}
	}
	b.StopTimer()
	slices.Sort(posts)
	slices.Sort(inserts)
	slices.Sort(rows)
	slices.Sort(latencies)
	p, i, r := posts[len(posts)/2], inserts[len(inserts)/2], rows[len(rows)/2]
	b.ReportMetric(p, "posts/s")
	b.ReportMetric(i, "inserts/s")
	b.ReportMetric(p/i, "ratio")
	b.ReportMetric(r, "rows/s")
	b.ReportMetric(p/r, "rows-ratio")
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

// copyOfRows makes tables like those that a post fills, with their indexes, and returns a transaction that inserts the rows
// of a post there, sent in one go: what a service without group commit would have to do at least.
func copyOfRows(b *testing.B, admin string) string {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), admin)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(b.Context())
	script := "BEGIN \\;\n"
	for _, t := range []struct{ name, own, is string }{
		{"entries", "seq", "nextval('apart.seqs')"}, {"contents", "seq", "currval('apart.seqs')"},
		{"keys", "key_hash", "gen_random_uuid()"}, {"usage_lines", "seq", "currval('apart.seqs')"},
	} {
		var columns, values []string
		rows, err := conn.Query(b.Context(), `SELECT attname FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attname <> $2`, "ledger."+t.name, t.own)
		if err == nil {
			columns, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range columns {
			values = append(values, "quote_nullable("+c+"::text)")
		}
		var row string
		if err := conn.QueryRow(b.Context(), "SELECT concat_ws(',', "+strings.Join(values, ", ")+") FROM ledger."+t.name+" ORDER BY "+t.own+" DESC LIMIT 1").Scan(&row); err != nil {
			b.Fatal(err)
		}
		for _, sql := range []string{
			`CREATE SCHEMA IF NOT EXISTS apart`, `CREATE SEQUENCE IF NOT EXISTS apart.seqs`,
			`CREATE TABLE apart.` + t.name + ` (LIKE ledger.` + t.name + ` INCLUDING ALL)`,
		} {
			if _, err := conn.Exec(b.Context(), sql); err != nil {
				b.Fatal(err)
			}
		}
		script += "INSERT INTO apart." + t.name + " (" + t.own + ", " + strings.Join(columns, ", ") + ") VALUES (" + t.is + ", " + row + ") \\;\n"
	}
	return script + "COMMIT;\n"
}

func pgbench(b *testing.B, admin, sql string) float64 {
	b.Helper()
	script := filepath.Join(b.TempDir(), "insert.sql")
	if err := os.WriteFile(script, []byte(sql), 0o600); err != nil {
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
	out, err := exec.CommandContext(b.Context(), bin, "-n", "-c", strconv.Itoa(benchClients), "-j", "2", "-T", strconv.Itoa(int(benchRound.Seconds())), "-f", script, admin).CombinedOutput()
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

// postLoad posts from 64 connections, one request at a time each, for the given time. The client writes prepared bytes
// and reads as little as it can, since it shares the machine with what it measures.
func postLoad(b *testing.B, conn connectionFile, frames int, during time.Duration) (rate float64, latencies []time.Duration) {
	b.Helper()
	base, err := url.Parse(conn.URL)
	if err != nil {
		b.Fatal(err)
	}
	run := benchRun.Add(1)
	deadline := time.Now().Add(during)
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

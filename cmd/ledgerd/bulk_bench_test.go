package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/devstack/pgtest"
	"ledgerd/internal/kinds"
)

// BenchmarkBulk compares bulk ingest over HTTP, one stream into the real binary, with a plain COPY of the same bytes into
// the plain table of BenchmarkSinglePosts: ratio = lines recorded per second / lines copied per second, medians of
// interleaved rounds. rss-MB is the most memory that the service ever had.
func BenchmarkBulk(b *testing.B) {
	for _, frames := range []int{1, 22} {
		size := len(benchReport("%%", frames))
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) { benchBulk(b, frames, 64<<20/size) })
	}
}

func benchBulk(b *testing.B, frames, lines int) {
	b.Helper()
	cluster := pgtest.NewCluster(b)
	s := newRealService(b, cluster.AdminURL("postgres"))
	s.start(b)
	defer s.kill(b)
	plain(b, cluster.AdminURL("postgres"))
	var recorded, copied []float64
	b.ResetTimer()
	for i := range b.N {
		for round := range benchRounds {
			body := bulkReports(fmt.Sprintf("%d-%d", i, round), frames, lines)
			copied = append(copied, float64(lines)/plainCopy(b, cluster.AdminURL("postgres"), body).Seconds())
			recorded = append(recorded, float64(lines)/postLines(b, s.connectionFile, body, lines).Seconds())
		}
	}
	b.StopTimer()
	slices.Sort(recorded)
	slices.Sort(copied)
	r, c := recorded[len(recorded)/2], copied[len(copied)/2]
	b.ReportMetric(r, "lines/s")
	b.ReportMetric(c, "copied/s")
	b.ReportMetric(r/c, "ratio")
	b.ReportMetric(peakMemory(b, s.cmd.Process.Pid), "rss-MB")
	b.ReportMetric(0, "ns/op")
}

// bulkReports are lines for POST /v1/entries, usage reports that differ as real ones do: each has a request id and frames of
// its own. Digests are random to a compressor, which decides much of what a COPY costs.
func bulkReports(round string, frames, lines int) []byte {
	wrapped := benchReport("%%", frames)
	before, report, _ := strings.Cut(wrapped, `,"report":`)
	line := `{"kind":"usage-report","context":` + before + `},"artifact":` + strings.TrimSuffix(report, "}") + "}\n"
	for i := range frames {
		line = strings.Replace(line, fmt.Sprintf("sha256:%064x", i), "sha256:%%", 1)
	}
	parts := strings.Split(line, "%%") // the request id, then each frame's digest
	var b bytes.Buffer
	b.Grow(lines * (len(line) + 64*frames + 16))
	for i := range lines {
		id := round + "-" + strconv.Itoa(i)
		b.WriteString(parts[0] + id)
		for k, rest := range parts[1:] {
			if k > 0 {
				fmt.Fprintf(&b, "%x", sha256.Sum256([]byte(id+"/"+strconv.Itoa(k))))
			}
			b.WriteString(rest)
		}
	}
	return b.Bytes()
}

func plainCopy(b *testing.B, admin string, body []byte) time.Duration {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), admin)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(b.Context())
	start := time.Now()
	// Quote and delimiter are bytes that JSON does not have, so each line is one value as it stands.
	_, err = conn.PgConn().CopyFrom(b.Context(), bytes.NewReader(body), `COPY plain (content) FROM STDIN (FORMAT csv, QUOTE e'\x01', DELIMITER e'\x02')`)
	if err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

// postLines posts one stream and reads its results while it is sent.
func postLines(b *testing.B, conn connectionFile, body []byte, lines int) time.Duration {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, conn.URL+"/v1/entries", bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+conn.Tokens[kinds.Host])
	req.Header.Set("Content-Type", "application/x-ndjson")
	start := time.Now()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	results, err := io.ReadAll(res.Body)
	took := time.Since(start)
	if n := bytes.Count(results, []byte(`"status":201`)); err != nil || n != lines {
		b.Fatalf("%d of %d lines were recorded: %v\n%.500s", n, lines, err, results)
	}
	return took
}

// peakMemory is the largest resident set of a process in megabytes.
func peakMemory(b *testing.B, pid int) float64 {
	b.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		b.Fatal(err)
	}
	return kb / 1024
}

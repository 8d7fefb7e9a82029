package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ledgerd/client"
	"ledgerd/internal/audit/evidence"
	"ledgerd/internal/devstack/pgtest"
	"ledgerd/internal/kinds"
)

// BenchmarkEvidence downloads evidence of 100,000 usage reports of some 4 KB from the real binary, and verifies the file with
// it, offline: entries per second of both, and the most memory that either process ever had.
func BenchmarkEvidence(b *testing.B) {
	const rounds, lines = 10, evidence.MaxMatched / 10
	s := newRealService(b, pgtest.NewCluster(b).AdminURL("postgres"))
	s.start(b)
	for round := range rounds {
		postLines(b, s.connectionFile, bulkReports(fmt.Sprint(round), 30, lines), lines)
	}
	s.stop(b) // its memory is that of recording
	s.start(b)
	defer func() { s.kill(b) }()
	auditor, err := client.New(s.URL, s.Tokens[kinds.Auditor])
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "evidence.zip")
	var sent, checked time.Duration
	var memory int64
	for b.Loop() {
		start := time.Now()
		download(b, auditor, path)
		sent += time.Since(start)
		start = time.Now()
		memory = max(memory, verifyFile(b, path, s.LogKeys[0]))
		checked += time.Since(start)
	}
	b.ReportMetric(float64(rounds*lines*b.N)/sent.Seconds(), "sent/s")
	b.ReportMetric(float64(rounds*lines*b.N)/checked.Seconds(), "verified/s")
	b.ReportMetric(peakMemory(b, s.cmd.Process.Pid), "send-rss-MB")
	b.ReportMetric(float64(memory)/1024, "verify-rss-MB")
	b.ReportMetric(0, "ns/op")
}

func download(b *testing.B, from *client.Client, path string) {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	n, err := from.Evidence(b.Context(), client.EvidenceQuery{Kind: "usage-report"}, f)
	if err != nil {
		b.Fatalf("after %d bytes: %v", n, err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

// verifyFile verifies a file with the real binary, and returns the most memory that it took in KB.
func verifyFile(b *testing.B, path, key string) int64 {
	b.Helper()
	program, err := binary()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), program, "verify", "evidence", path, "--log-key", key)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), fmt.Sprintf("every check passed, over %d entries", evidence.MaxMatched)) {
		b.Fatalf("%v\n%s", err, out)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		b.Fatal("the system does not say how much memory a process took")
	}
	return usage.Maxrss
}

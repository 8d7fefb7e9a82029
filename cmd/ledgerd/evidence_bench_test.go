package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledgerd/client"
	"ledgerd/internal/audit/evidence"
	"ledgerd/internal/devstack/pgtest"
	"ledgerd/internal/kinds"
)

// BenchmarkEvidence downloads evidence of 100,000 usage reports of some 4 KB from the real binary, and verifies the file with
// it, offline: entries per second of both, for verifying per second of processor time too, which is that of one core, and the
// most memory that either process ever had.
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
	var sent, checked, processor time.Duration
	var memory float64
	for b.Loop() {
		start := time.Now()
		download(b, auditor, path)
		sent += time.Since(start)
		start = time.Now()
		took, most := verifyFile(b, path, s.LogKeys[0])
		checked += time.Since(start)
		processor, memory = processor+took, max(memory, most)
	}
	b.ReportMetric(float64(rounds*lines*b.N)/sent.Seconds(), "sent/s")
	b.ReportMetric(float64(rounds*lines*b.N)/checked.Seconds(), "verified/s")
	b.ReportMetric(peakMemory(b, s.cmd.Process.Pid), "send-rss-MB")
	b.ReportMetric(float64(rounds*lines*b.N)/processor.Seconds(), "verified/core-s")
	b.ReportMetric(memory, "verify-rss-MB")
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

// verifyFile verifies a file with the real binary, and returns the processor time and the most memory, in MB, that it took. The
// system's own account of a child's memory begins with that of its parent, so it is looked at while it runs.
func verifyFile(b *testing.B, path, key string) (processor time.Duration, memory float64) {
	b.Helper()
	program, err := binary()
	if err != nil {
		b.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(b.Context(), program, "verify", "evidence", path, "--log-key", key)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			memory = max(memory, highWater(cmd.Process.Pid))
		case err := <-ended:
			if err != nil || !strings.Contains(out.String(), fmt.Sprintf("every check passed, over %d entries", evidence.MaxMatched)) {
				b.Fatalf("%v\n%s", err, out.String())
			}
			return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), memory
		}
	}
}

// highWater is the largest resident set of a process in MB, 0 once it has ended.
func highWater(pid int) float64 {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kb, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		return 0
	}
	return kb / 1024
}

package main

import (
	"os"
	"strings"
	"testing"

	"ledgerd/internal/devstack/pgtest"
	"ledgerd/internal/kinds"
)

// The whole of a restore through the real binary: the service notices, answers reads, records nothing, says so; the
// operator opens a new log; the service goes on.
func TestRestoreThroughTheBinary(t *testing.T) {
	t.Parallel()
	cluster := pgtest.NewCluster(t)
	s := newRealService(t, cluster.AdminURL("postgres"))
	s.start(t)
	i := &instance{connectionFile: s.connectionFile}
	record := func(provider string) int {
		status, _, err := i.do(t.Context(), "POST", "/v1/consent-receipts", kinds.Host, consentFor(provider))
		if err != nil {
			t.Fatal(err)
		}
		return status
	}
	if status := record("before"); status != 201 {
		t.Fatalf("recording: %d", status)
	}
	s.stop(t)
	// An outside checkpoint that the database never reached: what a newer state would have left.
	code, stdout, stderr := command(t.Context(), "incarnation", "open", "--database-url", s.PostgresURL, "--signing-key-file", s.key, "--checkpoint-file", s.checkpoint, "--reason", "a drill")
	if code != 0 || !strings.Contains(stdout, "incarnation 1 is open") || !strings.Contains(stdout, "begins at entry 1") {
		t.Fatalf("incarnation open: exit %d\n%s%s", code, stdout, stderr)
	}
	for _, name := range []string{s.key + ".0", s.checkpoint + ".0"} {
		if _, err := os.Stat(name); err != nil {
			t.Errorf("the old one is not kept: %v", err)
		}
	}
	s.start(t)
	if status := record("after"); status != 201 {
		t.Errorf("recording in the new log: %d", status)
	}
	for _, seq := range []string{"0", "2"} {
		if status, body, err := i.do(t.Context(), "GET", "/v1/entries/"+seq+"/proof", kinds.Auditor, ""); err != nil || status != 200 {
			t.Errorf("proving entry %s: %d %s %v", seq, status, body, err)
		}
	}
	for path, origin := range map[string]string{"/log/checkpoint": "", "/log/0/checkpoint": "", "/log/1/checkpoint": "/1"} {
		status, body, err := i.do(t.Context(), "GET", path, kinds.Operator, "")
		name, _, _ := strings.Cut(string(body), "\n")
		if err != nil || status != 200 || name != strings.SplitN(s.LogKeys[0], "+", 2)[0]+origin {
			t.Errorf("%s: %d of the log %q, %v", path, status, name, err)
		}
	}
	if status := get(t, s.URL+"/log/1/tile/0/000.p/1", ""); status != 200 {
		t.Errorf("a tile of the new log: %d", status)
	}
	s.stop(t)
	// The old log's state again under the new key's name is no continuation: what was kept outside says so.
	if err := os.WriteFile(s.checkpoint, mustRead(t, s.checkpoint+".0"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.launch(t)
	defer s.stop(t)
	s.waitAnswering(t)
	if status := record("never"); status != 503 {
		t.Errorf("recording on a log that is not what was kept: %d", status)
	}
	if status, body, err := i.do(t.Context(), "GET", "/readyz", kinds.Operator, ""); err != nil || status != 503 || !strings.Contains(string(body), "log-read-only") {
		t.Errorf("readyz: %d %s %v", status, body, err)
	}
	if status, _, err := i.do(t.Context(), "GET", "/v1/entries/0", kinds.Auditor, ""); err != nil || status != 200 {
		t.Errorf("reading while read-only: %d %v", status, err)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

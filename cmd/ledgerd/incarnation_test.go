package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ledgerd/internal/devstack/pgtest"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
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
	code, _, stderr := command(t.Context(), s.openIncarnation()...)
	if code != 1 || !strings.Contains(stderr, "the log is whole") || !strings.Contains(stderr, "--force") || exists(s.key+".new") {
		t.Fatalf("a log that needs no other: exit %d, %s", code, stderr)
	}
	code, stdout, stderr := command(t.Context(), s.openIncarnation("--force")...)
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

// After a drill on a laptop, dev.json still has what a whole check needs: the keys of all logs.
func TestDevKeepsTheKeysOfEarlierLogs(t *testing.T) {
	t.Parallel()
	dir := devFolder(t)
	first := startDev(t, dir)
	if code, stdout, stderr := command(t.Context(), "incarnation", "open", "--force", "--database-url", first.PostgresURL, "--signing-key-file", filepath.Join(dir, signingName),
		"--checkpoint-file", filepath.Join(dir, keptName), "--reason", "a drill"); code != 0 {
		t.Fatalf("incarnation open: exit %d\n%s%s", code, stdout, stderr)
	}
	first.end(t, syscall.SIGTERM)
	second := startDev(t, dir)
	if len(second.LogKeys) != 2 || second.LogKeys[1] != first.LogKeys[0] {
		t.Errorf("%q after %q", second.LogKeys, first.LogKeys)
	}
	if code, stdout, stderr := command(t.Context(), "fsck", "--data-dir", dir); code != 0 {
		t.Errorf("fsck: exit %d\n%s%s", code, stdout, stderr)
	}
}

// openIncarnation are the arguments that open a new log after the service's.
// Where the kept checkpoint is gone and the log has entries nothing is signed, as a restore might have come with it, until an
// operator says that it is a first start there; the service then keeps one again.
func TestServeWithoutItsCheckpoint(t *testing.T) {
	t.Parallel()
	s := newRealService(t, pgtest.NewCluster(t).AdminURL("postgres"))
	i := &instance{connectionFile: s.connectionFile}
	record := func(provider string, want int) {
		t.Helper()
		if status, body, err := i.do(t.Context(), "POST", "/v1/consent-receipts", kinds.Host, consentFor(provider)); err != nil || status != want {
			t.Errorf("recording %s: %d %s, %v; want %d", provider, status, body, err, want)
		}
	}
	s.start(t) // of an empty log there is nothing to lose
	record("first", 201)
	s.stop(t)
	kept := mustRead(t, s.checkpoint)
	if err := os.Remove(s.checkpoint); err != nil {
		t.Fatal(err)
	}
	s.launch(t)
	s.waitFor(t, http.StatusServiceUnavailable)
	record("unsigned", 503)
	if status, _, err := i.do(t.Context(), "GET", "/v1/entries/0", kinds.Auditor, ""); err != nil || status != 200 {
		t.Errorf("reading: %d, %v", status, err)
	}
	s.stop(t)
	if exists(s.checkpoint) {
		t.Error("what nobody vouched for is kept")
	}
	s.flags = []string{"--init-checkpoint"}
	s.start(t)
	record("second", 201)
	s.stop(t)
	if now := mustRead(t, s.checkpoint); bytes.Equal(now, kept) {
		t.Error("the newest checkpoint is not kept")
	}
	s.flags = nil
	s.start(t)
	record("third", 201)
	s.stop(t)
}

func (s *realService) openIncarnation(more ...string) []string {
	return append([]string{"incarnation", "open", "--database-url", s.PostgresURL, "--signing-key-file", s.key, "--checkpoint-file", s.checkpoint,
		"--reason", "a drill"}, more...)
}

// After a crash at any step the same command goes on, and ends with the same new log.
func TestIncarnationOpenGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	appendSamples(t, l)
	head, err := l.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &realService{connectionFile: connectionFile{PostgresURL: l.ServiceURL}, key: filepath.Join(dir, "key"), checkpoint: filepath.Join(dir, "checkpoint")}
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(when string) {
		t.Helper()
		code, stdout, stderr := command(t.Context(), s.openIncarnation("--force")...)
		if code != 0 || !strings.Contains(stdout, "incarnation 1 is open") {
			t.Fatalf("%s: exit %d, %s", when, code, stderr)
		}
	}
	oldKey, oldCheckpoint := l.SignerKey+"\n", head.Checkpoint
	write(s.key, oldKey)
	write(s.checkpoint, oldCheckpoint)
	newKey, _, err := newSigningKey(postgres.IncarnationOrigin(head.Origin, 1))
	if err != nil {
		t.Fatal(err)
	}
	write(s.key+".new", newKey+"\n")
	run("with a new key that an earlier run made")
	opened := string(mustRead(t, s.checkpoint))
	if got := string(mustRead(t, s.key)); got != newKey+"\n" || exists(s.key+".new") {
		t.Error("the new key that was there is not the one in place")
	}
	for when, crashed := range map[string]map[string]string{
		"before the files":         {s.checkpoint: oldCheckpoint},
		"before the keys":          {s.checkpoint: opened, s.checkpoint + ".0": oldCheckpoint},
		"before the last move":     {s.checkpoint: opened, s.checkpoint + ".0": oldCheckpoint, s.key + ".0": oldKey},
		"before the checkpoint is": {s.checkpoint: oldCheckpoint, s.checkpoint + ".0": oldCheckpoint},
	} {
		for _, path := range []string{s.checkpoint + ".0", s.key + ".0"} {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		write(s.key, oldKey)
		write(s.key+".new", newKey+"\n")
		for path, text := range crashed {
			write(path, text)
		}
		run(when)
		for path, want := range map[string]string{s.key: newKey + "\n", s.key + ".0": oldKey, s.checkpoint: opened, s.checkpoint + ".0": oldCheckpoint} {
			if string(mustRead(t, path)) != want {
				t.Errorf("%s: %s is not what it must be", when, filepath.Base(path))
			}
		}
	}
	write(s.key, oldKey)
	if code, _, stderr := command(t.Context(), s.openIncarnation("--force")...); code != 1 || !strings.Contains(stderr, "where it was begun") || exists(s.key+".new") {
		t.Errorf("with the old key, and the new one nowhere: exit %d, %s", code, stderr)
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

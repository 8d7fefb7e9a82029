package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ledgerd/client"
	"ledgerd/internal/audit/evidence"
	"ledgerd/internal/kinds"
)

// download fetches evidence of everything into a file.
func (i *instance) download(t *testing.T, q client.EvidenceQuery) string {
	t.Helper()
	c, err := client.New(i.URL, i.Tokens[kinds.Auditor])
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := c.Evidence(t.Context(), q, &file); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "evidence.zip")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// stranger runs the real binary where there is nothing of the ledger's but what is on its command line.
func stranger(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir, cmd.Env = t.TempDir(), []string{}
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err = cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), problems.String()
}

// The whole way through the real binary: a session, evidence of it, and a stranger who has the file and the log's key. What
// was erased and what a drill left behind is in it too, and a changed byte is found and named.
func TestEvidenceThroughTheBinary(t *testing.T) {
	t.Parallel()
	dir := devFolder(t)
	dev := startDev(t, dir)
	if code, stdout, stderr := command(t.Context(), "demo", "--data-dir", dir); code != 0 {
		t.Fatalf("demo: exit %d\n%s%s", code, stdout, stderr)
	}
	kept := filepath.Join(t.TempDir(), "kept")
	monitor := []string{"verify", "log", "--url", dev.URL, "--log-key", dev.LogKeys[0], "--since", kept}
	if code, stdout, stderr := stranger(t, append(monitor, "--init")...); code != 0 {
		t.Fatalf("verify log: exit %d\n%s%s", code, stdout, stderr)
	}
	size, early := sizeIn(t, kept), kept+".early"
	if err := os.WriteFile(early, mustRead(t, kept), 0o600); err != nil {
		t.Fatal(err)
	}
	s := story{t: t, dev: dev}
	s.call("POST", "/v1/erasures", kinds.Admin, `{"reason":"asked by the person","seqs":[13]}`, 201, nil)
	file := dev.download(t, client.EvidenceQuery{Since: size})
	code, stdout, stderr := stranger(t, "verify", "evidence", file, "--log-key", dev.LogKeys[0], "--checkpoint", kept)
	if code != 0 || !strings.Contains(stdout, "every check that could be made passed") || !strings.Contains(stdout, "entry 13: content: its content was erased") {
		t.Errorf("verify evidence: exit %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := stranger(t, monitor...); code != 0 || !strings.Contains(stdout, fmt.Sprintf("grew from %d to %d", size, size+1)) {
		t.Errorf("verify log: exit %d\n%s%s", code, stdout, stderr)
	}
	mangledFiles(t, file, dev.LogKeys[0])

	if code, stdout, stderr := command(t.Context(), "incarnation", "open", "--force", "--database-url", dev.PostgresURL, "--signing-key-file", filepath.Join(dir, signingName),
		"--checkpoint-file", filepath.Join(dir, keptName), "--reason", "a drill"); code != 0 {
		t.Fatalf("incarnation open: exit %d\n%s%s", code, stdout, stderr)
	}
	dev.end(t, syscall.SIGTERM)
	dev = startDev(t, dir)
	s.dev = dev
	s.call("POST", "/v1/erasures", kinds.Admin, `{"reason":"asked by the person","seqs":[14]}`, 201, nil)
	file = dev.download(t, client.EvidenceQuery{})
	args := []string{"verify", "evidence", file, "--json", "--log-key", dev.LogKeys[0]}
	code, stdout, stderr = stranger(t, append(args, "--log-key", dev.LogKeys[1], "--checkpoint", early)...)
	var report struct {
		evidence.Report
		Passed bool
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != 1 || report.Failed() || report.Passed || report.Check("checkpoint").Passed != 2 {
		t.Errorf("evidence over two logs, and a checkpoint that it was not proven from: exit %d, %v\n%s%s", code, err, stdout, stderr)
	}
	if code, stdout, stderr := stranger(t, append(args, "--log-key", dev.LogKeys[1], "--checkpoint", kept)...); code != 0 {
		t.Errorf("evidence over two logs: exit %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, _ := stranger(t, args...); code != 1 || !strings.Contains(stdout, "could not be verified") {
		t.Errorf("with the new log's key alone: exit %d\n%s", code, stdout)
	}
	if code, stdout, stderr := stranger(t, "verify", "log", "--url", dev.URL, "--log-key", dev.LogKeys[1], "--since", kept); code != 0 || !strings.Contains(stderr, "a new log took this one's place") {
		t.Errorf("watching the old log: exit %d\n%s%s", code, stdout, stderr)
	}
}

// mangledFiles changes a byte of each member, and the file's end, and demands that the binary says where.
func mangledFiles(t *testing.T, path, vkey string) {
	t.Helper()
	file := mustRead(t, path)
	verify := func(what string, changed []byte, code int, says string) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "mangled.zip")
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, stdout, stderr := stranger(t, "verify", "evidence", path, "--log-key", vkey); got != code || !strings.Contains(stdout+stderr, says) {
			t.Errorf("%s: exit %d, want %d and %q\n%s%s", what, got, code, says, stdout, stderr)
		}
	}
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range archive.File {
		at, err := m.DataOffset()
		if err != nil {
			t.Fatal(err)
		}
		middle := int64(m.UncompressedSize64) / 2
		if m.Name == "manifest.json" { // whose middle may be its syntax: a digit of a hash instead
			middle = int64(bytes.Index(file[at:], []byte(`"sha256":"`)) + 12)
		}
		changed := bytes.Clone(file)
		changed[at+middle] ^= 1
		verify(m.Name, changed, 1, m.Name)
	}
	verify("cut", file[:len(file)-100], 2, "cut short")
	verify("nothing", nil, 2, "the archive's end")
	verify("something else", []byte("this is a letter, and no evidence file at all"), 2, "no evidence file")
}

// sizeIn reads the size that a checkpoint states.
func sizeIn(t *testing.T, path string) int64 {
	t.Helper()
	var size int64
	if _, err := fmt.Sscan(strings.Split(string(mustRead(t, path)), "\n")[1], &size); err != nil {
		t.Fatal(err)
	}
	return size
}

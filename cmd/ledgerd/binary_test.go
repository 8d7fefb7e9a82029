package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ledgerd/internal/kinds"
)

// binary builds the program once, as a user would.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ledgerd-binary-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "ledgerd")
	out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building: %w\n%s", err, out)
	}
	return path, nil
})

// instance is a running `ledgerd dev`.
type instance struct {
	connectionFile
	cmd    *exec.Cmd
	ended  chan struct{}
	output *bytes.Buffer // complete once ended
}

// startDev runs the real binary on a data folder and returns when it says that it is ready.
func startDev(t *testing.T, dir string) *instance {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	i := &instance{cmd: exec.Command(path, "dev", "--listen", "127.0.0.1:0", "--data-dir", dir), ended: make(chan struct{}), output: &bytes.Buffer{}}
	i.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := i.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	i.cmd.Stderr = i.output
	if err := i.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	go func() {
		defer close(i.ended)
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "is ready at") {
				close(ready)
			}
		}
		i.cmd.Wait() //nolint:errcheck // its status is in cmd.ProcessState
	}()
	t.Cleanup(func() { i.end(t, syscall.SIGKILL) })
	select {
	case <-ready:
	case <-i.ended:
		t.Fatalf("ledgerd dev ended: %v\n%s", i.cmd.ProcessState, i.output)
	}
	if i.connectionFile, err = readConnection(dir); err != nil {
		t.Fatal(err)
	}
	return i
}

// end sends a signal and waits until the process is gone.
func (i *instance) end(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := i.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	<-i.ended
}

func (i *instance) do(ctx context.Context, method, path string, role kinds.Role, body string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, i.URL+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+i.Tokens[role])
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return res.StatusCode, raw, err
}

// devFolder is a folder whose path the unprivileged database user can reach, unlike that of t.TempDir under root.
func devFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ledgerd-dev-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "data")
}

func consentFor(key string) string {
	return fmt.Sprintf(`{"provider_id":%q,"scope":"third-party-model","provider_name":"N","provider_version":"1","grantor":{"kind":"human","id":"maria"},"granted_at":"2026-01-10T08:00:00Z"}`, key)
}

// The whole product through its own binary: start, record, stop in order, start again and find everything; be killed while
// recording, start again and miss nothing that was acknowledged.
func TestDevLosesNothing(t *testing.T) {
	t.Parallel()
	dir := devFolder(t)
	first := startDev(t, dir)
	if info, err := os.Stat(connectionPath(dir)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("dev.json: %v, %v", info.Mode(), err)
	}
	if status, body, err := first.do(t.Context(), "POST", "/v1/consent-receipts", kinds.Host, consentFor("before")); err != nil || status != 201 {
		t.Fatalf("recording: %d %s %v", status, body, err)
	}
	rest := openStream(t, first, `{"kind":"consent-receipt","artifact":`+consentFor("streamed")+"}\n")
	first.end(t, syscall.SIGTERM)
	if code := first.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("SIGTERM ended it with %d:\n%s", code, first.output)
	}
	if last, err := io.ReadAll(rest); err != nil || !strings.Contains(string(last), `"code":"unavailable"`) {
		t.Errorf("a stream that was open ended with %q, %v", last, err)
	}

	second := startDev(t, dir)
	if second.Tokens[kinds.Host] != first.Tokens[kinds.Host] || second.LogKeys[0] != first.LogKeys[0] {
		t.Error("tokens or the log's key changed over a restart")
	}
	acknowledged := killWhileRecording(t, second)
	third := startDev(t, dir)
	for provider, seq := range acknowledged {
		status, body, err := third.do(t.Context(), "GET", fmt.Sprintf("/v1/entries/%d", seq), kinds.Auditor, "")
		var e struct {
			Content struct {
				Artifact struct {
					ProviderID string `json:"provider_id"`
				} `json:"artifact"`
			} `json:"content"`
		}
		if err != nil || status != 200 || json.Unmarshal(body, &e) != nil || e.Content.Artifact.ProviderID != provider {
			t.Errorf("%s was acknowledged as %d, which is now %d %s %v", provider, seq, status, body, err)
		}
	}
	third.end(t, syscall.SIGTERM)
}

// openStream records one line on the bulk route and leaves the request's body open. The rest of the answer is to be read.
func openStream(t *testing.T, i *instance, line string) io.Reader {
	t.Helper()
	body, lines := io.Pipe()
	t.Cleanup(func() { lines.Close() })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, i.URL+"/v1/entries", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+i.Tokens[kinds.Host])
	req.Header.Set("Content-Type", "application/x-ndjson")
	go io.WriteString(lines, line) //nolint:errcheck // what was not sent has no result
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	results := bufio.NewReader(res.Body)
	if result, err := results.ReadString('\n'); err != nil || !strings.Contains(result, `"status":201`) {
		t.Fatalf("%q, %v", result, err)
	}
	return results
}

// killWhileRecording posts from several clients and kills the process in the middle; it returns what was acknowledged.
func killWhileRecording(t *testing.T, i *instance) map[string]int64 {
	t.Helper()
	const enough = 150
	var mu sync.Mutex
	acknowledged := map[string]int64{}
	plenty := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for n := range 10_000 {
				provider := fmt.Sprintf("provider-%d-%d", w, n)
				status, body, err := i.do(t.Context(), "POST", "/v1/consent-receipts", kinds.Host, consentFor(provider))
				var r struct{ Seq int64 }
				if err != nil || status != 201 || json.Unmarshal(body, &r) != nil {
					return // the process is gone, and this one was not acknowledged
				}
				mu.Lock()
				acknowledged[provider] = r.Seq
				if len(acknowledged) == enough {
					close(plenty)
				}
				mu.Unlock()
			}
		})
	}
	<-plenty
	i.end(t, syscall.SIGKILL)
	wg.Wait()
	return acknowledged
}

func TestDevStaysOnLoopback(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:8080", ":8080", "192.0.2.1:8080", "example.org:8080", "[::]:8080"} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), []string{"dev", "--listen", address, "--data-dir", devFolder(t)}, nil, &out, &errs); code != 1 || !strings.Contains(errs.String(), "loopback") {
			t.Errorf("%s: exit %d, %s", address, code, errs.String())
		}
	}
}

// A start that fails, here for a taken port, costs nobody the tokens.
func TestFailedStartKeepsTokens(t *testing.T) {
	t.Parallel()
	dir := devFolder(t)
	first := startDev(t, dir)
	first.end(t, syscall.SIGTERM)
	taken, err := net.Listen("tcp", "127.0.0.1:0") // a port to be in the way
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	code, _, stderr := command(t.Context(), "dev", "--clickhouse", "off", "--listen", taken.Addr().String(), "--data-dir", dir)
	if code != 1 || !strings.Contains(stderr, "listening on") {
		t.Fatalf("on a taken port: exit %d, %s", code, stderr)
	}
	if again := startDev(t, dir); again.Tokens[kinds.Host] != first.Tokens[kinds.Host] {
		t.Error("the tokens changed")
	}
}

func TestSecondDevOnAFolderIsRefused(t *testing.T) {
	t.Parallel()
	dir := devFolder(t)
	startDev(t, dir)
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"dev", "--listen", "127.0.0.1:0", "--data-dir", dir}, nil, &out, &errs)
	if code != 1 || !strings.Contains(errs.String(), "in use") {
		t.Errorf("exit %d: %s", code, errs.String())
	}
	if _, err := readConnection(dir); err != nil {
		t.Errorf("the refused start took the first one's dev.json away: %v", err)
	}
}

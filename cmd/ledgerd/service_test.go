package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// realService is `ledgerd serve`, the real binary, on a bootstrapped database of a cluster.
type realService struct {
	connectionFile
	key        string   // file of the signing key
	checkpoint string   // file of the newest checkpoint
	more       []string // settings, as environment variables
	flags      []string // what has no variable
	cmd        *exec.Cmd
}

// newRealService bootstraps a ledger on the cluster and chooses an address; it starts nothing.
func newRealService(tb testing.TB, admin string) *realService {
	tb.Helper()
	dir := tb.TempDir()
	login := func(role string) string {
		return strings.NewReplacer("ledger_admin:", role+":pw-of-", "/postgres?", "/ledger?").Replace(admin)
	}
	s := &realService{key: filepath.Join(dir, "signing.key"), checkpoint: filepath.Join(dir, "checkpoint")}
	code, _, stderr := command(tb.Context(), "bootstrap", "--admin-url", admin, "--migrate-url", login("ledger_owner"),
		"--database-url", login("ledger_svc"), "--data-dir", dir, "--signing-key-file", s.key)
	if code != 0 {
		tb.Fatal(stderr)
	}
	var err error
	if s.connectionFile, err = readConnection(dir); err != nil {
		tb.Fatal(err)
	}
	s.URL = "http://" + freeAddress(tb)
	return s
}

// freeAddress is a loopback address that nobody listens on at the moment.
func freeAddress(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		tb.Fatal(err)
	}
	return address
}

// start runs the binary and returns when it is ready.
func (s *realService) start(tb testing.TB) {
	tb.Helper()
	s.launch(tb)
	s.waitReady(tb)
}

// launch runs the binary.
func (s *realService) launch(tb testing.TB) {
	tb.Helper()
	path, err := binary()
	if err != nil {
		tb.Fatal(err)
	}
	s.cmd = exec.Command(path, "serve", "--listen", strings.TrimPrefix(s.URL, "http://"), "--log-level", "error")
	s.cmd.Args = append(s.cmd.Args, s.flags...)
	s.cmd.Env = append(os.Environ(), "LEDGERD_DATABASE_URL="+s.PostgresURL, "LEDGERD_SIGNING_KEY_FILE="+s.key, "LEDGERD_CHECKPOINT_FILE="+s.checkpoint)
	s.cmd.Env = append(s.cmd.Env, s.more...)
	s.cmd.Stderr = tb.Output()
	if err := s.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
}

// waitReady polls /readyz until it says yes.
func (s *realService) waitReady(tb testing.TB) {
	tb.Helper()
	s.waitFor(tb, http.StatusOK)
}

// waitAnswering polls /readyz until it says anything.
func (s *realService) waitAnswering(tb testing.TB) {
	tb.Helper()
	s.waitFor(tb, http.StatusOK, http.StatusServiceUnavailable)
}

// waitFor polls /readyz for one of the statuses, for 30 seconds at most.
func (s *realService) waitFor(tb testing.TB, statuses ...int) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 30*time.Second)
	defer cancel()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for !slices.Contains(statuses, s.readyStatus(ctx)) {
		select {
		case <-poll.C:
		case <-ctx.Done():
			tb.Fatal("the service did not become ready")
		}
	}
}

func (s *realService) readyStatus(ctx context.Context) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/readyz", nil)
	if err != nil {
		return 0
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	return res.StatusCode
}

// kill ends the process at once, as a crash would.
func (s *realService) kill(tb testing.TB) {
	tb.Helper()
	s.end(tb, os.Kill)
}

// stop ends the process in order, as an operator would.
func (s *realService) stop(tb testing.TB) {
	tb.Helper()
	s.end(tb, syscall.SIGTERM)
}

func (s *realService) end(tb testing.TB, sig os.Signal) {
	tb.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		tb.Error(err)
	}
	s.cmd.Wait() //nolint:errcheck // it was signalled, and its status says so
}

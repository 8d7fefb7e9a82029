package devstack

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// helperEnv makes the test binary a process that runs a cluster in the folder of that name, to be killed by a test.
const helperEnv = "DEVSTACK_TEST_HELPER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperEnv); dir != "" {
		help(dir)
	}
	os.Exit(m.Run())
}

// help starts the cluster, says so and waits to be killed, or for its test to end.
func help(dir string) {
	if _, err := StartPostgres(context.Background(), PostgresOptions{DataDir: dir, Log: os.Stdout}); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Stdout.WriteString(helperReady + "\n")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

const helperReady = "ready"

// startHelper runs a helper until it prints a line that begins with text.
func startHelper(t *testing.T, dir, text string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	check(t, err)
	_, err = cmd.StdinPipe() // ends with this process, and the helper with it
	check(t, err)
	check(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), text) {
			return cmd
		}
	}
	t.Fatalf("the helper ended before it said %q", text)
	return nil
}

// killHelper kills a helper as the kernel would.
func killHelper(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	check(t, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil {
		t.Fatal("the helper ended before it was killed")
	}
}

// newDir returns a folder that a server's account can reach, unlike t.TempDir, for a data folder.
func newDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "ledgerd-devstack-*")
	check(tb, err)
	check(tb, os.Chmod(dir, 0o711))
	tb.Cleanup(func() { check(tb, os.RemoveAll(dir)) })
	return filepath.Join(dir, "data")
}

// start runs a cluster until the end of the test.
func start(t *testing.T, opts PostgresOptions) *Postgres {
	t.Helper()
	p, err := StartPostgres(t.Context(), opts)
	check(t, err)
	t.Cleanup(func() { check(t, p.Stop(context.Background())) })
	return p
}

// startVolatile is start for tests that crash nothing.
func startVolatile(t *testing.T, dir string) *Postgres {
	t.Helper()
	return start(t, PostgresOptions{DataDir: dir, Volatile: true})
}

// query runs a statement and returns the first column of its only row, if there is one.
func query(t *testing.T, p *Postgres, sql string) (answer string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.AdminURL("postgres"))
	check(t, err)
	defer conn.Close(context.Background())
	rows, err := conn.Query(t.Context(), sql)
	check(t, err)
	defer rows.Close()
	for rows.Next() {
		check(t, rows.Scan(&answer))
	}
	check(t, rows.Err())
	return answer
}

// folderOf returns the data folder as the package sees it.
func folderOf(t *testing.T, dir string) folder {
	t.Helper()
	f, err := openFolder(dir)
	check(t, err)
	return f
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !holds() {
		if err := pause(ctx); err != nil {
			t.Fatalf("still waiting until %s: %v", what, err)
		}
	}
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// progress collects what the user is told and calls back at each line.
type progress struct {
	mu   sync.Mutex
	text bytes.Buffer
	each func()
}

func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.each != nil {
		p.each()
	}
	return p.text.Write(b)
}

func (p *progress) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

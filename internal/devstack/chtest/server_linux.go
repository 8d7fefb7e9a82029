package chtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Server is an installed ClickHouse server, which speaks the native protocol. scripts/deps installs Debian's, of 2018: it has
// no LowCardinality, no DateTime64, no codecs, and refuses settings that it does not know.
type Server struct {
	addr, password string
	process        *os.Process
	done           chan struct{}
}

const (
	serverStart = 30 * time.Second
	serverPoll  = 50 * time.Millisecond
)

// NewServer starts one for this test alone, on a loopback port, in a folder of its own and never as root; it ends with the
// test, and with this process. Without such a program the test fails, it never skips.
func NewServer(tb testing.TB) *Server {
	tb.Helper()
	program, err := exec.LookPath("clickhouse-server")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/clickhouse-server"); err != nil {
			tb.Fatal("chtest: no clickhouse-server is installed: scripts/deps test installs one")
		}
	}
	credential, err := unprivileged()
	if err != nil {
		tb.Fatalf("chtest: %v", err)
	}
	s := &Server{password: rand.Text(), done: make(chan struct{})}
	config, err := s.configure(tb, credential)
	if err != nil {
		tb.Fatalf("chtest: %v", err)
	}
	if err := s.start(tb, program, config, credential); err != nil {
		tb.Fatalf("chtest: %v", err)
	}
	return s
}

// unprivileged is whom root runs the server as; nil when we are not root.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

// configure makes the folder, which is not tb.TempDir: its parents would keep the server's user out.
func (s *Server) configure(tb testing.TB, credential *syscall.Credential) (config string, err error) {
	tb.Helper()
	dir, err := os.MkdirTemp("", "ledgerd-chtest-")
	if err != nil {
		return "", err
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Errorf("chtest: %v", err)
		}
	})
	if s.addr, err = freeAddress(tb.Context()); err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		return "", err
	}
	config, users := filepath.Join(dir, "config.xml"), filepath.Join(dir, "users.xml")
	for path, text := range map[string]string{
		config: fmt.Sprintf(`<yandex><logger><level>error</level><console>1</console></logger><listen_host>127.0.0.1</listen_host><tcp_port>%s</tcp_port>
			<path>%s/data/</path><tmp_path>%s/tmp/</tmp_path><mark_cache_size>8388608</mark_cache_size><users_config>%s</users_config>
			<default_profile>default</default_profile><default_database>default</default_database></yandex>`, port, dir, dir, users),
		users: fmt.Sprintf(`<yandex><profiles><default/></profiles><quotas><default/></quotas><users><ledgerd><password>%s</password>
			<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></ledgerd></users></yandex>`, s.password),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	if credential == nil {
		return config, nil
	}
	for _, path := range []string{dir, config, users} {
		if err := os.Chown(path, int(credential.Uid), int(credential.Gid)); err != nil {
			return "", err
		}
	}
	return config, nil
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// start returns once the server takes connections. The kernel kills it when the thread that started it ends, so that thread
// waits for its end.
func (s *Server) start(tb testing.TB, program, config string, credential *syscall.Credential) error {
	tb.Helper()
	var said bytes.Buffer
	cmd := exec.CommandContext(context.Background(), program, "--config-file="+config)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = "/", &said, &said, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential, Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(s.done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // what it said tells why
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	s.process = cmd.Process
	tb.Cleanup(s.stop)
	for end := time.Now().Add(serverStart); ; {
		if conn, err := new(net.Dialer).DialContext(tb.Context(), "tcp4", s.addr); err == nil {
			return conn.Close()
		}
		select {
		case <-s.done:
			return fmt.Errorf("clickhouse-server ended at once: %s", &said)
		case <-time.After(serverPoll):
		}
		if time.Now().After(end) {
			return fmt.Errorf("clickhouse-server takes no connections on %s", s.addr)
		}
	}
}

// stop kills the server: its folder goes with it, and in order it would wait for queries that nobody waits for any more.
func (s *Server) stop() {
	_ = s.process.Kill() // fails when it is gone
	<-s.done
}

// Addr is host and port of the native protocol.
func (s *Server) Addr() string { return s.addr }

// URL is the server by way of an address: its own, or that of a Cutter before it.
func (s *Server) URL(addr string) string {
	u := url.URL{Scheme: "clickhouse", User: url.UserPassword("ledgerd", s.password), Host: addr, Path: "/default"}
	return u.String()
}

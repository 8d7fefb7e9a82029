package devstack

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestKilledServerIsNoticedAndRecovers(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGQUIT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			p := start(t, PostgresOptions{DataDir: newDir(t)})
			query(t, p, "CREATE TABLE t AS SELECT 42 AS n")
			done := p.Done()
			check(t, p.Kill(sig))
			<-done
			if p.Err() == nil {
				t.Error("no reason given")
			}
			check(t, p.Restart(t.Context()))
			if got := query(t, p, "SELECT n::text FROM t"); got != "42" {
				t.Errorf("the table holds %q", got)
			}
			if err := p.Err(); err != nil {
				t.Errorf("the restarted server has ended: %v", err)
			}
		})
	}
}

// A session that computes doesn't notice that its server is gone, and keeps the shared memory.
func TestBusySessionsOfAKilledServerAreEnded(t *testing.T) {
	t.Parallel()
	p := start(t, PostgresOptions{DataDir: newDir(t)})
	conn, err := pgx.Connect(t.Context(), p.AdminURL("postgres"))
	check(t, err)
	failed := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.Background(), "DO $$ BEGIN LOOP END LOOP; END $$")
		failed <- err
	}()
	eventually(t, "the session is busy", func() bool {
		return query(t, p, "SELECT count(*)::text FROM pg_stat_activity WHERE query LIKE 'DO %' AND state = 'active'") == "1"
	})
	check(t, p.Kill(syscall.SIGKILL))
	check(t, p.Restart(t.Context()))
	if err := <-failed; err == nil {
		t.Error("the endless loop ended by itself")
	}
}

func TestServerGoesWithItsParent(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	helper := startHelper(t, dir, helperReady)
	s := siteOf(t, dir)
	if len(serversOf(t, s)) == 0 {
		t.Fatal("no server runs")
	}
	killHelper(t, helper)
	eventually(t, "the server is gone", func() bool { return len(serversOf(t, s)) == 0 })
	start(t, PostgresOptions{DataDir: dir})
}

// The next start comes while the server of the last one still shuts down, or was killed along with its parent.
func TestStartRightAfterAKill(t *testing.T) {
	t.Parallel()
	for name, alsoServer := range map[string]bool{"parent": false, "parent and server": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newDir(t)
			helper := startHelper(t, dir, helperReady)
			pid, err := readPID(folder(dir))
			check(t, err)
			if alsoServer {
				check(t, syscall.Kill(pid, syscall.SIGKILL))
			}
			killHelper(t, helper)
			query(t, start(t, PostgresOptions{DataDir: dir}), "SELECT 'recovered'")
		})
	}
}

func TestInterruptedInitialisationIsRedone(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	helper := startHelper(t, dir, "creating")
	f := folderOf(t, dir)
	eventually(t, "initdb is at work", func() bool { return len(unfinished(t, f)) > 0 })
	killHelper(t, helper)
	if _, err := os.Stat(f.cluster()); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("an incomplete cluster is in place: %v", err)
	}
	start(t, PostgresOptions{DataDir: dir})
	if left := unfinished(t, f); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// The process id in a stale lock file may belong to another program of the same user by now.
func TestReusedProcessIDIsNoHindrance(t *testing.T) {
	t.Parallel()
	p := start(t, PostgresOptions{DataDir: newDir(t)})
	check(t, p.Kill(syscall.SIGKILL))

	stranger := p.site.account.command(t.Context(), "/bin/cat")
	stdin, err := stranger.StdinPipe()
	check(t, err)
	check(t, stranger.Start())
	_, rest, _ := strings.Cut(read(t, p.site.folder.pidFile()), "\n")
	text := strconv.Itoa(stranger.Process.Pid) + "\n" + rest
	check(t, os.WriteFile(p.site.folder.pidFile(), []byte(text), 0o600))

	check(t, p.Restart(t.Context()))
	check(t, stdin.Close())
	check(t, stranger.Wait())
}

// unfinished lists the clusters in the making.
func unfinished(t *testing.T, f folder) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(string(f), initPattern, "cluster"))
	check(t, err)
	return found
}

func siteOf(t *testing.T, dir string) site {
	t.Helper()
	return site{folder: folderOf(t, dir)}
}

func serversOf(t *testing.T, s site) []leftover {
	t.Helper()
	left, err := leftovers(s)
	check(t, err)
	return left
}

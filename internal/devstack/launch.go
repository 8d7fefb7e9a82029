package devstack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// pollEvery is the pause between two looks at a server that starts, or at leftovers that end.
	pollEvery = 20 * time.Millisecond
	// readyTimeout bounds a start, with the recovery after a crash.
	readyTimeout = 2 * time.Minute
	// takeoverTimeout bounds the wait for the processes of an earlier run.
	takeoverTimeout = 30 * time.Second
)

// errHeld says that the server refused to start because processes of an earlier one seem to hold the folder.
var errHeld = errors.New("processes of an earlier server hold the folder")

// launch starts the server and waits until it answers, ending leftovers of an earlier run as long as they are in the way.
func (p *Postgres) launch(ctx context.Context) (*process, error) {
	begun := time.Now()
	for {
		server, err := p.attempt(ctx)
		if err == nil || !errors.Is(err, errHeld) || time.Since(begun) > takeoverTimeout {
			return server, err
		}
		if err := p.takeOver(time.Since(begun)); err != nil {
			return nil, err
		}
		if err := pause(ctx); err != nil {
			return nil, err
		}
	}
}

// attempt starts the server once. On an error the server is gone.
func (p *Postgres) attempt(ctx context.Context) (*process, error) {
	p.log.forget()
	server, err := p.spawn()
	if err != nil {
		return nil, err
	}
	if err := p.awaitReady(ctx, server); err != nil {
		// A cancelled start still ends in a clean shutdown, which takes a moment.
		return nil, errors.Join(err, server.shutdown(context.WithoutCancel(ctx)))
	}
	return server, nil
}

// awaitReady waits until the server answers, or tells why it doesn't.
func (p *Postgres) awaitReady(ctx context.Context, server *process) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout,
		fmt.Errorf("Postgres did not answer within %s; its log is %s", readyTimeout, p.site.folder.log()))
	defer cancel()
	recovering := false
	for {
		err := p.ping(ctx, server)
		if err == nil {
			return nil
		}
		switch sqlState(err) {
		case codeStartingUp:
			if !recovering {
				p.site.say("waiting for Postgres to get ready")
			}
			recovering = true
		case codeWrongPassword:
			return fmt.Errorf("the cluster refuses the password in %s: %w", p.site.folder.password(), err)
		}
		if server.ended() {
			return p.refusal(server)
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// SQLSTATEs of a server that starts.
const (
	codeStartingUp    = "57P03"
	codeWrongPassword = "28P01"
	codeLockExists    = "F0001" // for both "lock file already exists" and "pre-existing shared memory block"
)

func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

var errNotYet = errors.New("the server has not taken the folder yet")

// ping connects once. It looks first whether the folder is our server's: while that one is about to refuse to start,
// another might answer.
func (p *Postgres) ping(ctx context.Context, server *process) error {
	pid, err := readPID(p.site.folder)
	if err != nil || pid != server.cmd.Process.Pid {
		return errNotYet
	}
	conn, err := pgx.Connect(ctx, p.AdminURL("postgres"))
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// readPID returns the process id in the cluster's postmaster.pid.
func readPID(f folder) (int, error) {
	text, err := os.ReadFile(f.pidFile())
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(strings.TrimSpace(first))
}

// refusal explains why a server that starts has ended.
func (p *Postgres) refusal(server *process) error {
	last, held := p.log.last()
	err := fmt.Errorf("%w\n%s\nthe whole log is %s", server.err, last, p.site.folder.log())
	if held {
		return fmt.Errorf("%w: %w", errHeld, err)
	}
	return err
}

// pause waits for a moment or for the end of ctx.
func pause(ctx context.Context) error {
	timer := time.NewTimer(pollEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// dropPIDFile removes the lock files of a server that is no more.
func (p *Postgres) dropPIDFile() error {
	for _, path := range []string{p.site.folder.pidFile(), p.socket + "/.s.PGSQL." + serverPort + ".lock"} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

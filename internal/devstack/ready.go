package devstack

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATEs of a server that starts.
const (
	codeWrongPassword = "28P01"
	codeLockExists    = "F0001" // both "lock file already exists" and "pre-existing shared memory block"
)

// sqlState returns the SQLSTATE that the server sent, "" when it sent none.
func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

var errNotYet = errors.New("the server has not taken the folder yet")

// ping connects once. It looks first whether the folder is our server's: while ours is about to refuse to start, one that
// shuts down might still answer.
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

package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// isLockTimeout says that the head could not be had within lock_timeout.
func isLockTimeout(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "55P03"
}

// unblock ends sessions of our own role that hold the head's lock while the server waits for their client, to write or to read: a process that
// was paused, or whose machine went away, in the middle of a batch. No timeout of the server fires there, neither for idle
// transactions nor for statements, while COPY data or the rest of a pipeline is awaited. What the session had not committed
// is rolled back; its process, should it live, finds its batch unanswered and runs it again.
func (a *Appender) unblock(ctx context.Context) {
	rows, err := a.store.pool.Query(ctx, `
		SELECT s.pid, pg_terminate_backend(s.pid, 1000)
		FROM pg_stat_activity s JOIN pg_locks l ON l.pid = s.pid
		WHERE s.usename = current_user AND s.datname = current_database() AND s.pid <> pg_backend_pid()
		  AND l.locktype = 'relation' AND l.relation = 'ledger.head'::regclass AND l.mode = 'RowShareLock' AND l.granted
		  AND s.wait_event IN ('ClientRead', 'ClientWrite') AND s.xact_start < clock_timestamp() - interval '1 second'`)
	if err != nil {
		a.log.Warn("append: looking for who holds the head", "error", err)
		return
	}
	var pid int32
	var ended bool
	_, err = pgx.ForEachRow(rows, []any{&pid, &ended}, func() error {
		a.log.Warn("append: ended a session that held the head and waited for its client", "pid", pid, "ended", ended)
		return nil
	})
	if err != nil {
		a.log.Warn("append: ending who holds the head", "error", err)
	}
}

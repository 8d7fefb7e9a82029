package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// snapshot is one consistent view, shared by several connections.
type snapshot struct {
	store   *Store
	control *pgx.Conn // holds the snapshot
	id      string
	conns   []*pgx.Conn
}

const readOnly = `BEGIN READ ONLY, ISOLATION LEVEL REPEATABLE READ`

func (s *Store) openSnapshot(ctx context.Context) (*snapshot, error) {
	snap := &snapshot{store: s}
	conn, err := snap.open(ctx)
	if err != nil {
		return nil, err
	}
	snap.control = conn
	if _, err = conn.Exec(ctx, readOnly); err == nil {
		err = conn.QueryRow(ctx, `SELECT pg_export_snapshot()`).Scan(&snap.id)
	}
	if err != nil {
		snap.close(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("taking a snapshot: %w", unavailable(err))
	}
	return snap, nil
}

// connect opens one more connection that sees the snapshot.
func (s *snapshot) connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, readOnly+`; SET TRANSACTION SNAPSHOT`+quoteLiteral(s.id))
	return conn, err
}

// scanParameters are those of a session that reads for as long as it takes, and waits for us in between. Ours is always the
// order of an index that is there; what the planner might think of instead is a sort of the whole table.
var scanParameters = map[string]string{
	"application_name": "ledgerd fsck", "statement_timeout": "0", "idle_in_transaction_session_timeout": "0", "jit": "off",
	"max_parallel_workers_per_gather": "0", "enable_sort": "off", "work_mem": "64MB",
}

func (s *snapshot) open(ctx context.Context) (*pgx.Conn, error) {
	cfg := s.store.pool.Config().ConnConfig
	for k, v := range scanParameters {
		cfg.RuntimeParams[k] = v
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to Postgres: %w", unavailable(err))
	}
	s.conns = append(s.conns, conn)
	return conn, nil
}

// close ends all connections and with them their transactions.
func (s *snapshot) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, c := range s.conns {
		c.Close(ctx)
	}
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
	"ledgerd/metering/billing"
)

// Appender is the one way into the log. Concurrent requests share transactions: it takes what is queued, without waiting
// for more, and commits it as one batch. It owns one connection. Several appenders, in one process or many, may work on
// one database; the head row fences them.
type Appender struct {
	store    *Store
	keys     Keys
	log      *slog.Logger
	now      Clock
	queue    *queue
	timeout  time.Duration // see batchTimeout
	patience time.Duration // see aheadPatience
	promises promises
	stop     context.CancelFunc
	ended    chan struct{} // the loop
	watched  chan struct{} // the look at the log

	secrets sync.Map // tenant → its key secret; a tenant's never changes

	// Used by the loop only.
	conn    *pgx.Conn
	buffers [2]buffers // one is filled while the other is sent
	edge    edge       // where the log ended after the last batch
	loaded  bool       // edge was read from the database
	ahead   ahead      // the next batch, where it was taken already
	wary    int        // batches for which nothing is predicted
	apart   bool       // the members of a batch are tried one by one

	predicted, mispredicted atomic.Int64 // for Predictions

	refusal atomic.Pointer[error] // why nothing is signed, nil while all is well
}

// Clock is the server's clock.
type Clock func() time.Time

// AppenderOptions are an Appender's parts.
type AppenderOptions struct {
	Store *Store
	Keys  Keys
	Log   *slog.Logger
	Now   Clock

	Known   ledger.Checkpoint // signed before; the log must continue it. Zero for nothing
	Refuse  error             // not nil: the log must not be signed on, and every append is answered with this
	Publish func(note []byte) // told each committed checkpoint; it must not wait. Nil tells nobody
	Watch   time.Duration     // how often the log is looked at while nothing is appended; 0 for watchEvery
}

// StartAppender starts the loop. Close ends it.
func StartAppender(o AppenderOptions) *Appender {
	ctx, stop := context.WithCancel(context.Background())
	a := &Appender{
		store: o.Store, keys: o.Keys, log: o.Log, now: o.Now, queue: newQueue(), timeout: batchTimeout, patience: aheadPatience,
		promises: promises{promise: o.Known, publish: o.Publish}, stop: stop, ended: make(chan struct{}), watched: make(chan struct{}),
	}
	if a.promises.publish == nil {
		a.promises.publish = func([]byte) {}
	}
	every := o.Watch
	if every == 0 {
		every = watchEvery
	}
	if o.Refuse != nil {
		a.refusal.Store(&o.Refuse)
	}
	go a.loop(ctx)
	go a.watch(ctx, every)
	return a
}

// Close takes no more requests, commits what is queued, and returns when that is done or ctx ends.
func (a *Appender) Close(ctx context.Context) error {
	a.queue.close()
	defer func() {
		a.stop()
		<-a.watched
	}()
	select {
	case <-a.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("draining the append queue: %w", ctx.Err())
	}
}

// Depth is the number of requests that wait in the queue.
func (a *Appender) Depth() int { return a.queue.len() }

// Predictions is how many batches were sent that had been sealed before the head was locked, and how many of these the server
// then refused, because somebody else had appended or a key was known, in it or in the batch before it, so that they were done
// again under the lock.
func (a *Appender) Predictions() (made, failed int64) {
	return a.predicted.Load(), a.mispredicted.Load()
}

// Refusal is why nothing is signed, nil while appends are possible.
func (a *Appender) Refusal() error {
	if err := a.refusal.Load(); err != nil {
		return *err
	}
	return nil
}

// batchTimeout bounds one attempt at one batch, waiting for the head included.
const batchTimeout = 15 * time.Second

func (a *Appender) loop(ctx context.Context) {
	defer close(a.ended)
	defer a.disconnect()
	for !a.queue.drained() || len(a.ahead.batch) > 0 {
		if len(a.ahead.batch) == 0 {
			select {
			case <-ctx.Done():
				a.refuseRest()
				return
			case <-a.queue.ready:
			}
			a.ahead.batch = a.queue.take()
		}
		next := a.ahead
		a.ahead = ahead{}
		if len(next.batch) > 0 {
			a.record(ctx, next.batch, next.flight)
		}
	}
}

// refuseRest answers what is left when the loop was told not to drain.
func (a *Appender) refuseRest() {
	a.queue.close()
	for batch := a.queue.take(); len(batch) > 0; batch = a.queue.take() {
		for _, p := range batch {
			p.fail(kinds.ErrUnavailable)
		}
	}
}

// maxAttempts is how often a batch is run while its outcome is unknown: the first time, after a lost connection, and once
// more after a blocker had to be ended.
const maxAttempts = 3

// record commits a batch. When that fails for a reason that may lie in one request, each is tried alone (a whole unit as
// one), so that only the culprit fails. When the outcome is unknown the same batch is run again: the key look-up under the
// lock finds what an unanswered COMMIT did record. Whose callers have gone by then is not tried again.
func (a *Appender) record(ctx context.Context, batch []*pending, f *flight) {
	err := a.try(ctx, batch, f)
	for attempt := 1; errors.Is(err, kinds.ErrUnavailable) && ctx.Err() == nil && attempt < maxAttempts; attempt++ {
		if batch = waitedFor(batch, err); len(batch) == 0 {
			return
		}
		a.log.Warn("append: outcome unknown, running the batch again", "entries", len(batch), "error", err)
		err = a.try(ctx, batch, nil)
	}
	parts := apart(batch)
	switch {
	case err == nil:
	case len(parts) > 1 && !errors.Is(err, kinds.ErrUnavailable) && !errors.Is(err, kinds.ErrReadOnly):
		a.log.Warn("append: a batch was refused, trying each entry alone", "entries", len(batch), "error", err)
		a.apart = true // nothing may be sent between them
		for _, part := range parts {
			if part = waitedFor(part, err); len(part) > 0 {
				a.record(ctx, part, nil)
			}
		}
		a.apart = false
	default:
		a.log.Log(ctx, severity(err), "append: failed", "entries", len(batch), "error", err)
		if errors.Is(err, kinds.ErrReadOnly) {
			a.refusal.Store(&err) // until an operator has looked and starts the process again
		}
		for _, p := range batch {
			p.fail(err)
		}
	}
}

// severity: that two billers planned the same is nothing to look at.
func severity(err error) slog.Level {
	if errors.Is(err, billing.ErrClaimed) {
		return slog.LevelInfo
	}
	return slog.LevelError
}

// waitedFor is what somebody still waits for of a batch. The rest fails with err, which says no more than its callers know.
func waitedFor(batch []*pending, err error) []*pending {
	var rest []*pending
	for _, part := range apart(batch) {
		if !part[0].unit.gone.Load() {
			rest = append(rest, part...)
			continue
		}
		for _, p := range part {
			p.fail(err)
		}
	}
	return rest
}

// try runs one transaction. On success every request of the batch has its answer; on an error none has. The attempt's own
// deadline, or the end of the process, leaves the outcome unknown and is kinds.ErrUnavailable: no entry of the batch caused it.
func (a *Appender) try(ctx context.Context, batch []*pending, f *flight) error {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	err := a.connect(ctx)
	if err == nil {
		err = a.commit(ctx, batch, f)
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && !errors.Is(err, kinds.ErrReadOnly) {
		err = fmt.Errorf("%w: %w", kinds.ErrUnavailable, err)
	}
	// Whatever the transaction left behind, a closed connection rolls it back. Memory is only ahead of the database if
	// commit said so, and it says so last.
	a.disconnect()
	if isLockTimeout(err) {
		a.unblock(ctx)
	}
	return err
}

func (a *Appender) connect(ctx context.Context) error {
	if a.conn != nil && !a.conn.IsClosed() {
		return nil
	}
	conn, err := pgx.ConnectConfig(ctx, a.store.pool.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("%w: %w", kinds.ErrUnavailable, err)
	}
	sets := [2]buffers{{}, {}}
	for table, columns := range appendTables() {
		target, err := newCopyTarget(ctx, conn, table, columns)
		if err != nil {
			conn.Close(ctx)
			return unavailable(err)
		}
		for _, set := range sets {
			set[table] = &copyBuffer{target: target, types: conn.TypeMap()}
		}
	}
	a.conn, a.buffers, a.loaded = conn, sets, false
	return nil
}

func (a *Appender) disconnect() {
	if a.conn == nil {
		return
	}
	if f := a.ahead.flight; f != nil && f.written != nil {
		a.conn.PgConn().Conn().Close() // else a farewell would wait for the batch that is being sent
		if err := <-f.written; err != nil {
			a.log.Debug("append: a batch on its way was lost with its connection; it will be run again", "entries", len(f.plan.batch), "error", err)
		}
	}
	a.ahead.flight = nil // a batch that was sent and not answered is run again like any other
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	a.conn.Close(ctx)
	a.conn, a.loaded = nil, false
}

// appendTables are the tables that a batch may fill, with their columns in the order in which rows are given.
func appendTables() map[string][]string {
	tables := map[string][]string{
		"entries":     {"seq", "recorded_at", "tenant", "kind", "key", "token_id", "meta", "meta_salt", "envelope", "leaf_hash"},
		"contents":    {"seq", "content", "content_salt"},
		"keys":        {"key_hash", "seq"},
		"claims":      {"tenant", "space", "name", "value", "seq"},
		"tiles":       {"incarnation", "level", "index", "root", "hashes"},
		"checkpoints": {"incarnation", "size", "signed_at", "checkpoint"},
	}
	for _, k := range kinds.All() {
		for _, t := range k.Tables {
			tables[t.Name] = columnsOf(t)
		}
	}
	return tables
}

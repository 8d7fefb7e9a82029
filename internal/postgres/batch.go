package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// commit is the append transaction (READ COMMITTED: a later snapshot than the lock's must see what the lock's last holder
// wrote). What a crash, of us or of the server, means after each step:
//
//  1. lock and look up — nothing was written; the lock goes with the session.
//  2. seal, sign       — memory only. A signature over a tree that is not committed goes to the server alone and is released
//     by nobody, its log included (see makeRoles); the same size may be signed again later with another root, never after a
//     commit.
//  3. COPY, head       — not visible to anybody; rolled back.
//  4. COMMIT sent      — the outcome is unknown until the answer: either all of it is there or nothing. The batch is run
//     again and step 1 finds its keys, so each caller still gets its one answer.
//  5. COMMIT answered  — durable. Callers that were not answered yet ask again and are replayed.
//
// Where the head can be predicted step 2 comes first, and all else is one round trip: the server looks whether the head is
// the predicted one, in the place of step 1, and refuses everything when it isn't. See predict. A batch that is sent behind
// another, which is not answered yet, is nothing without that one: it expects the head that the other leaves.
func (a *Appender) commit(ctx context.Context, batch []*pending, ahead *flight) error {
	if ahead == nil && a.predictable(batch) {
		ahead = a.predict(ctx, batch, a.edge, nil, a.buffers[0])
	}
	if ahead != nil && ahead.written != nil && a.loaded && !a.continues(ahead) {
		// What comes next on this connection would be the answer to a batch that nobody waits for.
		return fmt.Errorf("%w: a batch was sent that does not continue the log", kinds.ErrUnavailable)
	}
	if ahead != nil && a.continues(ahead) {
		err := a.fly(ctx, ahead)
		if !isMispredicted(err) {
			return err
		}
		a.mispredicted.Add(1)
		a.wary = waryBatches
		if err := a.recall(ctx); err != nil {
			return err
		}
		if _, err := a.conn.Exec(ctx, "ROLLBACK"); err != nil { // the COMMIT was skipped
			return unavailable(err)
		}
	}
	return a.commitLocked(ctx, batch)
}

func (a *Appender) commitLocked(ctx context.Context, batch []*pending) error {
	locked, err := a.lock(ctx, batch)
	if err != nil {
		return err
	}
	if locked.newest != locked.head.Incarnation {
		return fmt.Errorf("%w: a new incarnation was opened", kinds.ErrReadOnly)
	}
	if err := a.follow(ctx, locked.head); err != nil {
		return err
	}
	plan, err := a.resolve(ctx, batch, locked)
	if err != nil {
		return err
	}
	a.wary = max(0, a.wary-1)
	if len(locked.keys) > 0 {
		a.wary = waryBatches
	}
	if len(plan.fresh) == 0 { // replays and conflicts only
		if _, err := a.conn.Exec(ctx, "ROLLBACK"); err != nil {
			return unavailable(err)
		}
		plan.answer()
		return nil
	}
	next, err := a.seal(a.edge, plan, a.buffers[0])
	if err != nil {
		return err
	}
	err = a.fly(ctx, &flight{plan: plan, next: next})
	if isBeyondHead(err) {
		return fmt.Errorf("%w: rows stand at or beyond the head, which nobody of ours wrote; `ledgerd fsck` names them: %w", kinds.ErrReadOnly, err)
	}
	return err
}

// isBeyondHead says that a row that was to be written is there already although, under the lock, nobody else can have taken
// its seq: somebody wrote it without the head.
func isBeyondHead(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != uniqueViolation {
		return false
	}
	table, ofSeq := strings.CutSuffix(pg.ConstraintName, "_pkey")
	return ofSeq && table != "keys" && table != "claims"
}

// flight is a batch that is ready to be sent.
type flight struct {
	plan    *plan
	next    sealed
	from    *ledger.Head // predicted: the head that the server must find
	written chan error   // of one: how the sending ended. nil while it has not begun
}

// fly sends a batch, unless that was begun, and answers everybody once it is committed. While the server works it looks
// ahead to the next batch and sends it behind, so that the server goes from the one to the other without waiting for us.
func (a *Appender) fly(ctx context.Context, f *flight) error {
	if f.written == nil {
		a.launch(f)
	}
	a.lookAhead(ctx, f)
	if err := a.sent(ctx, f); err != nil {
		return err
	}
	if a.ahead.flight != nil {
		a.launch(a.ahead.flight)
	}
	if err := receive(ctx, a.conn.PgConn()); err != nil {
		return err
	}
	a.edge = f.next.edge
	a.promises.note(a.edge.head)
	f.plan.answer()
	return nil
}

// launch begins to send a batch; whatever was sent before must be written by then.
func (a *Appender) launch(f *flight) {
	if f.from != nil {
		a.predicted.Add(1)
	}
	f.written = make(chan error, 1)
	go func(conn net.Conn, deadline time.Time) { f.written <- f.write(conn, deadline) }(a.conn.PgConn().Conn(), time.Now().Add(a.timeout))
}

// sent waits until a batch is written. What is not when ctx ends never will be.
func (a *Appender) sent(ctx context.Context, f *flight) error {
	select {
	case err := <-f.written:
		return err
	case <-ctx.Done():
		a.conn.PgConn().Conn().Close() // ends the writing
		return errors.Join(fmt.Errorf("%w: %w", kinds.ErrUnavailable, ctx.Err()), <-f.written)
	}
}

// recall waits until the batch that was sent behind a refused one is refused as well, which it is: the transaction that
// failed is still open, and else the head is not the one that it expects.
func (a *Appender) recall(ctx context.Context) error {
	f := a.ahead.flight
	a.ahead.flight = nil // what it was sealed on will not be
	if f == nil || f.written == nil {
		return nil
	}
	if err := a.sent(ctx, f); err != nil {
		return err
	}
	var refused *pgconn.PgError
	switch err := receive(ctx, a.conn.PgConn()); {
	case err == nil:
		return fmt.Errorf("%w: a batch behind a refused one was not refused", kinds.ErrUnavailable)
	case !errors.As(err, &refused):
		return err
	}
	a.mispredicted.Add(1)
	return nil
}

// locked is what step 1 learned under the head's lock.
type locked struct {
	head   ledger.Head
	newest int                // incarnation
	keys   map[[16]byte]int64 // known keys of the batch → seq
	claims map[claimKey]claimValue
}

type claimKey struct{ tenant, space, name string }

type claimValue struct {
	value string
	seq   int64
}

// lock takes the head and looks up keys and claims, in one round trip.
func (a *Appender) lock(ctx context.Context, batch []*pending) (locked, error) {
	l := locked{keys: map[[16]byte]int64{}, claims: map[claimKey]claimValue{}}
	hashes := make([][16]byte, len(batch))
	for i, p := range batch {
		hashes[i] = p.keyHash
	}
	b := &pgx.Batch{}
	b.Queue("BEGIN")
	b.Queue(currentHead + ` FOR UPDATE`).QueryRow(func(row pgx.Row) (err error) {
		l.head, err = scanHead(row)
		return err
	})
	// A statement of its own sees what was committed while the one before waited: no incarnation was opened meanwhile.
	b.Queue(`SELECT max(incarnation) FROM ledger.head`).QueryRow(func(row pgx.Row) error { return row.Scan(&l.newest) })
	// LATERAL with OFFSET 0 keeps this an index look-up per key; a plain join may become a hash join over all keys.
	b.Queue(`SELECT k.key_hash, k.seq FROM unnest($1::uuid[]) AS want(h)
		CROSS JOIN LATERAL (SELECT key_hash, seq FROM ledger.keys WHERE key_hash = want.h OFFSET 0) k`, hashes).Query(func(rows pgx.Rows) error {
		var hash [16]byte
		var seq int64
		_, err := pgx.ForEachRow(rows, []any{&hash, &seq}, func() error { l.keys[hash] = seq; return nil })
		return err
	})
	queueClaims(b, batch, l.claims)
	return l, unavailable(a.conn.SendBatch(ctx, b).Close())
}

// queueClaims adds the look-up of a batch's claims, if it has any, into held.
func queueClaims(b *pgx.Batch, batch []*pending, held map[claimKey]claimValue) {
	var tenants, spaces, names []string
	for _, p := range batch {
		for _, c := range p.claims {
			tenants, spaces, names = append(tenants, p.prepared.Meta().Tenant), append(spaces, c.Space), append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	b.Queue(`SELECT c.* FROM unnest($1::text[], $2::text[], $3::text[]) AS want(tenant, space, name)
		CROSS JOIN LATERAL (SELECT tenant, space, name, value, seq FROM ledger.claims
			WHERE tenant = want.tenant AND space = want.space AND name = want.name OFFSET 0) c`, tenants, spaces, names).Query(func(rows pgx.Rows) error {
		var k claimKey
		var v claimValue
		_, err := pgx.ForEachRow(rows, []any{&k.tenant, &k.space, &k.name, &v.value, &v.seq}, func() error { held[k] = v; return nil })
		return err
	})
}

package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ledgerd/metering/billing"
)

// ahead is a batch that was taken from the queue while the one before it was being committed.
type ahead struct {
	batch  []*pending
	flight *flight // nil: it must look under the lock
}

const (
	// aheadEntries is how many submissions must wait for a batch to be taken before the one under way is committed. With
	// fewer, what comes meanwhile had better share a transaction with them.
	aheadEntries = batchEntries / 4
	// waryBatches is for how many batches nothing is predicted once that was in vain, or would have been: another process
	// appends too, or somebody repeats what is recorded.
	waryBatches = 64
	// aheadPatience is how long a look ahead waits for one of the connections that it shares with readers: whoever waits for
	// the batch under way is not answered before.
	aheadPatience = 20 * time.Millisecond
)

// lookAhead takes the next batch and seals it on what f will leave, so that it can be sent behind. It uses nothing that f is
// sent with: neither the connection nor its buffers.
func (a *Appender) lookAhead(ctx context.Context, f *flight) {
	if a.apart || a.wary > 0 || len(a.ahead.batch) > 0 || a.queue.len() < aheadEntries {
		return
	}
	if a.ahead.batch = a.queue.take(); len(a.ahead.batch) > 0 {
		a.ahead.flight = a.predict(ctx, a.ahead.batch, f.next.edge, f.plan.claims, a.spare(f))
	}
}

// predict seals a batch on an edge without a look at the log; nil when that can't be done. It looks up no keys: nobody can
// have appended without the server's noticing, and a key that is known already violates its unique index. Then nothing was
// written and everything is done again under the lock. Claims are looked up, since an equal one is no violation; those that
// a batch under way is about to make count as well. Nothing is refused here: what looks like a conflict may be the same
// submission again, which the keys would tell.
func (a *Appender) predict(ctx context.Context, batch []*pending, on edge, claims map[claimKey]claimValue, to buffers) *flight {
	if slices.ContainsFunc(batch, func(p *pending) bool { return p.erases != nil }) {
		return nil
	}
	held, err := a.lookUpClaims(ctx, batch)
	if err != nil {
		return nil // the look-up under the lock will meet whatever it is
	}
	maps.Copy(held, claims)
	plan := newPlan(batch, locked{head: on.head, claims: held}, nil)
	if len(plan.fresh) == 0 || slices.ContainsFunc(batch, func(p *pending) bool { return p.err != nil }) {
		return nil
	}
	next, err := a.seal(on, plan, to)
	if err != nil {
		return nil
	}
	return &flight{plan: plan, next: next, from: &on.head}
}

func (a *Appender) lookUpClaims(ctx context.Context, batch []*pending) (map[claimKey]claimValue, error) {
	held := map[claimKey]claimValue{}
	b := &pgx.Batch{}
	queueClaims(b, batch, held)
	if b.Len() == 0 {
		return held, nil
	}
	patience, cancel := context.WithTimeout(ctx, a.patience)
	defer cancel()
	conn, err := a.store.pool.Acquire(patience)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	return held, conn.SendBatch(ctx, b).Close()
}

// spare are the buffers that f is not in.
func (a *Appender) spare(f *flight) buffers {
	if f.next.buffers["entries"] == a.buffers[0]["entries"] {
		return a.buffers[1]
	}
	return a.buffers[0]
}

// predictable says whether the head may be taken to be what this connection left last, and a batch be sent without a look.
// With claims, which must be looked up, nothing is won.
func (a *Appender) predictable(batch []*pending) bool {
	return a.loaded && a.wary == 0 && a.ahead.flight == nil && !slices.ContainsFunc(batch, func(p *pending) bool { return len(p.claims) > 0 })
}

// continues says whether a flight was sealed on what the log is now, by this connection's last word.
func (a *Appender) continues(f *flight) bool {
	return a.loaded && a.edge.head.Incarnation == f.from.Incarnation && a.edge.head.Size == f.from.Size && a.edge.head.Root == f.from.Root
}

// isMispredicted says that a batch was refused because the log, or a key or claim, is not what predict took it to be.
// A usage line that is claimed already may belong to the very intent that is recorded again: only its key tells.
func isMispredicted(err error) bool {
	var pg *pgconn.PgError
	return errors.Is(err, billing.ErrClaimed) || errors.As(err, &pg) && (pg.Code == headMoved || pg.Code == uniqueViolation)
}

// SQLSTATEs: the first is ledger.expect_head's own.
const (
	headMoved       = "LG001"
	uniqueViolation = "23505"
)

package postgres

import (
	"context"
	"errors"
	"maps"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
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
	// waryBatches is for how many batches nothing is sealed ahead once that was in vain, or would have been: another process
	// appends too, or a stream repeats what is recorded.
	waryBatches = 64
)

// lookAhead takes the next batch and seals it on what f will leave, so that the server need not wait for it afterwards. It
// looks up no keys: nobody else can append between f and this batch without the server's noticing, and a key that is known
// already violates its unique index. Then everything is done again under the lock. Claims are looked up, since an equal one
// is no violation; what f itself is about to claim counts.
//
// It uses nothing that f is sent with: neither the connection nor its buffers.
func (a *Appender) lookAhead(ctx context.Context, f *flight) {
	if a.wary > 0 || len(a.ahead.batch) > 0 || a.queue.len() < aheadEntries {
		return
	}
	a.ahead.batch = a.queue.take()
	if len(a.ahead.batch) == 0 || erases(a.ahead.batch) {
		return
	}
	held, err := a.lookUpClaims(ctx, a.ahead.batch)
	if err != nil {
		return // the look-up under the lock will meet whatever it is
	}
	maps.Copy(held, f.plan.claims)
	plan := newPlan(a.ahead.batch, locked{head: f.next.head, claims: held}, nil)
	if len(plan.fresh) == 0 {
		return
	}
	next, err := a.seal(f.next.edge, plan, a.spare(f))
	if err != nil {
		return
	}
	from := f.next.head
	a.ahead.flight = &flight{plan: plan, next: next, from: &from}
}

func erases(batch []*pending) bool {
	for _, p := range batch {
		if p.erases != nil {
			return true
		}
	}
	return false
}

func (a *Appender) lookUpClaims(ctx context.Context, batch []*pending) (map[claimKey]claimValue, error) {
	held := map[claimKey]claimValue{}
	b := &pgx.Batch{}
	queueClaims(b, batch, held)
	if b.Len() == 0 {
		return held, nil
	}
	return held, a.store.pool.SendBatch(ctx, b).Close()
}

// spare are the buffers that f is not in.
func (a *Appender) spare(f *flight) buffers {
	if f.next.buffers["entries"] == a.buffers[0]["entries"] {
		return a.buffers[1]
	}
	return a.buffers[0]
}

// continues says whether a flight was sealed on what the log is now, by this connection's last word.
func (a *Appender) continues(f *flight) bool {
	return a.loaded && a.edge.head.Incarnation == f.from.Incarnation && a.edge.head.Size == f.from.Size && a.edge.head.Root == f.from.Root
}

// isMispredicted says that a batch was refused because the log, or a key or claim, is not what lookAhead took it to be.
func isMispredicted(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == headMoved || pg.Code == uniqueViolation)
}

// SQLSTATEs: the first is ledger.expect_head's own.
const (
	headMoved       = "LG001"
	uniqueViolation = "23505"
)

package postgres

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"

	"ledgerd/internal/kinds"
)

// Bounds of the append queue and of one batch.
const (
	queueEntries = 8192     // single submissions that may wait
	queueBytes   = 64 << 20 // contents of these
	batchEntries = 1024
	batchBytes   = 16 << 20

	// bulkShare is how much of bulk submissions may wait, of all streams together, in entries; what is larger than
	// bulkEntryBytes counts as several. Two batches: one is filled while the other commits, and a single submission never
	// waits behind more.
	bulkShare      = 2 * batchEntries
	bulkEntryBytes = 8 << 10
)

// queue holds what waits for the append transaction, a line per tenant. take serves the tenants in turn, so that one
// tenant's flood delays the others by at most one batch.
type queue struct {
	mu      sync.Mutex
	lines   map[string][]*unit
	turn    []string // tenants with a line, the next to be served first
	size    int      // submissions in all lines
	singles int      // of these, those that came alone
	bytes   int      // contents of those
	closed  bool
	ready   chan struct{} // holds one token while there may be something to take
	bulk    *semaphore.Weighted
}

func newQueue() *queue {
	return &queue{lines: map[string][]*unit{}, ready: make(chan struct{}, 1), bulk: semaphore.NewWeighted(bulkShare)}
}

// put adds a single submission, or refuses it when the queue is full or closed.
func (q *queue) put(u *unit) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed && (q.singles >= queueEntries || q.bytes+u.bytes() > queueBytes) {
		return kinds.ErrBusy
	}
	return q.add(u)
}

// putBulk adds a unit of bulk submissions, waiting for room in the order of calls. When ctx ends first nothing was queued.
func (q *queue) putBulk(ctx context.Context, u *unit) error {
	u.weight = min(bulkShare, int64(max(len(u.members), u.bytes()/bulkEntryBytes)))
	if err := q.bulk.Acquire(ctx, u.weight); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	err := q.add(u)
	if err != nil {
		q.bulk.Release(u.weight)
	}
	return err
}

func (q *queue) add(u *unit) error {
	if q.closed {
		return kinds.ErrUnavailable
	}
	if len(q.lines[u.tenant]) == 0 {
		q.turn = append(q.turn, u.tenant)
	}
	q.lines[u.tenant] = append(q.lines[u.tenant], u)
	q.size += len(u.members)
	if u.weight == 0 {
		q.singles++
		q.bytes += u.bytes()
	}
	q.signal()
	return nil
}

// take removes up to one batch, a submission per tenant in turn. A whole unit is not split, even if it alone exceeds the
// bounds of a batch. Submissions whose callers have gone are dropped.
func (q *queue) take() []*pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	var batch []*pending
	for bytes := 0; q.size > 0 && bytes < batchBytes; {
		u := q.lines[q.turn[0]][0]
		if u.gone.Load() {
			q.remove(u, u.rest())
			continue
		}
		members := u.next()
		if len(batch) > 0 && len(batch)+len(members) > batchEntries {
			break
		}
		for i := range members {
			batch = append(batch, &members[i])
			bytes += members[i].bytes()
		}
		q.remove(u, len(members))
	}
	if q.size > 0 {
		q.signal()
	}
	return batch
}

// remove takes n members of the unit at the head of the line whose turn it is, and passes the turn on.
func (q *queue) remove(u *unit, n int) {
	u.taken += n
	q.size -= n
	if u.rest() > 0 && len(q.turn) == 1 {
		return
	}
	q.turn = q.turn[1:]
	if u.rest() == 0 {
		if u.weight == 0 {
			q.singles--
			q.bytes -= u.bytes()
		} else {
			q.bulk.Release(u.weight)
		}
		q.lines[u.tenant][0] = nil // the array may live long, its contents need not
		if q.lines[u.tenant] = q.lines[u.tenant][1:]; len(q.lines[u.tenant]) == 0 {
			delete(q.lines, u.tenant)
			return
		}
	}
	q.turn = append(q.turn, u.tenant)
}

func (q *queue) signal() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// close refuses what comes later; what is queued can still be taken.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

// drained says whether the queue is closed and empty.
func (q *queue) drained() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed && q.size == 0
}

// len is the number of submissions that wait.
func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.size
}

package postgres

import (
	"sync"

	"ledgerd/internal/kinds"
)

// Bounds of the append queue and of one batch.
const (
	queueEntries = 8192
	batchEntries = 1024
	batchBytes   = 16 << 20
)

// queue holds what waits for the append transaction, a line per tenant. take serves the tenants in turn, so that one
// tenant's flood delays the others by at most one batch.
type queue struct {
	mu     sync.Mutex
	lines  map[string][]*pending
	turn   []string // tenants with a line, the next to be served first
	size   int
	closed bool
	ready  chan struct{} // holds one token while there may be something to take
}

func newQueue() *queue {
	return &queue{lines: map[string][]*pending{}, ready: make(chan struct{}, 1)}
}

// put adds one request, or refuses it when the queue is full or closed.
func (q *queue) put(p *pending) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return kinds.ErrUnavailable
	}
	if q.size >= queueEntries {
		return kinds.ErrBusy
	}
	tenant := p.prepared.Meta().Tenant
	if len(q.lines[tenant]) == 0 {
		q.turn = append(q.turn, tenant)
	}
	q.lines[tenant] = append(q.lines[tenant], p)
	q.size++
	q.signal()
	return nil
}

// take removes up to one batch, a request per tenant in turn. Requests whose callers have gone are dropped.
func (q *queue) take() []*pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	var batch []*pending
	for bytes := 0; q.size > 0 && len(batch) < batchEntries && bytes < batchBytes; {
		tenant := q.turn[0]
		q.turn = q.turn[1:]
		p := q.lines[tenant][0]
		if rest := q.lines[tenant][1:]; len(rest) > 0 {
			q.lines[tenant] = rest
			q.turn = append(q.turn, tenant)
		} else {
			delete(q.lines, tenant)
		}
		q.size--
		if p.start() {
			batch = append(batch, p)
			bytes += p.prepared.Meta().Bytes
		}
	}
	if q.size > 0 {
		q.signal()
	}
	return batch
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

// Len is the number of requests that wait.
func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.size
}

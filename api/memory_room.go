package api

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// Bounds of all answers that are put together at the same time. A route's Memory says what one of its may hold; a page or a
// question is bounded by itself, and this bounds their number.
const (
	readMemory   = 1 << 10 // MiB
	readPatience = 5 * time.Second

	// What one tenant may have, so that it can't keep the others out for long: memory, and answers, waiting ones included.
	tenantMemory = readMemory / 2
	tenantReads  = 32
)

// largeRecordMemory is what checking and recording a record holds, in MiB, of those that are larger than an entry usually may be.
const largeRecordMemory = 32

// partsWeight is how much more than their own bytes the parts of a context record take while it is checked. What comes to less
// than a MiB takes none of what is shared.
const partsWeight = 4

// memoryRoom is memory that is shared: by large answers and the checks of large records, in MiB, by bodies, or by
// atomic requests.
type memoryRoom struct {
	memory   *semaphore.Weighted
	each     int64 // the most that one tenant has of it
	reads    int   // how often at once
	patience time.Duration

	mu      sync.Mutex
	tenants map[string]*tenantShare // of those that hold memory or wait for it
}

// tenantShare is what a tenant has of it.
type tenantShare struct {
	memory *semaphore.Weighted
	reads  int
}

func newMemoryRoom(all, each int64, reads int, patience time.Duration) *memoryRoom {
	return &memoryRoom{memory: semaphore.NewWeighted(all), each: each, reads: reads, patience: patience, tenants: map[string]*tenantShare{}}
}

// errNoRoom refuses a read that found no room in time.
var errNoRoom = &fault{code: "busy", detail: "others take all the memory that there is for large bodies, records and answers; ask again"}

// enter waits its turn for some of it, at most a tenant's share. leave, never nil, gives them back, once the answer is sent.
func (r *memoryRoom) enter(ctx context.Context, tenant string, size int64) (leave func(), err error) {
	nothing := func() {}
	if size == 0 {
		return nothing, nil
	}
	own := r.join(tenant)
	if own == nil {
		return nothing, errNoRoom
	}
	patience, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	err = own.memory.Acquire(patience, size) // first, or what waits for it would take the others' memory meanwhile
	if err == nil {
		if err = r.memory.Acquire(patience, size); err != nil {
			own.memory.Release(size)
		}
	}
	if err != nil {
		r.part(tenant)
		if errors.Is(ctx.Err(), context.Canceled) {
			return nothing, ctx.Err() // the caller has gone
		}
		return nothing, errNoRoom
	}
	return func() {
		r.memory.Release(size)
		own.memory.Release(size)
		r.part(tenant)
	}, nil
}

// join gives a tenant's share; nil when it reads as much at once as it may.
func (r *memoryRoom) join(tenant string) *tenantShare {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.tenants[tenant]
	if own == nil {
		own = &tenantShare{memory: semaphore.NewWeighted(r.each)}
		r.tenants[tenant] = own
	}
	if own.reads == r.reads {
		return nil
	}
	own.reads++
	return own
}

func (r *memoryRoom) part(tenant string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if own := r.tenants[tenant]; own.reads > 1 {
		own.reads--
		return
	}
	delete(r.tenants, tenant)
}

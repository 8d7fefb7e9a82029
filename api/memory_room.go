package api

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/semaphore"
)

// Bounds of all answers that are put together at the same time. A route's Memory says what one of its may hold; a page or a
// question is bounded by itself, and this bounds their number.
const (
	readMemory   = 1 << 10 // MiB
	readPatience = 5 * time.Second
	readsEach    = 32 // of one tenant, waiting ones included, so that it can't keep the others out for long
)

// largeRecordMemory is what checking and recording a record holds, in MiB, of those that are larger than an entry usually may be.
const largeRecordMemory = 32

// memoryRoom is the memory that large answers share, and the checks of large records.
type memoryRoom struct {
	memory   *semaphore.Weighted
	tenants  *slots
	patience time.Duration
}

func newMemoryRoom() *memoryRoom {
	return &memoryRoom{memory: semaphore.NewWeighted(readMemory), tenants: newSlots(1<<10, readsEach), patience: readPatience}
}

// errNoRoom refuses a read that found no room in time.
var errNoRoom = &fault{code: "busy", detail: "others take all the memory that there is for large records and answers; ask again"}

// enter waits its turn for some MiB. leave, never nil, gives them back, once the answer is sent.
func (r *memoryRoom) enter(ctx context.Context, tenant string, mib int64) (leave func(), err error) {
	nothing := func() {}
	if mib == 0 {
		return nothing, nil
	}
	if !r.tenants.take(tenant) {
		return nothing, errNoRoom
	}
	patience, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	if err := r.memory.Acquire(patience, mib); err != nil {
		r.tenants.release(tenant)
		if errors.Is(ctx.Err(), context.Canceled) {
			return nothing, ctx.Err() // the caller has gone
		}
		return nothing, errNoRoom
	}
	return func() {
		r.memory.Release(mib)
		r.tenants.release(tenant)
	}, nil
}

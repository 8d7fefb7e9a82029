package api

import (
	"context"
	"io"
	"slices"
	"time"
)

// SetProgressTimeout shortens what a test would otherwise have to wait for. Call it before the first request.
func (a *API) SetProgressTimeout(d time.Duration) { a.progress = d }

// TakeReads takes the memory for answers but for some MiB, and shortens the wait for it, until given back.
func (a *API) TakeReads(patience time.Duration, leaving int64) (giveBack func()) {
	a.memory.patience = patience
	_ = a.memory.memory.Acquire(context.Background(), readMemory-leaving)
	return func() { a.memory.memory.Release(readMemory - leaving) }
}

// TakeBodies takes the memory for bodies but for some KiB, and shortens the wait for it, until given back.
func (a *API) TakeBodies(patience time.Duration, leaving int64) (giveBack func()) {
	a.bodies.patience = patience
	_ = a.bodies.memory.Acquire(context.Background(), bodyMemory-leaving)
	return func() { a.bodies.memory.Release(bodyMemory - leaving) }
}

// SetWideLines makes questions wide that read more than so many lines. Call it before the first request.
func (a *API) SetWideLines(lines int) { a.wideLines = lines }

// EnterMemory takes some MiB as an answer to a tenant does.
func (a *API) EnterMemory(ctx context.Context, tenant string, mib int64) (leave func(), err error) {
	return a.memory.enter(ctx, tenant, mib)
}

// TakeStreams takes all streams that a tenant may have.
func (a *API) TakeStreams(tenant string) {
	for a.streams.take(tenant) {
	}
}

// InFlight reads each body as a stream does, answers nothing, and tells how many bytes it has read of each once all wait.
func InFlight(wait func(), bodies ...io.Reader) (bytes []int) {
	ctx, stop := context.WithCancel(context.Background())
	room, sums := newLineRoom(), make([]int, len(bodies))
	var readers []*lineReader
	for i, from := range bodies {
		l := newLineReader(ctx, from, room, 0)
		readers = append(readers, l)
		go l.run()
		go func() {
			for c := range l.open {
				sums[i] += len(c.buf)
			}
		}()
	}
	wait()
	bytes = slices.Clone(sums)
	stop()
	for _, l := range readers {
		l.room.leave()
		<-l.ended
	}
	return bytes
}

// TakeGroups takes the room for large atomic requests, and shortens the wait for it, until given back.
func (a *API) TakeGroups(patience time.Duration) (giveBack func()) {
	_ = a.large.memory.Acquire(context.Background(), groupMemory)
	a.large.patience = patience
	return func() {
		a.large.patience = groupPatience
		a.large.memory.Release(groupMemory)
	}
}

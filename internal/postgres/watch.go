package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// promises is the newest checkpoint that is known to be signed over a committed tree: the log must never be less. It only grows.
type promises struct {
	publish func(note []byte)

	mu      sync.Mutex
	promise ledger.Checkpoint
}

func (p *promises) newest() ledger.Checkpoint {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.promise
}

// note takes a committed head, which was verified or is our own, and hands its checkpoint out to be kept, unless a newer one
// is known.
func (p *promises) note(head ledger.Head) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if head.Size > p.promise.Size {
		p.promise = ledger.Checkpoint{Origin: head.Origin, Size: head.Size, Root: head.Root}
		p.publish([]byte(head.Checkpoint))
	}
}

const (
	// watchEvery is how much a process that appends nothing may be behind with what it knows to be signed.
	watchEvery = time.Second
	// watchTimeout bounds one look.
	watchTimeout = 10 * time.Second
)

// watch looks at the log again and again until ctx ends.
func (a *Appender) watch(ctx context.Context, every time.Duration) {
	defer close(a.watched)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := a.look(ctx); err != nil && ctx.Err() == nil {
			a.log.Debug("append: looking at the log", "error", err)
		}
	}
}

// look sees whether the log still continues what is known to be signed, and takes note of what others have signed since. So a
// process that appends nothing knows, and keeps, the newest checkpoint all the same, and a database that was restored beneath
// it, or a standby that took over with less, is noticed before the next append. Only what is certain ends the signing: a
// database that does not answer says nothing.
func (a *Appender) look(ctx context.Context) error {
	if a.refusal.Load() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	known := a.promises.newest() // before the head is read, which then must not be less
	head, err := a.store.Head(ctx)
	if err != nil {
		return err
	}
	if known == (ledger.Checkpoint{Origin: head.Origin, Size: head.Size, Root: head.Root}) {
		return nil
	}
	if err := a.store.continues(ctx, head, a.keys.Verifiers(), known); err != nil {
		if errors.Is(err, kinds.ErrReadOnly) {
			a.log.Error("append: THE LOG IS READ-ONLY: it is not what is known to be signed", "error", err)
			a.refusal.Store(&err)
		}
		return err
	}
	a.promises.note(head)
	return nil
}

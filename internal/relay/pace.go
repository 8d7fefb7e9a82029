package relay

import (
	"context"
	"sync"
	"time"
)

// pace spreads calls evenly, so many a second at most. It is safe for concurrent use.
type pace struct {
	gap  time.Duration
	mu   sync.Mutex
	next time.Time
}

func newPace(perSecond int) *pace { return &pace{gap: time.Second / time.Duration(perSecond)} }

// wait returns when the next call may be made; false when ctx ended first.
func (p *pace) wait(ctx context.Context) bool {
	p.mu.Lock()
	now := time.Now()
	at := p.next
	if at.Before(now) {
		at = now
	}
	p.next = at.Add(p.gap)
	p.mu.Unlock()
	if d := at.Sub(now); d > 0 {
		sleep(ctx, d)
	}
	return ctx.Err() == nil
}

package relay

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	firstPause   = 200 * time.Millisecond
	longestPause = 30 * time.Second
)

// backoff grows with each failure in a row and not otherwise.
type backoff struct{ last time.Duration }

// next doubles, up to longestPause, and draws from the upper half, so that processes do not ask in step.
func (b *backoff) next() time.Duration {
	b.last = min(max(2*b.last, firstPause), longestPause)
	return b.last/2 + rand.N(b.last/2)
}

func (b *backoff) reset() { b.last = 0 }

// sleep waits, or returns when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

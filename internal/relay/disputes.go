package relay

import (
	"context"
	"log/slog"
	"time"
)

// DisputeWork is disputes that were raised and are too large to be decided within a request. Its methods are safe for several
// processes at once.
type DisputeWork interface {
	// Work takes one, decides and records it; false when there is none to take. Whoever dies in it leaves it to the next.
	Work(ctx context.Context, holder string) (worked bool, err error)
}

// disputePoll is the pause when no dispute waits.
const disputePoll = 500 * time.Millisecond

// Disputes is the loop that works on them, one at a time. One goroutine runs it.
type Disputes struct {
	Queue  DisputeWork
	Holder string // names this process among all
	Logger *slog.Logger
}

// Run works until ctx ends. Neither an error nor a database that is away ends it.
func (d *Disputes) Run(ctx context.Context) {
	var wait backoff
	for ctx.Err() == nil {
		worked, err := d.Queue.Work(ctx, d.Holder)
		switch {
		case err != nil && ctx.Err() == nil:
			pause := wait.next()
			d.Logger.Warn("deciding a dispute", "error", err, "retry_in", pause)
			sleep(ctx, pause)
		case !worked:
			wait.reset()
			sleep(ctx, disputePoll)
		}
	}
}

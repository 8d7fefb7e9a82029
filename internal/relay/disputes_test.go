package relay_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"ledgerd/internal/relay"
)

// disputeQueue has some disputes, of which the second fails, and ends the loop when it is empty.
type disputeQueue struct {
	left, failed int
	end          context.CancelFunc
}

func (q *disputeQueue) Work(context.Context, string) (bool, error) {
	if q.left == 0 {
		q.end()
		return false, nil
	}
	if q.left--; q.left == 1 {
		q.failed++
		return true, errors.New("away")
	}
	return true, nil
}

func TestDisputesAreWorkedOnUntilTheEnd(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	q := &disputeQueue{left: 3, end: end}
	(&relay.Disputes{Queue: q, Holder: "h", Logger: slog.New(slog.DiscardHandler)}).Run(ctx)
	if q.left != 0 || q.failed != 1 {
		t.Errorf("%+v", q)
	}
}

package api

import (
	"context"

	"ledgerd/internal/kinds"
)

// submitted is some consecutive lines on their way into the log, or a mark between them.
type submitted struct {
	results []result
	chunk   *chunk // of which these are the last lines, nil where more follow
	wait    func() []kinds.Outcome
	cancel  context.CancelFunc
	reached chan struct{} // a mark: closed once all before it are decided
}

// recorder submits the chunks of a stream in their order. A line that names what may be among the lines before it is checked once
// these are recorded, since its verdict names their entries and depends on when the ledger recorded them.
type recorder struct {
	to      appender
	who     kinds.Poster
	checker *lineChecker
	queued  chan submitted
	open    bool // lines were submitted that may not be decided yet
}

func (r *recorder) run(ctx context.Context, s *stream) {
	defer close(r.queued)
	for c := range s.checked() {
		if c.waits {
			r.inParts(ctx, c)
		} else {
			r.submit(ctx, submitted{results: c.results, chunk: c}, c.accepted)
		}
	}
}

// inParts submits a chunk up to each line that waits, checks that line, and goes on with it.
func (r *recorder) inParts(ctx context.Context, c *chunk) {
	from, left, list := 0, c.accepted, []*kinds.Accepted{}
	for i := range c.results {
		line := &c.results[i]
		switch {
		case line.err != nil:
		case line.waiting == nil:
			list, left = append(list, left[0]), left[1:]
		default:
			if from < i {
				r.submit(ctx, submitted{results: c.results[from:i]}, list)
			}
			from, list = i, []*kinds.Accepted{}
			if !r.settle(ctx) {
				return
			}
			acc, err := r.again(ctx, line.waiting)
			if line.waiting, line.err = nil, err; err == nil {
				list = append(list, acc)
			}
		}
	}
	r.submit(ctx, submitted{results: c.results[from:], chunk: c}, list)
}

func (r *recorder) again(ctx context.Context, w *waiting) (*kinds.Accepted, error) {
	ctx, cancel := context.WithTimeout(ctx, bulkTimeout)
	defer cancel()
	return r.checker.again(ctx, w)
}

// submit hands lines to the log and to whoever answers them. When that one has gone, so has the stream.
func (r *recorder) submit(ctx context.Context, q submitted, list []*kinds.Accepted) {
	var deadline context.Context
	deadline, q.cancel = context.WithTimeout(ctx, bulkTimeout)
	q.wait = r.to.Submit(deadline, r.who, list)
	r.open = true
	select {
	case r.queued <- q:
	case <-ctx.Done():
		q.cancel()
	}
}

// settle waits until all lines that were submitted are decided; false when the stream was stopped.
func (r *recorder) settle(ctx context.Context) bool {
	if !r.open {
		return ctx.Err() == nil
	}
	r.open = false
	mark := make(chan struct{})
	select {
	case r.queued <- submitted{reached: mark}:
	case <-ctx.Done():
		return false
	}
	select {
	case <-mark:
		return true
	case <-ctx.Done():
		return false
	}
}

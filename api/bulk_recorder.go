package api

import (
	"context"
	"errors"

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
	renew   func(context.Context) error // asks again whether who may post
	queued  chan submitted
	open    bool   // lines were submitted that may not be decided yet
	cut     result // the first line of a poster who no longer may; valid once queued is closed
}

func (r *recorder) run(ctx context.Context, s *stream) {
	defer close(r.queued)
	for c := range s.checked() {
		var goesOn bool
		if c.waits {
			goesOn = r.inParts(ctx, c)
		} else {
			goesOn = r.submit(ctx, submitted{results: c.results, chunk: c}, c.accepted)
		}
		if !goesOn {
			return
		}
	}
}

// inParts submits a chunk up to each line that waits, checks that line, and goes on with it. False ends the stream.
func (r *recorder) inParts(ctx context.Context, c *chunk) bool {
	from, left, list := 0, c.accepted, []*kinds.Accepted{}
	for i := range c.results {
		line := &c.results[i]
		switch {
		case line.err != nil:
		case line.waiting == nil:
			list, left = append(list, left[0]), left[1:]
		default:
			if from < i && !r.submit(ctx, submitted{results: c.results[from:i]}, list) {
				return false
			}
			from, list = i, []*kinds.Accepted{}
			if !r.settle(ctx) {
				return false
			}
			acc, err := r.again(ctx, line.waiting)
			if line.waiting, line.err = nil, err; err == nil {
				list = append(list, acc)
			}
		}
	}
	return r.submit(ctx, submitted{results: c.results[from:], chunk: c}, list)
}

func (r *recorder) again(ctx context.Context, w *waiting) (*kinds.Accepted, error) {
	ctx, cancel := context.WithTimeout(ctx, bulkTimeout)
	defer cancel()
	return r.checker.again(ctx, w)
}

// submit hands lines to the log and to whoever answers them, if their poster still may post: a stream may outlive its token.
// False when it may not, and when whoever answers has gone; so has the stream.
func (r *recorder) submit(ctx context.Context, q submitted, list []*kinds.Accepted) bool {
	var deadline context.Context
	deadline, q.cancel = context.WithTimeout(ctx, bulkTimeout)
	switch err := r.renew(deadline); {
	case errors.Is(err, errUnauthorized):
		r.cut = result{number: q.results[0].number, err: err}
		q.cancel()
		return false
	case err != nil: // it could not be asked: these lines are not recorded, later ones may be
		q.refuse(err)
	default:
		q.wait = r.to.Submit(deadline, r.who, list)
		r.open = true
	}
	select {
	case r.queued <- q:
		return true
	case <-ctx.Done():
		q.cancel()
		return false
	}
}

// refuse gives the lines that would have been recorded an error instead.
func (q *submitted) refuse(err error) {
	for i := range q.results {
		if q.results[i].err == nil {
			q.results[i].err = err
		}
	}
	q.wait = func() []kinds.Outcome { return nil }
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

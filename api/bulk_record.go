package api

import (
	"context"
	"time"

	"ledgerd/internal/kinds"
)

// bulkTimeout is how long some lines may wait for their commit: longer than a single post, since waiting for room in the
// queue is what a stream is meant to do.
const bulkTimeout = time.Minute

// recordEach records each line on its own, and answers while others still come.
func (a *API) recordEach(c *call, x *exchange) (reply, error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(c.ctx()))
	s := a.startStream(ctx, c, x, 0)
	defer s.end(stop)
	r := &recorder{to: a.appender, who: c.who, checker: s.checker, renew: a.renewal(c), queued: make(chan submitted, window)}
	s.running.Go(func() { r.run(ctx, s) })
	results := resultWriter{api: a, exchange: x}
	for q := range r.queued {
		if err := results.answer(q); err != nil {
			return reply{sent: true}, nil // the client has gone, or no longer reads: there is nobody to tell
		}
		if q.chunk != nil {
			s.recycle(q.chunk)
		}
	}
	if r.cut.err != nil {
		return results.finish(r.cut)
	}
	return results.finish(s.failure())
}

// renewal asks again whether a call's token is still good. What is found is kept for a while, so that it may be asked often.
func (a *API) renewal(c *call) func(context.Context) error {
	return func(ctx context.Context) error { // not the request's, which ends with its body
		_, err := a.authenticate(c.http.WithContext(ctx))
		return err
	}
}

// answer waits until some lines are decided and says what became of them.
func (w *resultWriter) answer(q submitted) error {
	if q.reached != nil {
		close(q.reached)
		return nil
	}
	outcomes := q.wait()
	q.cancel()
	return w.write(q.results, outcomes)
}

// finish answers the end of the stream. When it did not come to the end of its body, the line where it ended has the error as
// its result, unless nothing was said yet and the error can be the whole answer.
func (w *resultWriter) finish(cut result) (reply, error) {
	if cut.err != nil && !w.exchange.begun {
		return reply{}, cut.err
	}
	var last []result
	if cut.err != nil {
		last = append(last, cut)
	}
	_ = w.write(last, nil) // fails when the client has gone
	return reply{sent: true}, nil
}

// Bounds of an atomic request.
const (
	atomicLines = 10_000
	atomicBytes = 64 << 20
)

// recordAll checks every line before any is recorded, and records all in one transaction or none.
func (a *API) recordAll(c *call, x *exchange) (reply, error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(c.ctx()))
	s := a.startStream(ctx, c, x, atomicLines)
	defer s.end(stop)
	var g group
	for chunk := range s.checked() {
		g.add(chunk)
		s.recycle(chunk)
	}
	if cut := s.failure(); cut.err != nil {
		return reply{}, cut.err
	}
	if err := a.renewal(c)(ctx); err != nil { // the body may have taken long
		return reply{}, err
	}
	outcomes := g.record(ctx, a.appender, c.who)
	results := resultWriter{api: a, exchange: x}
	_ = results.write(g.results, outcomes) // fails when the client has gone
	return reply{sent: true}, nil
}

// group is what an atomic request gathered.
type group struct {
	results  []result
	accepted []*kinds.Accepted // nil once a line was refused
	count    int               // of results without an error
	refused  bool
}

func (g *group) add(c *chunk) {
	g.results = append(g.results, c.results...)
	g.count += len(c.accepted)
	g.refused = g.refused || len(c.accepted) < len(c.results)
	if g.refused {
		g.accepted = nil
		return
	}
	g.accepted = append(g.accepted, c.accepted...)
}

func (g *group) record(ctx context.Context, to appender, who kinds.Poster) []kinds.Outcome {
	if g.refused {
		outcomes := make([]kinds.Outcome, g.count)
		for i := range outcomes {
			outcomes[i].Err = kinds.ErrNotRecorded
		}
		return outcomes
	}
	ctx, cancel := context.WithTimeout(ctx, bulkTimeout)
	defer cancel()
	return to.AppendAll(ctx, who, g.accepted)
}

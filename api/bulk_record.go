package api

import (
	"context"
	"time"
)

// bulkTimeout is how long some lines may wait for their commit: longer than a single post, since waiting for room in the
// queue is what a stream is meant to do.
const bulkTimeout = time.Minute

// recordEach records each line on its own, and answers while others still come.
func (a *API) recordEach(c *call, x *exchange) (reply, error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(c.ctx()))
	s := a.startStream(ctx, c, x, x.body, 0)
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

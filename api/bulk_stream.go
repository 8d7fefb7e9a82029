package api

import (
	"context"
	"io"
	"iter"
	"runtime"
	"sync"
)

// checkers is how many goroutines check the lines of one stream. Postgres, and what feeds it, need another core: of
// those that there are before the service adds a thread.
var checkers = max(1, min(4, runtime.GOMAXPROCS(0)-1))

// stream reads and checks the lines of one bulk request:
//
//	body → lineReader → chunks → checkers → checked chunks, in order
//
// Chunks come from a window of bounded size and go back to it once they are answered, so that a slow database or client stops
// the reading, and nothing grows.
type stream struct {
	exchange *exchange
	lines    *lineReader
	checker  *lineChecker
	done     <-chan struct{}
	running  sync.WaitGroup
}

// startStream starts reading and checking at most limit lines of a text, all of them before any is recorded; with 0 there is no limit, and
// they are recorded meanwhile. End it. ctx is not the request's, which
// ends at once when the body can't be read on: the lines before that stand, and may yet be answered.
func (a *API) startStream(ctx context.Context, c *call, x *exchange, text io.Reader, limit int) *stream {
	s := &stream{exchange: x, lines: newLineReader(ctx, text, a.lines, limit), checker: &lineChecker{api: a, who: c.who, mayWait: limit == 0}, done: ctx.Done()}
	s.running.Go(s.lines.run)
	for range checkers {
		s.running.Go(func() {
			for c := range s.lines.open {
				s.checker.check(ctx, c)
				c.checked <- struct{}{}
			}
		})
	}
	return s
}

// checked gives the chunks in the order of their lines. It ends with the body, or early when the stream is stopped.
func (s *stream) checked() iter.Seq[*chunk] {
	return func(yield func(*chunk) bool) {
		for c := range s.lines.ordered {
			select {
			case <-c.checked:
			case <-s.done:
				return
			}
			if !yield(c) {
				return
			}
		}
	}
}

// recycle gives an answered chunk back to the window.
func (s *stream) recycle(c *chunk) {
	c.reset()
	s.lines.room.give(c.size)
	s.lines.free <- c // which has room for all there are
}

// failure is what ended the lines before the end of the body, and the number of the line that it cut; without an error it is
// nothing. Call it when checked has come to its end.
func (s *stream) failure() result { return result{number: s.lines.number + 1, err: s.lines.err} }

// end stops what still runs and waits for it: a request's body may not be read after its handler.
func (s *stream) end(stop context.CancelFunc) {
	stop()
	s.lines.room.leave()
	select {
	case <-s.lines.ended:
	default:
		_ = s.exchange.interrupt() // without a connection there is nothing that could wait
	}
	s.running.Wait()
}

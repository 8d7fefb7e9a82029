package engine

import (
	"context"
	"strconv"
	"sync"
	"time"
)

const (
	// poolSize is how many statements run at once.
	poolSize = 4
	// killEvery is how often a kill is tried until its statement is gone: it may not have begun when the first one comes.
	killEvery = 20 * time.Millisecond
)

// pool is a few sessions to take, and one more that kills what the others run.
type pool struct {
	free chan *session

	mu     sync.Mutex // guards killer
	killer *session
	next   uint64
}

func openPool(l *library, dir string) (*pool, error) {
	p := &pool{free: make(chan *session, poolSize)}
	var err error
	if p.killer, err = l.open(dir); err != nil {
		return nil, err
	}
	for range poolSize {
		s, err := l.open(dir)
		if err != nil {
			return nil, err
		}
		p.free <- s
	}
	return p, nil
}

// with runs f on a session that nobody else uses.
func (p *pool) with(ctx context.Context, f func(*session) error) error {
	select {
	case s := <-p.free:
		defer func() { p.free <- s }()
		return f(s)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run executes a statement and kills it when ctx ends. The statement begins with a comment that tells it from all others.
func (p *pool) run(ctx context.Context, s *session, text string) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	mark := p.mark()
	done := make(chan struct{})
	defer close(done)
	stop := context.AfterFunc(ctx, func() { p.kill(mark, done) })
	defer stop()
	return s.run(mark + text)
}

func (p *pool) mark() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	return "/* bridge:" + strconv.FormatUint(p.next, 10) + " */ "
}

// kill ends the marked statement. ASYNC, since SYNC may wait for good.
func (p *pool) kill(mark string, done <-chan struct{}) {
	again := time.NewTicker(killEvery)
	defer again.Stop()
	for {
		p.mu.Lock()
		_, _ = p.killer.run("KILL QUERY WHERE startsWith(query, '" + mark + "') ASYNC") // the next try is the remedy
		p.mu.Unlock()
		select {
		case <-done:
			return
		case <-again.C:
		}
	}
}

// close waits for running statements and closes the engine.
func (p *pool) close() {
	for range poolSize {
		(<-p.free).close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killer.close()
}

package devstack

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// pollEvery is the pause between two looks at a server that starts, or at leftovers that end.
	pollEvery = 20 * time.Millisecond
	// readyTimeout bounds a start, with the recovery after a crash.
	readyTimeout = 2 * time.Minute
	// quietStart is how long a start may take before the user is told what we wait for.
	quietStart = 2 * time.Second
	// takeoverTimeout bounds the wait for the processes of an earlier run.
	takeoverTimeout = 30 * time.Second
)

// errHeld says that the server refused to start because processes of an earlier one seem to hold the folder.
var errHeld = errors.New("processes of an earlier server hold the folder")

// launch starts the server and waits until it answers, ending leftovers of an earlier run as long as they are in the way.
func (p *Postgres) launch(ctx context.Context) (*process, error) {
	begun := time.Now()
	for first := true; ; first = false {
		server, err := p.attempt(ctx)
		if err == nil || !errors.Is(err, errHeld) || time.Since(begun) > takeoverTimeout {
			return server, err
		}
		if first {
			p.site.say("waiting for the processes of an earlier server to end")
		}
		if err := p.takeOver(time.Since(begun)); err != nil {
			return nil, err
		}
		if err := pause(ctx); err != nil {
			return nil, err
		}
	}
}

// attempt starts the server once. On an error the server is gone.
func (p *Postgres) attempt(ctx context.Context) (*process, error) {
	p.log.forget()
	server, err := p.spawn()
	if err != nil {
		return nil, err
	}
	if err := p.awaitReady(ctx, server); err != nil {
		// A cancelled start still ends in a clean shutdown, which takes a moment.
		return nil, errors.Join(err, server.shutdown(context.WithoutCancel(ctx)))
	}
	return server, nil
}

// awaitReady waits until the server answers, or tells why it doesn't.
func (p *Postgres) awaitReady(ctx context.Context, server *process) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout,
		fmt.Errorf("Postgres did not answer within %s; its log is %s", readyTimeout, p.site.folder.log()))
	defer cancel()
	notice := time.Now().Add(quietStart)
	for {
		ended := server.ended() // asked first, so that its last answer is not missed
		err := p.ping(ctx, server)
		switch {
		case err == nil:
			return nil
		case sqlState(err) == codeWrongPassword:
			return fmt.Errorf("the cluster refuses the password in %s: %w", p.site.folder.password(), err)
		case ended:
			return p.refusal(server)
		case time.Now().After(notice):
			p.site.say("waiting for Postgres: after a crash it first recovers what was committed")
			notice = notice.Add(readyTimeout)
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// refusal explains why a server that starts has ended.
func (p *Postgres) refusal(server *process) error {
	last, held := p.log.last()
	err := fmt.Errorf("%w\n%s\nthe whole log is %s", server.unexpected(), last, p.site.folder.log())
	if held {
		return fmt.Errorf("%w: %w", errHeld, err)
	}
	return err
}

// pause waits for a moment or for the end of ctx.
func pause(ctx context.Context) error {
	timer := time.NewTimer(pollEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

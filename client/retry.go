package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"
)

// maxWait bounds the wait before an attempt, whatever the server asks for.
const maxWait = 30 * time.Second

type retry struct {
	attempts int
	base     time.Duration
	now      func() time.Time
	sleep    func(context.Context, time.Duration) error
}

// wait is how long to wait after the nth attempt, at least as long as the server asked for.
func (r retry) wait(n int, asked time.Duration) time.Duration {
	d := r.base
	for i := 1; i < n && d < maxWait; i++ {
		d *= 2
	}
	d = min(d, maxWait)
	if half := d / 2; half > 0 { // so that hosts that failed together don't come back together
		d = half + rand.N(half+1)
	}
	return min(max(d, asked), maxWait)
}

// retryAfter reads the header, seconds or a date (RFC 9110 §10.2.3); 0 when there is none that can be read.
func (r retry) retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
		return time.Duration(min(max(seconds, 0), int64(maxWait/time.Second))) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(at.Sub(r.now()), 0)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// effect is what sending a request more than once does.
type effect int

const (
	reads      effect = iota // nothing
	idempotent               // it takes effect at most once: may be repeated
	once                     // it acts each time: is never repeated
)

// call sends a request until it is answered for good, and reads the answer into out.
func (c *Client) call(ctx context.Context, r request, out any) (http.Header, error) {
	unsure := false // an attempt ended without an answer that says what became of it
	for n := 1; ; n++ {
		header, err := c.attempt(ctx, r, out)
		if err == nil {
			return header, nil
		}
		unsure = unsure || mayHaveLanded(err)
		again, asked := c.again(ctx, r, err)
		if again && n < c.retry.attempts {
			waited := c.retry.sleep(ctx, c.retry.wait(n, asked))
			if waited == nil {
				continue
			}
			err = fmt.Errorf("%w while waiting to try again after: %w", waited, err)
		}
		if n > 1 {
			err = fmt.Errorf("giving up after %d attempts: %w", n, err)
		}
		if unsure && r.effect != reads {
			err = &OutcomeUnknownError{Key: r.key, Once: r.effect == once, Err: err}
		}
		return nil, fmt.Errorf("%s: %w", r.doing, err)
	}
}

// again says whether another attempt may do better, and how long the server asked to wait before it.
func (c *Client) again(ctx context.Context, r request, err error) (bool, time.Duration) {
	if r.effect == once || ctx.Err() != nil {
		return false, 0
	}
	var lost *lostError
	var p *Problem
	switch {
	case errors.As(err, &lost):
		return true, 0
	case errors.As(err, &p):
		switch p.Status {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true, p.retryAfter
		}
	}
	return false, 0
}

// mayHaveLanded says whether a failed attempt may have taken effect. It has not when no connection was made, and when the
// server refused it; a server that fails, an answer that can't be read and a broken connection leave it open.
func mayHaveLanded(err error) bool {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return false
	}
	var unsent *unsentError
	if errors.As(err, &unsent) {
		return false
	}
	var p *Problem
	return !errors.As(err, &p) || p.Status >= http.StatusInternalServerError && p.Code != codeBusy
}

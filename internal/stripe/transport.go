package stripe

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

const (
	dialTimeout   = 10 * time.Second
	idleTimeout   = 30 * time.Second // shorter than Stripe's, so that a connection is rarely closed under a call
	maxAnswer     = 4 << 20          // bytes
	maxRetryAfter = time.Hour
)

// exchange is what the transport saw of an answer. The library keeps none of it when the body is not Stripe's JSON.
type exchange struct {
	status      int
	contentType string
	requestID   string
	retryAfter  time.Duration
}

type exchangeKey struct{}

// newTransport has HTTP/2 and the machine's proxy settings, as the standard one.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialTimeout, KeepAlive: idleTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout,
		IdleConnTimeout:     idleTimeout,
		MaxIdleConnsPerHost: 16,
		ForceAttemptHTTP2:   true,
	}
}

// transport sends what a call is about and nothing about this machine, exactly once, and reads no endless answer.
type transport struct{ inner http.RoundTripper }

// RoundTrip sends a request without the headers that describe this machine, and without the means to send it again by itself:
// net/http repeats a request that has an Idempotency-Key when a kept connection breaks.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Del("X-Stripe-Client-User-Agent")
	req.Header.Del("X-Stripe-Client-Telemetry")
	if req.Method != http.MethodGet {
		req.GetBody = nil
	}
	res, err := t.inner.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	note(req.Context(), res)
	res.Body = &boundedBody{ReadCloser: res.Body, left: maxAnswer}
	return res, nil
}

func note(ctx context.Context, res *http.Response) {
	x, ok := ctx.Value(exchangeKey{}).(*exchange)
	if !ok {
		return
	}
	x.status = res.StatusCode
	x.contentType = res.Header.Get("Content-Type")
	x.requestID = res.Header.Get("Request-Id")
	x.retryAfter = retryAfter(res.Header.Get("Retry-After"), time.Now())
}

// retryAfter reads seconds or a date, RFC 9110 §10.2.3. What can't be read asks for nothing.
func retryAfter(value string, now time.Time) time.Duration {
	var d time.Duration
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		d = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), maxRetryAfter)
}

// boundedBody fails where an answer grows beyond what any answer of Stripe's has.
type boundedBody struct {
	io.ReadCloser
	left int64
}

var errLongAnswer = errors.New("the answer is longer than 4 MiB")

// Read reads on while there is room.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n, errLongAnswer
	}
	return n, err
}

package client

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client talks to one ledgerd with one token. It is safe for concurrent use. The token's role decides which methods the
// server allows; its tenant is the one that is written to and read.
type Client struct {
	base  string // without a slash at the end
	token string
	http  *http.Client
	retry retry
	limit int64 // bytes of an answer
}

// The defaults of the options.
const (
	defaultTimeout   = 30 * time.Second // of one attempt; the server's own deadline is shorter
	defaultAttempts  = 5
	defaultBackoff   = 250 * time.Millisecond
	defaultMaxAnswer = 64 << 20
)

// Option changes how a Client works.
type Option func(*Client)

// WithHTTPClient sends through hc, which brings its own time limit per attempt. Its redirect policy is not used. The
// default is http.DefaultTransport with 30 seconds per attempt.
func WithHTTPClient(hc *http.Client) Option { return func(c *Client) { c.http = cmp.Or(hc, c.http) } }

// WithMaxAttempts bounds how often one call is sent, 1 for no retries. The default is 5.
func WithMaxAttempts(n int) Option { return func(c *Client) { c.retry.attempts = max(n, 1) } }

// WithBackoff sets the wait before the second attempt, which doubles with each further one up to 30 seconds; half of each
// wait is random. The default is 250 ms.
func WithBackoff(base time.Duration) Option { return func(c *Client) { c.retry.base = max(base, 0) } }

// WithMaxAnswer bounds the size of an answer in bytes. The default is 64 MiB.
func WithMaxAnswer(bytes int64) Option { return func(c *Client) { c.limit = bytes } }

// WithClock replaces the clock, which reads Retry-After dates, and the wait between attempts, for tests. sleep returns
// ctx.Err() when ctx ends first.
func WithClock(now func() time.Time, sleep func(ctx context.Context, d time.Duration) error) Option {
	return func(c *Client) { c.retry.now, c.retry.sleep = now, sleep }
}

// New makes a client of the ledgerd at baseURL, such as https://ledger.example.org. An empty token is for what is public.
func New(baseURL, token string, opts ...Option) (*Client, error) {
	u, err := url.Parse(baseURL)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, errors.New("making a client: the base URL is not an http or https URL with a host")
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return nil, errors.New("making a client: the base URL has more than a scheme, host and path")
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("making a client: the token has characters that no token has")
	}
	c := &Client{
		base: strings.TrimRight(baseURL, "/"), token: token, limit: defaultMaxAnswer,
		http:  &http.Client{Timeout: defaultTimeout},
		retry: retry{attempts: defaultAttempts, base: defaultBackoff, now: time.Now, sleep: sleep},
	}
	for _, o := range opts {
		o(c)
	}
	hc := *c.http
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &hc
	return c, nil
}

package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerd/client"
)

// fault is how the fake treats one attempt.
type fault string

const (
	none      fault = ""
	lostFirst fault = "connection dropped before it was processed"
	lostAfter fault = "processed, then the connection dropped"
	cutAnswer fault = "processed, then half of the answer"
)

// attempt is what the fake saw.
type attempt struct{ method, path, key, body, auth string }

// fake behaves like the API as far as idempotency goes: the same key and body are one entry. It fails as the script says,
// attempt by attempt; a fault that begins with a digit is that status.
type fake struct {
	mu      sync.Mutex
	script  []fault
	header  http.Header       // of failing answers
	entries map[string]string // key → body
	seen    []attempt
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.seen)
	key := r.Header.Get("Idempotency-Key")
	f.seen = append(f.seen, attempt{r.Method, r.URL.RequestURI(), key, string(body), r.Header.Get("Authorization")})
	failing := none
	if n < len(f.script) {
		failing = f.script[n]
	}
	switch failing {
	case none:
		f.record(w, key, string(body))
	case lostFirst:
		panic(http.ErrAbortHandler)
	case lostAfter:
		f.record(httptest.NewRecorder(), key, string(body))
		panic(http.ErrAbortHandler)
	case cutAnswer:
		f.record(httptest.NewRecorder(), key, string(body))
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"seq":`)
	default:
		f.refuse(w, failing)
	}
}

// attempts, count and forget are for the test's goroutine.
func (f *fake) attempts() []attempt {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

func (f *fake) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.entries)
}

func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.entries)
}

func (f *fake) record(w http.ResponseWriter, key, body string) {
	stored, known := f.entries[key]
	switch {
	case known && stored != body:
		f.refuse(w, "409 conflict")
		return
	case known:
		w.Header().Set("Idempotent-Replayed", "true")
	}
	f.entries[key] = body
	w.Header().Set("Content-Type", "application/json")
	if !known {
		w.WriteHeader(http.StatusCreated)
	}
	fmt.Fprintf(w, `{"seq":%d,"kind":"consent-receipt","key":%q,"recorded_at":"2026-11-30T15:20:48.123456Z","leaf_hash":%q,"findings":[]}`,
		len(f.entries)-1, key, strings.Repeat("A", 43)+"=")
}

// refuse answers "<status> <code>" as a problem, "<status>" alone as something in between would.
func (f *fake) refuse(w http.ResponseWriter, failing fault) {
	status, code := 0, ""
	if n, err := fmt.Sscanf(string(failing), "%d %s", &status, &code); n == 0 {
		panic(err)
	}
	for name := range f.header {
		w.Header().Set(name, f.header.Get(name))
	}
	if code == "" {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		fmt.Fprint(w, "<h1>from a proxy</h1>")
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"/docs#%s","title":"T","status":%d,"code":%q,"detail":"D","pointer":"/scope","causes":[{"rule":"R","pointer":"/p","detail":"d"}],"seq":7}`, code, status, code)
}

const secret = "ldg_secret-of-the-test"

// clock is a timer that never waits.
type clock struct {
	now    time.Time
	slept  []time.Duration
	cancel context.CancelFunc // called during the first wait, if set
}

func (c *clock) sleep(ctx context.Context, d time.Duration) error {
	c.slept = append(c.slept, d)
	if c.cancel != nil {
		c.cancel()
	}
	return ctx.Err()
}

// newFake starts a fake, and a client of it whose connections are not kept, so that net/http repeats nothing by itself.
func newFake(t *testing.T, script ...fault) (*fake, *clock, *client.Client) {
	t.Helper()
	f := &fake{script: script, header: http.Header{}, entries: map[string]string{}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	k := &clock{now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	return f, k, newClient(t, server.URL, k)
}

func newClient(t *testing.T, url string, k *clock, more ...client.Option) *client.Client {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	opts := append([]client.Option{
		client.WithHTTPClient(&http.Client{Transport: transport}), client.WithMaxAttempts(4), client.WithBackoff(time.Second),
		client.WithClock(func() time.Time { return k.now }, k.sleep),
	}, more...)
	c, err := client.New(url, secret, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func unknownOutcome(err error) *client.OutcomeUnknownError {
	var u *client.OutcomeUnknownError
	if errors.As(err, &u) {
		return u
	}
	return nil
}

func problem(err error) *client.Problem {
	var p *client.Problem
	if errors.As(err, &p) {
		return p
	}
	return &client.Problem{}
}

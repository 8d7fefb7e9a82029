package client_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ledgerd/client"
	"ledgerd/receipts"
)

var consent = receipts.ConsentReceipt{
	ProviderID: "north-llm", Scope: receipts.ThirdPartyModel, ProviderName: "North LLM", ProviderVersion: "4",
	Grantor: receipts.Grantor{Kind: receipts.Human, ID: "maria@north.example"}, GrantedAt: "2026-01-10T08:00:00Z",
}

// Whatever happens on the way, there is at most one entry, and the caller learns whether there is one, or that it can't
// be known.
func TestRecordsAtMostOnce(t *testing.T) {
	t.Parallel()
	repeat := func(f fault) []fault { return slices.Repeat([]fault{f}, 4) }
	for _, c := range []struct {
		name     string
		script   []fault
		attempts int
		entries  int
		replayed bool
		status   int  // of the *Problem, 0 for none
		unknown  bool // an *OutcomeUnknownError
		ok       bool
	}{
		{name: "at once", attempts: 1, entries: 1, ok: true},
		{name: "lost before", script: []fault{lostFirst}, attempts: 2, entries: 1, ok: true},
		{name: "lost after", script: []fault{lostAfter}, attempts: 2, entries: 1, replayed: true, ok: true},
		{name: "half an answer", script: []fault{cutAnswer}, attempts: 2, entries: 1, replayed: true, ok: true},
		{name: "both", script: []fault{lostFirst, lostAfter, lostFirst}, attempts: 4, entries: 1, replayed: true, ok: true},
		{name: "busy", script: []fault{"503 busy"}, attempts: 2, entries: 1, ok: true},
		{name: "statuses", script: []fault{"429", "502", "504"}, attempts: 4, entries: 1, ok: true},

		{name: "never answered, never recorded", script: repeat(lostFirst), attempts: 4, entries: 0, unknown: true},
		{name: "never answered, recorded", script: repeat(lostAfter), attempts: 4, entries: 1, unknown: true},
		{name: "unavailable", script: repeat("503 unavailable"), attempts: 4, status: 503, unknown: true},
		{name: "gateway", script: repeat("502"), attempts: 4, status: 502, unknown: true},
		{name: "always busy", script: repeat("503 busy"), attempts: 4, status: 503},
		{name: "always too many", script: repeat("429"), attempts: 4, status: 429},
		{name: "lost, then busy", script: []fault{lostAfter, "503 busy", "503 busy", "503 busy"}, attempts: 4, entries: 1, status: 503, unknown: true},
		{name: "lost, then the token is revoked", script: []fault{lostAfter, "401 unauthorized"}, attempts: 2, entries: 1, status: 401, unknown: true},

		{name: "malformed", script: []fault{"400 invalid-json"}, attempts: 1, status: 400},
		{name: "token", script: []fault{"401 unauthorized"}, attempts: 1, status: 401},
		{name: "role", script: []fault{"403 forbidden"}, attempts: 1, status: 403},
		{name: "conflict", script: []fault{"409 conflict"}, attempts: 1, status: 409},
		{name: "too large", script: []fault{"413 body-too-large"}, attempts: 1, status: 413},
		{name: "refused", script: []fault{"422 artifact-refused"}, attempts: 1, status: 422},
		{name: "broken server", script: []fault{"500 internal"}, attempts: 1, status: 500, unknown: true},
		{name: "a proxy's refusal", script: []fault{"403"}, attempts: 1, status: 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, _, ledger := newFake(t, c.script...)
			got, err := ledger.PostConsentReceipt(t.Context(), consent, "")
			seen := f.attempts()
			if len(seen) != c.attempts || f.count() != c.entries {
				t.Errorf("%d attempts and %d entries, want %d and %d", len(seen), f.count(), c.attempts, c.entries)
			}
			first := seen[0]
			for _, a := range seen {
				if a != first || a.key == "" {
					t.Errorf("an attempt differs: %+v, the first was %+v", a, first)
				}
			}
			if (err == nil) != c.ok || got.Replayed != c.replayed || problem(err).Status != c.status {
				t.Errorf("%+v, %v", got, err)
			}
			checkUnknown(t, err, c.unknown, first.key)
		})
	}
}

func checkUnknown(t *testing.T, err error, want bool, key string) {
	t.Helper()
	u := unknownOutcome(err)
	if (u != nil) != want {
		t.Fatalf("an unknown outcome: %v, want %v: %v", u != nil, want, err)
	}
	if u != nil && (u.Key != key || !strings.Contains(err.Error(), "the same call may be repeated with the key "+key)) {
		t.Errorf("the error does not say how to repeat the call: %v", err)
	}
	if err != nil && strings.Contains(err.Error(), secret) {
		t.Errorf("the error shows the token: %v", err)
	}
}

// After an unknown outcome the same call with the same key finds the entry.
func TestRepeatAfterUnknownOutcome(t *testing.T) {
	t.Parallel()
	f, _, ledger := newFake(t, lostAfter, lostFirst, lostFirst, lostFirst)
	_, err := ledger.PostConsentReceipt(t.Context(), consent, "")
	u := unknownOutcome(err)
	if u == nil {
		t.Fatal(err)
	}
	got, err := ledger.PostConsentReceipt(t.Context(), consent, u.Key)
	if err != nil || !got.Replayed || got.Key != u.Key || f.count() != 1 {
		t.Errorf("%+v, %v, %d entries", got, err, f.count())
	}
}

func TestWaits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		retryAfter string
		low, high  []time.Duration
	}{
		{"doubles, half of it random", "", []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}},
		{"as long as asked", "7", []time.Duration{7 * time.Second, 7 * time.Second, 7 * time.Second}, []time.Duration{7 * time.Second, 7 * time.Second, 7 * time.Second}},
		{"no shorter than planned", "1", []time.Duration{time.Second, time.Second, 2 * time.Second}, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}},
		{"bounded", "86400", []time.Duration{30 * time.Second, 30 * time.Second, 30 * time.Second}, []time.Duration{30 * time.Second, 30 * time.Second, 30 * time.Second}},
		{"until a date", "Mon, 30 Nov 2026 12:00:09 GMT", []time.Duration{9 * time.Second, 9 * time.Second, 9 * time.Second}, []time.Duration{9 * time.Second, 9 * time.Second, 9 * time.Second}},
		{"a date that is past", "Mon, 30 Nov 2026 11:00:00 GMT", []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}},
		{"nonsense", "-5 soon", []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, k, ledger := newFake(t, "503 busy", "503 busy", "503 busy")
			if c.retryAfter != "" {
				f.header.Set("Retry-After", c.retryAfter)
			}
			if _, err := ledger.PostConsentReceipt(t.Context(), consent, "k"); err != nil {
				t.Fatal(err)
			}
			if len(k.slept) != 3 {
				t.Fatalf("waited %v", k.slept)
			}
			for i, d := range k.slept {
				if d < c.low[i] || d > c.high[i] {
					t.Errorf("wait %d is %v, want %v to %v", i+1, d, c.low[i], c.high[i])
				}
			}
		})
	}
}

func TestContextEndsTheWait(t *testing.T) {
	t.Parallel()
	f, k, ledger := newFake(t, lostAfter)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	k.cancel = cancel
	_, err := ledger.PostConsentReceipt(ctx, consent, "k")
	if !errors.Is(err, context.Canceled) || unknownOutcome(err) == nil || len(f.attempts()) != 1 {
		t.Errorf("%v after %d attempts", err, len(f.attempts()))
	}
	_, err = ledger.PostConsentReceipt(ctx, consent, "k")
	if !errors.Is(err, context.Canceled) || unknownOutcome(err) != nil || len(f.attempts()) != 1 {
		t.Errorf("with an ended context: %v after %d attempts", err, len(f.attempts()))
	}
}

func TestContextEndsAnAttempt(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-release
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	_, err := newClient(t, server.URL, &clock{}).PostConsentReceipt(ctx, consent, "k")
	if !errors.Is(err, context.Canceled) || unknownOutcome(err) == nil {
		t.Error(err)
	}
}

// Where nothing listens, nothing was recorded, and the error does not claim doubt.
func TestNothingListens(t *testing.T) {
	t.Parallel()
	var l net.ListenConfig
	taken, err := l.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + taken.Addr().String()
	taken.Close()
	k := &clock{}
	_, err = newClient(t, url, k).PostConsentReceipt(t.Context(), consent, "k")
	if err == nil || unknownOutcome(err) != nil || len(k.slept) != 3 {
		t.Errorf("%v after %d waits", err, len(k.slept))
	}
}

// The token and the body stay with the host that they were meant for.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	ledger := newClient(t, server.URL, &clock{}, client.WithHTTPClient(&http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return nil },
	}))
	_, posted := ledger.PostConsentReceipt(t.Context(), consent, "k")
	_, read := ledger.Entry(t.Context(), 1)
	for _, err := range []error{posted, read} {
		if problem(err).Status != http.StatusTemporaryRedirect || unknownOutcome(err) != nil {
			t.Error(err)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("the other host got %d requests", n)
	}
}

package stripe_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledgerd/internal/stripe"
	"ledgerd/metering/billing"
)

// stripeMock is Stripe's own checker of the form of calls, by its API's description. scripts/deps fetches it.
const stripeMock = "stripe-mock-0.203.0"

// startMock runs it on free ports of this machine and returns its two URLs.
func startMock(t *testing.T) (plain, encrypted string) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, filepath.Join(cache, "ledgerd", stripeMock, "stripe-mock"), "-http-addr", "127.0.0.1:0", "-https-addr", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v; scripts/deps test fetches it", err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // killed
	})
	lines := bufio.NewScanner(out)
	for (plain == "" || encrypted == "") && lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), "HTTP at address: "); ok {
			plain = "http://" + at
		}
		if _, at, ok := strings.Cut(lines.Text(), "HTTPS at address: "); ok {
			encrypted = "https://" + at
		}
	}
	if plain == "" || encrypted == "" {
		t.Fatal("stripe-mock ended before it listened")
	}
	go func() { // what it says on would block it
		for lines.Scan() {
			continue
		}
	}()
	return plain, encrypted
}

// The form of each call is as Stripe's description has it, plain and over HTTP/2. Fetching an event is of an API that the
// checker does not know.
func TestWireForm(t *testing.T) {
	t.Parallel()
	plain, encrypted := startMock(t)
	own := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true} //nolint:gosec // the checker signs its own certificate
	t.Cleanup(own.CloseIdleConnections)
	for _, api := range []*stripe.Client{client(t, stripe.Options{Key: "sk_test_123", URL: plain}), client(t, stripe.Options{Key: "sk_test_123", URL: encrypted, Transport: own})} {
		if r := api.CreateMeterEvent(t.Context(), event("evt-1", -25)); r.Class != billing.Delivered || r.RequestID == "" {
			t.Errorf("%+v", r)
		}
		if m, err := api.Meter(t.Context(), meterID); err != nil || m.Formula != "sum" || m.CustomerMapping != "by_id" {
			t.Errorf("%+v, %v", m, err)
		}
		q := billing.SummaryQuestion{MeterID: meterID, Customer: payer, From: start.Add(-24 * time.Hour), To: start}
		for _, q.Group = range []string{"", "hour", "day"} {
			if s, err := api.Summaries(t.Context(), q); err != nil || len(s) == 0 {
				t.Errorf("%+v, %v", s, err)
			}
		}
		if c, err := api.Customer(t.Context(), payer); err != nil || len(c.Subscriptions) == 0 {
			t.Errorf("%+v, %v", c, err)
		}
		q.Group = "fortnight"
		_, err := api.Summaries(t.Context(), q)
		rejected(t, err, billing.Rejected) // so that a form that is wrong is seen to be refused
	}
}

package client_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"ledgerd/client"
)

// Each call about billing asks what it says, with names escaped.
func TestBillingCalls(t *testing.T) {
	t.Parallel()
	var seen string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		seen = r.Method + " " + r.URL.RequestURI() + " " + string(body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{}`) // the client notices
	}))
	defer server.Close()
	c, err := client.New(server.URL, "t")
	if err != nil {
		t.Fatal(err)
	}
	ctx, from := t.Context(), time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	seq := int64(7)
	for want, call := range map[string]func() error{
		"GET /v1/billing/config ": func() error { _, err := c.BillingConfig(ctx); return err },
		`PUT /v1/billing/config {"secret_key":"main","meter":{"id":"m","event_name":"e"},"window":"hour","start":"2026-11-01T00:00:00Z","customers":[{"customer_id":"a","stripe_customer":"cus_a","billing_anchor":"2026-11-01T00:00:00Z"}]}`: func() error {
			_, err := c.PutBillingConfig(ctx, client.BillingConfig{SecretKey: "main", Meter: client.BillingMeter{ID: "m", EventName: "e"}, Window: "hour", Start: from,
				Customers: []client.BillingCustomer{{CustomerID: "a", StripeCustomer: "cus_a", BillingAnchor: from}}})
			return err
		},
		`POST /v1/corrections {"seq":7,"reason":"r"}`: func() error {
			_, err := c.PostCorrection(ctx, client.Correction{Seq: &seq, Reason: "r"})
			return err
		},
		"GET /v1/billing/windows?customer_id=a%2Fb ": func() error { _, err := c.BillingWindows(ctx, "a/b", time.Time{}, time.Time{}); return err },
		"GET /v1/billing/preview?customer_id=a&from=2026-11-01T00%3A00%3A00Z&to=2026-11-01T01%3A00%3A00Z ": func() error {
			_, err := c.BillingPreview(ctx, "a", from, from.Add(time.Hour))
			return err
		},
		"GET /v1/billing/unmapped?after=a ": func() error { _, err := c.BillingUnmapped(ctx, "a"); return err },
		"GET /v1/billing/events/led1_a%2F?after=3&after_provider=wiki ": func() error {
			_, err := c.BilledEvent(ctx, "led1_a/", &client.NextClaim{After: 3, AfterProvider: "wiki"})
			return err
		},
	} {
		if err := call(); err != nil || seen != want {
			t.Errorf("asked %q, want %q: %v", seen, want, err)
		}
	}
}

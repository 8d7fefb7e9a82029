package stripe_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
	"unicode/utf8"

	"ledgerd/internal/devstack/stripefake"
	"ledgerd/internal/stripe"
	"ledgerd/metering/billing"
)

// Whatever is signed and sent, what is read of it is an id that is no more than an id.
func FuzzOpenWebhook(f *testing.F) {
	for _, seed := range []string{`{"id":"evt_1","type":"v1.billing.meter.no_meter_found"}`, `{"id":"../x"}`, `[]`, `{"id":1}`, `{"id":"evt_1","id":"evt_2"}`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		const secret = "whsec_x"
		n, err := stripe.OpenWebhook(body, stripefake.Sign(body, secret, time.Now()), []string{secret})
		if err != nil {
			return
		}
		for _, r := range n.ID {
			if r == '/' || r == '.' || r == '?' || r == '%' || r <= ' ' || r > '~' {
				t.Fatalf("%q", n.ID)
			}
		}
		if _, err := stripe.OpenWebhook(append(body, ' '), stripefake.Sign(body, secret, time.Now()), []string{secret}); err == nil {
			t.Fatal("another body has the same signature")
		}
	})
}

// Whatever answers with whatever status, a call has one class; delivered is only what is the event that was sent. No text of an
// answer is kept beyond its bounds.
func FuzzAnswers(f *testing.F) {
	f.Add(200, []byte(`{"object":"billing.meter_event","identifier":"one"}`))
	f.Add(400, []byte(`{"error":{"type":"invalid_request_error","message":"An event already exists with identifier one."}}`))
	f.Add(503, []byte(`<html>`))
	f.Add(429, []byte(`{"error":{"type":"x","code":"sk_live_1","message":"sk_live_1\u0000"}}`))
	f.Add(200, []byte(`{"id":"evt_1","data":{"reason":{"error_types":[{"sample_errors":[{"request":{"identifier":"one"}}]}]}}}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write(body)
		}))
		defer s.Close()
		api := client(t, stripe.Options{Key: key, URL: s.URL})
		r := api.CreateMeterEvent(t.Context(), event("one", 1))
		var sent struct{ Object, Identifier string }
		if r.Class == billing.Delivered && (status > 299 || json.Unmarshal(body, &sent) != nil || sent.Identifier != "one") {
			t.Fatalf("%d %q is %+v", status, body, r)
		}
		if utf8.RuneCountInString(r.Detail) > 300 || utf8.RuneCountInString(r.Code) > 100 || !utf8.ValidString(r.Detail+r.Code) {
			t.Fatalf("%+v", r)
		}
		report, err := api.ErrorReport(t.Context(), "evt_1")
		for _, e := range report.Samples {
			if err != nil || len([]rune(e.Identifier)) > billing.MaxIdentifier {
				t.Fatalf("%+v, %v", report, err)
			}
		}
	})
}

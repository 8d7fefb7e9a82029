package stripe_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ledgerd/internal/devstack/stripefake"
	"ledgerd/internal/stripe"
	"ledgerd/metering/billing"
)

const (
	key     = "sk_test_1nThisTestOnly"
	meterID = "mtr_tokens"
	payer   = "cus_north"
)

var start = time.Date(2027, 1, 31, 23, 0, 0, 0, time.UTC)

// newFake is a fake with a meter and a customer, whose clock stands still.
func newFake(t *testing.T) (*stripefake.Fake, *stripe.Client) {
	t.Helper()
	f, err := stripefake.New(stripefake.Options{Key: key, Now: func() time.Time { return start }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	url, err := f.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.SetMeter(stripefake.Meter{ID: meterID, EventName: "tokens"}); err != nil {
		t.Fatal(err)
	}
	sub := stripefake.Subscription{ID: "sub_north", Anchor: time.Date(2026, 10, 31, 9, 30, 0, 0, time.UTC), MeterID: meterID}
	if err := f.SetCustomer(stripefake.Customer{ID: payer, Subscriptions: []stripefake.Subscription{sub}}); err != nil {
		t.Fatal(err)
	}
	return f, client(t, stripe.Options{Key: key, URL: url})
}

func client(t *testing.T, o stripe.Options) *stripe.Client {
	t.Helper()
	c, err := stripe.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func event(identifier string, value int64) billing.MeterEvent {
	return billing.MeterEvent{
		Identifier: identifier, EventName: "tokens", CustomerKey: "stripe_customer_id", Customer: payer, ValueKey: "value", Value: value,
		Timestamp: start.Add(-time.Minute),
	}
}

// Each fault of the fake is one class, and the event counts once however often it is sent again.
func TestEveryFaultHasItsClass(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault stripefake.Fault
		class billing.Class
		again billing.Class // the same call once more
	}{
		"none":                    {stripefake.Fault{}, billing.Delivered, billing.Delivered},
		"lost before":             {stripefake.Fault{Answer: "drop"}, billing.Ambiguous, billing.Delivered},
		"lost after":              {stripefake.Fault{Answer: "drop", Recorded: true}, billing.Ambiguous, billing.Delivered},
		"reset before":            {stripefake.Fault{Answer: "reset"}, billing.Ambiguous, billing.Delivered},
		"reset after":             {stripefake.Fault{Answer: "reset", Recorded: true}, billing.Ambiguous, billing.Delivered},
		"html 502":                {stripefake.Fault{Answer: "html"}, billing.Ambiguous, billing.Delivered},
		"html 502 after":          {stripefake.Fault{Answer: "html", Recorded: true}, billing.Ambiguous, billing.Delivered},
		"html 503":                {stripefake.Fault{Answer: "html", Status: 503}, billing.Ambiguous, billing.Delivered},
		"html 200":                {stripefake.Fault{Answer: "html", Status: 200}, billing.Ambiguous, billing.Delivered},
		"html 404":                {stripefake.Fault{Answer: "html", Status: 404}, billing.Ambiguous, billing.Delivered},
		"half an answer":          {stripefake.Fault{Answer: "garbage", Recorded: true}, billing.Ambiguous, billing.Delivered},
		"too slow":                {stripefake.Fault{Answer: "hang", Recorded: true}, billing.Ambiguous, billing.Delivered},
		"500":                     {stripefake.Fault{Answer: "error"}, billing.Ambiguous, billing.Delivered},
		"500, kept under the key": {stripefake.Fault{Answer: "error", Sticky: true}, billing.Ambiguous, billing.Ambiguous},
		"503":                     {stripefake.Fault{Answer: "error", Status: 503, RetryAfter: 7}, billing.Busy, billing.Delivered},
		"429":                     {stripefake.Fault{Answer: "error", Status: 429, RetryAfter: 7}, billing.Busy, billing.Delivered},
		"409":                     {stripefake.Fault{Answer: "error", Status: 409}, billing.Busy, billing.Delivered},
		"408":                     {stripefake.Fault{Answer: "error", Status: 408}, billing.Ambiguous, billing.Delivered},
		"403":                     {stripefake.Fault{Answer: "error", Status: 403}, billing.Busy, billing.Delivered},
		"401":                     {stripefake.Fault{Answer: "error", Status: 401}, billing.Busy, billing.Delivered},
		"404":                     {stripefake.Fault{Answer: "error", Status: 404}, billing.Rejected, billing.Delivered},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, api := newFake(t)
			if c.fault.Answer == "hang" {
				api = client(t, stripe.Options{Key: key, URL: urlOf(t, f), Timeout: 100 * time.Millisecond})
			}
			c.fault.Times = 1
			f.SetFaults(c.fault)
			first := api.CreateMeterEvent(t.Context(), event("one", 42))
			if first.Class != c.class || f.Calls("create") != 1 {
				t.Fatalf("%+v after %d calls, not %s after 1", first, f.Calls("create"), c.class)
			}
			if want := time.Duration(c.fault.RetryAfter) * time.Second; first.RetryAfter != want {
				t.Errorf("asked to wait %s, not %s", first.RetryAfter, want)
			}
			if c.fault.Answer == "hang" {
				api = client(t, stripe.Options{Key: key, URL: urlOf(t, f)}) // the second answer may take its time
				awaitLane(t, f, api)
				return
			}
			second := api.CreateMeterEvent(t.Context(), event("one", 42))
			if second.Class != c.again {
				t.Fatalf("%+v, not %s", second, c.again)
			}
			if want := map[billing.Class]int64{billing.Delivered: 42}[c.again]; f.Total(meterID, payer) != want {
				t.Fatalf("%d count, not %d", f.Total(meterID, payer), want)
			}
		})
	}
}

// awaitLane sends until the call that hung has left: until then the fake takes no other of the same customer.
func awaitLane(t *testing.T, f *stripefake.Fake, api *stripe.Client) {
	t.Helper()
	for range 1000 {
		switch r := api.CreateMeterEvent(t.Context(), event("one", 42)); r.Class {
		case billing.Busy:
			continue
		case billing.Delivered:
			if f.Total(meterID, payer) != 42 {
				t.Fatalf("%d count", f.Total(meterID, payer))
			}
			return
		default:
			t.Fatalf("%+v", r)
		}
	}
	t.Fatal("the lane stays taken")
}

// urlOf is one more address of a fake.
func urlOf(t *testing.T, f *stripefake.Fake) string {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

func TestIdentifiersAreKnownForADay(t *testing.T) {
	t.Parallel()
	f, api := newFake(t)
	send := func(e billing.MeterEvent, want billing.Class) {
		t.Helper()
		if r := api.CreateMeterEvent(t.Context(), e); r.Class != want {
			t.Fatalf("%+v, not %s", r, want)
		}
	}
	advance := func(d time.Duration) {
		t.Helper()
		if err := f.Advance(d); err != nil {
			t.Fatal(err)
		}
	}
	send(event("one", 5), billing.Delivered)
	changed := event("one", 6)
	send(changed, billing.Rejected) // the same key with other parameters
	advance(23 * time.Hour)
	send(event("one", 5), billing.Delivered) // by the key
	if f.Total(meterID, payer) != 5 {
		t.Fatalf("%d", f.Total(meterID, payer))
	}
	advance(2 * time.Hour)
	send(event("one", 5), billing.Delivered)
	if f.Total(meterID, payer) != 10 {
		t.Fatalf("an identifier is remembered for longer than Stripe promises: %d", f.Total(meterID, payer))
	}
}

// What Stripe answers to an identifier that another key sent is known by its words or by its code, and by nothing near it.
func TestAlreadyExists(t *testing.T) {
	t.Parallel()
	const words = "An event already exists with identifier one."
	for _, c := range []struct {
		status int
		body   string
		want   billing.Class
	}{
		{400, `{"error":{"type":"invalid_request_error","message":"` + words + `"}}`, billing.AlreadyExists},
		{400, `{"error":{"type":"invalid_request_error","code":"resource_already_exists","message":"other words"}}`, billing.AlreadyExists},
		{400, `{"error":{"type":"invalid_request_error","code":"resource_missing","message":"` + words + `"}}`, billing.Rejected},
		{400, `{"error":{"type":"api_error","message":"` + words + `"}}`, billing.Rejected},
		{400, `{"error":{"type":"invalid_request_error","message":"Sorry. ` + words + `"}}`, billing.Rejected},
		{500, `{"error":{"type":"invalid_request_error","message":"` + words + `"}}`, billing.Ambiguous},
		{409, `{"error":{"type":"invalid_request_error","code":"resource_already_exists"}}`, billing.Busy},
		{400, `{"error":"` + words + `"}`, billing.Ambiguous},
		{400, words, billing.Ambiguous},
		{200, `{"object":"billing.meter_event","identifier":"two"}`, billing.Ambiguous},
		{200, `{}`, billing.Ambiguous},
		{200, `null`, billing.Ambiguous},
		{302, `{"object":"billing.meter_event","identifier":"one"}`, billing.Ambiguous},
		{201, `{"object":"billing.meter_event","identifier":"one"}`, billing.Delivered},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		}))
		if r := client(t, stripe.Options{Key: key, URL: s.URL}).CreateMeterEvent(t.Context(), event("one", 1)); r.Class != c.want {
			t.Errorf("%d %s: %+v, not %s", c.status, c.body, r, c.want)
		}
		s.Close()
	}
}

// A kept connection that breaks under a call must not make net/http send it again by itself.
func TestTheTransportDoesNotSendAgain(t *testing.T) {
	t.Parallel()
	f, api := newFake(t)
	if r := api.CreateMeterEvent(t.Context(), event("first", 1)); r.Class != billing.Delivered {
		t.Fatalf("%+v", r)
	}
	f.SetFaults(stripefake.Fault{Answer: "reset", Times: 1})
	if r := api.CreateMeterEvent(t.Context(), event("second", 1)); r.Class != billing.Ambiguous || f.Calls("create") != 2 {
		t.Fatalf("%+v after %d calls", r, f.Calls("create"))
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	r := client(t, stripe.Options{Key: key, URL: "http://" + l.Addr().String()}).CreateMeterEvent(t.Context(), event("one", 1))
	if r.Class != billing.Ambiguous || r.Status != 0 || !strings.Contains(r.Detail, "refused") {
		t.Fatalf("%+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := client(t, stripe.Options{Key: key}).CreateMeterEvent(ctx, event("one", 1)); r.Class != billing.Ambiguous {
		t.Fatalf("%+v", r)
	}
}

// An answer without an end is given up.
func TestEndlessAnswer(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 200 {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	if r := client(t, stripe.Options{Key: key, URL: s.URL}).CreateMeterEvent(t.Context(), event("one", 1)); r.Class != billing.Ambiguous {
		t.Fatalf("%+v", r)
	}
}

// The fake says the key back, as Stripe says part of it; no text of ours may hold it.
func TestKeysStayUnsaid(t *testing.T) {
	t.Parallel()
	f, _ := newFake(t)
	const wrong = "sk_live_somebodyElses"
	api := client(t, stripe.Options{Key: wrong, URL: urlOf(t, f)})
	r := api.CreateMeterEvent(t.Context(), event("one", 1))
	_, err := api.Meter(t.Context(), meterID)
	said := fmt.Sprintf("%+v %v", r, err)
	if r.Class != billing.Busy || r.Status != 401 || strings.Contains(said, "somebody") || !strings.Contains(said, "Invalid API Key provided: ***") {
		t.Fatal(said)
	}
	for _, o := range []stripe.Options{
		{Key: ""}, {Key: "sk_secret\nX: y"}, {Key: "sk_secret" + strings.Repeat("x", 300)}, {Key: key, URL: "http://api.stripe.com"},
		{Key: key, URL: "https://user:sk_secret@host"}, {Key: key, URL: "ftp://127.0.0.1"}, {Key: key, URL: "https://host/path"}, {Key: key, URL: "::"},
	} {
		if _, err := stripe.New(o); err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), key) {
			t.Errorf("%v", err)
		}
	}
}

func TestNothingIsSaidAboutThisMachine(t *testing.T) {
	t.Parallel()
	seen := http.Header{}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.Header.Clone() }))
	defer s.Close()
	client(t, stripe.Options{Key: key, URL: s.URL}).CreateMeterEvent(t.Context(), event("one", 1))
	for name := range seen {
		switch name {
		case "Accept-Encoding", "Authorization", "Content-Length", "Content-Type", "Idempotency-Key", "Stripe-Version", "User-Agent":
		default:
			t.Errorf("%s: %s", name, seen[name])
		}
	}
	if seen.Get("Idempotency-Key") != "one" || seen.Get("Authorization") != "Bearer "+key || seen.Get("Stripe-Version") != "2023-10-16" {
		t.Error(seen)
	}
}

// rejected demands a question's typed error of that class.
func rejected(t *testing.T, err error, class billing.Class) {
	t.Helper()
	var call *billing.CallError
	if !errors.As(err, &call) || call.Reply.Class != class || call.Error() == "" {
		t.Fatalf("%v is not %s", err, class)
	}
}

package stripe_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ledgerd/internal/devstack/stripefake"
	"ledgerd/internal/stripe"
	"ledgerd/metering/billing"
)

func TestMeterAndCustomer(t *testing.T) {
	t.Parallel()
	f, api := newFake(t)
	if err := f.SetMeter(stripefake.Meter{ID: "mtr_odd", EventName: "odd", Formula: "last", Status: "inactive", EventTimeWindow: "hour", CustomerKey: "who", ValueKey: "how_much"}); err != nil {
		t.Fatal(err)
	}
	got, err := api.Meter(t.Context(), "mtr_odd")
	want := billing.Meter{ID: "mtr_odd", EventName: "odd", Formula: "last", Status: "inactive", EventTimeWindow: "hour", CustomerKey: "who", CustomerMapping: "by_id", ValueKey: "how_much"}
	if err != nil || got != want {
		t.Fatalf("%+v, %v", got, err)
	}
	_, err = api.Meter(t.Context(), "mtr_unknown")
	rejected(t, err, billing.Rejected)
	if _, err = api.Meter(t.Context(), "../customers"); err == nil {
		t.Error("a path for an id")
	}

	c, err := api.Customer(t.Context(), payer)
	if err != nil || len(c.Subscriptions) != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	s := c.Subscriptions[0]
	if s.Interval != "month" || s.IntervalCount != 1 || !slices.Equal(s.MeterIDs, []string{meterID}) || !s.Anchor.Equal(time.Date(2026, 10, 31, 9, 30, 0, 0, time.UTC)) ||
		!s.PeriodStart.Equal(time.Date(2027, 1, 31, 9, 30, 0, 0, time.UTC)) || !s.PeriodEnd.Equal(time.Date(2027, 2, 28, 9, 30, 0, 0, time.UTC)) {
		t.Fatalf("%+v", s)
	}
	_, err = api.Customer(t.Context(), "cus_unknown")
	rejected(t, err, billing.Rejected)
	if err := f.SetCustomer(stripefake.Customer{ID: payer, Deleted: true}); err != nil {
		t.Fatal(err)
	}
	if c, err := api.Customer(t.Context(), payer); err != nil || !c.Deleted {
		t.Fatalf("%+v, %v", c, err)
	}
}

func TestSummaries(t *testing.T) {
	t.Parallel()
	f, api := newFake(t)
	for i := range 250 {
		e := event(fmt.Sprintf("event-%d", i), int64(i))
		e.Timestamp = start.Add(-time.Duration(i)*time.Hour - time.Second)
		if r := api.CreateMeterEvent(t.Context(), e); r.Class != billing.Delivered {
			t.Fatalf("%+v", r)
		}
	}
	q := billing.SummaryQuestion{MeterID: meterID, Customer: payer, From: start.Add(-250 * time.Hour), To: start, Group: "hour"}
	hours, err := api.Summaries(t.Context(), q)
	if err != nil || len(hours) != 250 {
		t.Fatalf("%d summaries over three pages, %v", len(hours), err)
	}
	seen := map[time.Time]bool{}
	for _, h := range hours {
		n, exact := h.Tokens()
		if seen[h.From] || !exact || h.To.Sub(h.From) != time.Hour || n != int64(start.Sub(h.To)/time.Hour) {
			t.Fatalf("%+v", h)
		}
		seen[h.From] = true
	}
	q.Group = ""
	all, err := api.Summaries(t.Context(), q)
	if n, _ := all[0].Tokens(); err != nil || len(all) != 1 || n != 249*250/2 {
		t.Fatalf("%+v, %v", all, err)
	}
	q.From, q.To = start, start.Add(time.Minute)
	if none, err := api.Summaries(t.Context(), q); err != nil || len(none) != 0 {
		t.Fatalf("%+v, %v", none, err)
	}
	q.To = start.Add(time.Second)
	_, err = api.Summaries(t.Context(), q)
	rejected(t, err, billing.Rejected)
	f.SetFaults(stripefake.Fault{Call: "summaries", Answer: "html"})
	_, err = api.Summaries(t.Context(), q)
	rejected(t, err, billing.Ambiguous)
}

// An event that was taken does not count; the report that says so is fetched, and signed on its way.
func TestErrorReport(t *testing.T) {
	t.Parallel()
	f, api := newFake(t)
	f.SetFaults(stripefake.Fault{Call: "create", Uncounted: "meter_event_customer_not_found"})
	if r := api.CreateMeterEvent(t.Context(), event("gone", 1)); r.Class != billing.Delivered {
		t.Fatalf("%+v", r)
	}
	if f.Total(meterID, payer) != 0 || len(f.Reports()) != 1 {
		t.Fatal(f.Reports())
	}
	report, err := api.ErrorReport(t.Context(), f.Reports()[0].ID)
	if err != nil || report.MeterID != meterID || report.Count != 1 || len(report.Samples) != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	if s := report.Samples[0]; s.Identifier != "gone" || s.Code != "meter_event_customer_not_found" || s.Detail == "" {
		t.Fatalf("%+v", s)
	}
	_, err = api.ErrorReport(t.Context(), "evt_unknown")
	rejected(t, err, billing.Rejected)
	if _, err := api.ErrorReport(t.Context(), "evt/../../v1/customers"); err == nil {
		t.Error("a path for an id")
	}
}

func TestOpenWebhook(t *testing.T) {
	t.Parallel()
	const body = `{"object":"v2.core.event","id":"evt_1","type":"v1.billing.meter.error_report_triggered"}`
	now := time.Now()
	sign := func(body, secret string, at time.Time) string { return stripefake.Sign([]byte(body), secret, at) }
	n, err := stripe.OpenWebhook([]byte(body), sign(body, "whsec_new", now), []string{"whsec_old", "whsec_new"})
	if err != nil || n.ID != "evt_1" || !n.About() {
		t.Fatalf("%+v, %v", n, err)
	}
	for name, c := range map[string]struct {
		body, signature string
		secrets         []string
	}{
		"another secret": {body, sign(body, "whsec_other", now), []string{"whsec_old", "whsec_new"}},
		"another body":   {body + " ", sign(body, "whsec_new", now), []string{"whsec_new"}},
		"too old":        {body, sign(body, "whsec_new", now.Add(-6*time.Minute)), []string{"whsec_new"}},
		"no signature":   {body, "", []string{"whsec_new"}},
		"no secrets":     {body, sign(body, "", now), nil},
		"empty secret":   {body, sign(body, "", now), []string{""}},
		"not JSON":       {"x", sign("x", "whsec_new", now), []string{"whsec_new"}},
		"no id":          {"{}", sign("{}", "whsec_new", now), []string{"whsec_new"}},
		"path for an id": {`{"id":"a/b"}`, sign(`{"id":"a/b"}`, "whsec_new", now), []string{"whsec_new"}},
	} {
		if n, err := stripe.OpenWebhook([]byte(c.body), c.signature, c.secrets); err == nil {
			t.Errorf("%s: %+v", name, n)
		}
	}
}

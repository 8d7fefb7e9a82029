package relay_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"ledgerd/internal/devstack/stripefake"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/metering/billing"
)

// 10,010 windows of one token each wait, and go out one by one. A price per million that rounds up bills one unit for them:
// nothing is rounded before Stripe does.
func TestTenThousandPending(t *testing.T) {
	t.Parallel()
	const hours, rounds = 715, 14
	r := newBillRigAt(t, time.Date(2033, 5, 31, 23, 30, 0, 0, time.UTC), time.Date(2033, 5, 1, 0, 0, 0, 0, time.UTC), "a")
	r.fake.SetFaults(stripefake.Fault{Call: "create", Answer: "error", Status: 429})
	b := r.biller(r.books)
	for range rounds {
		list := make([]*kinds.Accepted, hours)
		for h := range hours {
			r.posted++
			list[h] = ledgertest.Usage(t, "request-"+time.Duration(r.posted).String(), "a", r.start.Add(time.Duration(h)*time.Hour), 1)
		}
		for _, o := range r.appender.AppendAll(t.Context(), ledgertest.Host, list) {
			if o.Err != nil {
				t.Fatal(o.Err)
			}
		}
		r.bill(t, b)
	}
	status, err := r.Store.BillingStatus(t.Context(), ledgertest.Tenant)
	if err != nil || status.Pending != hours*rounds || len(r.fake.Events("", "")) != 0 {
		t.Fatalf("%+v, %v", status, err)
	}
	r.fake.SetFaults()
	r.clock.advance(20 * time.Minute)
	if run := r.bill(t, b); run.Confirmed != hours*rounds {
		t.Fatalf("%+v", run)
	}
	r.all(t, hours*rounds)
	if usage, units := r.fake.Invoice(billMeter, "cus_a", r.start, r.start.AddDate(0, 1, 0), 1_000_000); usage != hours*rounds || units != 1 {
		t.Fatalf("%d tokens are billed as %d units", usage, units)
	}
}

// Usage around a period's end stays in its period, by the second, for each day that an anchor can have.
func TestMonthEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		anchor, end string // of the subscription, and of the period that is looked at
	}{
		{"2033-01-01T00:00:00Z", "2033-03-01T00:00:00Z"},
		{"2032-12-31T00:00:00Z", "2033-02-28T00:00:00Z"},
		{"2032-10-30T09:30:00Z", "2033-02-28T09:30:00Z"},
		{"2033-01-15T23:59:00Z", "2033-03-15T23:59:00Z"},
	} {
		t.Run(c.anchor, func(t *testing.T) {
			t.Parallel()
			anchor, end := instant(t, c.anchor), instant(t, c.end)
			r := newBillRigAt(t, end.Add(-time.Hour), anchor, "a")
			b := r.biller(r.books)
			last := end.Add(-time.Microsecond)
			r.use(t, "a", last, 10)
			r.use(t, "a", end, 100)
			r.clock.advance(time.Hour + 15*time.Minute) // past the end, before the invoice is final
			r.bill(t, b)
			before, _ := r.fake.Invoice(billMeter, "cus_a", end.AddDate(0, 0, -20), end, 1)
			if before != 10 {
				t.Fatalf("%d tokens in the period that ends", before)
			}
			r.clock.advance(3 * time.Hour)
			r.bill(t, b)
			r.all(t, 110)
			if after, _ := r.fake.Invoice(billMeter, "cus_a", end, end.AddDate(0, 0, 20), 1); after != 100 {
				t.Fatalf("%d tokens in the period that begins", after)
			}

			// The invoice is final: what comes late is carried into the open period, and the intent says of when it is.
			r.use(t, "a", last, 1)
			r.bill(t, b)
			r.all(t, 111)
			if before, _ := r.fake.Invoice(billMeter, "cus_a", end.AddDate(0, 0, -20), end, 1); before != 10 {
				t.Fatalf("a final invoice was changed: %d", before)
			}
			events := r.fake.Events(billMeter, "cus_a")
			carried, err := r.Store.IntentNamed(t.Context(), ledgertest.Tenant, events[len(events)-1].Identifier)
			if err != nil || !carried.Intent.Carried() || !carried.Intent.Window.Contains(last) || carried.Intent.Event.Timestamp.Before(end) {
				t.Fatalf("%+v, %v", carried, err)
			}
		})
	}
}

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// What was planned for a period and could not be sent before its invoice was final is carried.
func TestPlannedTooLate(t *testing.T) {
	t.Parallel()
	end := time.Date(2033, 6, 1, 0, 0, 0, 0, time.UTC)
	r := newBillRigAt(t, end.Add(15*time.Minute), time.Date(2033, 5, 1, 0, 0, 0, 0, time.UTC), "a", "b")
	r.use(t, "a", end.Add(-time.Minute), 10)
	r.use(t, "b", end.Add(-time.Minute), 20)
	r.fake.SetFaults(stripefake.Fault{Call: "customer", Answer: "html"}) // so that it is planned, and not sent
	b := r.biller(r.books)
	if run := r.bill(t, b); run.Planned != 2 || run.Attempts != 0 {
		t.Fatalf("%+v", run)
	}
	r.fake.SetFaults()
	r.clock.advance(2 * time.Hour)
	r.bill(t, b)
	r.all(t, 30)
	if usage, _ := r.fake.Invoice(billMeter, "cus_a", r.start, end, 1); usage != 0 {
		t.Fatalf("%d tokens on a final invoice", usage)
	}
}

// takeBack corrects a report, and returns the tokens that it had.
func (r *billRig) takeBack(tb testing.TB, request string, tokens int64) int64 {
	tb.Helper()
	const reason = "billed twice"
	raw, err := json.Marshal(map[string]any{"request_id": request, "reason": reason})
	if err != nil {
		tb.Fatal(err)
	}
	corrected, err := r.Store.Corrected(tb.Context(), ledgertest.Tenant, kinds.CorrectionArtifact{RequestID: &request, Reason: reason})
	if err != nil {
		tb.Fatal(err)
	}
	a, err := kinds.Correction.Accept(kinds.Submission{Artifact: raw}, kinds.Env{Now: r.clock.now(), Corrected: corrected})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := r.appender.Append(tb.Context(), ledgertest.BillingRole, a); err != nil {
		tb.Fatal(err)
	}
	return tokens
}

// A correction takes back what was billed, as a negative event in the open period.
func TestCorrectionsAreTakenBack(t *testing.T) {
	t.Parallel()
	r := newBillRig(t, "a")
	at := r.clock.now().Add(-2 * time.Hour)
	r.use(t, "a", at, 40, 2)
	b := r.biller(r.books)
	r.bill(t, b)
	r.all(t, 42)
	r.takeBack(t, "request-1", 40)
	for range 3 {
		r.clock.advance(time.Hour)
		r.bill(t, b)
	}
	r.all(t, 2)
	values := []int64{}
	for _, e := range r.fake.Events(billMeter, "cus_a") {
		values = append(values, e.Value)
	}
	if !slices.Equal(values, []int64{42, -40}) {
		t.Fatalf("%v", values)
	}
	list, _, err := b.ReconcileTenant(t.Context(), ledgertest.Tenant, 0)
	if err != nil || len(list) != 1 || list[0].Agreement != billing.Agrees || list[0].Total != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
}

package relay_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/devstack/stripefake"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/internal/relay"
	"ledgerd/internal/stripe"
	"ledgerd/metering/billing"
)

const (
	billKey   = "sk_test_relay"
	billMeter = "mtr_tokens"
)

// clock is the one that the biller, the ledger and the fake share in a test.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// billRig is a ledger whose customers are billed at a Stripe fake, all by one clock.
type billRig struct {
	*ledgertest.Ledger
	clock    *clock
	appender *postgres.Appender
	books    *postgres.Books
	fake     *stripefake.Fake
	stripe   *stripe.Client
	names    []string // of the customers
	start    time.Time
	posted   int
}

// newBillRig begins in the middle of an hour of a day in the middle of a month, which all customers' periods follow.
func newBillRig(tb testing.TB, names ...string) *billRig {
	tb.Helper()
	return newBillRigAt(tb, time.Date(2033, 5, 12, 10, 30, 0, 0, time.UTC), time.Date(2033, 5, 1, 0, 0, 0, 0, time.UTC), names...)
}

func newBillRigAt(tb testing.TB, now, anchor time.Time, names ...string) *billRig {
	tb.Helper()
	r := &billRig{Ledger: ledgertest.New(tb), clock: &clock{at: now}, names: names, start: anchor}
	r.appender = r.StartAppender(tb, r.clock.now)
	r.books = postgres.NewBooks(r.Store, r.appender)
	var err error
	if r.fake, err = stripefake.New(stripefake.Options{Key: billKey, Now: r.clock.now}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { r.fake.Close() })
	url, err := r.fake.Start(tb.Context(), "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	if r.stripe, err = stripe.New(stripe.Options{Key: billKey, URL: url, Timeout: 5 * time.Second}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(r.stripe.Close)
	if err := r.fake.SetMeter(stripefake.Meter{ID: billMeter, EventName: "tokens"}); err != nil {
		tb.Fatal(err)
	}
	for _, n := range names {
		sub := stripefake.Subscription{ID: "sub_" + n, Anchor: anchor, MeterID: billMeter}
		if err := r.fake.SetCustomer(stripefake.Customer{ID: "cus_" + n, Subscriptions: []stripefake.Subscription{sub}}); err != nil {
			tb.Fatal(err)
		}
	}
	r.configure(tb, names...)
	return r
}

// configure sets a billing configuration for the customers.
func (r *billRig) configure(tb testing.TB, names ...string) {
	tb.Helper()
	list := ""
	for i, n := range names {
		if i > 0 {
			list += ","
		}
		list += fmt.Sprintf(`{"customer_id":%q,"stripe_customer":"cus_%s","billing_anchor":%q}`, n, n, r.start.Format(time.RFC3339))
	}
	raw := fmt.Appendf(nil, `{"secret_key":"main","meter":{"id":%q,"event_name":"tokens"},"window":"hour","start":%q,"customers":[%s]}`,
		billMeter, r.start.Format(time.RFC3339), list)
	have, err := r.Store.BillingConfig(tb.Context(), ledgertest.Tenant)
	if err != nil {
		tb.Fatal(err)
	}
	a, err := kinds.BillingConfigKind.Accept(kinds.Submission{Artifact: raw}, kinds.Env{Now: r.clock.now(), Billing: have})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := r.appender.Append(tb.Context(), admin, a); err != nil {
		tb.Fatal(err)
	}
}

// use records reports of one provider each, at an instant.
func (r *billRig) use(tb testing.TB, customer string, at time.Time, tokens ...uint32) {
	tb.Helper()
	list := make([]*kinds.Accepted, len(tokens))
	for i, n := range tokens {
		r.posted++
		list[i] = ledgertest.Usage(tb, fmt.Sprintf("request-%d", r.posted), customer, at, n)
	}
	for _, o := range r.appender.AppendAll(tb.Context(), ledgertest.Host, list) {
		if o.Err != nil {
			tb.Fatal(o.Err)
		}
	}
}

// biller is one more process that bills.
func (r *billRig) biller(books relay.Books) *relay.Biller {
	return relay.NewBiller(relay.BillerOptions{
		Books: books, Logger: quiet, Now: r.clock.now, PerSecond: 100_000,
		Account: func(string, billing.Config) (relay.Processor, error) { return r.stripe, nil },
	})
}

// bill runs until nothing more can be done now.
func (r *billRig) bill(tb testing.TB, b *relay.Biller) billing.Run {
	tb.Helper()
	var all billing.Run
	for range 1000 {
		run, err := b.Bill(tb.Context(), ledgertest.Tenant, 0)
		if err != nil {
			tb.Fatal(err)
		}
		all.Add(run)
		if !run.Progress() {
			return all
		}
	}
	tb.Fatal("billing does not come to an end")
	return all
}

// sums are what the three places have: the usage in Postgres, the claims on it, and what counts at the fake.
type sums struct{ used, claimed, counted int64 }

func (r *billRig) sums(tb testing.TB) sums {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), r.AdminURL)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(tb.Context()))
	var s sums
	if err := conn.QueryRow(tb.Context(), `SELECT coalesce((SELECT sum(tokens) FROM ledger.usage_lines), 0)::bigint, coalesce((SELECT sum(tokens) FROM ledger.billing_claims), 0)::bigint`).Scan(&s.used, &s.claimed); err != nil {
		tb.Fatal(err)
	}
	for _, n := range r.names {
		s.counted += r.fake.Total(billMeter, "cus_"+n)
	}
	return s
}

// all demands that what was used is claimed and counts, and how much it is.
func (r *billRig) all(tb testing.TB, want int64) {
	tb.Helper()
	if s := r.sums(tb); s != (sums{want, want, want}) {
		tb.Fatalf("used, claimed and counted are %+v, not %d each", s, want)
	}
}

func TestClosedWindowsAreBilledOnce(t *testing.T) {
	t.Parallel()
	r := newBillRig(t, "a", "b")
	hour := time.Date(2033, 5, 12, 8, 0, 0, 0, time.UTC)
	r.use(t, "a", hour, 1, 2, 3)
	r.use(t, "a", hour.Add(59*time.Minute+59*time.Second), 10)
	r.use(t, "a", hour.Add(time.Hour), 100) // the next window
	r.use(t, "b", hour, 1000)
	r.use(t, "nobody", hour, 5)                  // waits for a mapping
	r.use(t, "a", r.clock.now(), 7)              // its window is open
	r.use(t, "a", r.start.Add(-time.Hour), 9999) // before the start
	run := r.bill(t, r.biller(r.books))
	if run.Planned != 3 || run.Confirmed != 3 || run.Attempts != 3 || len(run.Refusals) > 0 {
		t.Fatalf("%+v", run)
	}
	events := r.fake.Events(billMeter, "cus_a")
	if len(events) != 2 || events[0].Value != 16 || !events[0].Timestamp.Equal(hour.Add(time.Hour-time.Second)) || events[1].Value != 100 {
		t.Fatalf("%+v", events)
	}
	if run = r.bill(t, r.biller(r.books)); run.Planned+run.Attempts != 0 {
		t.Fatalf("a second run: %+v", run)
	}
	status, err := r.Store.BillingStatus(t.Context(), ledgertest.Tenant)
	if err != nil || status.UnmappedTokens != 5 || len(status.Unmapped) != 1 || status.Unmapped[0].CustomerID != "nobody" || status.Pending != 0 {
		t.Fatalf("%+v, %v", status, err)
	}

	r.use(t, "a", hour, 4) // late: the next delta of its window, which is the same event for nobody
	r.clock.advance(time.Hour)
	r.configure(t, "a", "b", "nobody")
	if err := r.fake.SetCustomer(stripefake.Customer{ID: "cus_nobody"}); err != nil {
		t.Fatal(err)
	}
	if run = r.bill(t, r.biller(r.books)); run.Confirmed != 3 {
		t.Fatalf("%+v", run)
	}
	if r.fake.Total(billMeter, "cus_a") != 127 || r.fake.Total(billMeter, "cus_nobody") != 5 {
		t.Fatal(r.fake.Events("", ""))
	}
	events = r.fake.Events(billMeter, "cus_a")
	if events[0].Identifier == events[2].Identifier || !events[2].Timestamp.Equal(events[0].Timestamp) {
		t.Fatalf("%+v", events)
	}
}

func TestTwoBillersBillOnce(t *testing.T) {
	t.Parallel()
	r := newBillRig(t, "a", "b", "c")
	var total int64
	for hour := range 8 {
		for i, n := range r.names {
			tokens := uint32(100*hour + i + 1)
			r.use(t, n, r.clock.now().Add(-time.Duration(hour+2)*time.Hour), tokens)
			total += int64(tokens)
		}
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			b := r.biller(r.books)
			for range 200 {
				run, err := b.Bill(t.Context(), ledgertest.Tenant, 0)
				if err != nil {
					t.Error(err)
					return
				}
				if !run.More {
					return
				}
			}
		})
	}
	group.Wait()
	r.bill(t, r.biller(r.books))
	r.all(t, total)
	if n := len(r.fake.Events("", "")); n != 24 || r.fake.Calls("concurrent") != 0 {
		t.Errorf("%d events, %d calls beside another of their customer", n, r.fake.Calls("concurrent"))
	}
}

// The second of three customers fails for good: it is parked with what it says, and the others are billed.
func TestOneCustomerFails(t *testing.T) {
	t.Parallel()
	r := newBillRig(t, "a", "b", "c")
	for _, n := range r.names {
		r.use(t, n, r.clock.now().Add(-2*time.Hour), 10)
		r.use(t, n, r.clock.now().Add(-3*time.Hour), 20)
	}
	r.fake.SetFaults(stripefake.Fault{Call: "create", Customer: "cus_b", Answer: "error", Status: 400, Times: 1})
	b := r.biller(r.books)
	if run := r.bill(t, b); run.Parked != 1 || run.Confirmed != 5 {
		t.Fatalf("%+v", run)
	}
	waiting, err := r.Store.WaitingIntents(t.Context(), ledgertest.Tenant, -1, 10)
	if err != nil || len(waiting) != 1 || waiting[0].StripeCustomer != "cus_b" || waiting[0].State != billing.Parked || waiting[0].Status != 400 || waiting[0].Detail == "" {
		t.Fatalf("%+v, %v", waiting, err)
	}
	if err := b.Settle(t.Context(), ledgertest.Tenant, waiting[0].Seq, false); err != nil {
		t.Fatal(err)
	}
	if err := b.Settle(t.Context(), ledgertest.Tenant, waiting[0].Seq, false); err == nil {
		t.Error("decided twice")
	}
	if run := r.bill(t, b); run.Confirmed != 1 {
		t.Fatalf("%+v", run)
	}
	r.all(t, 90)
	for _, e := range r.fake.Events(billMeter, "cus_b") {
		if e.Identifier == waiting[0].Identifier {
			t.Error("a refused identifier was sent again")
		}
	}
}

// A customer that Stripe does not know, or bills in other periods, is refused before anything is sent, and the others are billed.
func TestCustomersAreCheckedFirst(t *testing.T) {
	t.Parallel()
	r := newBillRig(t, "a", "b", "c", "d")
	for _, n := range r.names {
		r.use(t, n, r.clock.now().Add(-2*time.Hour), 10)
	}
	for _, c := range []stripefake.Customer{
		{ID: "cus_b", Deleted: true},
		{ID: "cus_c", Subscriptions: []stripefake.Subscription{{ID: "sub", Anchor: r.start.AddDate(0, 0, 3), MeterID: billMeter}}},
		{ID: "cus_d", Subscriptions: []stripefake.Subscription{{ID: "sub", Anchor: r.start, Interval: "year", MeterID: billMeter}}},
	} {
		if err := r.fake.SetCustomer(c); err != nil {
			t.Fatal(err)
		}
	}
	b := r.biller(r.books)
	if run := r.bill(t, b); run.Confirmed != 1 || len(run.Refusals) != 3 || r.fake.Calls("create") != 1 {
		t.Fatalf("%+v", run)
	}
	for _, n := range r.names {
		if err := r.fake.SetCustomer(stripefake.Customer{ID: "cus_" + n}); err != nil {
			t.Fatal(err)
		}
	}
	r.clock.advance(2 * time.Minute) // a refusal is believed for one
	if run := r.bill(t, b); run.Confirmed != 3 {
		t.Fatalf("%+v", run)
	}
	r.all(t, 40)
}

// A meter that is not as configured refuses the tenant: nothing is planned and nothing sent.
func TestMeterIsCheckedFirst(t *testing.T) {
	t.Parallel()
	r := newBillRig(t, "a")
	r.use(t, "a", r.clock.now().Add(-2*time.Hour), 10)
	for _, m := range []stripefake.Meter{
		{ID: billMeter, EventName: "tokens", EventTimeWindow: "hour"}, {ID: billMeter, EventName: "tokens", Formula: "count"},
		{ID: billMeter, EventName: "tokens", Status: "inactive"}, {ID: billMeter, EventName: "other"}, {ID: billMeter, EventName: "tokens", ValueKey: "v"},
	} {
		if err := r.fake.SetMeter(m); err != nil {
			t.Fatal(err)
		}
		if run := r.bill(t, r.biller(r.books)); run.Planned != 0 || len(run.Refusals) != 1 {
			t.Fatalf("%+v: %+v", m, run)
		}
	}
	if r.fake.Calls("create") != 0 || r.sums(t).claimed != 0 {
		t.Fatal("something was planned or sent")
	}
}

func TestPendingCounts(t *testing.T) {
	t.Parallel()
	for _, pending := range []int{1, 100, 101} {
		t.Run(fmt.Sprint(pending), func(t *testing.T) {
			t.Parallel()
			r := newBillRig(t, "a")
			var total int64
			for i := range pending {
				r.use(t, "a", r.clock.now().Add(-time.Duration(i+2)*time.Hour), uint32(i+1))
				total += int64(i + 1)
			}
			if run := r.bill(t, r.biller(r.books)); run.Confirmed != pending {
				t.Fatalf("%+v", run)
			}
			r.all(t, total)
		})
	}
}

// The loop bills by itself, several tenants, one of which has no account to bill with.
func TestTheLoopBills(t *testing.T) {
	t.Parallel()
	r := newBillRig(t, "a")
	r.use(t, "a", r.clock.now().Add(-2*time.Hour), 10)
	r.AddTenant(t, "other")
	other := kinds.Poster{Tenant: "other", Role: kinds.Admin, TokenID: "tok_admin"}
	if _, err := r.appender.Append(t.Context(), other, ledgertest.BillingConfig(t, nil, "x")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b := relay.NewBiller(relay.BillerOptions{
		Books: r.books, Logger: quiet, Now: r.clock.now, Every: 5 * time.Millisecond, PerSecond: 100_000,
		Account: func(tenant string, _ billing.Config) (relay.Processor, error) {
			if tenant != ledgertest.Tenant {
				return nil, errors.New("the secret is not set")
			}
			return r.stripe, nil
		},
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.Run(ctx)
	}()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		list, err := r.Store.Standings(t.Context(), ledgertest.Tenant, r.start)
		if err != nil {
			t.Fatal(err)
		}
		if r.fake.Total(billMeter, "cus_a") == 10 && len(list) == 1 && b.Status().Pending == 0 {
			break // billed, and reconciled
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the loop does not bill")
		}
	}
	cancel()
	<-ended
	r.all(t, 10)
}

// restoredBooks are those of a log that was opened anew after a restore.
type restoredBooks struct{ *postgres.Books }

func (b restoredBooks) BillingTerms(ctx context.Context, tenant string) (*billing.Terms, error) {
	t, err := b.Books.BillingTerms(ctx, tenant)
	if t != nil {
		t.Restored = true
	}
	return t, err
}

// What Stripe was told after the backup is not on record, so nothing is sent until somebody has compared.
func TestNothingIsSentAfterARestore(t *testing.T) {
	t.Parallel()
	r := newBillRig(t, "a")
	r.use(t, "a", r.clock.now().Add(-2*time.Hour), 10)
	b := r.biller(restoredBooks{r.books})
	if run := r.bill(t, b); run.Planned+run.Attempts != 0 || len(run.Refusals) != 1 {
		t.Fatalf("%+v", run)
	}
	if _, _, err := b.ReconcileTenant(t.Context(), ledgertest.Tenant, 0); err != nil {
		t.Fatal(err)
	}
}

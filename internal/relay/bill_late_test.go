package relay_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"ledgerd/internal/devstack/stripefake"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/internal/relay"
	"ledgerd/metering/billing"
)

// monthEnd is where the periods of these tests end.
var monthEnd = time.Date(2033, 6, 1, 0, 0, 0, 0, time.UTC)

// newRigAtMonthEnd has a rig whose period ended a quarter of an hour ago, with ten tokens of its last minute.
func newRigAtMonthEnd(tb testing.TB) *billRig {
	tb.Helper()
	r := newBillRigAt(tb, monthEnd.Add(15*time.Minute), monthEnd.AddDate(0, -1, 0), "a")
	r.use(tb, "a", monthEnd.Add(-time.Minute), 10)
	return r
}

// hours bills and reconciles every hour for so long.
func (r *billRig) hours(tb testing.TB, b *relay.Biller, n int) {
	tb.Helper()
	for range n {
		r.clock.advance(time.Hour)
		r.bill(tb, b)
		if _, _, err := b.ReconcileTenant(tb.Context(), ledgertest.Tenant, 0); err != nil {
			tb.Fatal(err)
		}
	}
}

// invoiced demands what the period that ended has, and what the one after it.
func (r *billRig) invoiced(tb testing.TB, before, after int64) {
	tb.Helper()
	was, _ := r.fake.Invoice(billMeter, "cus_a", r.start, monthEnd, 1)
	is, _ := r.fake.Invoice(billMeter, "cus_a", monthEnd, monthEnd.AddDate(0, 1, 0), 1)
	if was != before || is != after {
		tb.Fatalf("%d tokens in the period that ended, and %d in the next", was, is)
	}
}

// Stripe was busy until the invoice was final. The event would still be taken then, and never be billed: it is carried.
func TestNothingIsSentOntoAFinalInvoice(t *testing.T) {
	t.Parallel()
	r := newRigAtMonthEnd(t)
	r.fake.SetFaults(stripefake.Fault{Call: "create", Answer: "error", Status: 429})
	b := r.biller(r.books)
	if run := r.bill(t, b); run.Attempts != 1 || run.Unresolved != 1 {
		t.Fatalf("%+v", run)
	}
	r.fake.SetFaults()
	r.hours(t, b, 30)
	r.invoiced(t, 0, 10)
	r.all(t, 10)
}

// What went missing on a period's last day is known to be missing when the invoice is final, and is carried.
func TestMissingOnTheLastDay(t *testing.T) {
	t.Parallel()
	r := newRigAtMonthEnd(t)
	r.fake.SetFaults(stripefake.Fault{Call: "create", Times: 1, Uncounted: "meter_event_customer_not_found"})
	b := r.biller(r.books)
	if run := r.bill(t, b); run.Confirmed != 1 {
		t.Fatalf("%+v", run)
	}
	r.hours(t, b, 30)
	r.invoiced(t, 0, 10)
}

// A customer that is billed every hour has always something that may not show yet. What is missing is found nevertheless.
func TestMissingOfABusyCustomer(t *testing.T) {
	t.Parallel()
	r := newBillRig(t, "a")
	r.use(t, "a", r.clock.now().Add(-2*time.Hour), 1000)
	r.fake.SetFaults(stripefake.Fault{Call: "create", Times: 1, Uncounted: "meter_event_customer_not_found"})
	b := r.biller(r.books)
	r.bill(t, b)
	const hours = 30
	for range hours {
		r.use(t, "a", r.clock.now(), 10)
		r.hours(t, b, 1)
	}
	if got := r.fake.Total(billMeter, "cus_a"); got != 1000+10*hours {
		t.Fatalf("%d tokens count", got)
	}
}

// overtaken are the books of a process that loses its lease while it works: meanwhile something else happens.
type overtaken struct {
	*postgres.Books
	once      sync.Once
	meanwhile func([]billing.Pending)
}

func (o *overtaken) LaneIntents(ctx context.Context, l billing.Lane, after int64, limit int) ([]billing.Pending, error) {
	list, err := o.Books.LaneIntents(ctx, l, after, limit)
	o.once.Do(func() { o.meanwhile(list) })
	return list, err
}

// A page of intents was read, then another process sent one of them, and then the invoice was final: it is not replaced.
func TestSentInTheMeantime(t *testing.T) {
	t.Parallel()
	r := newRigAtMonthEnd(t)
	b := r.biller(&overtaken{Books: r.books, meanwhile: func(list []billing.Pending) {
		if err := r.books.StampAttempts(t.Context(), ledgertest.Tenant, []int64{list[0].Seq}, r.clock.now()); err != nil {
			t.Error(err)
		}
		if reply := r.stripe.CreateMeterEvent(t.Context(), list[0].Intent.Event); reply.Class != billing.Delivered {
			t.Errorf("%+v", reply)
		}
		r.clock.advance(time.Hour)
	}})
	if run := r.bill(t, b); run.Replaced != 0 {
		t.Fatalf("%+v", run)
	}
	r.hours(t, b, 30)
	r.invoiced(t, 10, 0)
	r.all(t, 10)
}

// sleepy is a processor during whose first call the machine sleeps.
type sleepy struct {
	relay.Processor
	once  sync.Once
	sleep func()
}

func (s *sleepy) CreateMeterEvent(ctx context.Context, e billing.MeterEvent) billing.Reply {
	reply := s.Processor.CreateMeterEvent(ctx, e)
	s.once.Do(s.sleep)
	return reply
}

// What was stamped long ago is stamped again before it is sent: others may have gone on from there meanwhile.
func TestTheMachineSlept(t *testing.T) {
	t.Parallel()
	r := newBillRig(t, "a")
	for hour := 2; hour < 5; hour++ {
		r.use(t, "a", r.clock.now().Add(-time.Duration(hour)*time.Hour), 10)
	}
	p := &sleepy{Processor: r.stripe, sleep: func() { r.clock.advance(48 * time.Hour) }}
	b := relay.NewBiller(relay.BillerOptions{Books: r.books, Logger: quiet, Now: r.clock.now, PerSecond: 100_000,
		Account: func(string, billing.Config) (relay.Processor, error) { return p, nil }})
	run, err := b.Bill(t.Context(), ledgertest.Tenant, 0)
	if err != nil || run.Attempts != 1 || run.Confirmed != 1 || !run.More {
		t.Fatalf("%+v, %v", run, err)
	}
	r.bill(t, b)
	r.all(t, 30)
}

// since are the books of a log that was opened anew after a restore.
type since struct {
	*postgres.Books
	base int64
}

func (s since) BillingTerms(ctx context.Context, tenant string) (*billing.Terms, error) {
	t, err := s.Books.BillingTerms(ctx, tenant)
	if t != nil {
		t.Base = s.base
	}
	return t, err
}

// An intent that the backup has as never sent was sent after the backup, more than a day ago: its identifier is not sent again, and the
// summary decides.
func TestIntentsOfABackup(t *testing.T) {
	t.Parallel()
	for _, sent := range []bool{true, false} {
		r := newBillRig(t, "a")
		r.use(t, "a", r.clock.now().Add(-2*time.Hour), 10)
		r.fake.SetFaults(stripefake.Fault{Call: "customer", Answer: "html"})
		r.bill(t, r.biller(r.books))
		r.fake.SetFaults()
		l := billing.Lane{Tenant: ledgertest.Tenant, MeterID: billMeter, Customer: "cus_a"}
		list, err := r.books.LaneIntents(t.Context(), l, -1, 10)
		if err != nil || len(list) != 1 || list[0].Attempts.Count != 0 {
			t.Fatalf("%+v, %v", list, err)
		}
		if reply := list[0].Intent.Event; sent && r.stripe.CreateMeterEvent(t.Context(), reply).Class != billing.Delivered {
			t.Fatal("not delivered")
		}
		r.clock.advance(25 * time.Hour)
		b := r.biller(since{r.books, list[0].Seq + 1})
		calls := r.fake.Calls("create")
		if r.bill(t, b); r.fake.Calls("create") != calls {
			t.Fatal("an event of the backup was sent again")
		}
		r.hours(t, b, 26)
		r.all(t, 10)
	}
}

// A correction that was planned and could not be sent in its period takes back more than the next one holds: it waits, says so to
// whoever asks, and is told once the period holds it. Meanwhile a pass comes to its end.
func TestAReplacementThatDoesNotFit(t *testing.T) {
	t.Parallel()
	r := newRigAtMonthEnd(t)
	b := r.biller(r.books)
	r.bill(t, b)
	r.takeBack(t, "request-1", 10)
	r.fake.SetFaults(stripefake.Fault{Call: "create", Answer: "error", Status: 404, Times: 1})
	if run := r.bill(t, b); run.Parked != 1 {
		t.Fatalf("%+v", run)
	}
	waiting, err := r.Store.WaitingIntents(t.Context(), ledgertest.Tenant, -1, 10)
	if err != nil || len(waiting) != 1 {
		t.Fatalf("%+v, %v", waiting, err)
	}
	r.clock.advance(2 * time.Hour)
	if err := b.Settle(t.Context(), ledgertest.Tenant, waiting[0].Seq, false); !errors.Is(err, billing.ErrRefused) {
		t.Fatalf("nothing was recorded, and %v was said", err)
	}
	r.use(t, "a", monthEnd.Add(time.Minute), 25)
	r.bill(t, b)
	if err := b.Settle(t.Context(), ledgertest.Tenant, waiting[0].Seq, false); err != nil {
		t.Fatal(err)
	}
	if err := b.Settle(t.Context(), ledgertest.Tenant, waiting[0].Seq, false); !errors.Is(err, billing.ErrNotParked) {
		t.Fatalf("decided twice: %v", err)
	}
	r.bill(t, b)
	r.invoiced(t, 10, 15)
}

// The same of one that was never sent: no pass after the other tries it at once again.
func TestAReplacementThatWaits(t *testing.T) {
	t.Parallel()
	r := newRigAtMonthEnd(t)
	b := r.biller(r.books)
	r.bill(t, b)
	r.takeBack(t, "request-1", 10)
	b = r.biller(r.books) // it knows no customer yet
	r.fake.SetFaults(stripefake.Fault{Call: "customer", Answer: "html"})
	if run := r.bill(t, b); run.Planned != 1 || run.Attempts != 0 {
		t.Fatalf("%+v", run)
	}
	r.fake.SetFaults()
	r.clock.advance(2 * time.Hour)
	if run := r.bill(t, b); run.Replaced != 0 || run.Progress() {
		t.Fatalf("%+v", run)
	}
	r.use(t, "a", monthEnd.Add(time.Minute), 25)
	r.bill(t, b)
	r.bill(t, b) // the period holds it from here on
	r.invoiced(t, 10, 15)
	r.all(t, 25)
}

// A key that is withdrawn while events are sent is no event's fault: none is parked, and all are billed when there is a key again.
func TestARefusedKeyParksNothing(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 403} {
		r := newBillRig(t, "a")
		for hour := 2; hour < 5; hour++ {
			r.use(t, "a", r.clock.now().Add(-time.Duration(hour)*time.Hour), 10)
		}
		r.fake.SetFaults(stripefake.Fault{Call: "create", Skip: 1, Answer: "error", Status: status})
		b := r.biller(r.books)
		if run := r.bill(t, b); run.Parked != 0 || run.Attempts != 2 || run.Confirmed != 1 {
			t.Fatalf("%+v", run)
		}
		r.fake.SetFaults()
		r.clock.advance(time.Hour)
		r.bill(t, b)
		r.all(t, 30)
	}
}

// A correction that a summary does not show yet is no alert that Stripe has too much; one that it never shows is.
func TestACorrectionThatDoesNotShowYet(t *testing.T) {
	t.Parallel()
	r := newBillRig(t, "a")
	r.use(t, "a", r.clock.now().Add(-2*time.Hour), 40, 2)
	b := r.biller(r.books)
	r.bill(t, b)
	r.takeBack(t, "request-1", 40)
	r.fake.SetFaults(stripefake.Fault{Call: "create", LateSeconds: 2 * 3600})
	r.bill(t, b)
	for _, want := range []billing.Agreement{billing.Settling, billing.Higher, billing.Agrees} {
		list, _, err := b.ReconcileTenant(t.Context(), ledgertest.Tenant, 0)
		if err != nil || len(list) != 1 || list[0].Agreement != want {
			t.Fatalf("%+v, %v: not %s", list, err, want)
		}
		r.clock.advance(90 * time.Minute)
	}
}

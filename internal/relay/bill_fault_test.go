package relay_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledgerd/internal/devstack/stripefake"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/internal/relay"
	"ledgerd/metering/billing"
)

var errCrashed = errors.New("the process has crashed, says the test")

// crashing is the books of a process that crashes at its n-th write: just before it is done, or just after. From then on
// nothing is done any more.
type crashing struct {
	*postgres.Books
	mu     sync.Mutex
	left   int // writes until the crash; negative for never
	done   bool
	dead   bool
	writes int
}

func (c *crashing) write(do func() error) error {
	c.mu.Lock()
	if c.dead {
		c.mu.Unlock()
		return errCrashed
	}
	c.writes++
	c.left--
	now := c.left == 0
	c.dead = now
	c.mu.Unlock()
	if !now {
		return do()
	}
	if c.done {
		_ = do() // nobody learns what came of it
	}
	return errCrashed
}

// Each intent is a write of its own.
func (c *crashing) RecordIntents(ctx context.Context, tenant string, intents []billing.Intent) (recorded int, err error) {
	for _, i := range intents {
		if err = c.write(func() error { return c.RecordIntent(ctx, tenant, i) }); err != nil {
			return recorded, err
		}
		recorded++
	}
	return recorded, nil
}

func (c *crashing) StampAttempts(ctx context.Context, tenant string, seqs []int64, now time.Time) error {
	return c.write(func() error { return c.Books.StampAttempts(ctx, tenant, seqs, now) })
}

func (c *crashing) UnstampAttempts(ctx context.Context, tenant string, seqs []int64) error {
	return c.write(func() error { return c.Books.UnstampAttempts(ctx, tenant, seqs) })
}

func (c *crashing) NoteAttempt(ctx context.Context, tenant string, seq int64, next, absent time.Time, detail string) error {
	return c.write(func() error { return c.Books.NoteAttempt(ctx, tenant, seq, next, absent, detail) })
}

func (c *crashing) RecordOutcomes(ctx context.Context, tenant string, list []billing.Closing) error {
	return c.write(func() error { return c.Books.RecordOutcomes(ctx, tenant, list) })
}

func (c *crashing) NoteAbsent(ctx context.Context, l billing.Lane, p billing.Period, seqs []int64, now time.Time) (since map[int64]time.Time, err error) {
	err = c.write(func() (err error) {
		since, err = c.Books.NoteAbsent(ctx, l, p, seqs, now)
		return err
	})
	return since, err
}

// A lease of a process that has died is over after two minutes of the database's clock, which no test waits for.
func (c *crashing) ReleaseLane(ctx context.Context, l billing.Lane, holder string) error {
	return c.Books.ReleaseLane(ctx, l, holder)
}

// A crash before or after each write of a pass, then another process: everything is billed once.
func TestCrashAtEachWrite(t *testing.T) {
	t.Parallel()
	for _, done := range []bool{false, true} {
		for at := 1; ; at++ {
			r := newBillRig(t, "a", "b")
			for hour := 2; hour < 5; hour++ {
				r.use(t, "a", r.clock.now().Add(-time.Duration(hour)*time.Hour), 10)
				r.use(t, "b", r.clock.now().Add(-time.Duration(hour)*time.Hour), 100)
			}
			books := &crashing{Books: r.books, left: at, done: done}
			_, err := r.biller(books).Bill(t.Context(), ledgertest.Tenant, 0)
			if books.left > 0 { // it had come to its end
				if err != nil || at < 8 {
					t.Fatalf("%d writes: %v", at, err)
				}
				break
			}
			r.bill(t, r.biller(r.books))
			r.all(t, 330)
		}
	}
}

// Whatever becomes of the answer, the event counts once.
func TestEveryFaultIsSurvived(t *testing.T) {
	t.Parallel()
	for _, f := range []stripefake.Fault{
		{Answer: "drop"}, {Answer: "drop", Recorded: true}, {Answer: "reset"}, {Answer: "reset", Recorded: true}, {Answer: "html"}, {Answer: "html", Recorded: true},
		{Answer: "html", Status: 503, Recorded: true}, {Answer: "garbage", Recorded: true}, {Answer: "error"}, {Answer: "error", Recorded: true},
		{Answer: "error", Status: 503, RetryAfter: 30}, {Answer: "error", Status: 429, RetryAfter: 30}, {Answer: "error", Status: 409}, {DelayMS: 50},
	} {
		t.Run(fmt.Sprintf("%s %d %t", f.Answer, f.Status, f.Recorded), func(t *testing.T) {
			t.Parallel()
			r := newBillRig(t, "a", "b")
			for hour := 2; hour < 6; hour++ {
				r.use(t, "a", r.clock.now().Add(-time.Duration(hour)*time.Hour), 10)
				r.use(t, "b", r.clock.now().Add(-time.Duration(hour)*time.Hour), 1000)
			}
			f.Call, f.Customer, f.Times = "create", "cus_a", 3
			r.fake.SetFaults(f)
			b := r.biller(r.books)
			r.bill(t, b)
			if r.fake.Total(billMeter, "cus_b") != 4000 {
				t.Fatalf("the other customer has %d", r.fake.Total(billMeter, "cus_b"))
			}
			for range 10 {
				r.clock.advance(time.Minute)
				r.bill(t, b)
			}
			r.all(t, 4040)
		})
	}
}

// An answer is lost and Stripe is away for 25 hours. The identifier may be forgotten by then, so the summary decides.
func TestTwentyFiveHoursLater(t *testing.T) {
	t.Parallel()
	for _, recorded := range []bool{true, false} {
		t.Run(fmt.Sprintf("recorded %t", recorded), func(t *testing.T) {
			t.Parallel()
			r := newBillRig(t, "a")
			r.use(t, "a", r.clock.now().Add(-2*time.Hour), 10)
			r.fake.SetFaults(stripefake.Fault{Call: "create", Answer: "drop", Recorded: recorded, Times: 1})
			b := r.biller(r.books)
			if run := r.bill(t, b); run.Unresolved != 1 {
				t.Fatalf("%+v", run)
			}
			r.clock.advance(25 * time.Hour)
			calls := r.fake.Calls("create")
			run := r.bill(t, b)
			if r.fake.Calls("create") != calls {
				t.Fatal("an identifier was sent again after a day")
			}
			if recorded {
				if run.Confirmed != 1 {
					t.Fatalf("%+v", run)
				}
				r.all(t, 10)
				return
			}
			// Absent: it is replaced once it has been so for a day.
			for range 23 {
				r.clock.advance(time.Hour)
				if run := r.bill(t, b); run.Replaced != 0 {
					t.Fatalf("replaced early: %+v", run)
				}
			}
			r.clock.advance(90 * time.Minute)
			if run := r.bill(t, b); run.Replaced != 1 {
				t.Fatalf("%+v", run)
			}
			r.bill(t, b)
			r.all(t, 10)
		})
	}
}

// What the summary shows is neither with nor without the event: its lane stands still, and a person decides.
func TestADoubtfulSummaryStopsTheLane(t *testing.T) {
	t.Parallel()
	r := newBillRig(t, "a", "b")
	r.use(t, "a", r.clock.now().Add(-2*time.Hour), 10)
	r.fake.SetFaults(stripefake.Fault{Call: "create", Customer: "cus_a", Answer: "drop", Times: 1})
	b := r.biller(r.books)
	r.bill(t, b)
	r.fake.SetFaults()
	foreign := billing.MeterEvent{Identifier: "by another system", EventName: "tokens", CustomerKey: "stripe_customer_id", Customer: "cus_a", ValueKey: "value", Value: 3,
		Timestamp: r.clock.now().Truncate(time.Hour).Add(-time.Hour - time.Second)}
	if reply := r.stripe.CreateMeterEvent(t.Context(), foreign); reply.Class != billing.Delivered {
		t.Fatalf("%+v", reply)
	}
	r.clock.advance(25 * time.Hour)
	if run := r.bill(t, b); run.Stopped != 1 {
		t.Fatalf("%+v", run)
	}
	r.use(t, "a", r.clock.now().Add(-2*time.Hour), 20)
	r.use(t, "b", r.clock.now().Add(-2*time.Hour), 30)
	if r.bill(t, b); r.fake.Total(billMeter, "cus_a") != 3 || r.fake.Total(billMeter, "cus_b") != 30 {
		t.Fatal(r.fake.Events("", ""))
	}
	waiting, err := r.Store.WaitingIntents(t.Context(), ledgertest.Tenant, -1, 10)
	if err != nil || len(waiting) != 1 || waiting[0].State != billing.Stopped {
		t.Fatalf("%+v, %v", waiting, err)
	}
	if err := b.Settle(t.Context(), ledgertest.Tenant, waiting[0].Seq, false); err != nil {
		t.Fatal(err)
	}
	if r.bill(t, b); r.fake.Total(billMeter, "cus_a") != 33 {
		t.Fatal(r.fake.Events(billMeter, "cus_a"))
	}
}

// Stripe took an event and dropped it. Either it says so, or reconciliation finds it; both times it is billed in the end, once.
func TestTakenAndDropped(t *testing.T) {
	t.Parallel()
	drop := func(t *testing.T) (*billRig, *relay.Biller) {
		t.Helper()
		r := newBillRig(t, "a")
		for hour := 2; hour < 6; hour++ {
			r.use(t, "a", r.clock.now().Add(-time.Duration(hour)*time.Hour), uint32(hour))
		}
		r.fake.SetFaults(stripefake.Fault{Call: "create", Skip: 1, Times: 2, Uncounted: "meter_event_customer_not_found"})
		b := r.biller(r.books)
		if run := r.bill(t, b); run.Confirmed != 4 {
			t.Fatalf("%+v", run)
		}
		return r, b
	}
	t.Run("reported", func(t *testing.T) {
		t.Parallel()
		r, b := drop(t)
		for _, report := range r.fake.Reports() {
			for again := range 2 { // a delivery may come twice
				full, err := r.stripe.ErrorReport(t.Context(), report.ID)
				if err != nil {
					t.Fatal(err)
				}
				if n, err := b.Reported(t.Context(), ledgertest.Tenant, full); err != nil || n != 1-again {
					t.Fatalf("%d parked, %v", n, err)
				}
			}
		}
		waiting, err := r.Store.WaitingIntents(t.Context(), ledgertest.Tenant, -1, 10)
		if err != nil || len(waiting) != 2 {
			t.Fatalf("%+v, %v", waiting, err)
		}
		for _, w := range waiting {
			if err := b.Settle(t.Context(), ledgertest.Tenant, w.Seq, false); err != nil {
				t.Fatal(err)
			}
		}
		r.bill(t, b)
		r.all(t, 14)
	})
	t.Run("reported again after a person has looked", func(t *testing.T) {
		t.Parallel()
		r, b := drop(t)
		full, err := r.stripe.ErrorReport(t.Context(), r.fake.Reports()[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := b.Reported(t.Context(), ledgertest.Tenant, full); err != nil || n != 1 {
			t.Fatalf("%d parked, %v", n, err)
		}
		waiting, err := r.Store.WaitingIntents(t.Context(), ledgertest.Tenant, -1, 10)
		if err != nil || len(waiting) != 1 {
			t.Fatalf("%+v, %v", waiting, err)
		}
		if err := b.Settle(t.Context(), ledgertest.Tenant, waiting[0].Seq, true); err != nil {
			t.Fatal(err)
		}
		if n, err := b.Reported(t.Context(), ledgertest.Tenant, full); err != nil || n != 0 {
			t.Fatalf("%d parked again, %v", n, err)
		}
	})
	t.Run("found", func(t *testing.T) {
		t.Parallel()
		r, b := drop(t)
		reconcile := func(want billing.Agreement) {
			t.Helper()
			list, _, err := b.ReconcileTenant(t.Context(), ledgertest.Tenant, 0)
			if err != nil || len(list) != 1 || list[0].Agreement != want {
				t.Fatalf("%+v, %v: not %s", list, err, want)
			}
		}
		reconcile(billing.Settling)
		r.clock.advance(2 * time.Hour)
		reconcile(billing.Lower)
		r.clock.advance(23 * time.Hour)
		reconcile(billing.Lower)
		if run := r.bill(t, b); run.Attempts != 0 {
			t.Fatalf("sent again early: %+v", run)
		}
		r.clock.advance(2 * time.Hour)
		reconcile(billing.Lower)
		r.bill(t, b)
		r.all(t, 14)
		r.clock.advance(2 * time.Hour)
		reconcile(billing.Agrees)
		status, err := r.Store.BillingStatus(t.Context(), ledgertest.Tenant)
		if err != nil || len(status.Standings) != 1 || status.Standings[0].Agreement != billing.Agrees {
			t.Fatalf("%+v, %v", status, err)
		}
	})
}

// Stripe has more than was ever sent: it is said, and nothing is done about it.
func TestMoreThanWasSent(t *testing.T) {
	t.Parallel()
	r := newBillRig(t, "a")
	r.use(t, "a", r.clock.now().Add(-2*time.Hour), 10)
	b := r.biller(r.books)
	r.bill(t, b)
	foreign := billing.MeterEvent{Identifier: "by another system", EventName: "tokens", CustomerKey: "stripe_customer_id", Customer: "cus_a", ValueKey: "value", Value: 3, Timestamp: r.clock.now()}
	if reply := r.stripe.CreateMeterEvent(t.Context(), foreign); reply.Class != billing.Delivered {
		t.Fatalf("%+v", reply)
	}
	for range 30 {
		r.clock.advance(time.Hour)
		list, _, err := b.ReconcileTenant(t.Context(), ledgertest.Tenant, 0)
		if err != nil || len(list) != 1 || list[0].Agreement != billing.Higher || list[0].Drift() != 3 {
			t.Fatalf("%+v, %v", list, err)
		}
		r.bill(t, b)
	}
	if n := len(r.fake.Events("", "")); n != 2 {
		t.Fatalf("%d events", n)
	}
}

// Summaries that lag make nothing be sent again.
func TestLateSummaries(t *testing.T) {
	t.Parallel()
	r := newBillRig(t, "a")
	r.use(t, "a", r.clock.now().Add(-2*time.Hour), 10)
	r.fake.SetFaults(stripefake.Fault{Call: "create", LateSeconds: 10 * 3600})
	b := r.biller(r.books)
	r.bill(t, b)
	for range 30 {
		r.clock.advance(time.Hour)
		if _, _, err := b.ReconcileTenant(t.Context(), ledgertest.Tenant, 0); err != nil {
			t.Fatal(err)
		}
		r.bill(t, b)
	}
	r.all(t, 10)
	if n := len(r.fake.Events("", "")); n != 1 {
		t.Fatalf("%d events", n)
	}
}

// used is a report that was posted.
type used struct {
	request string
	tokens  int64
}

// onlyTakenBackWaits demands that what nothing claims are corrections, and how many tokens they are.
func (r *billRig) onlyTakenBackWaits(tb testing.TB, want int64) bool {
	tb.Helper()
	var sum int64
	for _, n := range r.names {
		lines, err := r.Store.DueUsage(tb.Context(), ledgertest.Tenant, n, r.start, r.clock.now(), nil, 1000)
		if err != nil {
			tb.Fatal(err)
		}
		for _, l := range lines {
			if l.Tokens > 0 {
				return false
			}
			sum += l.Tokens
		}
	}
	return sum == want
}

// In any order of reports, corrections, crashes, lost answers and hours that pass, what was used is claimed and counts, once.
func TestMoneyIsConserved(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := newBillRig(t, "a", "b")
		var total int64
		var left []used // that can still be taken back
		answers := rapid.SampledFrom([]string{"", "drop", "reset", "html", "garbage", "error"})
		for range rapid.IntRange(5, 25).Draw(rt, "steps") {
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0, 1:
				n := rapid.Uint32Range(1, 1000).Draw(rt, "tokens")
				r.use(t, rapid.SampledFrom(r.names).Draw(rt, "customer"), r.clock.now().Add(-time.Duration(rapid.IntRange(0, 100).Draw(rt, "hours"))*time.Hour), n)
				total += int64(n)
				left = append(left, used{fmt.Sprintf("request-%d", r.posted), int64(n)})
			case 2:
				r.fake.SetFaults(stripefake.Fault{
					Call: "create", Answer: answers.Draw(rt, "answer"), Recorded: rapid.Bool().Draw(rt, "recorded"), Sticky: rapid.Bool().Draw(rt, "sticky"),
					Status: 0, Skip: rapid.IntRange(0, 2).Draw(rt, "skip"), Times: rapid.IntRange(1, 4).Draw(rt, "times"), LateSeconds: rapid.SampledFrom([]int{0, 1800}).Draw(rt, "late"),
				})
			case 3:
				r.clock.advance(time.Duration(rapid.SampledFrom([]int{1, 61, 6 * 60, 25 * 60, 25 * 60}).Draw(rt, "minutes")) * time.Minute)
			case 4:
				if len(left) > 0 { // which of them does not matter, they were drawn
					total -= r.takeBack(t, left[0].request, left[0].tokens)
					left = left[1:]
				}
			case 5:
				books := &crashing{Books: r.books, left: rapid.IntRange(1, 30).Draw(rt, "crash at"), done: rapid.Bool().Draw(rt, "after it")}
				_, _ = r.biller(books).Bill(t.Context(), ledgertest.Tenant, 0) // it may crash
			}
		}
		r.fake.SetFaults()
		b := r.biller(r.books)
		for range 80 { // 20 hours of retries, a day of absence, and the last window's end
			r.clock.advance(time.Hour)
			r.bill(t, b)
			if s := r.sums(t); s.counted == total && s.claimed == total {
				break
			}
		}
		// What could not be taken back, since the invoice is final and the open period holds too little, waits. Nothing else does.
		if s := r.sums(t); s.used != total || s.claimed != s.counted || s.claimed < total || (s.claimed > total && !r.onlyTakenBackWaits(t, total-s.claimed)) {
			status, err := r.Store.BillingStatus(t.Context(), ledgertest.Tenant)
			rt.Fatalf("used, claimed and counted are %+v, not %d each: %+v, %v", s, total, status, err)
		}
	})
}

// A process that is told to end waits for the call that it is at, records what came of it, and begins no other.
func TestAnOrderlyEnd(t *testing.T) {
	t.Parallel()
	r := newBillRig(t, "a")
	for hour := 2; hour < 6; hour++ {
		r.use(t, "a", r.clock.now().Add(-time.Duration(hour)*time.Hour), 10)
	}
	r.fake.SetFaults(stripefake.Fault{Call: "create", DelayMS: 300, Times: 1})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := r.biller(r.books).Bill(ctx, ledgertest.Tenant, 0)
		ended <- err
	}()
	for r.fake.Calls("create") == 0 && t.Context().Err() == nil {
		runtime.Gosched()
	}
	cancel()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	status, err := r.Store.BillingStatus(t.Context(), ledgertest.Tenant)
	if err != nil || status.Pending == 4 || status.Ambiguous != 0 || r.fake.Total(billMeter, "cus_a") != 10*(4-status.Pending) {
		t.Fatalf("%+v, %v, %d", status, err, r.fake.Total(billMeter, "cus_a"))
	}
	r.bill(t, r.biller(r.books))
	r.all(t, 40)
}

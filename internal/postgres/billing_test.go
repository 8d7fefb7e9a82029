package postgres_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/internal/relay"
	"ledgerd/metering/billing"
)

var _ relay.Books = (*postgres.Books)(nil)

// account is a ledger with billing: a tenant whose customers a and b are mapped.
type account struct {
	*ledgertest.Ledger
	t     *testing.T
	books *postgres.Books
}

func newAccount(t *testing.T) *account {
	t.Helper()
	l := ledgertest.New(t)
	a := &account{l, t, postgres.NewBooks(l.Store, l.Appender)}
	a.append(admin, ledgertest.BillingConfig(t, nil, "a", "b"))
	return a
}

func (a *account) append(who kinds.Poster, accepted *kinds.Accepted) int64 {
	a.t.Helper()
	r, err := a.Appender.Append(a.t.Context(), who, accepted)
	if err != nil {
		a.t.Fatal(err)
	}
	return r.Seq
}

// at is an instant so long after billing began.
func after(d time.Duration) time.Time { return ledgertest.BillingStart.Add(d) }

// use records a report of a customer and returns its seq.
func (a *account) use(request, customer string, at time.Duration, tokens uint32) int64 {
	a.t.Helper()
	return a.append(ledgertest.Host, ledgertest.Usage(a.t, request, customer, after(at), tokens))
}

func (a *account) correct(artifact string) (int64, error) {
	a.t.Helper()
	s := kinds.Submission{Artifact: []byte(artifact)}
	parsed, err := kinds.ParseCorrection(s)
	if err != nil {
		return 0, err
	}
	corrected, err := a.Store.Corrected(a.t.Context(), ledgertest.Tenant, parsed)
	if err != nil {
		return 0, err
	}
	accepted, err := kinds.Correction.Accept(s, kinds.Env{Corrected: corrected})
	if err != nil {
		return 0, err
	}
	r, err := a.Appender.Append(a.t.Context(), ledgertest.BillingRole, accepted)
	return r.Seq, err
}

// plan is a pass of the planner: what is recorded of a customer. A clash with another planner ends it.
func (a *account) plan(books *postgres.Books, now time.Time) (recorded int, clash bool) {
	a.t.Helper()
	ctx := a.t.Context()
	terms, err := a.Store.BillingTerms(ctx, ledgertest.Tenant)
	if err != nil {
		a.t.Fatal(err)
	}
	c := terms.Config
	customers, err := books.DueCustomers(ctx, ledgertest.Tenant, c.Start, now)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, id := range customers {
		m, mapped := c.Mapped(id)
		if !mapped {
			continue
		}
		lines, err := books.DueUsage(ctx, ledgertest.Tenant, id, c.Start, now, nil, 20_000)
		if err != nil {
			a.t.Fatal(err)
		}
		held, err := books.HeldIn(ctx, billing.Lane{Tenant: ledgertest.Tenant, MeterID: c.MeterID, Customer: m.Customer}, c.OpenPeriods(m, now))
		if err != nil {
			a.t.Fatal(err)
		}
		p := billing.Make(billing.Ask{Origin: terms.Origin, Revision: terms.Revision, Config: c, Mapping: m, Lines: lines, Held: held, Now: now})
		for _, i := range p.Intents {
			err := books.RecordIntent(ctx, ledgertest.Tenant, i)
			if errors.Is(err, billing.ErrClaimed) {
				return recorded, true
			}
			if err != nil {
				a.t.Error(err)
				return recorded, true
			}
			recorded++
		}
	}
	return recorded, false
}

func (a *account) lane(customer string) billing.Lane {
	return billing.Lane{Tenant: ledgertest.Tenant, MeterID: "mtr_1", Customer: "cus_" + customer}
}

func (a *account) pending(customer string) []billing.Pending {
	a.t.Helper()
	list, err := a.Store.LaneIntents(a.t.Context(), a.lane(customer), -1, 1000)
	if err != nil {
		a.t.Fatal(err)
	}
	return list
}

func (a *account) record(closings ...billing.Closing) {
	a.t.Helper()
	if err := a.books.RecordOutcomes(a.t.Context(), ledgertest.Tenant, closings); err != nil {
		a.t.Fatal(err)
	}
}

func (a *account) confirm(list []billing.Pending) {
	a.t.Helper()
	var closings []billing.Closing
	for _, p := range list {
		closings = append(closings, billing.Closing{Outcome: p.Outcome(billing.Confirmed, billing.ByDelivery, billing.Reply{Status: 200})})
	}
	a.record(closings...)
}

// sum is the sum of a table's column.
func (a *account) sum(column, table string) (n int64) {
	a.t.Helper()
	if err := connect(a.t, a.AdminURL).QueryRow(a.t.Context(), "SELECT coalesce(sum("+column+"), 0)::bigint FROM "+table).Scan(&n); err != nil {
		a.t.Fatal(err)
	}
	return n
}

func values(list []billing.Pending) (v []int64) {
	for _, p := range list {
		v = append(v, p.Intent.Event.Value)
	}
	return v
}

// Usage becomes intents, late usage the next one, and nothing is claimed twice.
func TestUsageBecomesIntents(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.use("r1", "a", 10*time.Minute, 5)
	a.use("r2", "a", 20*time.Minute, 7)
	a.use("r3", "a", 70*time.Minute, 9)
	a.use("r4", "b", 30*time.Minute, 11)
	a.use("r5", "nobody", 30*time.Minute, 13)
	a.use("r6", "a", -time.Minute, 17) // before billing began
	a.use("r7", "a", 30*time.Minute, 0)
	now := after(80 * time.Minute)
	if n, clash := a.plan(a.books, now); n != 2 || clash {
		t.Fatalf("%d intents, clash %v", n, clash)
	}
	if got := values(a.pending("a")); !slices.Equal(got, []int64{12}) {
		t.Errorf("customer a: %v", got)
	}
	if n, _ := a.plan(a.books, now); n != 0 {
		t.Errorf("planned again: %d intents", n)
	}
	a.use("r8", "a", 25*time.Minute, 3)
	a.plan(a.books, after(3*time.Hour))
	if got := values(a.pending("a")); !slices.Equal(got, []int64{12, 3, 9}) {
		t.Errorf("customer a: %v", got)
	}
	lanes, err := a.Store.OpenLanes(t.Context(), ledgertest.Tenant)
	if want := []billing.Lane{a.lane("a"), a.lane("b")}; err != nil || !slices.Equal(lanes, want) {
		t.Errorf("lanes %v, %v", lanes, err)
	}
	c, err := a.Store.BillingConfig(t.Context(), ledgertest.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	unmapped, tokens, err := a.Store.Unmapped(t.Context(), ledgertest.Tenant, c, "", 10)
	if err != nil || len(unmapped) != 1 || unmapped[0].CustomerID != "nobody" || unmapped[0].Lines != 1 || tokens.Int64() != 13 {
		t.Errorf("unmapped: %+v, %v, %v", unmapped, tokens, err)
	}
	checkLog(t, a.Ledger)
	if _, faults := fsck(t, a.Ledger); len(faults) > 0 {
		t.Errorf("%v", faults)
	}
}

// Two billers with stores of their own plan the same usage at once: every token is billed once, and others record meanwhile.
func TestTwoBillersBillOnce(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	const reports = 60
	for i := range reports {
		a.use(fmt.Sprintf("r%d", i), []string{"a", "b"}[i%2], time.Duration(i)*20*time.Minute, uint32(i+1))
	}
	second, err := postgres.Open(t.Context(), a.ServiceURL)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	other := postgres.StartAppender(postgres.AppenderOptions{Store: second, Keys: a.Keys, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	defer other.Close(t.Context())
	all := []*postgres.Books{a.books, postgres.NewBooks(second, other)}
	var wg sync.WaitGroup
	for n, books := range all {
		wg.Go(func() {
			for pass := range 4 { // the two look at different moments, so that their windows differ
				a.plan(books, after(time.Duration(4+pass*8+n)*time.Hour))
			}
		})
		wg.Go(func() {
			for i := range 40 {
				a.use(fmt.Sprintf("late-%d-%d", n, i), "a", time.Duration(i)*20*time.Minute, 1)
			}
		})
	}
	wg.Wait()
	for range 4 { // until nothing is left
		if n, clash := a.plan(a.books, after(48*time.Hour)); n == 0 && !clash {
			break
		}
	}
	want := a.sum("tokens", "ledger.usage_lines")
	if claimed, told := a.sum("tokens", "ledger.billing_claims"), a.sum("value", "ledger.billing_intents"); claimed != want || told != want {
		t.Errorf("%d tokens were used, %d claimed, %d told", want, claimed, told)
	}
	if n := a.Count(t, "work.billing_waiting"); n != 0 {
		t.Errorf("%d lines wait", n)
	}
	checkLog(t, a.Ledger)
}

// An intent that claims what another claims is refused by itself; who is in the same batch is not harmed.
func TestClaimsAreUnique(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	first := ledgertest.IntentSample(t, 1)
	if err := a.books.RecordIntent(t.Context(), ledgertest.Tenant, first); err != nil {
		t.Fatal(err)
	}
	if err := a.books.RecordIntent(t.Context(), ledgertest.Tenant, first); err != nil {
		t.Errorf("the same again: %v", err)
	}
	clash := ledgertest.IntentSample(t, 1)
	clash.Revision = 7
	clash.Event.Identifier = clash.Identify()
	accepted, err := kinds.NewBillingIntent(clash)
	if err != nil {
		t.Fatal(err)
	}
	list := []*kinds.Accepted{ledgertest.Consent(t, "before", "p"), accepted, ledgertest.Consent(t, "behind", "p")}
	out := a.Appender.Submit(t.Context(), ledgertest.Host, list)()
	if out[0].Err != nil || out[2].Err != nil || !errors.Is(out[1].Err, billing.ErrClaimed) {
		t.Errorf("%+v", out)
	}
	if err := a.books.RecordIntent(t.Context(), ledgertest.Tenant, clash); !errors.Is(err, billing.ErrClaimed) {
		t.Errorf("alone: %v", err)
	}
	checkLog(t, a.Ledger)
}

// An event's life: attempts are stamped, the answer is lost, an outcome closes it; a parked one is replaced, once.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	ctx := t.Context()
	a.use("r1", "a", 10*time.Minute, 5)
	a.use("r2", "a", 70*time.Minute, 7)
	now := after(3 * time.Hour)
	a.plan(a.books, now)
	list := a.pending("a")
	if len(list) != 2 || list[0].Attempts.Count != 0 || list[0].State != billing.Planned {
		t.Fatalf("%+v", list)
	}
	seqs := []int64{list[0].Seq, list[1].Seq}
	if err := a.Store.StampAttempts(ctx, ledgertest.Tenant, seqs, now); err != nil {
		t.Fatal(err)
	}
	if err := a.Store.UnstampAttempts(ctx, ledgertest.Tenant, seqs[1:]); err != nil {
		t.Fatal(err)
	}
	if err := a.Store.NoteAttempt(ctx, ledgertest.Tenant, seqs[0], now.Add(time.Minute), time.Time{}, "lost"); err != nil {
		t.Fatal(err)
	}
	list = a.pending("a")
	if got := list[0].Attempts; got.Count != 1 || !got.First.Equal(now) || !got.NextTry.Equal(now.Add(time.Minute)) || !got.AbsentSince.IsZero() || list[1].Attempts != (billing.Attempts{}) {
		t.Errorf("%+v, %+v", got, list[1].Attempts)
	}
	period := list[0].Intent.Period
	b, err := a.Store.Moment(ctx, a.lane("a"), period)
	if err != nil || b != (billing.Balance{Adding: 5, Planned: 7, Intents: 2}) {
		t.Errorf("%+v, %v", b, err)
	}
	a.record(billing.Closing{Outcome: list[0].Outcome(billing.Confirmed, billing.BySummary, billing.Reply{})},
		billing.Closing{Outcome: list[1].Outcome(billing.Parked, billing.ByRefusal, billing.Reply{Status: 400})})
	b, err = a.Store.Moment(ctx, a.lane("a"), period)
	if b.LastConfirmed.IsZero() || b.Confirmed != 5 || b.Parked != 7 || b.Adding != 0 || err != nil || len(a.pending("a")) != 0 {
		t.Errorf("%+v, %v", b, err)
	}
	if err := a.Store.StampAttempts(ctx, ledgertest.Tenant, seqs, now); !errors.Is(err, kinds.ErrNotFound) {
		t.Errorf("stamping what is settled: %v", err)
	}
	a.replaceParked(list[1], now)
	checkLog(t, a.Ledger)
	if _, faults := fsck(t, a.Ledger); len(faults) > 0 {
		t.Errorf("%v", faults)
	}
}

func (a *account) replaceParked(parked billing.Pending, now time.Time) {
	a.t.Helper()
	terms, err := a.Store.BillingTerms(a.t.Context(), ledgertest.Tenant)
	if err != nil {
		a.t.Fatal(err)
	}
	m, _ := terms.Config.Mapped("a")
	parked.Outcomes = 1
	for _, late := range []time.Duration{0, 40 * 24 * time.Hour} { // the second comes too late, and would carry
		by := billing.Replacement(parked.Intent, parked.Seq, terms.Origin, terms.Revision, terms.Config, m, now.Add(late))
		a.record(billing.Closing{Outcome: parked.Outcome(billing.Replaced, billing.ByPerson, billing.Reply{}), Replacement: &by})
	}
	if got := values(a.pending("a")); !slices.Equal(got, []int64{7}) {
		a.t.Errorf("replaced by %v", got)
	}
	if n := a.Count(a.t, "ledger.billing_outcomes"); n != 3 {
		a.t.Errorf("%d outcomes", n)
	}
}

// What is in schema work can be lost. Intents without an outcome then count as attempted when they were recorded.
func TestWorkIsRebuilt(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.use("r1", "a", 10*time.Minute, 5)
	a.use("r2", "a", 70*time.Minute, 7)
	a.use("r3", "b", 70*time.Minute, 9)
	a.use("r4", "b", 200*time.Minute, 11)
	a.plan(a.books, after(3*time.Hour))
	a.confirm(a.pending("b"))
	asAdmin(t, a.Ledger, `TRUNCATE work.billing_feeds, work.billing_waiting, work.billing_open, work.billing_lanes`)
	if _, err := a.Store.OpenLanes(t.Context(), ledgertest.Tenant); err != nil {
		t.Fatal(err)
	}
	list := a.pending("a")
	if !slices.Equal(values(list), []int64{5, 7}) || len(a.pending("b")) != 0 {
		t.Errorf("pending %v and %v", values(list), values(a.pending("b")))
	}
	for _, p := range list {
		e, err := a.Store.Entry(t.Context(), ledgertest.Tenant, auditor, p.Seq)
		if err != nil || p.Attempts.Count != 1 || !p.Attempts.First.Equal(e.RecordedAt) {
			t.Errorf("intent %d, recorded at %v: %+v, %v", p.Seq, e.RecordedAt, p.Attempts, err)
		}
	}
	if n, _ := a.plan(a.books, after(6*time.Hour)); n != 1 {
		t.Errorf("%d intents", n)
	}
	if got := a.pending("b"); !slices.Equal(values(got), []int64{11}) || got[0].Attempts.Count != 0 {
		t.Errorf("%+v", got)
	}
}

// Another revision counts other usage from its own on, also of what came before; what was planned stays.
func TestRevisions(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.use("r1", "a", 10*time.Minute, 5)
	a.use("r2", "c", 10*time.Minute, 7)
	a.use("r3", "a", -40*time.Minute, 9)
	a.plan(a.books, after(3*time.Hour))
	c, err := a.Store.BillingConfig(t.Context(), ledgertest.Tenant)
	if err != nil || c.Revision != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	same := ledgertest.BillingConfig(t, c, "a", "b")
	if r, err := a.Appender.Append(t.Context(), admin, same); err != nil || !r.Replayed {
		t.Errorf("the same configuration again: %+v, %v", r, err)
	}
	artifact := ledgertest.BillingArtifact("a", "b", "c")
	artifact = strings.Replace(artifact, ledgertest.BillingStart.Format(time.RFC3339), ledgertest.BillingStart.Add(-time.Hour).Format(time.RFC3339), 1)
	next, err := kinds.BillingConfigKind.Accept(kinds.Submission{Artifact: []byte(artifact)}, kinds.Env{Billing: c})
	if err != nil || next.Key != "2" {
		t.Fatalf("%+v, %v", next, err)
	}
	a.append(admin, next)
	if n, _ := a.plan(a.books, after(3*time.Hour)); n != 2 {
		t.Errorf("%d intents", n)
	}
	if got := values(a.pending("a")); !slices.Equal(got, []int64{5, 9}) {
		t.Errorf("customer a: %v", got)
	}
	if got := values(a.pending("c")); !slices.Equal(got, []int64{7}) {
		t.Errorf("customer c: %v", got)
	}
	all, err := a.Store.BillingConfigs(t.Context(), ledgertest.Tenant)
	if err != nil || len(all) != 2 || all[1].Revision != 2 {
		t.Errorf("%v, %v", all, err)
	}
	for customer, want := range map[string][]string{"a": {"cus_a"}, "c": {"cus_c"}, "nobody": {}} {
		if billed, err := a.Store.BilledTo(t.Context(), ledgertest.Tenant, customer); err != nil || !slices.Equal(billed, want) {
			t.Errorf("%s is billed to %v, %v", customer, billed, err)
		}
	}
}

func TestLanesAreHeldByOne(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	ctx := t.Context()
	hold := func(holder string, lease time.Duration) bool {
		held, err := a.Store.HoldLane(ctx, a.lane("a"), holder, lease)
		if err != nil {
			t.Fatal(err)
		}
		return held
	}
	if !hold("one", time.Hour) || hold("two", time.Hour) || !hold("one", time.Hour) {
		t.Error("a lane is held by one at a time")
	}
	if err := a.Store.ReleaseLane(ctx, a.lane("a"), "two"); err != nil || hold("two", time.Hour) {
		t.Errorf("somebody else released it: %v", err)
	}
	if err := a.Store.ReleaseLane(ctx, a.lane("a"), "one"); err != nil || !hold("two", -time.Second) || !hold("three", time.Hour) {
		t.Errorf("a lease that is over is another's: %v", err)
	}
}

// What reconciliation keeps: the confirmed events that a summary lacks, and how each period stands.
func TestReconciliationIsKept(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	ctx := t.Context()
	a.use("r1", "a", 10*time.Minute, 5)
	a.use("r2", "a", 70*time.Minute, 7)
	a.use("r3", "b", 70*time.Minute, 9)
	a.plan(a.books, after(3*time.Hour))
	a.confirm(a.pending("a"))
	all := billing.Period{Start: after(0), End: after(24 * time.Hour)}
	confirmed, err := a.Store.ConfirmedIn(ctx, a.lane("a"), all)
	if err != nil || !slices.Equal(values(confirmed), []int64{5, 7}) || confirmed[0].Outcomes != 1 {
		t.Fatalf("%+v, %v", confirmed, err)
	}
	named, err := a.Store.IntentNamed(ctx, ledgertest.Tenant, confirmed[0].Intent.Event.Identifier)
	if err != nil || named.Seq != confirmed[0].Seq || named.State != billing.Confirmed {
		t.Errorf("%+v, %v", named, err)
	}
	if _, err := a.Store.Intent(ctx, "umbrella", named.Seq); !errors.Is(err, billing.ErrNoIntent) {
		t.Errorf("another tenant's: %v", err)
	}
	if _, err := a.Store.IntentNamed(ctx, ledgertest.Tenant, "led1_0"); !errors.Is(err, billing.ErrNoIntent) {
		t.Errorf("an unknown one: %v", err)
	}
	for from, want := range map[time.Duration]int{0: 2, 2 * time.Hour: 0} {
		if lanes, err := a.Store.BilledLanes(ctx, ledgertest.Tenant, after(from)); err != nil || len(lanes) != want {
			t.Errorf("from %v: %v, %v", from, lanes, err)
		}
	}
	a.keepAbsence(confirmed, all)
	standing := billing.Standing{CustomerID: "a", StripeCustomer: "cus_a", MeterID: "mtr_1", Period: all, Total: 9, Agreement: billing.Lower, Detail: "d",
		Balance: billing.Balance{Confirmed: 12, Intents: 2, LastConfirmed: after(time.Hour)}, CheckedAt: after(5 * time.Hour)}
	if err := a.Store.NoteStanding(ctx, a.lane("a"), standing); err != nil {
		t.Fatal(err)
	}
	if kept, err := a.Store.Standings(ctx, ledgertest.Tenant, after(0)); err != nil || len(kept) != 1 || kept[0] != standing {
		t.Errorf("%+v, %v", kept, err)
	}
	a.use("r4", "nobody", 10*time.Minute, 100)
	if _, err := a.Store.OpenLanes(ctx, ledgertest.Tenant); err != nil {
		t.Fatal(err)
	}
	g, err := a.Store.BillingGauges(ctx)
	if g.OldestPending = 0; err != nil || g != (billing.Gauges{Pending: 1, UnmappedTokens: 100, DriftTokens: 3, Disagreements: 1}) {
		t.Errorf("%+v, %v", g, err)
	}
}

// keepAbsence: an event that is missing keeps its first time while it is, and loses it when it is there again.
func (a *account) keepAbsence(list []billing.Pending, p billing.Period) {
	a.t.Helper()
	first, second := list[0].Seq, list[1].Seq
	for n, c := range []struct {
		absent []int64
		now    time.Duration
		want   map[int64]time.Duration
	}{
		{[]int64{first}, time.Hour, map[int64]time.Duration{first: time.Hour}},
		{[]int64{first, second}, 2 * time.Hour, map[int64]time.Duration{first: time.Hour, second: 2 * time.Hour}},
		{[]int64{second}, 3 * time.Hour, map[int64]time.Duration{second: 2 * time.Hour}},
		{nil, 4 * time.Hour, map[int64]time.Duration{}},
		{[]int64{second}, 5 * time.Hour, map[int64]time.Duration{second: 5 * time.Hour}},
	} {
		since, err := a.Store.NoteAbsent(a.t.Context(), a.lane("a"), p, c.absent, after(c.now))
		if err != nil || len(since) != len(c.want) {
			a.t.Fatalf("step %d: %v, %v", n, since, err)
		}
		for seq, at := range c.want {
			if !since[seq].Equal(after(at)) {
				a.t.Errorf("step %d: intent %d since %v", n, seq, since[seq])
			}
		}
	}
}

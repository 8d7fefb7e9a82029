package postgres_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/metering"
	"ledgerd/metering/billing"
)

// replacement is the report of ledgertest.Usage again, with other tokens.
func replacement(at time.Duration, tokens int) string {
	return fmt.Sprintf(`{"budget_requested":1,"budget_consumed":%d,"as_of":%q,"providers":[{"provider_id":"wiki","frames_served":1,"frames_rejected":0,"token_cost":%d,`+
		`"served_frames":[{"frame":{"provider_id":"wiki","frame_id":"page/a","content_digest":"sha256:1"},"token_cost":%d}]}]}`,
		tokens, after(at).Format("2006-01-02T15:04:05Z"), tokens, tokens)
}

func (a *account) total() int64 {
	a.t.Helper()
	q := metering.Question{Tenant: ledgertest.Tenant, From: after(-time.Hour), To: after(30 * 24 * time.Hour), Below: math.MaxInt64}
	tokens, _, err := a.Store.UsageTotal(a.t.Context(), q)
	if err != nil {
		a.t.Fatal(err)
	}
	return tokens.Int64()
}

// Sums follow a correction, a report is corrected once, and a replacement can be corrected in its turn.
func TestCorrections(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	at := 10 * time.Minute
	report := a.use("r1", "a", at, 100)
	first := fmt.Sprintf(`{"request_id":"r1","reason":"counted twice","replacement":%s}`, replacement(at, 40))
	seq, err := a.correct(first)
	if err != nil || a.total() != 40 {
		t.Fatalf("%d tokens, %v", a.total(), err)
	}
	if again, err := a.correct(first); err != nil || again != seq {
		t.Errorf("the same again: entry %d, %v", again, err)
	}
	var conflict *kinds.ConflictError
	if _, err := a.correct(fmt.Sprintf(`{"seq":%d,"reason":"once more"}`, report)); !errors.As(err, &conflict) || conflict.Seq != seq {
		t.Errorf("a second correction: %v", err)
	}
	second, err := a.correct(fmt.Sprintf(`{"seq":%d,"reason":"not used at all"}`, seq))
	if err != nil || a.total() != 0 {
		t.Fatalf("%d tokens, %v", a.total(), err)
	}
	consent := a.append(ledgertest.Host, ledgertest.Consent(t, "k", "p"))
	for artifact, code := range map[string]string{
		fmt.Sprintf(`{"seq":%d,"reason":"r"}`, second):  "nothing-to-correct", // nothing is left
		fmt.Sprintf(`{"seq":%d,"reason":"r"}`, consent): "nothing-to-correct",
		`{"reason":"r"}`: "nothing-to-correct",
		`{"seq":0,"request_id":"r1","reason":"r"}`: "nothing-to-correct",
		`{"request_id":"r1","reason":""}`:          "identifier-malformed",
		fmt.Sprintf(`{"request_id":"r1","reason":"r","replacement":%s}`, replacement(at+time.Second, 1)):               "as-of-not-acceptable",
		`{"request_id":"r1","reason":"r","replacement":{"budget_requested":1,"budget_consumed":1,"as_of":"x"}}`:        "usage-inconsistent",
		`{"request_id":"r1","reason":"r","replacement":{"budget_requested":1,"budget_consumed":0,"as_of":"tomorrow"}}`: "as-of-not-acceptable",
	} {
		var refused *kinds.Rejection
		if _, err := a.correct(artifact); !errors.As(err, &refused) || refused.Code != code {
			t.Errorf("%s: %v, want %s", artifact, err, code)
		}
	}
	if _, err := a.correct(`{"request_id":"unknown","reason":"r"}`); !errors.Is(err, kinds.ErrNotFound) {
		t.Errorf("an unknown report: %v", err)
	}
	checkLog(t, a.Ledger)
	if _, faults := fsck(t, a.Ledger); len(faults) > 0 {
		t.Errorf("%v", faults)
	}
}

// What was billed is taken back by a delta of its own; of what was not billed only the rest is told.
func TestCorrectionsAreBilled(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.use("r1", "a", 10*time.Minute, 100)
	a.use("r2", "a", 70*time.Minute, 50)
	a.plan(a.books, after(80*time.Minute))
	correct := func(artifact string) {
		t.Helper()
		if _, err := a.correct(artifact); err != nil {
			t.Fatal(err)
		}
	}
	correct(`{"request_id":"r1","reason":"not used"}`)
	correct(fmt.Sprintf(`{"request_id":"r2","reason":"fewer","replacement":%s}`, replacement(70*time.Minute, 20)))
	a.plan(a.books, after(3*time.Hour))
	if got := fmt.Sprint(values(a.pending("a"))); got != "[100 20]" {
		t.Errorf("while nothing is confirmed: %s", got)
	}
	a.confirm(a.pending("a"))
	a.plan(a.books, after(3*time.Hour))
	if got := fmt.Sprint(values(a.pending("a"))); got != "[-100]" {
		t.Errorf("then: %s", got)
	}
	if claimed, used := a.sum("tokens", "ledger.billing_claims"), a.sum("tokens", "ledger.usage_lines"); claimed != used || used != 20 {
		t.Errorf("%d claimed of %d", claimed, used)
	}
}

// A correction of the largest report fits into an entry.
func TestCorrectionOfTheLargestReport(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	const frames = 9_500
	list := ""
	for i := range frames {
		if i > 0 {
			list += ","
		}
		list += fmt.Sprintf(`{"frame":{"provider_id":"wiki","frame_id":"page/%06d","content_digest":null},"token_cost":2}`, i)
	}
	artifact := fmt.Appendf(nil, `{"budget_requested":1,"budget_consumed":%d,"as_of":%q,"providers":[{"provider_id":"wiki","frames_served":%d,"frames_rejected":0,"token_cost":%d,"served_frames":[%s]}]}`,
		2*frames, after(0).Format("2006-01-02T15:04:05Z"), frames, 2*frames, list)
	report, err := kinds.UsageReport.Accept(kinds.Submission{Artifact: artifact, Context: []byte(`{"request_id":"large","turn_id":"t","customer_id":"a"}`)}, kinds.Env{Now: after(0)})
	if err != nil {
		t.Fatal(err)
	}
	a.append(ledgertest.Host, report)
	if _, err := a.correct(`{"request_id":"large","reason":"not used"}`); err != nil {
		t.Fatal(err)
	}
	if n := a.total(); n != 0 {
		t.Errorf("%d tokens are left", n)
	}
	if n := a.sum("s", "(SELECT sum(t) AS s FROM ledger.usage_lines, unnest(frame_tokens) t GROUP BY seq) x"); n != 0 {
		t.Errorf("by frame %d tokens are left", n)
	}
}

// An erasure takes the customer from a report and its correction. What is mapped is billed all the same; sums stay.
func TestErasedUsageIsBilled(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	first := a.use("r1", "a", 10*time.Minute, 100)
	a.use("r2", "nobody", 10*time.Minute, 7)
	seq, err := a.correct(fmt.Sprintf(`{"request_id":"r1","reason":"fewer","replacement":%s}`, replacement(10*time.Minute, 60)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Store.DueCustomers(t.Context(), ledgertest.Tenant, after(0), after(time.Hour)); err != nil { // it waits for the window's end
		t.Fatal(err)
	}
	for customer, want := range map[string]int{"a": 2, "nobody": 1} {
		targets, err := a.Store.FindErasureTargets(t.Context(), ledgertest.Tenant, kinds.ErasureFilter{CustomerID: customer})
		if err != nil || len(targets) != want {
			t.Fatalf("%s: %v, %v", customer, targets, err)
		}
		seqs := []int64{}
		for _, target := range targets {
			seqs = append(seqs, target.Seq)
		}
		a.append(admin, erasure(t, seqs...))
	}
	var gone *kinds.ErasedError
	if _, err := a.correct(fmt.Sprintf(`{"seq":%d,"reason":"r"}`, seq)); !errors.As(err, &gone) || gone.Seq != seq {
		t.Errorf("correcting what was erased: %v", err)
	}
	a.plan(a.books, after(3*time.Hour))
	if got := fmt.Sprint(values(a.pending("a"))); got != "[60]" {
		t.Errorf("billed: %s", got)
	}
	if n := a.Count(t, "work.billing_waiting"); n != 0 {
		t.Errorf("%d lines of an erased customer wait for ever", n)
	}
	if n := a.Count(t, fmt.Sprintf("ledger.billing_claims WHERE usage_seq IN (%d, %d)", first, seq)); n != 2 {
		t.Errorf("%d claims", n)
	}
	for _, pending := range a.pending("a") {
		var refused *kinds.Rejection
		if _, err := a.Appender.Append(t.Context(), admin, erasure(t, pending.Seq)); !errors.As(err, &refused) || refused.Code != "not-erasable" {
			t.Errorf("an intent is erased: %v", err)
		}
	}
	checkLog(t, a.Ledger)
	if _, faults := fsck(t, a.Ledger); len(faults) > 0 {
		t.Errorf("%v", faults)
	}
}

// 10,001 reports of one customer wait: three intents, each claim once.
func TestManyPendingReports(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	const reports = 10_001
	var list []*kinds.Accepted
	for i := range reports {
		list = append(list, ledgertest.Usage(t, fmt.Sprintf("r%d", i), "a", after(time.Duration(i)*time.Millisecond), 3))
		if len(list) == 1000 || i == reports-1 {
			for _, o := range a.Appender.AppendAll(t.Context(), ledgertest.Host, list) {
				if o.Err != nil {
					t.Fatal(o.Err)
				}
			}
			list = list[:0]
		}
	}
	if n, clash := a.plan(a.books, after(3*time.Hour)); n != 3 || clash {
		t.Errorf("%d intents, clash %v", n, clash)
	}
	want := int64(3 * reports)
	if got := a.sum("value", "ledger.billing_intents"); got != want || a.Count(t, "ledger.billing_claims") != reports {
		t.Errorf("%d tokens, want %d", got, want)
	}
	if b, err := a.Store.Moment(t.Context(), a.lane("a"), billing.Period{Start: after(0), End: after(24 * time.Hour)}); err != nil || b.Planned != want || b.Intents != 3 {
		t.Errorf("%+v, %v", b, err)
	}
}

package postgres_test

import (
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/metering/billing"
)

// BenchmarkDispute decides a dispute over a customer's period with 10,000 reports of 1.5 KB, billed hour by hour and confirmed, and
// records it: every entry of the chain verified again.
func BenchmarkDispute(b *testing.B) {
	const reports = 10_000
	debug.SetGCPercent(400) // as ledgerd does
	l := ledgertest.New(b)
	from := chargeMonth(b, l, reports)
	to := from.Add(48 * time.Hour)
	d := &postgres.Disputes{Store: l.Store, Append: l.Appender.Append, Verifiers: l.Keys.Verifiers()}
	b.ReportAllocs()
	b.ResetTimer()
	size := 0
	for i := 0; b.Loop(); i++ {
		r := kinds.DisputeRequest{ID: fmt.Sprint("dsp_", i), Reason: "too much", Question: kinds.DisputeQuestion{CustomerID: "a", From: &from, To: &to}}
		raised, err := d.Raise(b.Context(), disputant, r)
		if err != nil || raised.Recorded == nil {
			b.Fatal(raised, err)
		}
		e, a, err := l.Store.Dispute(b.Context(), ledgertest.Tenant, r.ID)
		if err != nil || a.Result != kinds.DisputeExplained || len(a.Entries.Reports) != reports {
			b.Fatalf("%s with %d reports: %+v, %v", a.Result, len(a.Entries.Reports), found(a), err)
		}
		size = len(e.Content)
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/dispute")
	b.ReportMetric(float64(size)/1024, "KiB/entry")
}

// chargeMonth records consent, reports of customer a, the intents that bill them and their outcomes.
func chargeMonth(b *testing.B, l *ledgertest.Ledger, n int) (from time.Time) {
	b.Helper()
	submit := func(who kinds.Poster, list ...*kinds.Accepted) []kinds.Outcome {
		outcomes := l.Appender.Submit(b.Context(), who, list)()
		for _, o := range outcomes {
			if o.Err != nil {
				b.Fatal(o.Err)
			}
		}
		return outcomes
	}
	submit(admin, ledgertest.BillingConfig(b, nil, "a"))
	declared, err := kinds.ProviderDeclaration.Accept(kinds.Submission{Artifact: []byte(wikiDeclaration), Key: "d"}, kinds.Env{Now: time.Now()})
	if err != nil {
		b.Fatal(err)
	}
	submit(ledgertest.Host, declared, ledgertest.Consent(b, "k", "wiki"))
	at := time.Now().UTC().Add(time.Second)
	var lines []billing.Line
	for len(lines) < n {
		var list []*kinds.Accepted
		for range 500 {
			list = append(list, richUsage(b, len(lines)+len(list), at))
		}
		for _, o := range submit(ledgertest.Host, list...) {
			lines = append(lines, billing.Line{Seq: o.Recorded.Seq, ProviderID: "wiki", AsOf: at, Tokens: 80})
		}
	}
	bill(b, l, lines, at)
	return at.Add(-24 * time.Hour)
}

// richUsage is a report of some 1.5 KB: eight frames of 10 tokens.
func richUsage(b *testing.B, n int, at time.Time) *kinds.Accepted {
	b.Helper()
	var served []string
	for i := range 8 {
		served = append(served, fmt.Sprintf(`{"frame":{"provider_id":"wiki","frame_id":"page/%d/%d","content_digest":"sha256:%064x"},"token_cost":10}`, n%500, i, n+i))
	}
	artifact := fmt.Sprintf(`{"budget_requested":100,"budget_consumed":80,"as_of":%q,"providers":[{"provider_id":"wiki","frames_served":8,"frames_rejected":0,"token_cost":80,"served_frames":[%s]}]}`,
		at.Format("2006-01-02T15:04:05.000000Z"), strings.Join(served, ","))
	context := fmt.Sprintf(`{"request_id":"req-%d","turn_id":"turn-%d","customer_id":"a"}`, n, n/3)
	a, err := kinds.UsageReport.Accept(kinds.Submission{Artifact: []byte(artifact), Context: []byte(context)}, kinds.Env{Now: at})
	if err != nil {
		b.Fatal(err)
	}
	return a
}

// bill plans lines, and records the intents as confirmed.
func bill(b *testing.B, l *ledgertest.Ledger, lines []billing.Line, at time.Time) {
	b.Helper()
	terms, err := l.Store.BillingTerms(b.Context(), ledgertest.Tenant)
	if err != nil {
		b.Fatal(err)
	}
	mapping, _ := terms.Config.Mapped("a")
	plan := billing.Make(billing.Ask{Origin: terms.Origin, Revision: terms.Revision, Config: terms.Config, Mapping: mapping, Lines: lines, Now: at.Add(3 * time.Hour)})
	books := postgres.NewBooks(l.Store, l.Appender)
	for _, i := range plan.Intents {
		if err := books.RecordIntent(b.Context(), ledgertest.Tenant, i); err != nil {
			b.Fatal(err)
		}
	}
	pending, err := l.Store.LaneIntents(b.Context(), billing.Lane{Tenant: ledgertest.Tenant, MeterID: "mtr_1", Customer: "cus_a"}, -1, 1000)
	if err != nil {
		b.Fatal(err)
	}
	var closings []billing.Closing
	for _, p := range pending {
		closings = append(closings, billing.Closing{Outcome: p.Outcome(billing.Confirmed, billing.ByDelivery, billing.Reply{Status: 200})})
	}
	if err := books.RecordOutcomes(b.Context(), ledgertest.Tenant, closings); err != nil {
		b.Fatal(err)
	}
}

package postgres_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

// population is a ledger with an entry of every kind that can be erased, each by a name of the test's.
type population struct {
	*ledgertest.Ledger
	t     *testing.T
	names map[int64]string
	kinds map[int64]*kinds.Kind
}

// Customer a has a report with lines, of the turn of the context records; solo one that reached no provider. The reports are of
// June 2025, receipts and most consents of January 2026, all is recorded now.
func newPopulation(t *testing.T) *population {
	t.Helper()
	p := &population{Ledger: ledgertest.New(t), t: t, names: map[int64]string{}, kinds: map[int64]*kinds.Kind{}}
	turn := ledgertest.NewTurn(t, 0).ID
	for i, a := range ledgertest.SampleFirst(t) {
		p.add([]string{"policy", "profile", "snapshot", "plan"}[i], a)
	}
	for name, k := range map[string]*kinds.Kind{
		"assembly": &kinds.ContextAssembly, "compaction": &kinds.ContextCompaction, "recovery": &kinds.ContextRecovery,
		"verification": &kinds.FrameVerification, "consent": &kinds.ConsentReceipt, "revocation": &kinds.ConsentRevocation, "declaration": &kinds.ProviderDeclaration,
	} {
		p.add(name, ledgertest.Sample(t, k, 1))
	}
	const june = "2025-06-10T08:00:00Z"
	const served = `,"providers":[{"provider_id":"wiki","frames_served":1,"frames_rejected":0,"token_cost":1,"served_frames":[{"frame":{"provider_id":"wiki","frame_id":"f"},"token_cost":1}]}]`
	p.accept("report", &kinds.UsageReport, `{"as_of":"`+june+`","budget_requested":1,"budget_consumed":1`+served+`}`, `{"request_id":"req-1","turn_id":"`+turn+`","customer_id":"a"}`)
	p.accept("bare", &kinds.UsageReport, `{"as_of":"`+june+`","budget_requested":1,"budget_consumed":0}`, `{"request_id":"req-777","turn_id":"t","customer_id":"solo"}`)
	p.add("receipt", ledgertest.Sample(t, &kinds.ReceiptBundle, 1))
	p.add("bare receipt", ledgertest.Sample(t, &kinds.ReceiptBundle, 777))
	p.accept("conflict", &kinds.Conflict, `{"kind":"context-snapshot","key":"s","claim":"turn_id","held_by":2,"ordinal":1,"artifact":{},"context":{}}`, "")
	p.accept("undated", &kinds.ConsentReceipt, `{"provider_id":"p","scope":"third-party-model","provider_name":"N","provider_version":"1","grantor":{"kind":"human","id":"maria@example"},"granted_at":"last May"}`, "")
	p.accept("record", &kinds.ConsentRecord, `{"provider_id":"p","data_flow":{"reads":true,"egress":true,"egress_scopes":[]},"granted_scope":"s"}`, "")
	p.dispute("dispute", `{"customer_id":"a","from":"2025-05-15T00:00:00Z","to":"2025-06-15T00:00:00Z"}`)
	p.dispute("bare dispute", `{"request_id":"req-777"}`)
	p.dispute("receipt dispute", `{"receipt_id":"air1_sample_1"}`)
	return p
}

func (p *population) add(name string, a *kinds.Accepted) int64 {
	p.t.Helper()
	r, err := p.Appender.Append(p.t.Context(), ledgertest.Host, a)
	if err != nil {
		p.t.Fatalf("%s: %v", name, err)
	}
	p.names[r.Seq], p.kinds[r.Seq] = name, a.Kind
	return r.Seq
}

func (p *population) accept(name string, k *kinds.Kind, artifact, context string) int64 {
	p.t.Helper()
	s := kinds.Submission{Artifact: []byte(artifact), Key: "key " + name}
	if context != "" {
		s.Context = []byte(context)
	}
	a, err := k.Accept(s, kinds.Env{Now: time.Date(2025, 6, 10, 8, 0, 0, 0, time.UTC)})
	if err != nil {
		p.t.Fatalf("%s: %v", name, err)
	}
	return p.add(name, a)
}

// dispute is a sample with another question.
func (p *population) dispute(name, question string) {
	p.t.Helper()
	artifact := ledgertest.Sample(p.t, &kinds.Dispute, len(p.names)).Content.Artifact
	from := bytes.Index(artifact, []byte(`"question":{`)) + len(`"question":`)
	to := from + bytes.IndexByte(artifact[from:], '}') + 1
	p.accept(name, &kinds.Dispute, string(artifact[:from])+question+string(artifact[to:]), "")
}

func (p *population) seq(name string) int64 {
	p.t.Helper()
	for seq, n := range p.names {
		if n == name {
			return seq
		}
	}
	p.t.Fatalf("nothing is called %s", name)
	return -1
}

func (p *population) find(f kinds.ErasureFilter) []kinds.ErasureTarget {
	p.t.Helper()
	targets, err := p.Store.FindErasureTargets(p.t.Context(), ledgertest.Tenant, f)
	if err != nil {
		p.t.Fatal(err)
	}
	return targets
}

// named are the names of targets, sorted.
func (p *population) named(targets []kinds.ErasureTarget) string {
	var list []string
	for _, target := range targets {
		list = append(list, p.names[target.Seq])
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func (p *population) erase(seqs ...int64) {
	p.t.Helper()
	if _, err := p.Appender.Append(p.t.Context(), admin, erasure(p.t, seqs...)); err != nil {
		p.t.Fatal(err)
	}
}

const ofTurn = "assembly, compaction, conflict, dispute, plan, receipt, receipt dispute, recovery, report, snapshot"

// What a filter finds can be erased, and then the filter finds nothing any more, and the log verifies.
func TestErasureFilters(t *testing.T) {
	t.Parallel()
	at := func(s string) *time.Time {
		v, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return &v
	}
	hourAgo := time.Now().Add(-time.Hour)
	withoutDispute := strings.Replace(ofTurn, "dispute, ", "", 1)
	for name, c := range map[string]struct {
		filter kinds.ErasureFilter
		want   string
	}{
		"a customer":                     {kinds.ErasureFilter{CustomerID: "a"}, ofTurn},
		"one without providers":          {kinds.ErasureFilter{CustomerID: "solo"}, "bare, bare dispute, bare receipt"},
		"a customer at a provider":       {kinds.ErasureFilter{CustomerID: "a", ProviderID: "wiki"}, withoutDispute},
		"a customer's month":             {kinds.ErasureFilter{CustomerID: "a", From: at("2025-06-01"), To: at("2025-07-01")}, ofTurn},
		"whose dispute overlaps":         {kinds.ErasureFilter{CustomerID: "a", From: at("2025-05-01"), To: at("2025-05-16")}, "dispute"},
		"whose dispute is over":          {kinds.ErasureFilter{CustomerID: "a", From: at("2025-06-15"), To: at("2025-06-16")}, ""},
		"the month of a receipt":         {kinds.ErasureFilter{CustomerID: "solo", From: at("2026-01-01"), To: at("2026-02-01")}, "bare receipt"},
		"another's":                      {kinds.ErasureFilter{CustomerID: "b"}, ""},
		"a grantor":                      {kinds.ErasureFilter{GrantorID: "maria@example"}, "consent, revocation, undated"},
		"a grantor, undated":             {kinds.ErasureFilter{GrantorID: "maria@example", From: &hourAgo}, "undated"},
		"a grantor's other month":        {kinds.ErasureFilter{GrantorID: "maria@example", From: at("2025-02-01"), To: at("2025-03-01")}, ""},
		"what was recorded just now":     {kinds.ErasureFilter{From: &hourAgo}, "assembly, bare dispute, compaction, conflict, plan, profile, receipt dispute, record, recovery, snapshot, undated"},
		"a month without anything of it": {kinds.ErasureFilter{From: at("2024-02-01"), To: at("2024-03-01")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPopulation(t)
			targets := p.find(c.filter)
			if got := p.named(targets); got != c.want {
				t.Fatalf("found\n%s, not\n%s", got, c.want)
			}
			var seqs []int64
			for _, target := range targets {
				if target.Kind != p.kinds[target.Seq].Name || target.Erased {
					t.Errorf("%+v", target)
				}
				seqs = append(seqs, target.Seq)
			}
			if len(seqs) == 0 {
				return
			}
			p.erase(seqs...)
			if left := p.find(c.filter); len(left) > 0 {
				t.Errorf("left: %s", p.named(left))
			}
			if n := p.Count(t, "ledger.contents WHERE content IS NULL"); n != len(seqs) {
				t.Errorf("%d contents are gone of %d", n, len(seqs))
			}
			checkLog(t, p.Ledger)
		})
	}
}

// Whoever erases by seqs is told what would be found no more, before and afterwards.
func TestErasureLeavings(t *testing.T) {
	t.Parallel()
	p := newPopulation(t)
	left := func(names ...string) string {
		t.Helper()
		var seqs []int64
		for _, name := range names {
			seqs = append(seqs, p.seq(name))
		}
		list, err := p.Store.ErasureLeavings(t.Context(), ledgertest.Tenant, seqs)
		if err != nil {
			t.Fatal(err)
		}
		return p.named(list)
	}
	for names, want := range map[string]string{
		"report":                  "assembly, compaction, conflict, plan, receipt, receipt dispute, recovery, snapshot",
		"report,receipt,snapshot": "assembly, compaction, conflict, plan, receipt dispute, recovery",
		"receipt":                 "receipt dispute",
		"snapshot":                "conflict, plan",
		"consent":                 "",
	} {
		if got := left(strings.Split(names, ",")...); got != want {
			t.Errorf("%s leaves %s, not %s", names, got, want)
		}
	}
	p.erase(p.seq("bare"))
	if got := left("bare"); got != "bare dispute, bare receipt" { // the request's id is no personal column
		t.Errorf("afterwards: %s", got)
	}
	if list, err := p.Store.ErasureLeavings(t.Context(), "umbrella", []int64{p.seq("report")}); err != nil || len(list) > 0 {
		t.Errorf("another tenant's: %v, %v", list, err)
	}
}

// A filter finds each kind that can be erased: some period all of them, and a person those with a personal column, but for those
// that say here why no person does.
func TestErasureFiltersKnowEveryKind(t *testing.T) {
	t.Parallel()
	namesNobody := map[*kinds.Kind]string{
		&kinds.ContextProfile:      "an operator's revision, which the turns of many customers share",
		&kinds.ConsentRecord:       "it states no grantor; what is personal is free text",
		&kinds.FrameVerification:   "it is about a provider's frames, and states neither request nor customer",
		&kinds.ProviderDeclaration: "nothing in it is personal",
	}
	p := newPopulation(t)
	p.add("correction", ledgertest.Sample(t, &kinds.Correction, 1)) // of customer "customer"
	foundBy := func(filters ...kinds.ErasureFilter) map[string]bool {
		found := map[string]bool{}
		for _, f := range filters {
			for _, target := range p.find(f) {
				found[target.Kind] = true
			}
		}
		return found
	}
	begin := time.Unix(0, 0)
	byPeriod := foundBy(kinds.ErasureFilter{From: &begin})
	byPerson := foundBy(kinds.ErasureFilter{CustomerID: "a"}, kinds.ErasureFilter{CustomerID: "customer"}, kinds.ErasureFilter{GrantorID: "maria@example"})
	for _, k := range kinds.All() {
		if reason := namesNobody[k]; k.Erasable() && (!byPeriod[k.Name] || byPerson[k.Name] != (reason == "")) {
			t.Errorf("%s: found by a period: %t; by a person: %t; excepted: %q", k.Name, byPeriod[k.Name], byPerson[k.Name], reason)
		}
	}
}

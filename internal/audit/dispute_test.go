package audit_test

import (
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/metering/billing"
	"ledgerd/receipts"
)

var disputeDay = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// disputed is a chain in which all is well: n reports of one provider, an hour apart, billed a day at a time.
func disputed(n int) audit.DisputeEvidence {
	granted := disputeDay.Add(-48 * time.Hour)
	stamp := granted.Format(time.RFC3339)
	e := audit.DisputeEvidence{
		Question: kinds.DisputeQuestion{CustomerID: "acme", From: &disputeDay},
		Terms:    &billing.Config{Start: disputeDay, Customers: []billing.Mapping{{CustomerID: "acme", Customer: "cus_1"}}},
		Checked:  audit.Checked{},
		Gate: audit.NewGate(audit.Consents{Grants: []audit.Grant{{Seq: 2, RecordedAt: granted, Receipt: receipts.ConsentReceipt{
			ProviderID: "p", Scope: receipts.ThirdPartyModel, Grantor: receipts.Grantor{Kind: receipts.Human, ID: "m"}, GrantedAt: stamp,
		}}}}, []audit.Declaration{{Seq: 1, RecordedAt: granted, DeclaredAt: granted, Event: receipts.Declaration{ProviderID: "p", Provider: receipts.ProviderInfo{
			Name: "P", Version: "1", DataFlow: receipts.DataFlow{Egress: true, EgressScopes: []receipts.EgressScope{receipts.ThirdPartyModel}},
		}}}}),
	}
	end := disputeDay.Add(time.Duration(n+24) * time.Hour)
	e.Question.To = &end
	for i := range n {
		at := disputeDay.Add(time.Duration(i) * time.Hour)
		e.Lines = append(e.Lines, audit.DisputedLine{CustomerID: "acme", FrameCost: int64(100 + i), UsageLine: audit.UsageLine{
			Seq: int64(10 + i), RecordedAt: at, RequestID: fmt.Sprint("r", i), ProviderID: "p", AsOf: at, FramesServed: 1, Tokens: int64(100 + i),
			Frames: []audit.ServedFrame{{Tokens: int64(100 + i)}},
		}})
	}
	for day := 0; day*24 < n; day++ {
		start := disputeDay.Add(time.Duration(day) * 24 * time.Hour)
		i := billing.Intent{Window: billing.Period{Start: start, End: start.Add(24 * time.Hour)}, Period: billing.Period{Start: disputeDay, End: disputeDay.AddDate(0, 1, 0)}}
		for _, l := range e.Lines[day*24 : min(n, day*24+24)] {
			i.Claims = append(i.Claims, billing.Claim{Seq: l.Seq, ProviderID: "p", Tokens: l.Tokens})
			i.Event.Value += l.Tokens
			e.Claims = append(e.Claims, audit.DisputedClaim{Intent: int64(5000 + day), UsageSeq: l.Seq, ProviderID: "p", Tokens: l.Tokens})
		}
		i.Event.Timestamp = i.Window.End.Add(-time.Second)
		i.Event.Identifier = i.Identify()
		e.Intents = append(e.Intents, audit.DisputedIntent{Seq: int64(5000 + day), Intent: i, State: billing.Confirmed, Outcomes: []int64{int64(6000 + day)}, CustomerID: "acme"})
	}
	for _, seq := range audit.Decide(e).Entries.All() {
		e.Checked[seq] = passed(seq)
	}
	return e
}

// passed is the report of an entry that verifies.
func passed(seq int64) audit.Report { return checkedAs(seq, audit.CheckKind, audit.Passed) }

// checkedAs is the report of an entry of which one check came out so, and all others passed.
func checkedAs(seq int64, name audit.CheckName, result audit.Result) audit.Report {
	r := audit.Report{Seq: seq, Result: result}
	for _, n := range []audit.CheckName{audit.CheckLeaf, audit.CheckMeta, audit.CheckContent, audit.CheckInclusion, audit.CheckCheckpoint, audit.CheckKind, audit.CheckProjection, audit.CheckVerdict} {
		c := audit.Check{Name: n, Result: audit.Passed}
		if n == name {
			c.Result = result
		}
		r.Checks = append(r.Checks, c)
	}
	return r
}

func rulesOf(list []kinds.DisputeFinding) (rules []string) {
	for _, f := range list {
		rules = append(rules, f.Rule)
	}
	return rules
}

func TestDisputeIsExplained(t *testing.T) {
	t.Parallel()
	a := audit.Decide(disputed(30))
	if a.Result != kinds.DisputeExplained || len(a.Failures)+len(a.Open)+len(a.Differences) != 0 {
		t.Fatalf("%+v", a)
	}
	for _, l := range a.Levels {
		if l.Tokens != "3435" {
			t.Errorf("%+v", l)
		}
	}
	if e := a.Entries; len(e.Reports) != 30 || len(e.Intents) != 2 || len(e.Outcomes) != 2 || !slices.Equal(e.Consents, []int64{1, 2}) {
		t.Errorf("%+v", e)
	}
}

// replaced puts an event in the place of the first intent's.
func replaced(e *audit.DisputeEvidence, state billing.State) {
	i := e.Intents[0].Intent
	i.Claims, i.Replaces = nil, e.Intents[0].Seq
	i.Event.Identifier = i.Identify()
	e.Intents = append(e.Intents, audit.DisputedIntent{Seq: 7000, Intent: i, State: state, CustomerID: "acme"})
	e.Checked[7000] = passed(7000)
}

func TestDisputeRules(t *testing.T) {
	t.Parallel()
	nobody := audit.NewGate(audit.Consents{}, nil)
	for name, c := range map[string]struct {
		change func(*audit.DisputeEvidence)
		result string
		rules  []audit.DisputeRule // of failures, or of what is open
	}{
		"a sum does not hold":      {func(e *audit.DisputeEvidence) { e.Checked[12] = checkedAs(12, audit.CheckKind, audit.Failed) }, kinds.DisputeUpheld, []audit.DisputeRule{audit.FailArithmetic}},
		"an entry is not included": {func(e *audit.DisputeEvidence) { e.Checked[12] = checkedAs(12, audit.CheckInclusion, audit.Failed) }, kinds.DisputeUpheld, []audit.DisputeRule{audit.FailInclusion}},
		"a bad checkpoint":         {func(e *audit.DisputeEvidence) { e.Checked[2] = checkedAs(2, audit.CheckCheckpoint, audit.Failed) }, kinds.DisputeUpheld, []audit.DisputeRule{audit.FailInclusion}},
		"a row was changed":        {func(e *audit.DisputeEvidence) { e.Checked[5000] = checkedAs(5000, audit.CheckProjection, audit.Failed) }, kinds.DisputeUpheld, []audit.DisputeRule{audit.FailAltered}},
		"a verdict is not reached": {func(e *audit.DisputeEvidence) { e.Checked[2] = checkedAs(2, audit.CheckVerdict, audit.Failed) }, kinds.DisputeUpheld, []audit.DisputeRule{audit.FailVerdict}},
		"an entry is not there":    {func(e *audit.DisputeEvidence) { delete(e.Checked, 12) }, kinds.DisputeUpheld, []audit.DisputeRule{audit.FailMissing}},
		"a line is not there":      {func(e *audit.DisputeEvidence) { e.Lines = e.Lines[1:] }, kinds.DisputeUpheld, []audit.DisputeRule{audit.FailUnfounded}},
		"an intent is not there":   {func(e *audit.DisputeEvidence) { e.Intents = e.Intents[:0] }, kinds.DisputeUpheld, []audit.DisputeRule{audit.FailMissing}},
		"another amount":           {func(e *audit.DisputeEvidence) { e.Claims[0].Tokens++ }, kinds.DisputeUpheld, []audit.DisputeRule{audit.FailAmount}},
		"an intent's own sum":      {func(e *audit.DisputeEvidence) { e.Intents[0].Intent.Event.Value++ }, kinds.DisputeUpheld, []audit.DisputeRule{audit.FailArithmetic}},
		"two claims":               {func(e *audit.DisputeEvidence) { e.Claims = append(e.Claims, e.Claims[0]) }, kinds.DisputeUpheld, []audit.DisputeRule{audit.FailTwice}},
		"both events count":        {func(e *audit.DisputeEvidence) { replaced(e, billing.Confirmed) }, kinds.DisputeUpheld, []audit.DisputeRule{audit.FailTwice}},
		"another customer":         {func(e *audit.DisputeEvidence) { e.Lines[3].CustomerID = "other" }, kinds.DisputeUpheld, []audit.DisputeRule{audit.FailCustomer}},
		"outside the window":       {func(e *audit.DisputeEvidence) { e.Lines[3].AsOf = e.Lines[3].AsOf.AddDate(0, 0, 9) }, kinds.DisputeUpheld, []audit.DisputeRule{audit.FailWindow}},
		"nobody agreed":            {func(e *audit.DisputeEvidence) { e.Gate = nobody }, kinds.DisputeUpheld, []audit.DisputeRule{audit.FailUnconsented}},
		"erased":                   {func(e *audit.DisputeEvidence) { e.Checked[12] = checkedAs(12, audit.CheckContent, audit.NotCheckable) }, kinds.DisputeInconclusive, []audit.DisputeRule{audit.OpenErased}},
		"no key of an earlier log": {func(e *audit.DisputeEvidence) { e.Checked[2] = checkedAs(2, audit.CheckCheckpoint, audit.NotCheckable) }, kinds.DisputeInconclusive, []audit.DisputeRule{audit.OpenNotCheckable}},
		"judged by today's state":  {func(e *audit.DisputeEvidence) { e.Checked[2] = checkedAs(2, audit.CheckCurrent, audit.Failed) }, kinds.DisputeExplained, nil},
		"sent, not confirmed":      {func(e *audit.DisputeEvidence) { e.Intents[1].State = billing.Planned }, kinds.DisputeInconclusive, []audit.DisputeRule{audit.OpenUnconfirmed}},
		"parked":                   {func(e *audit.DisputeEvidence) { e.Intents[1].State = billing.Parked }, kinds.DisputeInconclusive, []audit.DisputeRule{audit.OpenUnconfirmed}},
		"replaced and confirmed":   {func(e *audit.DisputeEvidence) { e.Intents[0].State = billing.Replaced; replaced(e, billing.Confirmed) }, kinds.DisputeExplained, nil},
		"replaced, not confirmed":  {func(e *audit.DisputeEvidence) { e.Intents[0].State = billing.Replaced; replaced(e, billing.Planned) }, kinds.DisputeInconclusive, []audit.DisputeRule{audit.OpenUnconfirmed}},
		"not billed yet":           {func(e *audit.DisputeEvidence) { e.Claims, e.Intents = nil, nil }, kinds.DisputeInconclusive, []audit.DisputeRule{audit.OpenUnbilled}},
		"not billed, nor due": {func(e *audit.DisputeEvidence) {
			e.Claims, e.Intents, e.Terms.Start = nil, nil, disputeDay.AddDate(1, 0, 0)
		}, kinds.DisputeExplained, nil},
		"another provider is": {func(e *audit.DisputeEvidence) { e.Claims, e.Intents, e.Terms.Providers = nil, nil, []string{"q"} }, kinds.DisputeExplained, nil},
		"no billing":          {func(e *audit.DisputeEvidence) { e.Claims, e.Intents, e.Terms = nil, nil, nil }, kinds.DisputeInconclusive, []audit.DisputeRule{audit.OpenUnbilled}},
		"an egress, no billing": {func(e *audit.DisputeEvidence) {
			e.Claims, e.Intents, e.Terms, e.Question = nil, nil, nil, kinds.DisputeQuestion{RequestID: "r1"}
		}, kinds.DisputeExplained, nil},
		"nothing was served": {func(e *audit.DisputeEvidence) { *e = reachUnknown() }, kinds.DisputeInconclusive, []audit.DisputeRule{audit.OpenReach}},
		"nothing at all":     {func(e *audit.DisputeEvidence) { *e = audit.DisputeEvidence{Question: e.Question} }, kinds.DisputeInconclusive, []audit.DisputeRule{audit.OpenNothing}},
		"a receipt and no report": {func(e *audit.DisputeEvidence) {
			*e = audit.DisputeEvidence{Question: kinds.DisputeQuestion{RequestID: "r"}, Receipts: []audit.DisputedReceipt{{Seq: 7, RequestID: "r"}}, Checked: audit.Checked{7: passed(7)}}
		}, kinds.DisputeInconclusive, []audit.DisputeRule{audit.OpenUnreported}},
		"a correction needs no yes": {correction, kinds.DisputeExplained, nil},
	} {
		e := disputed(30)
		c.change(&e)
		a := audit.Decide(e)
		found := append(rulesOf(a.Failures), rulesOf(a.Open)...)
		if a.Result != c.result {
			t.Errorf("%s: %s, want %s: %v", name, a.Result, c.result, found)
		}
		for _, rule := range c.rules {
			if !slices.Contains(found, string(rule)) {
				t.Errorf("%s: %v, want %s", name, found, rule)
			}
		}
		for _, f := range append(a.Failures, a.Open...) {
			if f.Text == "" || f.Times == 0 || len(f.Seqs) == 0 && f.Rule != string(audit.OpenNothing) {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

// reachUnknown is one report that served nothing, without any consent.
func reachUnknown() audit.DisputeEvidence {
	e := disputed(1)
	e.Claims, e.Intents, e.Gate = nil, nil, audit.NewGate(audit.Consents{}, nil)
	l := &e.Lines[0]
	l.Tokens, l.FramesServed, l.FrameCost, l.Frames = 0, 0, 0, nil
	return e
}

// correction takes the first line back, and is billed itself.
func correction(e *audit.DisputeEvidence) {
	l := e.Lines[0]
	l.Seq, l.Corrects, l.Tokens, l.FrameCost = 400, &e.Lines[0].Seq, -l.Tokens, -l.Tokens
	e.Lines = append(e.Lines, l)
	i := e.Intents[0].Intent
	i.Claims, i.Event.Value = []billing.Claim{{Seq: 400, ProviderID: "p", Tokens: l.Tokens}}, l.Tokens
	i.Event.Identifier = i.Identify()
	e.Intents = append(e.Intents, audit.DisputedIntent{Seq: 5009, Intent: i, State: billing.Confirmed, CustomerID: "acme"})
	e.Claims = append(e.Claims, audit.DisputedClaim{Intent: 5009, UsageSeq: 400, ProviderID: "p", Tokens: l.Tokens})
	e.Checked[400], e.Checked[5009] = passed(400), passed(5009)
}

// Whatever is changed, the result follows from what was found, levels and differences agree, and the answer can be recorded
// and read back the same.
func TestDisputeProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := disputed(rapid.IntRange(0, 60).Draw(t, "reports"))
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			disturb(t, &e)
		}
		a := audit.Decide(e)
		if a.Result != kinds.DisputeResult(len(a.Failures), len(a.Open)) {
			t.Fatalf("%s with %v and %v", a.Result, a.Failures, a.Open)
		}
		if a.Result == kinds.DisputeExplained {
			explained(t, e, a)
		}
		sums := map[string]string{}
		for _, l := range a.Levels {
			sums[l.Level] = l.Tokens
		}
		for _, x := range a.Differences {
			before, this, by := big.NewInt(0), big.NewInt(0), big.NewInt(0)
			before.SetString(sums[x.Before], 10)
			this.SetString(sums[x.Level], 10)
			by.SetString(x.Tokens, 10)
			if by.Sign() == 0 || before.Add(before, by).Cmp(this) != 0 {
				t.Fatalf("%+v of %v", x, sums)
			}
		}
		a.DisputeID, a.Reason = "dsp_1", "too much"
		acc, err := kinds.NewDispute(a)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := kinds.Dispute.Project(acc.Content); err != nil || p.Key != "dsp_1" {
			t.Fatalf("%v, %v", p, err)
		}
	})
}

// explained demands what the result promises: every billed token maps to a consistent, included, consented report.
func explained(t *rapid.T, e audit.DisputeEvidence, a kinds.DisputeArtifact) {
	for _, c := range e.Claims {
		found := slices.ContainsFunc(e.Lines, func(l audit.DisputedLine) bool {
			return l.Seq == c.UsageSeq && l.ProviderID == c.ProviderID && l.Tokens == c.Tokens && l.CustomerID != "other" && e.Gate.Judge(l.UsageLine).Covered()
		})
		if !found || !e.Checked[c.UsageSeq].Whole() || e.Checked[c.UsageSeq].Result != audit.Passed {
			t.Fatalf("claim %+v is explained: %+v", c, a)
		}
	}
}

// disturb changes the evidence in one place.
func disturb(t *rapid.T, e *audit.DisputeEvidence) {
	if len(e.Lines) == 0 || len(e.Claims) == 0 {
		return
	}
	line, claim := rapid.IntRange(0, len(e.Lines)-1).Draw(t, "line"), rapid.IntRange(0, len(e.Claims)-1).Draw(t, "claim")
	seq := e.Lines[line].Seq
	switch rapid.IntRange(0, 8).Draw(t, "how") {
	case 0:
		e.Claims[claim].Tokens += rapid.Int64Range(-5, 5).Draw(t, "by")
	case 1:
		e.Lines[line].Tokens += rapid.Int64Range(-5, 5).Draw(t, "by")
	case 2:
		e.Lines = slices.Delete(e.Lines, line, line+1)
	case 3:
		e.Claims = slices.Delete(e.Claims, claim, claim+1)
	case 4:
		e.Claims = append(e.Claims, e.Claims[claim])
	case 5:
		e.Lines[line].AsOf = e.Lines[line].AsOf.Add(time.Duration(rapid.IntRange(-100, 100).Draw(t, "hours")) * time.Hour)
	case 6:
		name := rapid.SampledFrom([]audit.CheckName{audit.CheckLeaf, audit.CheckContent, audit.CheckKind, audit.CheckInclusion}).Draw(t, "check")
		e.Checked[seq] = checkedAs(seq, name, rapid.SampledFrom([]audit.Result{audit.Passed, audit.Failed, audit.NotCheckable}).Draw(t, "result"))
	case 7:
		e.Lines[line].CustomerID = rapid.SampledFrom([]string{"", "acme", "other"}).Draw(t, "customer")
	case 8:
		e.Intents[rapid.IntRange(0, len(e.Intents)-1).Draw(t, "intent")].State = rapid.SampledFrom([]billing.State{billing.Planned, billing.Confirmed, billing.Parked}).Draw(t, "state")
	}
}

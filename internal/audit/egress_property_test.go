package audit

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledgerd/frames"
	"ledgerd/receipts"
)

// anyEvidence draws a history of two providers over a few days, in which entries are recorded in order of seq.
func anyEvidence(t *rapid.T) Evidence {
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	instant := func(label string) time.Time { return day.AddDate(0, 0, rapid.IntRange(0, 9).Draw(t, label)) }
	provider := rapid.SampledFrom([]string{"p", "q"})
	scope := rapid.SampledFrom([]receipts.EgressScope{receipts.ThirdPartyModel, receipts.OrgTenant, receipts.LocalOnly})
	var e Evidence
	recorded := day
	for seq := range int64(rapid.IntRange(1, 24).Draw(t, "entries")) {
		recorded = recorded.Add(time.Duration(rapid.IntRange(0, 12).Draw(t, "hours")) * time.Hour)
		id, at := provider.Draw(t, "provider"), instant("at")
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			r := receipts.ConsentReceipt{ProviderID: id, Scope: scope.Draw(t, "scope"), GrantedAt: at.Format(time.RFC3339)}
			if rapid.Bool().Draw(t, "expires") {
				until := instant("until").Format(time.RFC3339)
				r.ExpiresAt = &until
			}
			e.Consents.Grants = append(e.Consents.Grants, Grant{Seq: seq, RecordedAt: recorded, Receipt: r})
		case 1:
			e.Consents.Revocations = append(e.Consents.Revocations, Revocation{Seq: seq, RecordedAt: recorded, Event: receipts.Revocation{
				ProviderID: id, Scope: scope.Draw(t, "scope"), RevokedBy: receipts.Grantor{Kind: receipts.Policy, ID: "dpo"}, RevokedAt: at.Format(time.RFC3339),
			}})
		case 2:
			e.Consents.Records = append(e.Consents.Records, Record{Seq: seq, RecordedAt: recorded, Record: receipts.ConsentRecord{ProviderID: id}})
		case 3:
			flow := receipts.DataFlow{Egress: true, EgressScopes: rapid.SliceOfN(scope, 0, 3).Draw(t, "scopes")}
			e.Declarations = append(e.Declarations, Declaration{Seq: seq, RecordedAt: recorded, DeclaredAt: at, Event: receipts.Declaration{
				ProviderID: id, Provider: receipts.ProviderInfo{DataFlow: flow},
			}})
		default:
			u := UsageLine{Seq: seq, RecordedAt: recorded, RequestID: strconv.FormatInt(seq, 10), ProviderID: id, AsOf: at}
			for range rapid.IntRange(0, 2).Draw(t, "frames") {
				cost := int64(rapid.IntRange(0, 9).Draw(t, "cost"))
				u.Frames = append(u.Frames, ServedFrame{ID: frames.FrameID{ProviderID: id, FrameID: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "frame")}, Tokens: cost})
				u.FramesServed, u.Tokens = u.FramesServed+1, u.Tokens+cost
			}
			e.Usage = append(e.Usage, u)
		}
	}
	return e
}

// Every token and every report is counted once, every report has one verdict per scope, a line shows the worst, and the order
// in which usage is read means nothing.
func TestEgressAddsUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvidence(t)
		answer := Egress(e, EgressQuery{})
		var tokens, served int64
		for _, u := range e.Usage {
			tokens, served = tokens+u.Tokens, served+u.FramesServed
		}
		if answer.Totals.Tokens != decimal(tokens) || answer.Totals.FramesServed != decimal(served) || answer.Totals.Reports != len(e.Usage) {
			t.Fatalf("totals %+v of %d reports, %d frames and %d tokens", answer.Totals, len(e.Usage), served, tokens)
		}
		for _, l := range answer.Lines {
			worst := LocalOnly
			for _, s := range l.Scopes {
				judged := 0
				for v, n := range s.Verdicts {
					judged += n
					worst = worse(worst, v)
				}
				if judged != l.Reports {
					t.Fatalf("%d verdicts on %d reports", judged, l.Reports)
				}
			}
			undeclared := slices.Contains(l.Flags, FlagUndeclared)
			switch {
			case len(l.Scopes) == 0, l.Declaration != nil && worse(worst, l.Verdict) != l.Verdict, !undeclared && l.Verdict != worst:
				t.Fatalf("the line shows %s, its worst is %s over %d scopes", l.Verdict, worst, len(l.Scopes))
			case undeclared && l.FramesServed != "0" && worse(l.Verdict, Undeclared) != l.Verdict:
				t.Fatalf("nothing was on record about the provider, and the line shows %s", l.Verdict)
			}
		}
		rand.Shuffle(len(e.Usage), func(i, j int) { e.Usage[i], e.Usage[j] = e.Usage[j], e.Usage[i] })
		if again := Egress(e, EgressQuery{}); !reflect.DeepEqual(again, answer) {
			t.Fatalf("read in another order:\n%+v\n%+v", again, answer)
		}
	})
}

// What a question says of consent at an instant is what the gate would have said then, as far as it was known.
func TestEgressAgreesWithTheGate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvidence(t)
		for _, l := range Egress(e, EgressQuery{}).Lines {
			if l.Declaration == nil || l.KnownDeclaration != nil || l.Reports != 1 {
				continue
			}
			gate := Evaluate(e.Consents, l.ProviderID, receipts.ProviderInfo{DataFlow: l.Declaration.DataFlow}, l.FirstAsOf)
			covered := true
			for _, s := range l.Scopes {
				covered = covered && (s.Verdict.covers() || s.Verdict == RecordedAfter)
			}
			if !gate.Permitted && covered || gate.Permitted && !covered && l.FramesServed != "0" {
				t.Fatalf("the gate permits: %v, the line says %+v", gate.Permitted, l)
			}
		}
	})
}

// The egress answer and the findings are one judgement: of each report by itself, what the answer does not call covered is
// found, and the worst that is found is what the answer shows.
func TestEgressAgreesWithTheFindings(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvidence(t)
		for _, u := range e.Usage {
			one := e
			one.Usage = []UsageLine{u}
			line := Egress(one, EgressQuery{}).Lines[0]
			found, err := Findings(context.Background(), FindingEvidence{Evidence: one}, FindingQuery{Kind: FindingUnconsented})
			if err != nil {
				t.Fatal(err)
			}
			worst := LocalOnly
			for _, f := range found {
				worst = worse(worst, f.Verdict)
			}
			clean := line.Verdict.covers() || line.Verdict == ReachUnknown
			if clean != (len(found) == 0) || !clean && worst != line.Verdict {
				t.Fatalf("the line says %s, found is %+v", line.Verdict, found)
			}
		}
	})
}

// Whatever is recorded after an egress was reported, it does not come to be covered, or better covered, by it.
func TestNothingLaterMakesAnEgressBetter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvidence(t)
		for _, u := range e.Usage {
			whole, then := e, before(e, u)
			whole.Usage, then.Usage = []UsageLine{u}, []UsageLine{u}
			now, was := Egress(whole, EgressQuery{}).Lines[0].Verdict, Egress(then, EgressQuery{}).Lines[0].Verdict
			if now.covers() && worse(now, was) != now {
				t.Fatalf("at its time the egress was %s, and by what was recorded later it is %s", was, now)
			}
		}
	})
}

// before is the evidence that was recorded when a report was.
func before(e Evidence, u UsageLine) Evidence {
	var out Evidence
	for _, g := range e.Consents.Grants {
		if g.Seq < u.Seq {
			out.Consents.Grants = append(out.Consents.Grants, g)
		}
	}
	for _, r := range e.Consents.Revocations {
		if r.Seq < u.Seq {
			out.Consents.Revocations = append(out.Consents.Revocations, r)
		}
	}
	for _, r := range e.Consents.Records {
		if r.Seq < u.Seq {
			out.Consents.Records = append(out.Consents.Records, r)
		}
	}
	for _, d := range e.Declarations {
		if d.Seq < u.Seq {
			out.Declarations = append(out.Declarations, d)
		}
	}
	return out
}

// Local-only is the provider's own word, never somebody's consent to it.
func TestLocalOnlyIsDeclared(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for _, l := range Egress(anyEvidence(t), EgressQuery{}).Lines {
			for _, s := range l.Scopes {
				if s.Verdicts[LocalOnly] > 0 && s.Basis != BasisDeclared {
					t.Fatalf("%s by %s", s.Verdict, s.Basis)
				}
			}
			if l.Verdict == LocalOnly && l.Declaration == nil {
				t.Fatalf("nobody declared that nothing leaves: %+v", l)
			}
		}
	})
}

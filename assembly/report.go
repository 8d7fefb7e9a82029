package assembly

import "slices"

// Verdict is what a verification says about a recorded outcome.
type Verdict string

// The verdicts. A faithful record of a failure is verified.
const (
	Verified      Verdict = "verified"
	Mismatch      Verdict = "mismatch"
	Indeterminate Verdict = "indeterminate"
)

// Finding is one broken rule at one place. It holds no value of the record.
type Finding struct {
	Rule Rule   `json:"rule"`
	At   string `json:"at"` // JSON pointer of known members and indexes, from the record's root
}

// Dictated is the outcome that the contract dictates.
type Dictated struct {
	Outcome Word `json:"outcome"`
	Code    Code `json:"code"`
}

// Report is the answer of a verification (section 7.3).
type Report struct {
	Verdict  Verdict   `json:"verdict"`
	Dictated *Dictated `json:"dictated"` // null where it can't be derived
	Findings []Finding `json:"findings"` // in rule order, each once
	// Missing are the places of inputs that a derivation needs and the record doesn't have.
	Missing  []string   `json:"missing"`
	Coverage []Coverage `json:"coverage"`

	derived *Outcome
	id      Identity
}

// Derived is the outcome that the contract dictates, whole; ok is false where it can't be derived.
func (r Report) Derived() (outcome Outcome, ok bool) {
	if r.derived == nil {
		return Outcome{}, false
	}
	return *r.derived, true
}

// Faithful is an assembly whose recorded outcome was verified. Only Report.Faithful makes one that is not zero.
type Faithful struct {
	id      Identity
	outcome Outcome
}

// Faithful gives the verified assembly; ok is false for any other verdict.
func (r Report) Faithful() (a Faithful, ok bool) {
	if r.Verdict != Verified || r.derived == nil {
		return Faithful{}, false
	}
	return Faithful{r.id, *r.derived}, true
}

// Identity says which assembly of which turn it is.
func (f Faithful) Identity() Identity { return f.id }

// Outcome is the recorded and dictated outcome.
func (f Faithful) Outcome() Outcome { return f.outcome }

// Used are the contributions that went into the model's context.
func (f Faithful) Used() []ContributionOutcome {
	var used []ContributionOutcome
	for _, c := range f.outcome.Contributions {
		if c.Disposition == included {
			used = append(used, c)
		}
	}
	return used
}

func (v *verifier) report(hasEveryPayload bool) Report {
	r := Report{
		Verdict: verdictOf(v.findings, v.missing), Findings: inRuleOrder(v.findings), Missing: append([]string{}, v.missing...),
		derived: v.out, id: v.rec.id, Coverage: v.coverage(hasEveryPayload),
	}
	if v.out != nil {
		r.Dictated = &Dictated{v.out.Outcome, v.out.Code}
	}
	return r
}

func verdictOf(findings []Finding, missing []string) Verdict {
	switch {
	case len(findings) > 0:
		return Mismatch
	case len(missing) > 0:
		return Indeterminate
	}
	return Verified
}

// inRuleOrder sorts by rule and keeps the order within one. It is never nil.
func inRuleOrder(list []Finding) []Finding {
	sorted := append([]Finding{}, list...)
	slices.SortStableFunc(sorted, func(a, b Finding) int { return compareRules(a.Rule, b.Rule) })
	return slices.Compact(sorted)
}

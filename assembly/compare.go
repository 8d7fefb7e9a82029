package assembly

import (
	"slices"
	"strconv"
)

// The contract's "Privacy, redaction, and observability", canonical context reports: the recorded outcome against the
// dictated one, member by member; section 7.3, C0-R940, C0-R945.

func (v *verifier) compare() {
	got, want := &v.rec.recorded, v.out
	v.compares("outcome", R730, got.Outcome == want.Outcome)
	v.compares("stage", R730, got.Stage == want.Stage)
	v.compares("code", R710, got.Code == want.Code)
	v.compares("failure_codes", R715, slices.Equal(got.FailureCodes, want.FailureCodes))
	compareRows(v, R360, "allocations", got.Allocations, want.Allocations, equal)
	compareRows(v, R705, "positions", got.Positions, want.Positions, equal)
	v.compareBindings()
	compareRows(v, R660, "contributions", got.Contributions, want.Contributions, ContributionOutcome.equal)
	compareRows(v, R680, "conflicts", got.Conflicts, want.Conflicts, Conflict.equal)
	v.compares("final", R750, got.Final.equal(want.Final))
}

// compares notes a member of the recorded outcome that differs. Where only a part was recorded, the rest is not compared.
func (v *verifier) compares(name string, rule Rule, holds bool, row ...int) {
	if holds || v.recorded != nil && !v.recorded[name] {
		return
	}
	at := "/report/" + name
	for _, i := range row {
		at += "/" + strconv.Itoa(i)
	}
	v.unless(false, rule, at)
}

// compareRows notes the first row that differs, or the list itself when one is longer. What follows a row that was left
// out or added would differ as well and say nothing more.
func compareRows[T any](v *verifier, rule Rule, name string, got, want []T, equal func(a, b T) bool) {
	for i := range min(len(got), len(want)) {
		if !equal(got[i], want[i]) {
			v.compares(name, rule, false, i)
			return
		}
	}
	v.compares(name, rule, len(got) == len(want))
}

func equal[T comparable](a, b T) bool { return a == b }

// compareBindings: the rows name the snapshot's own bindings and releases (C0-R945).
func (v *verifier) compareBindings() {
	for i, p := range v.rec.recorded.Positions {
		if s := v.at(p.Position); s != nil && s.bindingAt != "" {
			v.unless(p.BindingID == s.binding.id, R945, "/report/positions", i, "/provider_binding_id")
			v.unless(p.ReleaseID == s.binding.implementation.release, R945, "/report/positions", i, "/provider_release_id")
		}
	}
}

func (c ContributionOutcome) equal(d ContributionOutcome) bool {
	if (c.DuplicateOf == nil) != (d.DuplicateOf == nil) || c.DuplicateOf != nil && *c.DuplicateOf != *d.DuplicateOf {
		return false
	}
	c.DuplicateOf, d.DuplicateOf = nil, nil
	return c == d
}

func (c Conflict) equal(d Conflict) bool {
	return slices.Equal(c.Members, d.Members) && slices.Equal(c.AffectedPositions, d.AffectedPositions)
}

func (f *Final) equal(g *Final) bool {
	if f == nil || g == nil {
		return f == g
	}
	return f.SizeBefore == g.SizeBefore && f.SizeAfter == g.SizeAfter && f.Result == g.Result && slices.Equal(f.Removed, g.Removed)
}

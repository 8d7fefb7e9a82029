package assembly

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// judgeRemoved names the rule that a recorded list of removals breaks (section 7.3, truncate).
func (f *finalInput) judgeRemoved(pieces []sizedPiece, want []Removal, recorded jsontext.Value) Rule {
	got, err := parse(recorded, func(r reader) []Removal { return r.removals() })
	if err != nil {
		return R785
	}
	protected := f.protected(pieces)
	if slices.ContainsFunc(got, func(m Removal) bool { return protected[m.Part] }) {
		return R780
	}
	if len(got) > len(want) && slices.Equal(got[:len(want)], want) {
		return R785 // it went on after the first fit
	}
	derived := map[Part]bool{}
	for _, m := range want {
		derived[m.Part] = true
	}
	if slices.ContainsFunc(got, func(m Removal) bool { return m.Part.Kind == aContribution && !derived[m.Part] }) {
		return R760
	}
	if len(got) < len(want) {
		return R755
	}
	return R785
}

// protected are the parts that no step may remove (C0-R780).
func (f *finalInput) protected(pieces []sizedPiece) map[Part]bool {
	parts := map[Part]bool{}
	for _, p := range pieces {
		parts[Part{Kind: aContribution, Ref: p.ref}] = p.isProtected
	}
	for _, t := range f.toolResults {
		parts[Part{Kind: aToolResult, Name: t.ref}] = t.isProtected
	}
	for _, u := range f.units {
		parts[Part{Kind: aTranscriptUnit, Name: u.name}] = u.isProtected
	}
	return parts
}

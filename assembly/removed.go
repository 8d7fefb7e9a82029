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
	isDerived := func(m Removal) bool {
		return slices.ContainsFunc(want, func(w Removal) bool { return w.Part == m.Part })
	}
	for _, m := range got {
		if f.isProtected(pieces, m.Part) {
			return R780
		}
	}
	if len(got) > len(want) && slices.Equal(got[:len(want)], want) {
		return R785 // it went on after the first fit
	}
	for _, m := range got {
		if m.Part.Kind == aContribution && !isDerived(m) {
			return R760
		}
	}
	if len(got) < len(want) {
		return R755
	}
	return R785
}

func (f *finalInput) isProtected(pieces []sizedPiece, part Part) bool {
	switch part.Kind {
	case aContribution:
		return slices.ContainsFunc(pieces, func(p sizedPiece) bool { return p.ref == part.Ref && p.isProtected })
	case aToolResult:
		return slices.ContainsFunc(f.toolResults, func(t toolResult) bool { return t.ref == part.Name && t.isProtected })
	}
	return slices.ContainsFunc(f.units, func(u transcriptUnit) bool { return u.name == part.Name && u.isProtected })
}

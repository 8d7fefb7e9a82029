package audit

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// only keeps of consent and declarations the entries that are named.
func only(e Evidence, seqs map[int64]bool) (c Consents, d []Declaration) {
	for _, g := range e.Consents.Grants {
		if seqs[g.Seq] {
			c.Grants = append(c.Grants, g)
		}
	}
	for _, r := range e.Consents.Revocations {
		if seqs[r.Seq] {
			c.Revocations = append(c.Revocations, r)
		}
	}
	for _, r := range e.Consents.Records {
		if seqs[r.Seq] {
			c.Records = append(c.Records, r)
		}
	}
	for _, x := range e.Declarations {
		if seqs[x.Seq] {
			d = append(d, x)
		}
	}
	return c, d
}

// The gate says of each report what the egress answer says, and says the same when it knows no more than the entries that decide:
// so whoever has just these reaches the same rulings.
func TestGateRestsOnItsBasis(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvidence(t)
		gate, basis := NewGate(e.Consents, e.Declarations), map[int64]bool{}
		for _, u := range e.Usage {
			r := gate.Judge(u)
			for _, seq := range r.Basis {
				basis[seq] = true
			}
			line := Egress(Evidence{Usage: []UsageLine{u}, Consents: e.Consents, Declarations: e.Declarations}, EgressQuery{}).Lines[0]
			if line.Verdict != r.Verdict || len(line.Scopes) != len(r.Scopes) {
				t.Fatalf("report %d: the gate says %+v, the answer %s over %d scopes", u.Seq, r, line.Verdict, len(line.Scopes))
			}
		}
		gate.withEndings(basis)
		less := NewGate(only(e, basis))
		for _, u := range e.Usage {
			a, b := gate.Judge(u), less.Judge(u)
			if a.Verdict != b.Verdict || !slices.Equal(a.Basis, b.Basis) {
				t.Fatalf("report %d: %+v, and by what decides alone %+v", u.Seq, a, b)
			}
		}
	})
}

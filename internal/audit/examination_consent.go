package audit

import (
	"slices"
	"sort"
	"strings"
	"time"

	"ledgerd/receipts"
)

// Gate is consent and declarations, ready to be asked how each egress was covered at its instant.
type Gate struct{ joiner *joiner }

// NewGate indexes what was recorded of consent and declarations. It costs n log n in it, once.
func NewGate(c Consents, d []Declaration) *Gate {
	return &Gate{newJoiner(Evidence{Consents: c, Declarations: d})}
}

// Ruling is what the gate says about one report of one provider.
type Ruling struct {
	ProviderID string                 `json:"provider_id"`
	Verdict    Verdict                `json:"verdict" jsonschema:"the worst of the scopes"`
	Scopes     []ScopeRuling          `json:"scopes"`
	Basis      []int64                `json:"basis" jsonschema:"the declarations and consents that decide"`
	missing    []receipts.EgressScope // uncovered
}

// ScopeRuling is what the gate says about one scope of a report's provider.
type ScopeRuling struct {
	Scope   receipts.EgressScope `json:"scope" jsonschema:"empty for the boolean consent, or where nothing is known to name"`
	Basis   Basis                `json:"basis"`
	Verdict Verdict              `json:"verdict"`
}

// Covered says that nothing is left open.
func (r Ruling) Covered() bool { return r.Verdict.covers() }

// Judge asks the gate about one line: under the declaration in force by its own instant and under the one that was on record
// by then, by when each consent held and by when it was recorded.
func (g *Gate) Judge(u UsageLine) Ruling {
	dated, known := g.joiner.declared[u.ProviderID].at(moment{u.AsOf, u.Seq})
	of := group{provider: u.ProviderID, dated: dated, known: known, usage: []UsageLine{u}}
	of.asked = g.joiner.askedScopes(of)
	judged := g.joiner.assess(of, u, nil)
	r := Ruling{ProviderID: u.ProviderID, Verdict: judged.verdict, Scopes: []ScopeRuling{}, Basis: []int64{}}
	seqs := map[int64]bool{}
	for _, d := range []*Declaration{dated, known} {
		if d != nil {
			seqs[d.Seq] = true
		}
	}
	for i, s := range judged.scopes {
		r.Scopes = append(r.Scopes, ScopeRuling{of.asked[i].scope, of.asked[i].basis, s.verdict})
		if !s.verdict.covers() {
			r.missing = append(r.missing, of.asked[i].scope)
		}
		for _, seq := range s.by {
			seqs[seq] = true
		}
	}
	for seq := range seqs {
		r.Basis = append(r.Basis, seq)
	}
	sort.Slice(r.Basis, func(i, j int) bool { return r.Basis[i] < r.Basis[j] })
	return r
}

// endOfTime is later than every instant that can be recorded.
var endOfTime = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)

// withEndings adds to entries that decide the revocations that ever end the consents among them: at another moment such a consent
// decides nothing any more, and who did not know how it ended would take it for live.
func (g *Gate) withEndings(basis map[int64]bool) {
	b := g.joiner.book
	for t, grants := range b.grants {
		if !slices.ContainsFunc(grants, func(x Grant) bool { return basis[x.Seq] }) {
			continue
		}
		for s := range b.store.Standings(t.provider, t.scope, endOfTime) {
			if s.Revocation >= 0 && basis[b.Grants[s.Index].Seq] {
				basis[b.revoked[s.Revocation].Seq] = true
			}
		}
	}
	for provider, records := range b.records {
		if !slices.ContainsFunc(records, func(x Record) bool { return basis[x.Seq] }) {
			continue
		}
		for _, r := range b.revocations[target{provider, ""}] {
			basis[r.Seq] = true
		}
	}
}

// Consent judges each egress that the entry reports at its instant. A report that served nothing and is not covered can't be
// judged: whether the query itself went there is not known.
func (x *Examination) Consent(g *Gate) {
	if x.kind == nil || !x.kind.Gated || x.unread(CheckConsent) {
		return
	}
	var open, unknown []string
	for _, u := range x.Egress() {
		switch r := g.Judge(u); {
		case r.Covered():
		case r.Verdict == ReachUnknown:
			unknown = append(unknown, r.text())
		default:
			open = append(open, r.text())
		}
	}
	switch {
	case open != nil:
		x.refuse(CheckConsent, strings.Join(append(open, unknown...), "; "))
	case unknown != nil:
		x.Skip(CheckConsent, strings.Join(unknown, "; "))
	default:
		x.pass(CheckConsent, "")
	}
}

// text says what is not covered. Scopes and providers are what the tenant's own hosts recorded.
func (r Ruling) text() string {
	text := r.ProviderID + ": " + string(r.Verdict)
	for i, scope := range r.missing {
		if scope == "" {
			continue
		}
		if i == 0 {
			text += " for "
		} else {
			text += ", "
		}
		text += string(scope)
	}
	return text
}

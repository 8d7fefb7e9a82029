package audit

import (
	"slices"
	"testing"

	"ledgerd/receipts"
)

// What is recorded after an egress and dated before it shows beside what was known, and never makes it look better; the
// finding stays.
func TestBackdating(t *testing.T) {
	t.Parallel()
	const early, serving, late = "2026-01-01T00:00:00Z", "2026-06-01T00:00:00Z", "2026-06-02T00:00:00Z"
	model := receipts.DataFlow{Egress: true, EgressScopes: []receipts.EgressScope{receipts.ThirdPartyModel}}
	tenant := receipts.DataFlow{Egress: true, EgressScopes: []receipts.EgressScope{receipts.OrgTenant}}
	local := receipts.DataFlow{}
	agreed := grantOf(2, early, early)
	agreed.Receipt.Scope = receipts.OrgTenant
	localOnly := grantOf(3, early, early)
	localOnly.Receipt.Scope = receipts.LocalOnly
	for _, c := range []struct {
		name        string
		grants      []Grant
		revocations []Revocation
		declared    []Declaration
		want        Verdict
		flags       []string
	}{
		{"local by a later declaration", nil, nil, []Declaration{declarationOf(1, early, early, model), declarationOf(20, late, "2026-05-27T00:00:00Z", local)},
			Unconsented, []string{FlagDeclaredAfter, FlagNoConsent}},
		{"swapped to a consented scope", []Grant{agreed}, nil, []Declaration{declarationOf(1, early, early, model), declarationOf(20, late, "2026-05-27T00:00:00Z", tenant)},
			Unconsented, []string{FlagDeclaredAfter}},
		{"local, of a provider that had declared nothing", nil, nil, []Declaration{declarationOf(20, late, early, local)},
			Undeclared, []string{FlagUndeclared, FlagDeclaredAfter, FlagNoConsent}},
		{"a later declaration that is worse", nil, nil, []Declaration{declarationOf(1, early, early, local), declarationOf(20, late, "2026-05-27T00:00:00Z", model)},
			Unconsented, []string{FlagDeclaredAfter, FlagNoConsent}},
		{"several later ones", nil, nil, []Declaration{declarationOf(1, early, early, model), declarationOf(20, late, "2026-05-27T00:00:00Z", local), declarationOf(21, late, "2026-05-28T00:00:00Z", local), declarationOf(22, late, "2026-05-26T00:00:00Z", tenant)},
			Unconsented, []string{FlagDeclaredAfter, FlagNoConsent}},
		{"consent that nothing leaves is no declaration", []Grant{localOnly}, nil, nil, Undeclared, []string{FlagUndeclared}},
		{"consent to somewhere is no declaration", []Grant{agreed}, nil, nil, Undeclared, []string{FlagUndeclared}},
		{"revoked later, after another revocation in time", []Grant{grantOf(2, early, early), grantOf(5, "2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z")},
			[]Revocation{revocationOf(4, "2026-02-01T00:00:00Z", "2026-02-01T00:00:00Z"), revocationOf(20, late, "2026-05-01T00:00:00Z")},
			[]Declaration{declarationOf(1, early, early, model)}, Revoked, []string{FlagLateRevocation}},
		{"revoked in time, and once more later", []Grant{grantOf(2, early, early)},
			[]Revocation{revocationOf(4, "2026-05-01T00:00:00Z", "2026-05-01T00:00:00Z"), revocationOf(20, late, "2026-04-01T00:00:00Z")},
			[]Declaration{declarationOf(1, early, early, model)}, Revoked, nil},
	} {
		for i := range c.declared {
			c.declared[i].Event.Provider.Name, c.declared[i].Event.Provider.Version = "", ""
		}
		e := Evidence{
			Usage:    []UsageLine{{Seq: 9, ProviderID: "p", RecordedAt: at(serving), AsOf: at(serving), FramesServed: 1, Frames: []ServedFrame{{}}}},
			Consents: Consents{Grants: c.grants, Revocations: c.revocations}, Declarations: c.declared,
		}
		lines := Egress(e, EgressQuery{}).Lines
		if len(lines) != 1 || lines[0].Verdict != c.want || !slices.Equal(lines[0].Flags, append([]string{}, c.flags...)) {
			t.Errorf("%s: %+v", c.name, lines)
		}
		found, err := Findings(t.Context(), FindingEvidence{Evidence: e}, FindingQuery{Kind: FindingUnconsented})
		if err != nil || !slices.ContainsFunc(found, func(f LedgerFinding) bool { return f.Verdict == c.want }) {
			t.Errorf("%s: found %+v, %v", c.name, found, err)
		}
		if differ := slices.Contains(c.flags, FlagDeclaredAfter) && !slices.Contains(c.flags, FlagUndeclared); differ != (lines[0].KnownDeclaration != nil) {
			t.Errorf("%s: declared %+v, known %+v", c.name, lines[0].Declaration, lines[0].KnownDeclaration)
		}
	}
}

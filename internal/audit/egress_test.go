package audit

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"ledgerd/frames"
	"ledgerd/internal/kinds"
	"ledgerd/receipts"
)

func at(s string) time.Time {
	t, ok := frames.ParseRFC3339(s)
	if !ok {
		panic("bad instant in a test: " + s)
	}
	return t
}

func grantOf(seq int64, recorded, granted string, expires ...string) Grant {
	g := Grant{Seq: seq, RecordedAt: at(recorded), Receipt: receipts.ConsentReceipt{
		ProviderID: "p", Scope: receipts.ThirdPartyModel, Grantor: receipts.Grantor{Kind: receipts.Human, ID: "maria"}, GrantedAt: granted,
	}}
	if len(expires) > 0 {
		g.Receipt.ExpiresAt = &expires[0]
	}
	return g
}

func scopeVerdict(grants []Grant, at time.Time, seq int64) Verdict {
	return newBook(Consents{Grants: grants}).scope(target{"p", receipts.ThirdPartyModel}, moment{at, seq}).verdict
}

func declarationOf(seq int64, recorded, declared string, flow receipts.DataFlow) Declaration {
	return Declaration{Seq: seq, RecordedAt: at(recorded), DeclaredAt: at(declared), Event: receipts.Declaration{
		ProviderID: "p", DeclaredAt: declared, Provider: receipts.ProviderInfo{Name: "P", Version: "1", DataFlow: flow},
	}}
}

func revocationOf(seq int64, recorded, revoked string) Revocation {
	return Revocation{Seq: seq, RecordedAt: at(recorded), Event: receipts.Revocation{
		ProviderID: "p", Scope: receipts.ThirdPartyModel, RevokedBy: receipts.Grantor{Kind: receipts.Human, ID: "maria"}, RevokedAt: revoked,
	}}
}

func TestScopeVerdict(t *testing.T) {
	t.Parallel()
	const noon = "2026-06-01T12:00:00Z"
	for _, c := range []struct {
		name   string
		grants []Grant
		want   Verdict
	}{
		{"none", nil, Unconsented},
		{"in force and recorded", []Grant{grantOf(1, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z")}, Consented},
		{"granted at that instant", []Grant{grantOf(1, "2026-06-01T12:00:00Z", noon)}, Consented},
		{"granted an instant later", []Grant{grantOf(1, "2026-06-01T11:00:00Z", "2026-06-01T12:00:00.000001Z")}, GrantedAfter},
		{"expires at that instant", []Grant{grantOf(1, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", noon)}, Expired},
		{"expires an instant later", []Grant{grantOf(1, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-06-01T12:00:00.1Z")}, Consented},
		{"backdated", []Grant{grantOf(1, "2026-06-01T12:00:01Z", "2026-01-01T00:00:00Z")}, RecordedAfter},
		{"recorded within the second that the egress names", []Grant{grantOf(1, "2026-06-01T12:00:00.9Z", "2026-01-01T00:00:00Z")}, Consented},
		{"recorded after the report", []Grant{grantOf(8, "2026-06-01T12:00:00Z", "2026-01-01T00:00:00Z")}, RecordedAfter},
		{"unreadable", []Grant{grantOf(1, "2026-01-01T00:00:00Z", "in January")}, Unconsented},
		{"the best of several counts", []Grant{
			grantOf(1, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"), grantOf(2, "2026-07-01T00:00:00Z", "2026-07-01T00:00:00Z"),
			grantOf(3, "2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z"),
		}, Consented},
		{"of several that lapsed the last decides", []Grant{
			grantOf(1, "2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z"), grantOf(2, "2026-07-01T00:00:00Z", "2026-07-01T00:00:00Z"),
		}, Expired},
	} {
		if got := scopeVerdict(c.grants, at(noon), 7); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	sharp := grantOf(1, "2026-06-01T12:00:00.5Z", "2026-01-01T00:00:00Z")
	if got := scopeVerdict([]Grant{sharp}, at("2026-06-01T12:00:00.4Z"), 7); got != RecordedAfter {
		t.Errorf("an egress with a fraction names an instant: %s", got)
	}
}

// A grant that lapsed long ago does not hide that the one after it was taken back.
func TestScopeVerdictOfARevokedSecondGrant(t *testing.T) {
	t.Parallel()
	b := newBook(Consents{
		Grants: []Grant{grantOf(1, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"), grantOf(3, "2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z")},
		Revocations: []Revocation{{Seq: 5, RecordedAt: at("2026-05-01T00:00:00Z"), Erased: true, Event: receipts.Revocation{
			ProviderID: "p", Scope: receipts.ThirdPartyModel, RevokedBy: receipts.Grantor{Kind: receipts.Human}, RevokedAt: "2026-05-01T00:00:00Z",
		}}},
	})
	where := target{"p", receipts.ThirdPartyModel}
	for instant, want := range map[string]Verdict{"2026-04-01T00:00:00Z": Consented, "2026-05-01T00:00:00Z": Revoked, "2026-02-15T00:00:00Z": Expired} {
		if got := b.scope(where, moment{at(instant), 9}).verdict; got != want {
			t.Errorf("%s: %s, want %s", instant, got, want)
		}
	}
	if !b.scope(where, moment{at("2026-05-01T00:00:00Z"), 4}).late || b.scope(where, moment{at("2026-05-01T00:00:01Z"), 6}).late {
		t.Error("whether the revocation was known by then is judged wrongly")
	}
}

// Tokens are counted once, however many scopes and grants the provider has; frames merge by identity.
func TestEgressCountsOnce(t *testing.T) {
	t.Parallel()
	frame := func(id string, tokens int64) ServedFrame {
		return ServedFrame{ID: frames.FrameID{ProviderID: "p", FrameID: id, ContentDigest: frames.SomeDigest("sha256:x")}, Tokens: tokens}
	}
	local := grantOf(2, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z")
	local.Receipt.Scope = receipts.OrgTenant
	answer := Egress(Evidence{Usage: []UsageLine{
		{Seq: 9, ProviderID: "p", AsOf: at("2026-06-02T00:00:00Z"), FramesServed: 1, Tokens: 7, Frames: []ServedFrame{frame("a", 7)}},
		{Seq: 5, ProviderID: "p", AsOf: at("2026-06-01T00:00:00Z"), FramesServed: 2, Tokens: 12, Frames: []ServedFrame{frame("b", 5), frame("a", 7)}},
		{Seq: 6, ProviderID: "idle", AsOf: at("2026-06-01T00:00:00Z")},
		{Seq: 7, ProviderID: "gone", AsOf: at("2026-06-01T00:00:00Z"), FramesServed: 3, Tokens: 1},
	}, Consents: Consents{Grants: []Grant{grantOf(1, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-06-01T12:00:00Z"), local}}}, EgressQuery{})
	lines := answer.Lines
	if answer.Totals.Reports != 4 || answer.Totals.Tokens != "20" || answer.Totals.FramesServed != "6" {
		t.Errorf("totals %+v", answer.Totals)
	}
	if len(lines) != 3 || lines[0].ProviderID != "gone" || lines[1].ProviderID != "idle" {
		t.Fatalf("lines %+v", lines)
	}
	p := lines[2]
	if p.Tokens != "19" || p.FramesServed != "3" || p.Reports != 2 || len(p.Frames) != 2 || p.Frames[0].FrameID.FrameID != "a" || p.Frames[0].Tokens != "14" || p.Frames[0].Times != 2 {
		t.Errorf("provider p: %+v", p)
	}
	if !p.FirstAsOf.Equal(at("2026-06-01T00:00:00Z")) || !p.LastAsOf.Equal(at("2026-06-02T00:00:00Z")) || p.Seqs[0] != 5 || p.Seqs[1] != 9 {
		t.Errorf("period and seqs: %+v", p)
	}
	if len(p.Scopes) != 2 || p.Scopes[0].Scope != receipts.OrgTenant || p.Scopes[0].Verdict != Consented ||
		p.Scopes[1].Verdict != Expired || p.Scopes[1].Verdicts[Consented] != 1 || p.Scopes[1].Verdicts[Expired] != 1 {
		t.Errorf("scopes: %+v", p.Scopes)
	}
	if f := lines[1].Flags; !slices.Equal(f, []string{FlagUndeclared, FlagNoConsent, FlagReachUnknown}) {
		t.Errorf("idle's flags %v", f)
	}
	if f := lines[0].Flags; !slices.Equal(f, []string{FlagUndeclared, FlagNoConsent, FlagErased}) {
		t.Errorf("gone's flags %v", f)
	}
}

// What is found about consent names the report first, and the consents and revocations that it was judged by. Where nothing
// was declared, no consent is known to cover: which of the scopes applied is not known.
func TestUnconsentedFinding(t *testing.T) {
	t.Parallel()
	lapsed := grantOf(1, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z")
	model := declarationOf(3, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", receipts.DataFlow{Egress: true, EgressScopes: []receipts.EgressScope{receipts.ThirdPartyModel}})
	other := grantOf(2, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z")
	other.Receipt.Scope = receipts.OrgTenant
	usage := []UsageLine{{Seq: 9, ProviderID: "p", RecordedAt: at("2026-06-01T00:00:00Z"), AsOf: at("2026-06-01T00:00:00Z"), FramesServed: 1}}
	for _, c := range []struct {
		name     string
		grants   []Grant
		declared []Declaration
		verdict  Verdict
		seqs     []int64
	}{
		{"lapsed", []Grant{lapsed}, []Declaration{model}, Expired, []int64{1, 9}},
		{"another scope", []Grant{other}, []Declaration{model}, Unconsented, []int64{9}},
		{"consent to somewhere, undeclared", []Grant{lapsed, other}, nil, Undeclared, []int64{1, 2, 9}},
		{"nothing at all", nil, nil, Undeclared, []int64{9}},
	} {
		e := FindingEvidence{Evidence: Evidence{Usage: usage, Consents: Consents{Grants: c.grants}, Declarations: c.declared}}
		got, err := Findings(t.Context(), e, FindingQuery{})
		if err != nil || len(got) != 1 || got[0].Kind != FindingUnconsented || got[0].Verdict != c.verdict || !slices.Equal(got[0].Seqs, c.seqs) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

// An answer that somebody waits for ends when nobody waits any more, and has a bound on what it lists.
func TestEgressWithin(t *testing.T) {
	t.Parallel()
	e := Evidence{Usage: []UsageLine{{Seq: 9, ProviderID: "p", AsOf: at("2026-06-01T00:00:00Z"), FramesServed: 1}}}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := EgressWithin(gone, e, EgressQuery{}); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits: %v", err)
	}
	if _, err := Findings(gone, FindingEvidence{Evidence: e}, FindingQuery{}); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits for findings: %v", err)
	}
	e.Consents.Grants = []Grant{grantOf(1, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"), grantOf(2, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z")}
	if _, err := joinEgress(t.Context(), e, EgressQuery{}, 1); !errors.Is(err, kinds.ErrTooMuch) {
		t.Errorf("more consents than may be listed: %v", err)
	}
}

// However many consents a finding was judged by, the report that it is about is among the entries that it names.
func TestAFindingNamesItsReport(t *testing.T) {
	t.Parallel()
	e := FindingEvidence{Evidence: Evidence{Usage: []UsageLine{{Seq: 999, ProviderID: "p", RecordedAt: at("2026-06-01T00:00:00Z"), AsOf: at("2026-06-01T00:00:00Z"), FramesServed: 1}}}}
	for i := range int64(100) {
		g := grantOf(i, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z")
		g.Receipt.Scope = receipts.EgressScope("acme:" + strconv.FormatInt(i, 10))
		e.Consents.Grants = append(e.Consents.Grants, g)
	}
	got, err := Findings(t.Context(), e, FindingQuery{})
	if err != nil || len(got) != 1 || !slices.Contains(got[0].Seqs, 999) || len(got[0].Seqs)+got[0].More != 101 {
		t.Errorf("%+v, %v", got, err)
	}
}

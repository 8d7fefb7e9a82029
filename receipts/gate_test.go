package receipts

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
)

func grantOf(scope EgressScope, granted, expires string) ConsentReceipt {
	r := ConsentReceipt{ProviderID: "p", Scope: scope, ProviderName: "P", ProviderVersion: "1", Grantor: Grantor{Human, "maria"}, GrantedAt: granted}
	if expires != "" {
		r.ExpiresAt = &expires
	}
	return r
}

func infoOf(egress bool, scopes ...EgressScope) ProviderInfo {
	return ProviderInfo{Name: "P", Version: "1", DataFlow: DataFlow{Egress: egress, EgressScopes: scopes}}
}

func TestGateByPresence(t *testing.T) {
	var s ConsentStore
	s.RecordReceipt(grantOf(ThirdPartyModel, "2031-01-01T00:00:00Z", "2031-01-02T00:00:00Z"))
	s.RecordReceipt(grantOf("vault", "whenever", ""))
	s.Record(ConsentRecord{ProviderID: "legacy"})
	for name, tt := range map[string]struct {
		id      string
		info    ProviderInfo
		outcome Outcome
		missing []EgressScope
	}{
		"local":                {"p", infoOf(false), Permitted, nil},
		"local-only":           {"p", infoOf(false, LocalOnly), Permitted, nil},
		"boolean, nothing":     {"other", infoOf(true), NeedsConsent, nil},
		"boolean, local-only":  {"other", infoOf(true, LocalOnly), NeedsConsent, nil},
		"boolean, receipt":     {"p", infoOf(true), NeedsConsent, nil},
		"boolean, record":      {"legacy", infoOf(true), Permitted, nil},
		"scope, record":        {"legacy", infoOf(true, OrgTenant), NeedsReceipts, []EgressScope{OrgTenant}},
		"scope, expired":       {"p", infoOf(true, ThirdPartyModel), Permitted, nil},
		"malformed, recorded":  {"p", infoOf(true, "vault"), Permitted, nil},
		"malformed, missing":   {"p", infoOf(true, "Vault"), NeedsReceipts, []EgressScope{"Vault"}},
		"other provider":       {"q", infoOf(true, ThirdPartyModel), NeedsReceipts, []EgressScope{ThirdPartyModel}},
		"liar":                 {"q", infoOf(false, ThirdPartyModel), NeedsReceipts, []EgressScope{ThirdPartyModel}},
		"order and duplicates": {"p", infoOf(true, "b:b", LocalOnly, ThirdPartyModel, "a:a", "b:b"), NeedsReceipts, []EgressScope{"b:b", "a:a", "b:b"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := s.Evaluate(tt.id, tt.info)
			if d.Outcome() != tt.outcome || !slices.Equal(d.Missing(), tt.missing) || d.Permitted() != (tt.outcome == Permitted) {
				t.Errorf("got %s, missing %q", d.Outcome(), d.Missing())
			}
			var scopes *ConsentScopeRequiredError
			var consent *ConsentRequiredError
			switch err := d.Err(); tt.outcome {
			case Permitted:
				if err != nil {
					t.Error(err)
				}
			case NeedsReceipts:
				if !errors.As(err, &scopes) || !slices.Equal(scopes.Scopes, tt.missing) || scopes.ProviderID != tt.id {
					t.Error(err)
				}
			case NeedsConsent:
				if !errors.As(err, &consent) || consent.ProviderID != tt.id {
					t.Error(err)
				}
			}
		})
	}
}

func TestTheZeroDecisionPermitsNothing(t *testing.T) {
	var d Decision
	if d.Permitted() || !errors.Is(d.Err(), ErrUndecided) {
		t.Errorf("%v", d.Err())
	}
}

func TestGateAtAMoment(t *testing.T) {
	var s ConsentStore
	s.RecordReceipt(grantOf(ThirdPartyModel, "2031-01-10T08:00:00Z", "2031-07-10T08:00:00Z"))
	early, late, unreadable := "2031-01-01T00:00:00Z", "2031-06-01T00:00:00Z", "once"
	s.Record(ConsentRecord{ProviderID: "dated", GrantedAt: &late})
	s.Record(ConsentRecord{ProviderID: "twice", GrantedAt: &late})
	s.Record(ConsentRecord{ProviderID: "twice", GrantedAt: &early})
	s.Record(ConsentRecord{ProviderID: "undated"})
	s.Record(ConsentRecord{ProviderID: "unreadable", GrantedAt: &unreadable})
	for _, tt := range []struct {
		id, at string
		info   ProviderInfo
		want   Outcome
	}{
		{"p", "2031-01-10T07:59:59Z", infoOf(true, ThirdPartyModel), NeedsReceipts},
		{"p", "2031-01-10T08:00:00Z", infoOf(true, ThirdPartyModel), Permitted},
		{"p", "2031-07-10T07:59:59.999Z", infoOf(true, ThirdPartyModel), Permitted},
		{"p", "2031-07-10T08:00:00Z", infoOf(true, ThirdPartyModel), NeedsReceipts},
		{"p", "2031-03-01T00:00:00Z", infoOf(true, ThirdPartyModel, OrgTenant), NeedsReceipts},
		{"p", "2031-03-01T00:00:00Z", infoOf(false), Permitted},
		{"dated", "2031-05-31T23:59:59Z", infoOf(true), NeedsConsent},
		{"dated", "2031-06-01T00:00:00Z", infoOf(true), Permitted},
		{"twice", "2031-05-31T23:59:59Z", infoOf(true), Permitted},
		{"undated", "2031-05-31T23:59:59Z", infoOf(true), Permitted},
		{"unreadable", "2031-05-31T23:59:59Z", infoOf(true), Permitted},
	} {
		if got := s.EvaluateAt(tt.id, tt.info, instant(t, tt.at)).Outcome(); got != tt.want {
			t.Errorf("%s at %s: %s, want %s", tt.id, tt.at, got, tt.want)
		}
	}
}

func TestGateFindings(t *testing.T) {
	var s ConsentStore
	s.RecordReceipt(grantOf(ThirdPartyModel, "2031-01-10T08:00:00Z", "2031-07-10T08:00:00Z"))
	s.RecordReceipt(grantOf(OrgTenant, "2031-01-10T08:00:00Z", ""))
	s.RecordReceipt(grantOf(ThirdPartyIndex, "2033-01-01T00:00:00Z", ""))
	s.RecordReceipt(grantOf("a:undated", "?", ""))
	if err := s.RecordRevocation(Revocation{"p", OrgTenant, Grantor{Policy, "x"}, "2031-02-01T00:00:00Z", nil, false}); err != nil {
		t.Fatal(err)
	}
	info := infoOf(false, LocalOnly, ThirdPartyModel, OrgTenant, ThirdPartyIndex, "a:undated", "a:never")
	want := []frames.Finding{
		{Code: C5Violation, Pointer: "/data_flow/egress_scopes/1", Document: "context-reuse C5"},
		{Code: ExpiredReceipt, Pointer: "/data_flow/egress_scopes/1", Document: "context-reuse C6"},
		{Code: RevokedReceipt, Pointer: "/data_flow/egress_scopes/2", Document: "context-reuse C6"},
		{Code: GrantedAfter, Pointer: "/data_flow/egress_scopes/3", Document: "context-reuse C6"},
		{Code: UndatedReceipt, Pointer: "/data_flow/egress_scopes/4", Document: "context-reuse C6"},
	}
	at := instant(t, "2032-01-01T00:00:00Z")
	if got := s.FindingsAt("p", info, at); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestIdentityDrift(t *testing.T) {
	var s ConsentStore
	s.RecordReceipt(grantOf(OrgTenant, "2031-01-01T00:00:00Z", ""))
	renamed := infoOf(true, OrgTenant)
	renamed.Version = "2"
	drifts := func(at string) bool {
		return slices.ContainsFunc(s.FindingsAt("p", renamed, instant(t, at)), func(f frames.Finding) bool { return f.Code == IdentityDrift })
	}
	if !drifts("2031-06-01T00:00:00Z") || !drifts("2030-01-01T00:00:00Z") {
		t.Error("a rename went unnoticed")
	}
	again := grantOf(OrgTenant, "2031-05-01T00:00:00Z", "")
	again.ProviderVersion = "2"
	s.RecordReceipt(again)
	if drifts("2031-06-01T00:00:00Z") {
		t.Error("consent to the new version was given")
	}
	if !drifts("2031-04-01T00:00:00Z") {
		t.Error("consent to the new version had not been given yet")
	}
}

// TestTheGateNeverUnderGates: what is permitted at a moment is permitted by presence, and each off-machine scope of a
// permitted declaration has a receipt.
func TestTheGateNeverUnderGates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyStore(t)
		info := ProviderInfo{DataFlow: anyFlow(t)}
		at := anyMoment(t)
		present, live := s.Evaluate("p", info), s.EvaluateAt("p", info, at)
		if live.Permitted() && !present.Permitted() {
			t.Fatalf("live permits what presence does not: %+v", info)
		}
		for _, scope := range info.DataFlow.OffMachine() {
			if present.Permitted() && !s.HasReceipt("p", scope) || live.Permitted() && s.StateAt("p", scope, at).State != Live {
				t.Fatalf("%q leaves without consent", scope)
			}
			if slices.Contains(present.Missing(), scope) == s.HasReceipt("p", scope) {
				t.Fatalf("missing %q, but %q", present.Missing(), scope)
			}
		}
	})
}

func anyMoment(t *rapid.T) time.Time {
	return time.Date(2031, 1, rapid.IntRange(1, 9).Draw(t, "day"), 0, 0, 0, 0, time.UTC)
}

func anyStore(t *rapid.T) *ConsentStore {
	s := &ConsentStore{}
	day := func(label string) string { return anyMoment(t).Format(time.RFC3339) }
	scope := rapid.SampledFrom([]EgressScope{OrgTenant, ThirdPartyModel, "a:b"})
	for range rapid.IntRange(0, 6).Draw(t, "events") {
		switch rapid.IntRange(0, 3).Draw(t, "event") {
		case 0:
			s.Record(ConsentRecord{ProviderID: "p"})
		case 1:
			if err := s.RecordRevocation(Revocation{"p", scope.Draw(t, "scope"), Grantor{Human, "m"}, day("revoked"), nil, false}); err != nil {
				t.Fatal(err)
			}
		default:
			expires := ""
			if rapid.Bool().Draw(t, "expires") {
				expires = day("expires")
			}
			s.RecordReceipt(grantOf(scope.Draw(t, "scope"), day("granted"), expires))
		}
	}
	return s
}

func TestDecodeConsentStore(t *testing.T) {
	src := `{"records":{"key":{"provider_id":"other","data_flow":{"egress":true},"granted_scope":"titles"}},"receipts":[` + worked + `],"extra":1}`
	s, err := strictjson.Parse([]byte(src), strictjson.Closed, DecodeConsentStore)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Evaluate("key", infoOf(true)).Permitted() || s.Evaluate("other", infoOf(true)).Permitted() {
		t.Error("a record counts for the id it stands under")
	}
	if got := s.ReceiptsFor("north-llm"); len(got) != 1 || !s.HasReceipt("north-llm", ThirdPartyModel) {
		t.Errorf("%+v", got)
	}
	_, err = strictjson.Parse([]byte(`{"records":{"secret-name":{"provider_id":1}}}`), strictjson.Open, DecodeConsentStore)
	var e *strictjson.Error
	if !errors.As(err, &e) || e.Pointer != "/records/provider_id" {
		t.Errorf("%v", err)
	}
}

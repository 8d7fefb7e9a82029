package receipts

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledgerd/frames"
)

func TestStateOverTime(t *testing.T) {
	var s ConsentStore
	revoke := func(at string) {
		t.Helper()
		if err := s.RecordRevocation(Revocation{"p", OrgTenant, Grantor{Human, "maria"}, at, nil, false}); err != nil {
			t.Fatal(err)
		}
	}
	s.RecordReceipt(grantOf(OrgTenant, "2031-02-01T00:00:00Z", "2031-03-01T00:00:00Z")) // 0: lapses
	s.RecordReceipt(grantOf(OrgTenant, "2031-05-01T00:00:00Z", ""))                     // 1: revoked on June 1
	revoke("2031-06-01T00:00:00Z")
	s.RecordReceipt(grantOf(OrgTenant, "2031-06-01T00:00:00Z", "2031-08-01T00:00:00Z")) // 2: granted again at the same instant, later
	s.RecordReceipt(grantOf(OrgTenant, "2031-09-01T00:00:00Z", ""))                     // 3: revoked at the same instant, later
	revoke("2031-09-01T00:00:00Z")
	s.RecordReceipt(grantOf(OrgTenant, "once", "")) // 4: undated
	for _, tt := range []struct {
		at    string
		state State
		index int
		ended string
	}{
		{"2031-01-31T23:59:59Z", NotYetGranted, 3, ""},
		{"2031-02-01T00:00:00Z", Live, 0, ""},
		{"2031-03-01T00:00:00Z", Expired, 0, "2031-03-01T00:00:00Z"},
		{"2031-05-01T00:00:00Z", Live, 1, ""},
		{"2031-05-31T23:59:59Z", Live, 1, ""},
		{"2031-06-01T00:00:00Z", Live, 2, ""},
		{"2031-08-01T00:00:00Z", Expired, 2, "2031-08-01T00:00:00Z"},
		{"2031-09-01T00:00:00Z", Revoked, 3, "2031-09-01T00:00:00Z"},
		{"2040-01-01T00:00:00Z", Revoked, 3, "2031-09-01T00:00:00Z"},
	} {
		got := s.StateAt("p", OrgTenant, instant(t, tt.at))
		ended := ""
		if !got.EndedAt.IsZero() {
			ended = got.EndedAt.Format(time.RFC3339)
		}
		if got.State != tt.state || got.Index != tt.index || ended != tt.ended {
			t.Errorf("%s: %s by %d, ended %s; want %+v", tt.at, got.State, got.Index, ended, tt)
		}
	}
	if got := s.StateAt("p", ThirdPartyModel, instant(t, "2031-05-01T00:00:00Z")); got.State != NeverGranted || got.Index != -1 {
		t.Errorf("%+v", got)
	}
	if len(s.ReceiptsFor("p")) != 5 {
		t.Error("a receipt is gone")
	}
	if r, ok := s.LiveReceiptReference("p", OrgTenant, "2031-04-01T00:00:00Z"); !ok || r.GrantedAt != "2031-05-01T00:00:00Z" {
		t.Errorf("the reference takes the first that has not lapsed, granted or not: %+v", r)
	}
	if _, ok := s.LiveReceiptReference("q", OrgTenant, ""); ok {
		t.Error("another provider's receipt")
	}
}

func TestARevocationOfALapsedGrantChangesNothing(t *testing.T) {
	var s ConsentStore
	s.RecordReceipt(grantOf(OrgTenant, "2031-01-01T00:00:00Z", "2031-02-01T00:00:00Z"))
	if err := s.RecordRevocation(Revocation{"p", OrgTenant, Grantor{Human, "maria"}, "2031-03-01T00:00:00Z", nil, false}); err != nil {
		t.Fatal(err)
	}
	if got := s.StateAt("p", OrgTenant, instant(t, "2031-04-01T00:00:00Z")); got.State != Expired {
		t.Errorf("%+v", got)
	}
}

// TestOnlyUndated: what can't be placed in time does not permit.
func TestOnlyUndated(t *testing.T) {
	var s ConsentStore
	s.RecordReceipt(grantOf(OrgTenant, "once", ""))
	s.RecordReceipt(grantOf(OrgTenant, "2031-01-01T00:00:00Z", "some day"))
	if got := s.StateAt("p", OrgTenant, instant(t, "2031-04-01T00:00:00Z")); got.State != Undated {
		t.Errorf("%+v", got)
	}
}

// TestRevokingNeverOpens: adding a revocation never makes a scope live that was not.
func TestRevokingNeverOpens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyStore(t)
		at := anyMoment(t)
		before := s.StateAt("p", OrgTenant, at)
		receipts := len(s.ReceiptsFor("p"))
		if err := s.RecordRevocation(Revocation{"p", OrgTenant, Grantor{Human, "m"}, anyMoment(t).Format(time.RFC3339), nil, false}); err != nil {
			t.Fatal(err)
		}
		after := s.StateAt("p", OrgTenant, at)
		if after.State == Live && before.State != Live || len(s.ReceiptsFor("p")) != receipts {
			t.Fatalf("before %+v, after %+v", before, after)
		}
		if after.State == Live && !after.Receipt.IsLive(at) {
			t.Fatalf("live by a receipt that is not: %+v", after)
		}
	})
}

func TestRevocationOfBooleanConsent(t *testing.T) {
	info := ProviderInfo{Name: "N", Version: "1", DataFlow: DataFlow{Egress: true}}
	granted := "2031-01-01T00:00:00Z"
	revoke := Revocation{ProviderID: "p", Boolean: true, RevokedBy: Grantor{Human, "m"}, RevokedAt: "2031-02-01T00:00:00Z"}
	at := func(s string) time.Time {
		v, _ := frames.ParseInstant(s)
		return v
	}
	for name, grantedAt := range map[string]*string{"dated": &granted, "undated": nil} {
		s := &ConsentStore{}
		s.Record(ConsentRecord{ProviderID: "p", GrantedAt: grantedAt})
		if err := s.RecordRevocation(revoke); err != nil {
			t.Fatal(err)
		}
		if !s.EvaluateAt("p", info, at("2031-01-31T00:00:00Z")).Permitted() {
			t.Errorf("%s: revoked before its time", name)
		}
		if s.EvaluateAt("p", info, at("2031-02-01T00:00:00Z")).Permitted() || s.Evaluate("p", info).Permitted() {
			t.Errorf("%s: the revocation did not close the gate", name)
		}
		again := "2031-03-01T00:00:00Z"
		s.Record(ConsentRecord{ProviderID: "p", GrantedAt: &again})
		if !s.EvaluateAt("p", info, at(again)).Permitted() || !s.Evaluate("p", info).Permitted() {
			t.Errorf("%s: a later consent does not open the gate again", name)
		}
	}
	if _, err := ParseRevocation([]byte(`{"provider_id":"p","scope":null,"revoked_by":{"kind":"human","id":"m"},"revoked_at":"2031-02-01T00:00:00Z"}`)); err != nil {
		t.Error(err)
	}
	if (Revocation{ProviderID: "p", RevokedBy: Grantor{Human, "m"}, RevokedAt: granted}).Check() == nil {
		t.Error("an empty scope is no null")
	}
}

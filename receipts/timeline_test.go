package receipts

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// stateByRule is StateAt said in words: it looks at every grant, and for each at every revocation.
func stateByRule(s *ConsentStore, scope EgressScope, t time.Time) (state State, index int) {
	h := s.byTarget[target{"p", scope}]
	state, index = NeverGranted, -1
	if h == nil {
		return state, index
	}
	rank := map[State]int{Undated: 1, NotYetGranted: 2, Expired: 3, Revoked: 3}
	var bestBegan time.Time
	for _, g := range h.grants {
		one, began := grantByRule(s.receipts[g.index], g, h.revocations, t)
		if one == Live {
			return Live, g.index
		}
		if rank[one] > rank[state] || rank[one] == rank[state] && !began.Before(bestBegan) {
			state, index, bestBegan = one, g.index, began
		}
	}
	return state, index
}

func grantByRule(r ConsentReceipt, g grant, revocations []revocation, t time.Time) (state State, began time.Time) {
	switch {
	case !g.dated:
		return Undated, time.Time{}
	case t.Before(g.began):
		return NotYetGranted, g.began
	}
	state = Live
	if r.ExpiresAt != nil && !t.Before(g.ends) {
		state = Expired
	}
	for _, v := range revocations {
		concerns := v.at.After(g.began) || v.at.Equal(g.began) && v.recorded > g.recorded
		if concerns && !t.Before(v.at) && (r.ExpiresAt == nil || v.at.Before(g.ends)) {
			state = Revoked
		}
	}
	return state, g.began
}

func anyHistory(t *rapid.T) *ConsentStore {
	day := func(label string) string {
		return time.Date(2031, 1, 1+rapid.IntRange(0, 9).Draw(t, label), 0, 0, 0, 0, time.UTC).Format(time.RFC3339)
	}
	s := &ConsentStore{}
	for range rapid.IntRange(0, 14).Draw(t, "events") {
		switch rapid.IntRange(0, 5).Draw(t, "event") {
		case 0, 1:
			r := grantOf(OrgTenant, day("granted"), "")
			if rapid.Bool().Draw(t, "expires") {
				until := day("until")
				r.ExpiresAt = &until
			}
			r.ProviderVersion = rapid.SampledFrom([]string{"1", "2"}).Draw(t, "version")
			s.RecordReceipt(r)
		case 2:
			s.RecordReceipt(grantOf(OrgTenant, "once", ""))
		case 3:
			granted := day("given")
			r := ConsentRecord{ProviderID: "p", GrantedAt: &granted}
			if rapid.Bool().Draw(t, "undated") {
				r.GrantedAt = nil
			}
			s.Record(r)
		default:
			r := Revocation{ProviderID: "p", Scope: OrgTenant, RevokedBy: Grantor{Human, "m"}, RevokedAt: day("revoked")}
			if r.Boolean = rapid.Bool().Draw(t, "boolean"); r.Boolean {
				r.Scope = ""
			}
			if err := s.RecordRevocation(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// A timeline answers what the rule says, at every moment, about the state, about the identity and about boolean consent.
func TestTimelineSaysWhatTheRuleSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := anyHistory(t)
		for hour := -12; hour < 11*24; hour += 12 {
			at := time.Date(2031, 1, 1, hour, 0, 0, 0, time.UTC)
			got := s.StateAt("p", OrgTenant, at)
			if state, index := stateByRule(s, OrgTenant, at); got.State != state || got.Index != index {
				t.Fatalf("%s: %s by %d, the rule says %s by %d", at, got.State, got.Index, state, index)
			}
			if got.State == Revoked && (got.FirstRevocation < 0 || got.FirstRevocation > got.Revocation) {
				t.Fatalf("%s: revoked by %d, of which the first recorded is %d", at, got.Revocation, got.FirstRevocation)
			}
			info := ProviderInfo{Name: "P", Version: "2"}
			if got, want := s.Drifted("p", OrgTenant, info, at), driftByRule(s, info, at); got != want {
				t.Fatalf("%s: drifted %v, the rule says %v", at, got, want)
			}
			live := false
			for _, state := range s.RecordsAt("p", at) {
				live = live || state == Live
			}
			if got := s.RecordStateAt("p", at); live != (got.State == Live) {
				t.Fatalf("%s: boolean consent is %s, some record is live: %v", at, got.State, live)
			}
		}
	})
}

func driftByRule(s *ConsentStore, info ProviderInfo, at time.Time) bool {
	var live, liveSame, same, some bool
	for one := range s.Standings("p", OrgTenant, at) {
		pins := one.Receipt.ProviderName == info.Name && one.Receipt.ProviderVersion == info.Version
		some, same = true, same || pins
		live, liveSame = live || one.State == Live, liveSame || pins && one.State == Live
	}
	if live {
		return !liveSame
	}
	return some && !same
}

// What is asked between two recordings is asked of the history as it is.
func TestTimelineIsForgottenWhenTheHistoryGrows(t *testing.T) {
	t.Parallel()
	var s ConsentStore
	at := time.Date(2031, 6, 1, 0, 0, 0, 0, time.UTC)
	for i, want := range []State{Live, Revoked, Live} {
		if i == 1 {
			if err := s.RecordRevocation(Revocation{"p", OrgTenant, Grantor{Human, "m"}, "2031-02-01T00:00:00Z", nil, false}); err != nil {
				t.Fatal(err)
			}
		} else {
			s.RecordReceipt(grantOf(OrgTenant, fmt.Sprintf("2031-0%d-01T00:00:00Z", i+1), ""))
		}
		if got := s.StateAt("p", OrgTenant, at); got.State != want {
			t.Errorf("after %d events: %s, want %s", i+1, got.State, want)
		}
	}
}

// A history of many grants and as many revocations is read once, and then asked at the cost of a search.
func BenchmarkStateAtOfManyGrants(b *testing.B) {
	const n = 10_000
	var s ConsentStore
	first := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		s.RecordReceipt(grantOf(OrgTenant, first.Add(time.Duration(2*i)*time.Minute).Format(time.RFC3339), ""))
		at := first.Add(time.Duration(2*i+1) * time.Minute).Format(time.RFC3339)
		if err := s.RecordRevocation(Revocation{"p", OrgTenant, Grantor{Human, "m"}, at, nil, false}); err != nil {
			b.Fatal(err)
		}
	}
	for i := 0; b.Loop(); i++ {
		if got := s.StateAt("p", OrgTenant, first.Add(time.Duration(i%(2*n))*time.Minute)); got.Index < 0 {
			b.Fatal(got)
		}
	}
}

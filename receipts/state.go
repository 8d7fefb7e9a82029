package receipts

import (
	"iter"
	"time"

	"ledgerd/frames"
)

// State is how consent to one scope stood at one moment.
type State string

// The states. All but Live and NeverGranted mean that there is a receipt, which was not in force.
const (
	// Live: a grant was in force.
	Live State = "live"
	// Revoked: the last grant that had begun was taken back before it lapsed.
	Revoked State = "revoked"
	// Expired: the last grant that had begun had lapsed.
	Expired State = "expired"
	// NotYetGranted: there are grants, but only from a later moment on.
	NotYetGranted State = "granted-after"
	// Undated: the only receipts can't be placed in time, and what can't be placed does not permit.
	Undated State = "undated"
	// NeverGranted: no receipt was recorded.
	NeverGranted State = "never-granted"
)

// Standing is a State with its evidence.
type Standing struct {
	State State
	// Receipt is the grant that decided, the zero value for NeverGranted.
	Receipt ConsentReceipt
	// Index is the receipt's place among all receipts of the store in the order of recording, or -1.
	Index int
	// EndedAt is when that grant ended, for Revoked and Expired.
	EndedAt time.Time
}

// StateAt is how consent of exactly this provider and scope stood at t: granted_at ≤ t < expires_at by instants, and not
// revoked. A revocation ends the grants that began before it, or at the same instant and were recorded before it. Of
// several live grants the first recorded decides; else the one that began last.
func (s *ConsentStore) StateAt(providerID string, scope EgressScope, t time.Time) Standing {
	best := Standing{State: NeverGranted, Index: -1}
	h := s.byTarget[target{providerID, scope}]
	if h == nil {
		return best
	}
	var bestBegan time.Time
	for _, g := range h.grants {
		standing, began := s.standingOf(g, h.revocations, t)
		if standing.State == Live {
			return standing
		}
		r, b := rank(standing.State), rank(best.State)
		if r > b || r == b && !began.Before(bestBegan) {
			best, bestBegan = standing, began
		}
	}
	return best
}

// rank orders the states that are not live by how near they come.
func rank(s State) int {
	switch s {
	case Revoked, Expired:
		return 3
	case NotYetGranted:
		return 2
	case Undated:
		return 1
	}
	return 0
}

// Standings is how each grant of exactly this provider and scope stood at t, in the order of recording. StateAt is the one
// of them that decides.
func (s *ConsentStore) Standings(providerID string, scope EgressScope, t time.Time) iter.Seq[Standing] {
	return func(yield func(Standing) bool) {
		h := s.byTarget[target{providerID, scope}]
		if h == nil {
			return
		}
		for _, g := range h.grants {
			if standing, _ := s.standingOf(g, h.revocations, t); !yield(standing) {
				return
			}
		}
	}
}

func (s *ConsentStore) standingOf(g grant, revocations []revocation, t time.Time) (_ Standing, began time.Time) {
	r := s.receipts[g.index]
	out := Standing{Receipt: r, Index: g.index, State: Live}
	switch {
	case !g.dated:
		out.State = Undated
		return out, time.Time{}
	case t.Before(g.began):
		out.State = NotYetGranted
		return out, g.began
	}
	if r.ExpiresAt != nil && !t.Before(g.ends) {
		out.State, out.EndedAt = Expired, g.ends
	}
	if end, revoked := revokedAt(g, revocations); revoked && !t.Before(end) && (out.State == Live || end.Before(g.ends)) {
		out.State, out.EndedAt = Revoked, end
	}
	return out, g.began
}

// revokedAt is the earliest revocation that concerns a grant.
func revokedAt(g grant, revocations []revocation) (end time.Time, revoked bool) {
	for _, v := range revocations {
		concerns := v.at.After(g.began) || v.at.Equal(g.began) && v.recorded > g.recorded
		if concerns && (!revoked || v.at.Before(end)) {
			end, revoked = v.at, true
		}
	}
	return end, revoked
}

// finding is the code for a receipt that permits by presence and not by time.
func (s State) finding() (frames.Code, bool) {
	switch s {
	case Expired:
		return ExpiredReceipt, true
	case Revoked:
		return RevokedReceipt, true
	case NotYetGranted:
		return GrantedAfter, true
	case Undated:
		return UndatedReceipt, true
	}
	return "", false
}

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
	// Index is the receipt's place among all receipts of the store in the order of recording, or -1. Of a boolean consent it
	// is the record's place among its provider's.
	Index int
	// EndedAt is when that consent ended, for Revoked and Expired.
	EndedAt time.Time
	// Revocation is the place of the revocation that ended it, among all of the store in the order of recording, or -1.
	Revocation int
	// FirstRevocation is the place of the first recorded one of those that had taken this consent back by then, or -1: who
	// knew any of them knew that it was over.
	FirstRevocation int
}

// never is the standing of what nobody agreed to.
var never = Standing{State: NeverGranted, Index: -1, Revocation: -1, FirstRevocation: -1}

// StateAt is how consent of exactly this provider and scope stood at t: granted_at ≤ t < expires_at by instants, and not
// revoked. A revocation ends the grants that began before it, or at the same instant and were recorded before it. Of
// several live grants the first recorded decides; else the one that began last. The first question about a target costs n
// log n in its history, each further one log n.
func (s *ConsentStore) StateAt(providerID string, scope EgressScope, t time.Time) Standing {
	h := s.byTarget[target{providerID, scope}]
	if h == nil {
		return never
	}
	standing := h.overTime(s.receipts).at(t)
	if standing.Index >= 0 {
		standing.Receipt = s.receipts[standing.Index]
	}
	return standing
}

// overTime makes the timeline once. The history is never changed under it: adding to it forgets the timeline.
func (h *history) overTime(receipts []ConsentReceipt) *timeline {
	if l := h.line.Load(); l != nil {
		return l
	}
	l := newTimeline(h.periods(receipts), h.revocations)
	h.line.Store(l)
	return l
}

// Standings is how each grant of exactly this provider and scope stood at t, in the order of recording. StateAt is the one
// of them that decides.
func (s *ConsentStore) Standings(providerID string, scope EgressScope, t time.Time) iter.Seq[Standing] {
	return func(yield func(Standing) bool) {
		h := s.byTarget[target{providerID, scope}]
		if h == nil {
			return
		}
		for _, p := range h.overTime(s.receipts).periods {
			standing := p.standingAt(t)
			standing.Receipt = s.receipts[p.place]
			if !yield(standing) {
				return
			}
		}
	}
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

package receipts

import (
	"cmp"
	"slices"
	"time"

	"ledgerd/frames"
)

// period is when one consent began and what ended it first: its own expiry, or a revocation that concerns it.
type period struct {
	place    int       // in its list: of the store's receipts, or of the provider's records
	recorded int       // when it was recorded, among all events of the store
	began    time.Time // meaningless when it is undated
	undated  bool
	always   bool      // it counts from always on: a record without a readable time
	ends     time.Time // meaningless while state is Live
	state    State     // after ends: Expired or Revoked, else Live
	by       int       // the revocation that ended it, -1 for none
}

// standingAt is how the consent stood at t by itself.
func (p period) standingAt(t time.Time) Standing {
	s := Standing{State: Live, Index: p.place, Revocation: -1, FirstRevocation: -1}
	switch {
	case p.undated:
		s.State = Undated
	case !p.begun(t):
		s.State = NotYetGranted
	case p.over(t):
		s.State, s.EndedAt, s.Revocation = p.state, p.ends, p.by
	}
	return s
}

func (p period) begun(t time.Time) bool { return p.always || !t.Before(p.began) }

func (p period) over(t time.Time) bool { return p.state != Live && !t.Before(p.ends) }

// concernedBy says whether a revocation ends the consent: it must come later. At one instant the order of recording
// decides, and so it does for a consent that states no time.
func (p period) concernedBy(v revocation) bool {
	if p.always || v.at.Equal(p.began) {
		return v.recorded > p.recorded
	}
	return v.at.After(p.began)
}

// endings are the revocations of one target, ready to be asked which one ends a consent.
type endings struct {
	byTime   []revocation // by instant, then in the order of recording
	recorded []revocation // in the order of recording
	earliest []int        // of recorded[i:], the place of the earliest by instant
}

func newEndings(list []revocation) endings {
	e := endings{byTime: slices.Clone(list), recorded: list, earliest: make([]int, len(list))}
	slices.SortFunc(e.byTime, compareRevocations)
	for i := len(list) - 1; i >= 0; i-- {
		e.earliest[i] = i
		if i+1 < len(list) && compareRevocations(list[e.earliest[i+1]], list[i]) < 0 {
			e.earliest[i] = e.earliest[i+1]
		}
	}
	return e
}

func compareRevocations(a, b revocation) int {
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.recorded, b.recorded))
}

// end closes a period by the earliest revocation that concerns it, if that comes before its expiry.
func (e endings) end(p *period) {
	v, found := e.first(*p)
	if found && (p.state == Live || v.at.Before(p.ends)) {
		p.ends, p.state, p.by = v.at, Revoked, v.place
	}
}

func (e endings) first(p period) (v revocation, found bool) {
	if p.always {
		i, _ := slices.BinarySearchFunc(e.recorded, p.recorded, func(v revocation, n int) int { return cmp.Compare(v.recorded, n) })
		if i == len(e.recorded) {
			return v, false
		}
		return e.recorded[e.earliest[i]], true
	}
	i, _ := slices.BinarySearchFunc(e.byTime, revocation{at: p.began, recorded: p.recorded}, compareRevocations)
	if i == len(e.byTime) {
		return v, false
	}
	return e.byTime[i], true
}

// periods reads the receipts of a target.
func (h *history) periods(receipts []ConsentReceipt) []period {
	ends := newEndings(h.revocations)
	list := make([]period, len(h.grants))
	for i, g := range h.grants {
		p := period{place: g.index, recorded: g.recorded, began: g.began, undated: !g.dated, state: Live, by: -1}
		if g.dated && receipts[g.index].ExpiresAt != nil {
			p.ends, p.state = g.ends, Expired
		}
		if g.dated {
			ends.end(&p)
		}
		list[i] = p
	}
	return list
}

// periods reads the boolean consents of a provider.
func (h *recordHistory) periods() []period {
	ends := newEndings(h.revocations)
	list := make([]period, len(h.given))
	for i, r := range h.given {
		p := period{place: i, recorded: r.recorded, always: true, state: Live, by: -1}
		if r.GrantedAt != nil {
			began, dated := frames.ParseRFC3339(*r.GrantedAt)
			p.began, p.always = began, !dated
		}
		ends.end(&p)
		list[i] = p
	}
	return list
}

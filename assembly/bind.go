package assembly

import (
	"cmp"
	"slices"
	"strconv"
)

// The contract's "Scope, identity, selection, and ordered binding", snapshot, and "Health, lifecycle, and conformance";
// C0-R118, C0-R200 … C0-R260.

// resolveProfile runs stage "profile".
func (v *verifier) resolveProfile() (decided bool) {
	a := v.rec
	v.reached = ProfileRules
	for _, r := range v.anchors.Revisions {
		for i, c := range a.resolution.candidates {
			v.unless(r.RevisionID != c.revision || r.ContentDigest == c.digest, R115, "/profile_resolution/candidates", i, "/content_digest")
		}
	}
	if len(resolve(a.id.TenantID, a.id.AgentID, a.resolution, a.profile)) > 0 {
		return v.fail(atProfile, ProfileInvalid)
	}
	active := a.resolution.candidates[slices.IndexFunc(a.resolution.candidates, func(c profileCandidate) bool { return c.active })]
	if a.profile == nil {
		v.unless(false, R118, "/profile")
		v.lack("/profile")
		return false
	}
	v.unless(a.profile.revision == active.revision, R118, "/profile/profile_revision_id")
	v.unless(a.profile.digest == active.digest, R118, "/profile")
	if a.snapshot == nil {
		v.lack("/snapshot")
	}
	if a.plan == nil {
		v.lack("/plan")
	}
	return false
}

// bind runs stage "bind": it seats the enabled positions, checks the snapshot, and fails when a required position is not
// eligible. A cancelled parent decides before that (section 7.2).
func (v *verifier) bind() (decided bool) {
	if !v.isKnown() {
		return false
	}
	v.reached = BindRules
	v.seat()
	v.checkSnapshot()
	v.checkAnchors()
	isBound := true
	for i := range v.seats {
		s := &v.seats[i]
		v.checkBinding(s)
		isBound = isBound && (s.isEligible || !s.isRequired())
	}
	return v.stops(isBound, atBind, RequiredUnavailable)
}

// stops ends the pipeline where binding or plan failed. A cancelled parent decides in its place, and nobody may have been asked all
// the same (C0-R390).
func (v *verifier) stops(holds bool, stage Word, code Code) (decided bool) {
	v.isClosed = v.isClosed || !holds
	return !holds && !v.rec.parent.cancelled() && v.fail(stage, code)
}

// seat gives every enabled position of the profile what the snapshot and the plan have for it.
func (v *verifier) seat() {
	a := v.rec
	for i := range a.profile.positions {
		if rule := &a.profile.positions[i]; rule.enabled {
			v.seats = append(v.seats, seat{rule: rule, binding: &binding{}, planned: &plannedPosition{}, row: &runtimeRow{}})
		}
	}
	slices.SortFunc(v.seats, func(a, b seat) int { return cmp.Compare(a.rule.position, b.rule.position) })
	var bound, planned []int64
	for i := range a.snapshot.positions {
		b := &a.snapshot.positions[i]
		if s := v.at(b.position); s != nil && s.bindingAt == "" {
			s.binding, s.bindingAt = b, "/snapshot/positions/"+strconv.Itoa(i)
		}
		bound = append(bound, b.position)
	}
	for i := range a.plan.positions {
		p := &a.plan.positions[i]
		if s := v.at(p.position); s != nil && s.plannedAt == "" {
			s.planned, s.plannedAt = p, "/plan/positions/"+strconv.Itoa(i)
		}
		planned = append(planned, p.position)
	}
	v.checkSeating(bound, planned)
}

// checkSeating: both lists are of exactly the enabled positions, in order.
func (v *verifier) checkSeating(bound, planned []int64) {
	enabled := make([]int64, len(v.seats))
	for i := range v.seats {
		enabled[i] = v.seats[i].rule.position
	}
	v.unless(slices.Equal(bound, enabled), R200, "/snapshot/positions")
	v.unless(slices.Equal(planned, enabled), R300, "/plan/positions")
	for i := range v.seats {
		s := &v.seats[i]
		if s.bindingAt == "" {
			v.lack("/snapshot/positions")
		}
		if s.plannedAt == "" {
			v.lack("/plan/positions")
		}
	}
}

func (v *verifier) at(position int64) *seat {
	i, found := slices.BinarySearchFunc(v.seats, position, func(s seat, p int64) int { return cmp.Compare(s.rule.position, p) })
	if !found {
		return nil
	}
	return &v.seats[i]
}

package assembly

// The contract's "Budgeting, rendering, and final truncation", and the assembly plan of "Scope, identity, selection, and
// ordered binding"; C0-R300 … C0-R390.

// plan runs stage "plan". Where the parent was cancelled, a budget that fails leaves the positions without allocations.
func (v *verifier) plan() (decided bool) {
	if !v.isKnown() {
		return false
	}
	v.reached = PlanRules
	v.checkPlan()
	shares := make([]share, len(v.seats))
	for i := range v.seats {
		rule := v.seats[i].rule
		shares[i] = share{rule.position, v.seats[i].isRequired(), rule.minimum, rule.cap}
	}
	var known bool
	if v.budget, known = allocate(v.rec.plan.budget, shares); !known {
		v.lack("/plan/budget/model_candidates")
		return false
	}
	for i, a := range v.budget.allocations {
		v.seats[i].allocation = a // both by position
	}
	return v.stops(v.budget.code == "", atPlan, v.budget.code)
}

func (v *verifier) checkPlan() {
	p, s := v.rec.plan, v.rec.snapshot
	v.unless(p.snapshot == s.id, R300, "/plan/snapshot_id")
	v.unless(p.assembly == v.rec.id.AssemblyID, R300, "/plan/context_assembly_id")
	v.unless(p.DigestHolds(), R302, "/plan/plan_digest")
	v.unless(!s.createdAt.after(p.createdAt), R305, "/plan/created_at")
	if first, ok := v.firstAttempt(); ok {
		v.unless(!p.createdAt.after(first), R305, "/plan/created_at")
		v.unless(isAhead(v.anchors.PlanReceivedAt, first), R305, "/plan")
	}
	v.unless(v.rec.final.ceiling == p.limits, R752, "/final/ceiling")
}

// noRequests: where profile, binding or plan failed no provider may have been asked (C0-R390).
func (v *verifier) noRequests() {
	for i := range v.rec.rows {
		row := &v.rec.rows[i]
		v.unless(row.request == nil, R390, "/positions", i, "/request")
		v.unless(len(row.attempts) == 0, R390, "/positions", i, "/attempts")
	}
}

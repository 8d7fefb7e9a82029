package assembly

// The contract's "Ordered merge, duplicates, freshness, and authority", clamping, and "Privacy, redaction, and
// observability", sensitivity; C0-R630 … C0-R650.

// freshnessCeilings is the profile's authority ceiling for each freshness.
type freshnessCeilings struct{ fresh, stale, unknown Word }

func (f freshnessCeilings) of(label Word) Word {
	switch label {
	case fresh:
		return f.fresh
	case stale:
		return f.stale
	}
	return f.unknown
}

// sensitivityPolicies is the profile's policy for each sensitivity.
type sensitivityPolicies struct{ public, private, sensitive sensitivityPolicy }

type sensitivityPolicy struct {
	admit   bool
	ceiling Word
}

func (p sensitivityPolicies) of(s Word) sensitivityPolicy {
	switch s {
	case public:
		return p.public
	case private:
		return p.private
	}
	return p.sensitive
}

// clampInput is what the labels of one contribution follow from.
type clampInput struct {
	claim         Word
	sensitivity   Word // claimed
	kernelFloor   Word // "" is null
	ceiling       Word // of the position
	freshness     Word
	class         classRule
	byFreshness   freshnessCeilings
	policies      sensitivityPolicies
	modelBoundary []Word
	position      []Word // sensitivities that the position admits
}

// labels are what the kernel makes of the provider's claims.
type labels struct {
	sensitivity Word
	admitted    bool
	authority   Word // effective; "" where the sensitivity was refused
	wrapper     Word // "" likewise
}

// clamp derives the labels. The sensitivity is the highest of claim, class floor and kernel evidence, so never below the
// claim (C0-R630); it must be admitted three times (C0-R635). The authority is the least of five (C0-R640), so that no
// claim can raise it and a reserved one never appears (C0-R650).
func clamp(in clampInput) labels {
	l := labels{sensitivity: highest(in.sensitivity, in.class.floor, in.kernelFloor)}
	policy := in.policies.of(l.sensitivity)
	l.admitted = policy.admit && words(in.modelBoundary).has(l.sensitivity) && words(in.position).has(l.sensitivity)
	if !l.admitted {
		return l
	}
	l.authority = least(in.claim, in.ceiling, in.class.ceiling, in.byFreshness.of(in.freshness), policy.ceiling)
	if in.class.isExternal {
		l.authority = least(l.authority, contextData)
	}
	if l.wrapper = inSlot; in.class.isExternal || l.authority == untrustedData {
		l.wrapper = dataIsolation // C0-R645
	}
	return l
}

func highest(claim Word, floors ...Word) Word {
	for _, f := range floors {
		if sensitivityRank(f) > sensitivityRank(claim) {
			claim = f
		}
	}
	return claim
}

// least is the least authoritative. What is no authority of a contribution counts as untrusted data.
func least(authority Word, ceilings ...Word) Word {
	rank := authorityRank(authority)
	for _, c := range ceilings {
		rank = min(rank, authorityRank(c))
	}
	switch rank {
	case 2:
		return workflowGuidance
	case 1:
		return contextData
	}
	return untrustedData
}

func (r reader) freshnessCeilings() (f freshnessCeilings) {
	r.Object(into("fresh", &f.fresh, r.word), into("stale", &f.stale, r.word), into("unknown", &f.unknown, r.word))
	return f
}

func (r reader) sensitivityPolicies() (p sensitivityPolicies) {
	r.Object(
		into("public", &p.public, r.sensitivityPolicy),
		into("private", &p.private, r.sensitivityPolicy),
		into("sensitive", &p.sensitive, r.sensitivityPolicy),
	)
	return p
}

func (r reader) sensitivityPolicy() (p sensitivityPolicy) {
	r.Object(into("admit", &p.admit, r.Bool), into("authority_ceiling", &p.ceiling, r.word))
	return p
}

package assembly

// The contract's "Deadlines, cancellation, failure, and recovery", cache, at one position of an assembly.

// judgeCache revalidates the cached result of a row that has one, whether the row's material came from it or it only
// stands ready as a declared fallback.
func (v *verifier) judgeCache(s *seat) {
	s.cacheStatus = none
	c := s.row.cache
	if c == nil {
		return
	}
	rule := v.resultRule(s)
	in := cacheInput{
		permitted: s.rule.cachePermitted, isRequired: s.isRequired(), needsFresh: s.rule.freshness.requirement == fresh,
		key: c.key, current: v.currentKey(s), policyOK: c.policyOK, ordinals: c.ordinals,
	}
	b := broken{}
	for i := range c.contributions {
		fit := &c.contributions[i]
		v.unless(fit.assembly == rule.assembly && fit.binding == rule.binding, R878, s.rowAt, "/cache/contributions", i)
		b.unless(fit.sensitivity != "", R550)
		rule.content(&b, fit)
	}
	b.unless(!totalsOf(c.contributions).exceeds(rule.allocation.Amount), R535) // a cache gives no extra budget
	b.unless(hasAllOrdinals(c.contributions) && len(c.ordinals) == len(c.contributions), R870)
	in.contentFailure = b
	if len(b) == 0 && inOrder(c.ordinals) {
		s.cached = v.assess(s, c.contributions, c.checkedAt)
		in.digestsHold = resultDigest(s.cached) == c.storedDigest
		for i := range s.cached {
			in.freshness = append(in.freshness, s.cached[i].freshness)
		}
	}
	got := in.judge()
	s.cacheStatus, s.isStaleHit = got.status, got.code == ContributionStale
	if got.status != hit {
		s.cached = nil
	}
}

// cacheEvent is the event of a row whose material is a cached result. No cached result is a cache miss.
func (s *seat) cacheEvent() Word {
	s.pieces = s.cached
	switch {
	case s.isStaleHit:
		return stale
	case s.cacheStatus != hit:
		return cacheFailed
	}
	if event := s.rule.eventOf(s.pieces); event != "" {
		return event
	}
	return cacheHit
}

// fallback is the cache status that a declared fallback goes by: a result of which nothing is admitted is of no use.
func (s *seat) fallback() Word {
	if s.cacheStatus == hit && s.rule.eventOf(s.cached) == policyOmitted {
		return rejected
	}
	return s.cacheStatus
}

// currentKey is what a cached result must have been stored under.
func (v *verifier) currentKey(s *seat) cacheKey {
	return cacheKey{
		kind: ProviderKind, binding: s.binding.id, release: s.binding.implementation.release,
		configuration: s.binding.configuration, revision: v.rec.profile.revision, position: s.rule.position,
		operation: contribute, inputSet: s.planned.inputSet, scope: v.rec.id.scopeDigest(),
		redaction: v.rec.snapshot.policies.redaction, outputContract: s.rule.outputContract(s.allocation.Bounds),
	}
}

package assembly

// The contract's "Ordered merge, duplicates, freshness, and authority": what the kernel makes of validated contributions;
// section 6.4, C0-R600 … C0-R650, C0-R695.

// assess labels contributions whose ordinals are 0 … n−1 and puts them in that order. A contribution is refused for its
// sensitivity first, then as inadmissible beside canonical kernel material.
func (v *verifier) assess(s *seat, list []contribution, received instant) []piece {
	p := v.rec.profile
	times := clocks{snapshot: v.rec.plan.snapshotTime, received: received, skewMS: p.clockSkewMS}
	pieces := make([]piece, len(list))
	for i := range list {
		c := &list[i]
		piece := &pieces[c.ordinal]
		piece.ref, piece.isRequired = Ref{s.rule.position, c.ordinal}, s.isRequired()
		piece.input, piece.digest = c, c.kernelDigest
		if c.sensitivity == "" { // C0-R550
			piece.disposition = rejected
			continue
		}
		class, known := p.sourceClasses[c.source.class]
		if !known {
			v.lack("/profile/source_classes")
		}
		piece.identity = p.mapping.identify(s.rule.sources, c.source.pair, c.source.ref)
		piece.freshness, _ = freshness(s.rule.freshness, times, c.times)
		piece.labels = clamp(clampInput{
			claim: c.authority, sensitivity: c.sensitivity, kernelFloor: c.kernelFloor, ceiling: s.rule.ceiling,
			freshness: piece.freshness, class: class, byFreshness: p.freshnessAuthority, policies: p.sensitivityPolicies,
			modelBoundary: v.rec.plan.modelBoundary, position: s.rule.sensitivities,
		})
		switch {
		case !piece.admitted:
			piece.disposition = sensitivityOmitted
		case c.inadmissible != "":
			piece.disposition = kernelInadmissible
		}
	}
	return pieces
}

// eventOf is what an assessment makes of a position: nothing is left, or something is not as fresh as it must be. The
// whole position fails then (D-09). It is "" where the assessment changes nothing.
func (p *positionRule) eventOf(pieces []piece) Word {
	left, isStale := 0, false
	for i := range pieces {
		if pieces[i].disposition == "" {
			left++
			isStale = isStale || pieces[i].freshness != fresh
		}
	}
	switch {
	case left == 0:
		return policyOmitted
	case isStale && p.freshness.requirement == fresh:
		return stale
	}
	return ""
}

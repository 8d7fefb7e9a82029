package assembly

// From events to the dictated outcome: section 4, steps 6 to 8.

// settle applies the positions' rules and decides whether the assembly can go on ("Deadlines, cancellation, failure, and
// recovery").
func (v *verifier) settle() (decided bool) {
	positions := make([]settledPosition, len(v.seats))
	for i := range v.seats {
		s := &v.seats[i]
		positions[i] = settledPosition{s.event, settle(s.event, s.rule.optionalRule, s.fallback())}
	}
	outcome, code, failures := verdictOn(v.rec.parent, positions)
	for i := range v.seats {
		s := &v.seats[i]
		s.settled = positions[i].settled
		if s.outcome == acceptedCache {
			s.pieces = s.cached
		}
		s.skipStale()
	}
	v.out = &Outcome{
		Outcome: outcome, Code: code, FailureCodes: failures, Stage: atSettled, Allocations: v.budget.allocations,
		Contributions: []ContributionOutcome{}, Conflicts: []Conflict{},
	}
	if v.out.Allocations == nil {
		v.out.Allocations = []Allocation{}
	}
	if decided = outcome != Success && outcome != Degraded; decided {
		v.out.Stage = atSettle
		v.reportPositions()
	}
	return decided
}

// skipStale gives the pieces of a position that is skipped for its age their disposition.
func (s *seat) skipStale() {
	if s.event != stale || isMerged(s.outcome) {
		return
	}
	for i := range s.pieces {
		if s.pieces[i].disposition == "" {
			s.pieces[i].disposition = freshnessSkipped
		}
	}
}

// merge orders the accepted pieces and takes duplicates and conflicts out ("Ordered merge, duplicates, freshness, and
// authority").
func (v *verifier) merge() (decided bool) {
	v.reached = MergeRules
	open := make([]*piece, 0, v.pieceCount())
	for i := range v.seats { // by position, pieces by ordinal: never by completion
		s := &v.seats[i]
		for j := range s.pieces {
			if isMerged(s.outcome) && s.pieces[j].disposition == "" {
				open = append(open, &s.pieces[j])
			}
		}
	}
	conflicts, isFatal := merge(open)
	v.out.Conflicts = conflicts
	if isFatal {
		v.out.Outcome, v.out.Code, v.out.Stage = Failed, ContributionClash, atMerge
		v.out.FailureCodes = []Code{ContributionClash}
		v.reportPositions()
		return true
	}
	for i := range v.seats {
		if s := &v.seats[i]; !s.isRequired() && isMerged(s.outcome) {
			s.settled = afterLoss(s.settled, s.pieces)
		}
	}
	v.reportPositions()
	return false
}

func (v *verifier) pieceCount() (n int) {
	for i := range v.seats {
		n += len(v.seats[i].pieces)
	}
	return n
}

// truncate fits the result into the model's input and concludes.
func (v *verifier) truncate() {
	v.reached = FinalRules
	parts, from := make([]sizedPiece, 0, v.pieceCount()), make([]*piece, 0, v.pieceCount())
	for i := range v.seats {
		for j := range v.seats[i].pieces {
			if p := &v.seats[i].pieces[j]; p.disposition == included {
				parts = append(parts, sizedPiece{p.ref, p.input.rendered, p.isRequired || p.isProtected})
				from = append(from, p)
			}
		}
	}
	final, known := truncate(&v.rec.final, parts)
	if !known {
		v.lack("/final/measured")
		return
	}
	last := len(from) - 1
	for _, m := range final.Removed {
		if m.Part.Kind != aContribution {
			continue
		}
		for from[last].ref != m.Part.Ref { // removals go backward through the same list
			last--
		}
		from[last].disposition = truncatedOmitted
	}
	v.out.Final = &final
	v.reportContributions()
	v.conclude(final.Result)
}

// conclude sets the outcome of an assembly that nothing failed (section 7.2).
func (v *verifier) conclude(result Word) {
	switch result {
	case Overflow:
		v.out.Outcome, v.out.Stage = Overflow, atFinal // without a code (D-17)
		return
	case rebuild:
		v.out.Outcome, v.out.Stage = "", atFinal
		return
	}
	v.out.Outcome = Success
	for i := range v.seats {
		s := &v.seats[i]
		if s.isDegraded || !(settledPosition{s.event, s.settled}).isClean() {
			v.out.Outcome = Degraded
		}
	}
	for i := range v.out.Contributions {
		switch v.out.Contributions[i].Disposition {
		case rejected, sensitivityOmitted, kernelInadmissible, conflictOmitted, truncatedOmitted:
			v.out.Outcome = Degraded // C0-R735, D-14
		}
	}
}

// reportPositions writes the rows of the context report, each with the snapshot's own binding.
func (v *verifier) reportPositions() {
	v.out.Positions = make([]PositionOutcome, len(v.seats))
	for i := range v.seats {
		s := &v.seats[i]
		v.out.Positions[i] = PositionOutcome{
			Position: s.rule.position, BindingID: s.binding.id, ReleaseID: s.binding.implementation.release,
			Event: s.event, Outcome: s.outcome, Code: s.code, CacheStatus: s.cacheStatus,
		}
	}
}

// reportContributions writes what became of every contribution that was assessed, by position and ordinal.
func (v *verifier) reportContributions() {
	v.out.Contributions = make([]ContributionOutcome, 0, v.pieceCount())
	for i := range v.seats {
		for j := range v.seats[i].pieces {
			v.out.Contributions = append(v.out.Contributions, v.seats[i].pieces[j].outcome())
		}
	}
}

func (p *piece) outcome() ContributionOutcome {
	c := p.input
	out := ContributionOutcome{
		Position: p.ref[0], Ordinal: p.ref[1], Disposition: p.disposition, DuplicateOf: p.duplicateOf,
		SourceRef: SourceRef{c.source.class, c.source.namespace, c.source.ref},
		Freshness: p.freshness, Sensitivity: p.sensitivity, EffectiveAuthority: p.authority, Wrapper: p.wrapper,
		TargetSlot: c.slot, PayloadDigest: p.digest, OriginalBytes: c.kernelBytes,
	}
	if p.disposition == included {
		out.AcceptedBytes = c.kernelBytes
	}
	return out
}

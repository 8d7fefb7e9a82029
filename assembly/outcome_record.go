package assembly

import "ledgerd/internal/strictjson"

// outcome reads a recorded outcome, whole or as far as it goes: row makes a member of the shape mandatory or not.
func (r reader) outcome(row func(string, func()) member) (o Outcome) {
	r.Object(
		row("outcome", func() {
			o.Outcome = orNull(r, func() Word { return r.wordOf(Success, Degraded, Failed, Cancelled, TimedOut, Overflow) })
		}),
		row("code", func() { o.Code = r.code() }),
		row("failure_codes", func() { o.FailureCodes = list(r, r.code) }),
		row("stage", func() { o.Stage = r.wordOf(atProfile, atBind, atPlan, atSettle, atMerge, atFinal, atSettled) }),
		row("allocations", func() { o.Allocations = list(r, r.allocation) }),
		row("positions", func() { o.Positions = list(r, r.positionOutcome) }),
		row("contributions", func() { o.Contributions = listOf(r, r.contributionOutcome) }),
		row("conflicts", func() { o.Conflicts = list(r, r.conflict) }),
		row("final", func() { o.Final = r.final() }),
	)
	return o
}

func (r reader) code() Code {
	return orNull(r, func() Code {
		return Code(r.wordOf(Word(ProfileInvalid), Word(RequiredUnavailable), Word(ProtocolViolation), Word(DeadlineExceeded),
			Word(StrategyCancelled), Word(ContributionClash), Word(ContributionStale), Word(BudgetUnavailable),
			Word(ProposalInvalid), Word(CacheUnavailable), Word(BindingUnavailable)))
	})
}

func (r reader) allocation() (a Allocation) {
	r.Object(
		into("position", &a.Position, r.count),
		into("items", &a.Items, r.count),
		into("bytes", &a.Bytes, r.count),
		into("tokens", &a.Tokens, r.count),
		into("per_item_bytes", &a.PerItemBytes, r.count),
		into("skip", &a.Skip, r.Bool),
	)
	return a
}

func (r reader) positionOutcome() (p PositionOutcome) {
	r.Object(
		into("position", &p.Position, r.count),
		into("provider_binding_id", &p.BindingID, r.token),
		into("provider_release_id", &p.ReleaseID, r.token),
		into("event", &p.Event, r.event),
		into("outcome", &p.Outcome, r.positionOutcomeWord),
		into("code", &p.Code, r.code),
		into("cache_status", &p.CacheStatus, r.cacheStatus),
	)
	return p
}

func (r reader) positionOutcomeWord() Word {
	return r.wordOf(accepted, acceptedEmpty, acceptedPartial, acceptedStale, acceptedCache, skipped, degradedEmpty, Failed, Cancelled)
}

func (r reader) event() Word {
	return r.wordOf(resultOK, emptyOK, cacheHit, budgetSkip, ineligible, startupFailed, unavailable, transportFailed, timeout,
		positionCancelled, parentCancelled, invalidResult, partialResult, emptyDisallowed, policyOmitted, stale, cacheFailed,
		bindingUnavailable)
}

func (r reader) cacheStatus() Word { return r.wordOf(none, hit, rejected) }

func (r reader) contributionOutcome(c *ContributionOutcome) {
	label := func(vocabulary ...Word) func() Word {
		return func() Word { return orNull(r, func() Word { return r.wordOf(vocabulary...) }) }
	}
	r.Object(
		into("position", &c.Position, r.count),
		into("ordinal", &c.Ordinal, r.count),
		into("disposition", &c.Disposition, func() Word {
			return r.wordOf(included, duplicateOmitted, conflictOmitted, rejected, sensitivityOmitted, kernelInadmissible,
				freshnessSkipped, truncatedOmitted)
		}),
		into("duplicate_of", &c.DuplicateOf, func() *Ref {
			return orNull(r, func() *Ref { ref := r.ref(); return &ref })
		}),
		into("source_ref", &c.SourceRef, r.sourceRef),
		into("freshness", &c.Freshness, label(fresh, stale, unknown)),
		into("sensitivity", &c.Sensitivity, label(public, private, sensitive)),
		into("effective_authority", &c.EffectiveAuthority, func() Word { return orNull(r, r.claimedAuthority) }),
		into("wrapper", &c.Wrapper, label(inSlot, dataIsolation)),
		into("target_slot", &c.TargetSlot, r.word),
		into("payload_digest", &c.PayloadDigest, r.digest),
		into("original_bytes", &c.OriginalBytes, r.count),
		into("accepted_bytes", &c.AcceptedBytes, r.count),
	)
}

func (r reader) sourceRef() (s SourceRef) {
	r.Object(
		into("source_class", &s.SourceClass, r.token),
		into("namespace", &s.Namespace, r.token),
		into("stable_ref", &s.StableRef, r.token),
	)
	return s
}

// ref reads [position, ordinal].
func (r reader) ref() (ref Ref) {
	n := 0
	r.Array(func(i int) {
		v := r.count()
		if n++; i < len(ref) {
			ref[i] = v
		}
	})
	if !r.Failed() && n != len(ref) {
		r.Fail(strictjson.RuleValue, "a position and an ordinal are required")
	}
	return ref
}

func (r reader) conflict() (c Conflict) {
	r.Object(
		into("members", &c.Members, func() []Ref { return list(r, r.ref) }),
		into("affected_positions", &c.AffectedPositions, func() []int64 { return list(r, r.count) }),
	)
	return c
}

package assembly

// The contract's "Deadlines, cancellation, failure, and recovery", requirement classes; sections 6.6, 7.1 and 7.2,
// C0-R700 … C0-R740.

// settled is what one position comes to.
type settled struct {
	outcome Word
	code    Code
}

// codeOf is the code that belongs to an event (section 7.1, C0-R710).
func codeOf(event Word) Code {
	switch event {
	case ineligible, startupFailed, unavailable, transportFailed, emptyDisallowed, policyOmitted:
		return RequiredUnavailable
	case invalidResult, partialResult:
		return ProtocolViolation
	case timeout:
		return DeadlineExceeded
	case positionCancelled, parentCancelled:
		return StrategyCancelled
	case stale:
		return ContributionStale
	case cacheFailed:
		return CacheUnavailable
	case bindingUnavailable:
		return BindingUnavailable
	}
	return ""
}

// settle applies a position's rule to its event (section 6.6). An optional rule is nil exactly for a required position.
func settle(event Word, rule *optionalRule, cacheStatus Word) settled {
	switch event {
	case resultOK:
		return settled{accepted, ""}
	case emptyOK:
		return settled{acceptedEmpty, ""}
	case cacheHit:
		return settled{acceptedCache, ""}
	}
	if rule == nil {
		return settled{Failed, codeOf(event)}
	}
	code := codeOf(event)
	if code == RequiredUnavailable { // an optional position can't lack what is required (D-15)
		code = ""
	}
	switch event {
	case budgetSkip:
		return settled{skipped, ""}
	case partialResult:
		return settled{acceptedPartial, code}
	case stale:
		return rule.afterStale(code, cacheStatus)
	case cacheFailed:
		if rule.onFailure == degradedEmpty {
			return settled{degradedEmpty, code}
		}
		return settled{skipped, code}
	}
	return rule.afterFailure(code, cacheStatus)
}

func (o *optionalRule) afterStale(code Code, cacheStatus Word) settled {
	switch o.onStale {
	case acceptAttributed:
		return settled{acceptedStale, code}
	case acceptedCache:
		return fromCache(code, cacheStatus)
	}
	return settled{skipped, code}
}

func (o *optionalRule) afterFailure(code Code, cacheStatus Word) settled {
	switch o.onFailure {
	case degradedEmpty:
		return settled{degradedEmpty, code}
	case staleCacheRule:
		return fromCache(code, cacheStatus)
	}
	return settled{skipped, code}
}

// fromCache falls back on an explicitly admitted cached result, if it is a valid one.
func fromCache(code Code, cacheStatus Word) settled {
	if cacheStatus == hit {
		return settled{acceptedCache, code}
	}
	return settled{skipped, CacheUnavailable}
}

// verdictOn decides about settled positions, in position order: the parent's cancellation first, then required failures
// with the code of the lowest position (D-12), then the parent's deadline (section 4, step 6).
func verdictOn(parent parentTurn, positions []settledPosition) (outcome Word, code Code, failures []Code) {
	failures = []Code{}
	if parent.cancelled() {
		for i := range positions {
			positions[i].settled = settled{Cancelled, StrategyCancelled} // D-16
		}
		return Cancelled, StrategyCancelled, failures
	}
	outcome = Success
	for _, p := range positions {
		if p.outcome == Failed {
			failures = append(failures, p.code)
		}
		if !p.isClean() {
			outcome = Degraded // C0-R735
		}
	}
	switch {
	case len(failures) > 0:
		return Failed, failures[0], failures
	case parent.settledAt.after(parent.deadline):
		return TimedOut, "", failures // C0-R725, D-17
	}
	return outcome, "", failures
}

// settledPosition is a position with its event.
type settledPosition struct {
	event Word
	settled
}

// isClean: nothing was lost here.
func (p settledPosition) isClean() bool {
	switch p.outcome {
	case accepted, acceptedEmpty:
		return true
	case acceptedCache:
		return p.event == cacheHit
	}
	return false
}

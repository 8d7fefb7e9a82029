package assembly

import "slices"

// The contract's "Contribution result"; section 6.2, C0-R500 … C0-R575.

// resultRule is what a position's rule and allocation demand of a result.
type resultRule struct {
	isRequired   bool
	slots        []Word
	sources      sources
	emptySuccess bool
	allocation   Bounds
	// The ids of the request.
	request, assembly, binding string
}

// validation is the outcome of validating one result.
type validation struct {
	status   Word
	reasons  []Rule
	totals   Amount
	accepted []int64 // ordinals, ascending
	rejected []int64 // ordinals without a sensitivity
}

// code is the code of the position (D-15): an optional position has one only for a violation that rejects its result.
func (v validation) code(isRequired bool) Code {
	switch {
	case v.status == invalidResult, v.status == partialResult && isRequired:
		return ProtocolViolation
	case v.status == emptyDisallowed && isRequired:
		return RequiredUnavailable
	}
	return ""
}

// broken collects rules, each once, and gives them sorted.
type broken []Rule

func (b *broken) unless(holds bool, rule Rule) {
	if !holds && !slices.Contains(*b, rule) {
		*b = append(*b, rule)
	}
}

func (b broken) sorted() []Rule {
	slices.Sort(b)
	return append([]Rule{}, b...)
}

// validate checks a whole result. Any broken rule rejects all of it; only an omitted sensitivity rejects its contribution
// alone (D-07).
func validate(rule resultRule, res *result) validation {
	v := validation{accepted: []int64{}, rejected: []int64{}, totals: totalsOf(res.contributions)}
	var b broken
	b.unless(res.envelope.request == rule.request && res.envelope.assembly == rule.assembly && res.envelope.binding == rule.binding, R500)
	b.unless(res.envelope.items == v.totals.Items && res.envelope.bytes == v.totals.Bytes, R530)
	b.unless(hasUniqueIDs(res.contributions), R505)
	b.unless(hasAllOrdinals(res.contributions), R515)
	for i := range res.contributions {
		c := &res.contributions[i]
		b.unless(c.assembly == rule.assembly && c.binding == rule.binding, R510)
		rule.content(&b, c)
	}
	b.unless(!v.totals.exceeds(rule.allocation.Amount), R535)
	v.reasons = b.sorted()
	if len(b) > 0 {
		v.status = invalidResult
		return v
	}
	v.settle(rule, res.contributions)
	return v
}

// content checks what holds for a contribution wherever it came from, a provider or a cache.
func (rule resultRule) content(b *broken, c *contribution) {
	b.unless(c.payloadType == text && c.isUTF8, R520)
	b.unless(c.payloadDigest == c.kernelDigest, R525)
	b.unless(c.kernelBytes <= rule.allocation.PerItemBytes, R535)
	b.unless(isSlot(c.slot) && words(rule.slots).has(c.slot), R540)
	b.unless(authorityRank(c.authority) >= 0, R545)
	b.unless(c.sensitivity == "" || sensitivityRank(c.sensitivity) >= 0, R550)
	b.unless(len(c.malformed) == 0 && c.times.retrievedAt.set, R555)
	b.unless(rule.sources.has(c.source.pair) && c.source.confirmed(), R560)
	b.unless(c.times.revision.isWellFormed(), R565)
}

// settle decides about a result that breaks no rule.
func (v *validation) settle(rule resultRule, list []contribution) {
	if len(list) == 0 {
		if v.status = emptyOK; !rule.emptySuccess {
			v.status = emptyDisallowed
		}
		return
	}
	for _, c := range list {
		if c.sensitivity == "" {
			v.rejected = append(v.rejected, c.ordinal)
		} else {
			v.accepted = append(v.accepted, c.ordinal)
		}
	}
	slices.Sort(v.accepted)
	slices.Sort(v.rejected)
	switch v.status = resultOK; {
	case len(v.accepted) == 0:
		v.status, v.reasons, v.rejected = invalidResult, []Rule{R550}, []int64{}
	case len(v.rejected) > 0:
		v.status, v.reasons = partialResult, []Rule{R550}
	}
}

// totalsOf is over all contributions of a result, whatever becomes of them.
func totalsOf(list []contribution) (a Amount) {
	for i := range list {
		a = a.plus(Amount{1, list[i].kernelBytes, list[i].kernelTokens})
	}
	return a
}

func hasUniqueIDs(list []contribution) bool {
	seen := make(map[string]struct{}, len(list))
	for i := range list {
		seen[list[i].id] = struct{}{}
	}
	return len(seen) == len(list)
}

// hasAllOrdinals: exactly 0 … n−1, in any order (D-28).
func hasAllOrdinals(list []contribution) bool {
	seen := make([]bool, len(list))
	for i := range list {
		n := list[i].ordinal
		if n >= int64(len(list)) || seen[n] {
			return false
		}
		seen[n] = true
	}
	return true
}

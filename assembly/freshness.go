package assembly

// The contract's "Ordered merge, duplicates, freshness, and authority", freshness; section 6.3, C0-R600 … C0-R620.

// freshnessRule is a position's freshness policy.
type freshnessRule struct {
	requirement Word  // fresh or any
	maxAge      limit // milliseconds
	basis       Word
	revision    *revision // the required one
}

type revision struct {
	kind  Word
	value string // "" is null
}

// freshnessInput is what the provider said about the age of a contribution.
type freshnessInput struct {
	revision                            revision
	observedAt, retrievedAt, validUntil instant
}

// clocks are the times of the kernel: S, G and K of section 6.3.
type clocks struct {
	snapshot instant
	received instant // for cached material the time of the cache check
	skewMS   int64
}

// freshness labels a contribution and says why. Contradictory before definitely stale before missing before fresh; every
// comparison is strict, so that a bound itself is still fine, and the skew only excuses a time that lies ahead.
func freshness(rule freshnessRule, c clocks, in freshnessInput) (label, reason Word) {
	observed, retrieved, until := in.observedAt, in.retrievedAt, in.validUntil
	basis := rule.basisOf(in)
	switch want := rule.revision; {
	case retrieved.set && retrieved.after(c.received.plus(c.skewMS)):
		return unknown, "retrieved_after_received"
	case observed.set && retrieved.set && observed.after(retrieved.plus(c.skewMS)):
		return unknown, "observed_after_retrieved"
	case until.set && observed.set && observed.after(until):
		return unknown, "valid_until_before_observed"

	case want != nil && in.revision.kind == want.kind && in.revision.value != want.value:
		return stale, "revision_differs"
	case until.set && c.snapshot.after(until):
		return stale, "valid_until_passed"
	case rule.maxAge.set && basis.set && c.snapshot.after(basis.plus(rule.maxAge.n)): // a basis ahead has age 0
		return stale, "max_age_exceeded"

	case want != nil && in.revision.kind != want.kind:
		return unknown, "revision_missing"
	case rule.maxAge.set && !basis.set:
		return unknown, "age_basis_missing"
	case want == nil && !rule.maxAge.set && !until.set:
		return unknown, "no_criterion"
	}
	return fresh, "all_criteria_met"
}

func (rule freshnessRule) basisOf(in freshnessInput) instant {
	switch {
	case rule.basis == "observed_at", rule.basis == "observed_else_retrieved" && in.observedAt.set:
		return in.observedAt
	}
	return in.retrievedAt
}

func (r reader) freshnessRule() (f freshnessRule) {
	r.Object(
		into("requirement", &f.requirement, func() Word { return r.wordOf(fresh, "any") }),
		into("max_age_ms", &f.maxAge, r.limit),
		into("age_basis", &f.basis, func() Word {
			return r.wordOf("observed_at", "retrieved_at", "observed_else_retrieved")
		}),
		into("required_revision", &f.revision, func() *revision {
			return orNull(r, func() *revision { v := r.revision(); return &v })
		}),
	)
	return f
}

// revision reads a source revision. A kind outside the vocabulary, or a value that doesn't fit its kind, is the
// provider's violation (C0-R565), not the record's.
func (r reader) revision() (v revision) {
	r.Object(into("kind", &v.kind, r.word), into("value", &v.value, func() string { return orNull(r, r.token) }))
	return v
}

// isWellFormed: a kind of the vocabulary, and no value exactly for unknown (C0-R565).
func (v revision) isWellFormed() bool {
	switch v.kind {
	case "revision", "cursor", "version", "etag", "digest":
		return v.value != ""
	}
	return v.kind == unknown && v.value == ""
}

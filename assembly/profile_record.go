package assembly

import (
	"ledgerd/internal/strictjson"
)

// Profile is one context profile revision as recorded (section 3.2): of the right shape, nothing more. Whether it is a
// valid profile is stage "profile" of a verification.
type Profile struct {
	revision            string
	contractVersion     string
	clockSkewMS         int64
	positions           []positionRule
	mapping             mapping
	sourceClasses       map[string]classRule
	freshnessAuthority  freshnessCeilings
	sensitivityPolicies sensitivityPolicies
	digest              string
}

// ParseProfile reads a profile revision. The error is a *RecordError.
func ParseProfile(src []byte) (*Profile, error) { return parse(src, readProfile) }

// RevisionID is the profile_revision_id.
func (p *Profile) RevisionID() string { return p.revision }

// Digest is the content digest of the revision.
func (p *Profile) Digest() string { return p.digest }

// positionRule is the profile's rule for one position.
type positionRule struct {
	position        int64
	enabled         bool
	requirement     Word
	implementations []implementation
	operations      []Word
	slots           []Word
	sources         sources
	ceiling         Word
	sensitivities   []Word
	minimum         Amount
	cap             Bounds
	freshness       freshnessRule
	emptySuccess    bool
	optionalRule    *optionalRule
	cachePermitted  bool
	retry           retryRule
	proposer        Word // "" is null
	degradedBind    bool
	cues            []Word
	digest          string
}

type implementation struct{ id, version, release string }

// pair is a source class and a namespace in it.
type pair struct{ class, namespace string }

type optionalRule struct{ onFailure, onStale Word }

type retryRule struct {
	max     int64
	backoff []int64 // milliseconds before each retry
}

type classRule struct {
	ceiling    Word
	floor      Word
	isExternal bool
}

func readProfile(r reader) *Profile {
	p := &Profile{}
	raw := r.Raw(func() {
		r.Object(
			into("profile_revision_id", &p.revision, r.token),
			into("contract_version", &p.contractVersion, r.token),
			into("clock_skew_ms", &p.clockSkewMS, r.count),
			into("positions", &p.positions, func() []positionRule { return list(r, r.positionRule) }),
			into("equivalence_mapping", &p.mapping, r.mapping),
			into("source_classes", &p.sourceClasses, r.sourceClasses),
			into("freshness_authority", &p.freshnessAuthority, r.freshnessCeilings),
			into("sensitivity_policy", &p.sensitivityPolicies, r.sensitivityPolicies),
		)
	})
	p.digest = r.digestOf(profileDomain, raw, "")
	return p
}

func (r reader) positionRule() (p positionRule) {
	raw := r.Raw(func() {
		r.Object(
			into("position", &p.position, r.count),
			into("enabled", &p.enabled, r.Bool),
			into("requirement", &p.requirement, r.requirement),
			into("implementations", &p.implementations, func() []implementation { return list(r, r.implementation) }),
			into("operations", &p.operations, func() []Word { return r.words(r.operation) }),
			into("target_slots", &p.slots, r.wordList),
			into("admitted_sources", &p.sources, r.sources),
			into("authority_ceiling", &p.ceiling, r.word),
			into("sensitivities", &p.sensitivities, r.sensitivityList),
			into("minimum", &p.minimum, r.amount),
			into("cap", &p.cap, r.bounds),
			into("freshness", &p.freshness, r.freshnessRule),
			into("empty_success", &p.emptySuccess, r.Bool),
			into("optional_rule", &p.optionalRule, r.optionalRule),
			into("cache", &p.cachePermitted, r.cacheRule),
			into("retry", &p.retry, r.retryRule),
			into("compaction_proposer", &p.proposer, func() Word { return orNull(r, r.proposerRule) }),
			into("allow_degraded_bind", &p.degradedBind, r.Bool),
			into("allowed_cues", &p.cues, r.wordList),
		)
	})
	p.digest = r.digestOf(ruleDomain, raw, "")
	return p
}

func (r reader) implementation() (i implementation) {
	r.Object(
		into("implementation_id", &i.id, r.token),
		into("implementation_version", &i.version, r.token),
		into("provider_release_id", &i.release, r.token),
	)
	return i
}

func (r reader) optionalRule() *optionalRule {
	return orNull(r, func() *optionalRule {
		o := &optionalRule{}
		r.Object(
			into("on_failure", &o.onFailure, func() Word { return r.wordOf(attributedSkip, staleCacheRule, degradedEmpty) }),
			into("on_stale", &o.onStale, func() Word { return r.wordOf(skipRule, acceptAttributed, acceptedCache) }),
		)
		return o
	})
}

func (r reader) cacheRule() (permitted bool) {
	r.Object(into("permitted", &permitted, r.Bool))
	return permitted
}

func (r reader) retryRule() (rule retryRule) {
	r.Object(
		into("max_retries", &rule.max, r.count),
		into("backoff_ms", &rule.backoff, func() []int64 { return list(r, r.count) }),
	)
	return rule
}

func (r reader) sourceClasses() map[string]classRule {
	classes := map[string]classRule{}
	r.Map(func(name string) {
		if !isSafe(name) || isForbidden(name) {
			r.Fail(strictjson.RuleValue, "a source class is a safe token")
		}
		classes[name] = r.classRule()
	})
	return classes
}

func (r reader) classRule() (c classRule) {
	r.Object(
		into("authority_ceiling", &c.ceiling, r.word),
		into("sensitivity_floor", &c.floor, r.sensitivity),
		into("externally_derived", &c.isExternal, r.Bool),
	)
	return c
}

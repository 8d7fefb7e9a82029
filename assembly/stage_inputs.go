package assembly

import (
	"slices"
	"strings"

	"ledgerd/internal/strictjson"
)

// deriveStage derives one stage from its own input.
func deriveStage(kind string, input []byte) (stage, error) {
	switch kind {
	case "profile":
		return parse(input, profileStage)
	case "budget":
		return parse(input, budgetStage)
	case "validate":
		return parse(input, validateStage)
	case "freshness":
		return parse(input, freshnessStage)
	case "clamp":
		return parse(input, clampStage)
	case "identity":
		return parse(input, identityStage)
	case "merge":
		return parse(input, mergeStage)
	case "failure":
		return parse(input, failureStage)
	case "truncate":
		return parse(input, truncateStage)
	case "conduct":
		return parse(input, conductStage)
	case "cache":
		return parse(input, cacheStage)
	case "compaction":
		return parse(input, compactionStage)
	case "recovery":
		return parse(input, recoveryStage)
	case "privacy":
		return privacyStage(input), nil
	case "payload":
		return payloadStage(input)
	}
	return stage{}, &RecordError{Code: SchemaInvalid, At: []string{""}, Detail: "the kind of stage is not known"}
}

func profileStage(r reader) stage {
	var tenant, agent string
	var found resolution
	var p *Profile
	r.Object(
		req("identity", func() { r.Object(into("tenant_id", &tenant, r.uuid), into("agent_id", &agent, r.uuid)) }),
		into("resolution", &found, r.resolution),
		into("profile", &p, func() *Profile { return orNull(r, func() *Profile { return readProfile(r) }) }),
	)
	b := resolve(tenant, agent, found, p)
	var code Code
	if len(b) > 0 {
		code = ProfileInvalid
	}
	return stage{members: []derivedMember{{name: "code", rule: R110, value: code}, {name: "reasons", rule: R940, value: b.sorted()}}}
}

func freshnessStage(r reader) stage {
	var rule freshnessRule
	var c clocks
	var in freshnessInput
	optInstant := func() instant { return orNull(r, r.instant) }
	r.Object(
		into("policy", &rule, r.freshnessRule),
		into("clock_skew_ms", &c.skewMS, r.count),
		into("snapshot_time", &c.snapshot, r.instant),
		into("received_at", &c.received, r.instant),
		req("contribution", func() {
			r.Object(
				into("observed_at", &in.observedAt, optInstant),
				into("retrieved_at", &in.retrievedAt, optInstant),
				into("valid_until", &in.validUntil, optInstant),
				into("source_revision", &in.revision, r.revision),
			)
		}),
	)
	label, reason := freshness(rule, c, in)
	return stage{members: []derivedMember{{name: "freshness", rule: R600, value: label}, {name: "reason", rule: R600, value: reason}}}
}

func clampStage(r reader) stage {
	var in clampInput
	r.Object(
		into("claim", &in.claim, r.claimedAuthority),
		into("sensitivity", &in.sensitivity, r.sensitivity),
		into("kernel_sensitivity_floor", &in.kernelFloor, func() Word { return orNull(r, r.sensitivity) }),
		into("profile_ceiling", &in.ceiling, r.word),
		into("freshness", &in.freshness, func() Word { return r.wordOf(fresh, stale, unknown) }),
		into("source_class_rule", &in.class, r.classRule),
		into("freshness_authority", &in.byFreshness, r.freshnessCeilings),
		into("sensitivity_policy", &in.policies, r.sensitivityPolicies),
		into("model_boundary_sensitivities", &in.modelBoundary, r.sensitivityList),
		into("position_sensitivities", &in.position, r.sensitivityList),
	)
	l := clamp(in)
	return stage{members: []derivedMember{
		{name: "sensitivity", rule: R630, value: l.sensitivity},
		{name: "admitted", rule: R635, value: l.admitted},
		{name: "effective_authority", rule: R640, value: l.authority},
		{name: "wrapper", rule: R645, value: l.wrapper},
	}}
}

func identityStage(r reader) stage {
	var m mapping
	var admitted sources
	var s SourceRef
	r.Object(
		into("equivalence_mapping", &m, r.mapping),
		into("admitted_sources", &admitted, r.sources),
		into("source", &s, r.sourceRef),
	)
	id := m.identify(admitted, pair{s.SourceClass, s.Namespace}, s.StableRef)
	return stage{members: []derivedMember{{name: "identity", rule: R670, value: id.digest(m.version)}}}
}

// privacyStage searches a record that need not have any shape.
func privacyStage(input []byte) stage {
	var code Code
	at := Forbidden(input)
	for i := range at { // relative to the record
		at[i] = strings.TrimPrefix(at[i], "/record")
	}
	if slices.Sort(at); len(at) > 0 {
		code = ForbiddenContent
	}
	return stage{members: []derivedMember{{name: "code", rule: R020, value: code}, {name: "at", rule: R020, value: at}}}
}

// payloadStage measures a payload, which is the one text that may be anything.
func payloadStage(input []byte) (stage, error) {
	var payload, payloadType, estimator string
	d := strictjson.NewDecoder(input, strictjson.Closed)
	r := reader{d}
	r.Object(
		into("presented_payload", &payload, r.String),
		into("payload_type", &payloadType, func() string { return string(r.wordOf(text)) }),
		into("estimator", &estimator, r.token),
	)
	if err := d.Finish(); err != nil {
		return stage{}, &RecordError{Code: SchemaInvalid, At: []string{""}, Detail: "a payload, its type and an estimator are required"}
	}
	m := Measure(payloadType, estimator, []byte(payload))
	s := stage{members: []derivedMember{
		{name: "payload_digest", rule: R525, value: m.PayloadDigest},
		{name: "bytes", rule: R530, value: m.Bytes},
	}}
	if m.Tokens == nil {
		s.missing = []string{"/estimator"}
		return s, nil
	}
	s.members = append(s.members, derivedMember{name: "tokens", rule: R530, value: *m.Tokens})
	return s, nil
}

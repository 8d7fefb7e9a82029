package assembly

import "encoding/json"

func jsonOf(v any) ([]byte, error) { return json.Marshal(v) }

const (
	envelopeAt = "/result/envelope"
	givenAt    = "/result/contributions/0"
)

func resultSamples() []sample {
	const sound = `"status":"result_ok","code":null,"reasons":[],"accepted_ordinals":[0,1],"rejected_ordinals":[]`
	broken := func(rule Rule, id, why string, edits edit) sample {
		return sample{rule: rule, id: id, kind: "validate", why: why, edits: edits,
			derived: `{"status":"invalid_result","code":"context_strategy_protocol_violation","reasons":["` + string(rule) + `"],"accepted_ordinals":[],"rejected_ordinals":[]}`}
	}
	empty := all(put("/result/contributions", []any{}), put(envelopeAt+"/item_count", 0), put(envelopeAt+"/byte_count", 0))
	return []sample{
		{rule: R575, id: "sound", kind: "validate", why: "A sound result.", derived: `{` + sound + `,"totals":{"items":2,"bytes":200,"tokens":50}}`},
		{rule: R530, id: "totals", kind: "validate", why: "The record has other totals.", derived: `{` + sound + `,"totals":{"items":2,"bytes":200,"tokens":50}}`,
			recorded: `{"totals":{"items":2,"bytes":200,"tokens":51}}`, findings: []Rule{R530}},
		broken(R500, "envelope-request", "The envelope answers another request.", put(envelopeAt+"/request_id", "req-9")),
		broken(R500, "envelope-binding", "The envelope is of another binding.", put(envelopeAt+"/provider_binding_id", "bind-9")),
		broken(R505, "same-id", "Two contributions have one id.", put(givenAt+"/context_contribution_id", "cc-0-1")),
		broken(R510, "other-assembly", "A contribution is of another assembly.", put(givenAt+"/context_assembly_id", "asm-9")),
		broken(R515, "ordinal-twice", "An ordinal stands twice.", put(givenAt+"/ordinal", 1)),
		broken(R520, "not-text", "The payload type is none of v1.", put(givenAt+"/payload_type", other)),
		broken(R520, "not-utf8", "The payload is no UTF-8.", put(givenAt+"/utf8_valid", false)),
		broken(R525, "digest", "The claimed digest is not the kernel's.", put(givenAt+"/payload_digest", hashOf("z"))),
		broken(R530, "item-count", "The envelope counts another number of items.", put(envelopeAt+"/item_count", 3)),
		broken(R530, "byte-count", "The envelope counts other bytes.", put(envelopeAt+"/byte_count", 199)),
		broken(R535, "item-too-large", "One item exceeds the bound of an item.", put("/allocation/per_item_bytes", 99)),
		broken(R535, "tokens", "The tokens exceed the allocation by one.", put("/allocation/tokens", 49)),
		broken(R540, "slot", "The slot is of v1, but not of this position.", put(givenAt+"/target_slot", "skill_guidance")),
		broken(R540, "unknown-slot", "The slot is none of v1.", put(givenAt+"/target_slot", "system")),
		broken(R545, "reserved", "A contribution claims the user's authority.", put(givenAt+"/authority", "user_request")),
		broken(R550, "unknown-sensitivity", "An unknown sensitivity rejects the result.", put(givenAt+"/sensitivity", other)),
		broken(R555, "malformed", "A time could not be read.", put(givenAt+"/malformed_times", []any{"observed_at"})),
		broken(R555, "no-retrieval", "The retrieval time is missing.", put(givenAt+"/retrieved_at", nil)),
		broken(R560, "not-admitted", "The namespace is not admitted here.", put(givenAt+"/source/namespace", "wiki")),
		broken(R560, "no-proof", "The kernel could not confirm the source.", put(givenAt+"/source/proof_ok", false)),
		broken(R565, "value-of-unknown", "An unknown revision has a value.", put(givenAt+"/source_revision/kind", unknown)),
		broken(R565, "kind", "A revision kind outside the vocabulary.", put(givenAt+"/source_revision/kind", "guess")),
		{rule: R550, id: "one-without-sensitivity", kind: "validate", why: "A contribution without a sensitivity is rejected alone.", edits: put(givenAt+"/sensitivity", nil),
			derived: `{"status":"partial_result","code":null,"reasons":["C0-R550"],"accepted_ordinals":[1],"rejected_ordinals":[0]}`},
		{rule: R550, id: "none-with-sensitivity", kind: "validate", why: "Nothing is left, so the result is invalid.",
			edits:   all(put(givenAt+"/sensitivity", nil), put("/result/contributions/1/sensitivity", nil)),
			derived: `{"status":"invalid_result","code":"context_strategy_protocol_violation","accepted_ordinals":[],"rejected_ordinals":[]}`},
		{rule: R570, id: "empty", kind: "validate", why: "An empty result where the profile permits one.", edits: empty, derived: `{"status":"empty_ok","code":null,"reasons":[]}`},
		{rule: R570, id: "empty-disallowed", kind: "validate", why: "An empty result of a required position.",
			edits:   all(empty, put("/rule/empty_success", false), put("/rule/requirement", required)),
			derived: `{"status":"empty_disallowed","code":"context_strategy_required_unavailable","reasons":[]}`},
		{rule: R575, id: "partly-trusted", kind: "validate", why: "The record kept a part of a rejected result.", edits: put(givenAt+"/source/scope_ok", false),
			derived:  `{"status":"invalid_result","code":"context_strategy_protocol_violation","reasons":["C0-R560"],"accepted_ordinals":[]}`,
			recorded: `{"accepted_ordinals":[1]}`, findings: []Rule{R575}},
	}
}

func assessmentSamples() []sample {
	label := func(id, why, label, reason string, edits edit) sample {
		return sample{rule: R600, id: id, kind: "freshness", why: why, edits: edits, derived: `{"freshness":"` + label + `","reason":"` + reason + `"}`}
	}
	wanted := put("/policy/required_revision", tree{"kind": "version", "value": "v4"})
	given := "/contribution"
	clamped := func(rule Rule, id, why string, edits edit, derived, recorded string, findings ...Rule) sample {
		return sample{rule: rule, id: id, kind: "clamp", why: why, edits: edits, derived: derived, recorded: recorded, findings: findings}
	}
	const full = `{"sensitivity":"public","admitted":true,"effective_authority":"workflow_guidance","wrapper":"slot"}`
	return []sample{
		label("retrieved-ahead", "Retrieved more than the skew after the receipt.", "unknown", "retrieved_after_received", put(given+"/retrieved_at", clock(4.001))),
		label("retrieved-at-skew", "Retrieved exactly the skew after the receipt: excused.", "fresh", "all_criteria_met", put(given+"/retrieved_at", clock(4))),
		label("valid-before-observed", "Valid until before it was observed.", "unknown", "valid_until_before_observed", put(given+"/valid_until", "2026-11-30T08:54:59Z")),
		label("contradictory-before-stale", "A contradiction wins over a passed validity.", "unknown", "observed_after_retrieved",
			all(put(given+"/observed_at", clock(4)), put(given+"/valid_until", clock(4)))),
		label("other-revision", "Another value of the required kind.", "stale", "revision_differs", all(wanted, put(given+"/source_revision/value", "v3"))),
		label("validity-passed", "The validity ended before the snapshot.", "stale", "valid_until_passed", put(given+"/valid_until", "2026-11-30T08:59:59.999999999Z")),
		label("too-old", "A nanosecond older than the maximum age.", "stale", "max_age_exceeded", put(given+"/observed_at", "2026-11-30T08:49:59.999999999Z")),
		label("other-kind", "The required revision is of another kind.", "unknown", "revision_missing", all(wanted, put(given+"/source_revision", tree{"kind": unknown, "value": nil}))),
		label("no-basis", "The age has no basis.", "unknown", "age_basis_missing", put(given+"/observed_at", nil)),
		label("retrieved-instead", "The basis falls back on the retrieval.", "fresh", "all_criteria_met", all(put(given+"/observed_at", nil), put("/policy/age_basis", "observed_else_retrieved"))),
		clamped(R640, "own-claim", "Nothing clamps the claim.", nil, full, ""),
		clamped(R630, "class-floor", "The source class raises the sensitivity.", put("/source_class_rule/sensitivity_floor", private), `{"sensitivity":"private","admitted":true}`, `{"sensitivity":"public"}`, R630),
		clamped(R630, "never-lower", "Kernel evidence never lowers a claim.", all(put("/sensitivity", private), put("/kernel_sensitivity_floor", public)), `{"sensitivity":"private","admitted":true}`, ""),
		clamped(R635, "model-boundary", "The target model takes public material only.", all(put("/sensitivity", private), put("/model_boundary_sensitivities", []any{public})),
			`{"sensitivity":"private","admitted":false,"effective_authority":null,"wrapper":null}`, `{"admitted":true}`, R635),
		clamped(R635, "policy", "Policy admits nothing sensitive.", all(put("/sensitivity", sensitive), put("/model_boundary_sensitivities", []any{sensitive})),
			`{"sensitivity":"sensitive","admitted":false,"effective_authority":null,"wrapper":null}`, ""),
		clamped(R640, "position-ceiling", "The position's ceiling is lower than the claim.", put("/profile_ceiling", contextData), `{"effective_authority":"context_data","wrapper":"slot"}`, `{"effective_authority":"workflow_guidance"}`, R640),
		clamped(R645, "external", "External material is isolated whatever its authority.", all(put("/source_class_rule/externally_derived", true), put("/claim", contextData)),
			`{"effective_authority":"context_data","wrapper":"data_isolation"}`, `{"wrapper":"slot"}`, R645),
		clamped(R650, "reserved", "The record gives reserved authority.", nil, full, `{"effective_authority":"kernel_instruction"}`, R640),
		{rule: R670, id: "mapped", kind: "identity", why: "The canonical pair of an equivalence, where the position is admitted for it.", derived: `{"identity":"` + mappedIdentity + `"}`},
		{rule: R670, id: "not-admitted", kind: "identity", why: "The position is not admitted for the canonical pair, so the raw one stays.", edits: drop("/admitted_sources/1"),
			derived: `{"identity":"` + rawIdentity + `"}`, recorded: `{"identity":"` + mappedIdentity + `"}`, findings: []Rule{R670}},
	}
}

// The identities of wi-7, by the second encoder.
var (
	mappedIdentity = digestTwice(identityDomain, tree{"mapping_version": "eq-3", "namespace": "board", "source_class": "work", "stable_ref": "wi-7"})
	rawIdentity    = digestTwice(identityDomain, tree{"mapping_version": "eq-3", "namespace": "jira", "source_class": "tickets", "stable_ref": "wi-7"})
)

func cacheSamples() []sample {
	refused := func(rule Rule, id, why string, edits edit) sample {
		return sample{rule: rule, id: id, kind: "cache", why: why, edits: edits,
			derived: `{"status":"rejected","reasons":["` + string(rule) + `"],"code":"context_strategy_cache_unavailable","attributed":[]}`}
	}
	samples := []sample{
		{rule: R860, id: "hit", kind: "cache", why: "A valid hit.", derived: `{"status":"valid","reasons":[],"code":null,"attributed":[]}`},
		refused(R860, "not-permitted", "The profile permits no cache.", put("/permitted", false)),
		refused(R870, "none", "A cached result without a record.", put("/records", []any{})),
		refused(R870, "gap", "An ordinal is missing.", drop("/records/0")),
		refused(R875, "payload-digest", "A payload is not the stored one.", put("/records/0/kernel_payload_digest", hashOf("z"))),
		refused(R875, "result-digest", "The result digest does not recompute.", put("/recomputed_result_digest", hashOf("z"))),
		refused(R880, "policy", "Current policy does not admit it.", put("/policy_ok", false)),
		{rule: R885, id: "stale-optional", kind: "cache", why: "Where nothing fresh is required a stale hit is attributed.", edits: all(put("/requirement", optional), put("/records/1/freshness", stale)),
			derived: `{"status":"valid","reasons":[],"code":null,"attributed":[1]}`, recorded: `{"attributed":[]}`, findings: []Rule{R885}},
		{rule: R885, id: "unknown-for-fresh", kind: "cache", why: "Unknown freshness can't satisfy a required position that needs fresh.", edits: put("/records/0/freshness", unknown),
			derived: `{"status":"rejected","reasons":["C0-R885"],"code":"context_contribution_stale","attributed":[]}`},
	}
	for _, part := range []string{"provider_kind_id", "provider_binding_id", "provider_release_id", "configuration_revision", "profile_revision_id", "redaction_policy_revision"} {
		samples = append(samples, refused(R865, "key-"+part, "This part of the key is not the current one.", put("/current/"+part, "other-1")))
	}
	for _, part := range []string{"input_set_digest", "scope_digest", "output_contract_digest"} {
		samples = append(samples, refused(R865, "key-"+part, "This part of the key is not the current one.", put("/current/"+part, hashOf("z"))))
	}
	return append(samples, refused(R865, "key-position", "This part of the key is not the current one.", put("/current/position", 9)),
		refused(R865, "key-operation", "This part of the key is not the current one.", put("/current/operation", proposeCompaction)))
}

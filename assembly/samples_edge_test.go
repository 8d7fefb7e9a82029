package assembly

// edgeSamples are of inputs that only one term of a rule depends on.
func edgeSamples() []sample {
	const given = "/contribution"
	out := func(rule Rule, kind, id, why string, edits edit, derived string) sample {
		return sample{rule: rule, id: id, kind: kind, why: why, edits: edits, derived: derived}
	}
	label := func(id, why, label, reason string, edits edit) sample {
		return out(R600, "freshness", id, why, edits, `{"freshness":"`+label+`","reason":"`+reason+`"}`)
	}
	tokens := func(n string) string { return `{"ceiling":{"items":10,"bytes":1900,"tokens":` + n + `}}` }
	return []sample{
		out(R310, "budget", "policy-ceiling", "The policy allows fewer tokens than any model.", put("/policy_ceiling/tokens", 579), tokens("579")),
		out(R310, "budget", "context-limit", "The context limit is the least one that is known.", put("/model_candidates/0/context_limit_tokens", 579), tokens("579")),
		out(R310, "budget", "second-model", "The second candidate takes the least.",
			put("/model_candidates/-", tree{"model_ref": "m-1", "input_limit_tokens": nil, "context_limit_tokens": 579}), tokens("579")),
		label("observed-at-skew", "Observed exactly the skew after the retrieval: excused.", "fresh", "all_criteria_met", put(given+"/observed_at", clock(3))),
		label("observed-ahead", "Observed a nanosecond more than the skew after the retrieval.", "unknown", "observed_after_retrieved", put(given+"/observed_at", "2026-11-30T09:00:03.000000001Z")),
		label("valid-until-the-snapshot", "Valid until the snapshot itself.", "fresh", "all_criteria_met", put(given+"/valid_until", clock(0))),
		label("valid-until-observed", "Valid until the instant of the observation contradicts nothing, and has passed.", "stale", "valid_until_passed", put(given+"/valid_until", "2026-11-30T08:55:00Z")),
		label("stale-before-missing", "What is definitely stale is not merely unknown.", "stale", "valid_until_passed",
			all(put(given+"/observed_at", nil), put(given+"/valid_until", "2026-11-30T08:59:59Z"))),
		label("skew-lengthens-no-age", "The skew does not lengthen the maximum age.", "stale", "max_age_exceeded", put(given+"/observed_at", "2026-11-30T08:49:59.5Z")),
		label("retrieved-after-the-snapshot", "A retrieval after the snapshot has age 0.", "fresh", "all_criteria_met",
			all(put("/policy/max_age_ms", 0), put("/policy/age_basis", "retrieved_at"))),
		out(R630, "clamp", "kernel-floor", "Kernel evidence raises the sensitivity above claim and class.", put("/kernel_sensitivity_floor", private), `{"sensitivity":"private","admitted":true}`),
		out(R640, "clamp", "freshness-ceiling", "What is stale is untrusted here, whatever is claimed.", put("/freshness", stale), `{"effective_authority":"untrusted_data","wrapper":"data_isolation"}`),
		out(R640, "clamp", "sensitivity-ceiling", "The policy of the effective sensitivity clamps, not the claim's.",
			all(put("/kernel_sensitivity_floor", private), put("/sensitivity_policy/private/authority_ceiling", contextData)), `{"effective_authority":"context_data","wrapper":"slot"}`),
		out(R460, "conduct", "after-its-cancellation", "What came when its position was cancelled is late, though before the deadline.",
			all(put("/attempts/0/end", positionCancelled), put("/attempts/0/result_digest", nil), put("/late_outputs", []any{tree{"received_at": clock(2), "result_digest": hashOf("z")}})),
			`{"conformant":true,"broken":[],"event":"position_cancelled","late":false}`),
		out(R488, "conduct", "a-late-one-differs", "A late output was discarded, and says nothing about the request's result.",
			put("/late_outputs", []any{tree{"received_at": clock(10.5), "result_digest": hashOf("z")}}), `{"conformant":true,"broken":[],"event":"result","late":false}`),
		out(R820, "compaction", "nothing-dropped", "Nothing was dropped, so nothing new is compacted through.",
			all(put("/operation/dropped_message_ids", []any{}), put("/proposal/covered_message_ids", []any{}), put("/proposal/critical_claims", []any{})),
			`{"action":"commit_proposal","state_advanced":true,"compacted_through_message_id":"m0","recent_message_ids":["m3"]}`),
		out(R842, "compaction", "at-the-deadline", "A proposal at the deadline itself is in time.", put("/proposal/received_at", clock(8)), `{"proposal_status":"accepted","action":"commit_proposal"}`),
		out(R842, "compaction", "late-and-wrong", "A late proposal that is wrong in something else is invalid.",
			all(put("/proposal/received_at", clock(9)), put("/proposal/redaction_ok", false)), `{"reasons":["C0-R841","C0-R842"],"proposal_code":"context_compaction_proposal_invalid","action":"no_commit","code":"context_compaction_proposal_invalid"}`),
		out(R725, "failure", "at-the-parents-deadline", "A settlement at the parent's deadline itself is in time.", put("/parent/settled_at", clock(30)), `{"outcome":"success","code":null}`),
		out(R465, "failure", "cancelled-and-late", "A cancellation decides before the deadline.", all(put("/parent/settled_at", clock(31)), put("/parent/cancelled_at", clock(30.5))),
			`{"outcome":"cancelled","code":"context_strategy_cancelled","failure_codes":[]}`),
	}
}

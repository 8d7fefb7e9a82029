package assembly

// The inputs of the stages between a plan and a merge, as the conformance cases have them.

func budgetStage(r reader) stage {
	var in budgetInput
	var shares []share
	r.Object(append(r.budgetMembers(&in),
		into("positions", &shares, func() []share {
			return list(r, func() (s share) {
				r.Object(
					into("position", &s.position, r.count),
					into("requirement", &s.isRequired, func() bool { return r.requirement() == required }),
					into("minimum", &s.minimum, r.amount),
					into("cap", &s.cap, r.bounds),
				)
				return s
			})
		}),
	)...)
	b, known := allocate(in, shares)
	if !known {
		return stage{missing: []string{"/model_candidates"}}
	}
	return stage{members: []derivedMember{
		{name: "code", rule: R340, value: b.code},
		{name: "stage", rule: R340, value: b.stage},
		{name: "ceiling", rule: R310, value: b.ceiling},
		{name: "pool", rule: R330, value: b.pool},
		{name: "required_reserve", rule: R340, value: b.requiredReserve},
		{name: "allocations", rule: R360, value: b.allocations},
	}}
}

func validateStage(r reader) stage {
	var rule resultRule
	var res *result
	r.Object(
		req("rule", func() {
			r.Object(
				into("requirement", &rule.isRequired, func() bool { return r.requirement() == required }),
				into("target_slots", &rule.slots, r.wordList),
				into("admitted_sources", &rule.sources, r.sources),
				into("empty_success", &rule.emptySuccess, r.Bool),
			)
		}),
		into("allocation", &rule.allocation, r.bounds),
		req("ids", func() {
			r.Object(
				into("request_id", &rule.request, r.token),
				into("context_assembly_id", &rule.assembly, r.token),
				into("provider_binding_id", &rule.binding, r.token),
			)
		}),
		into("result", &res, r.result),
	)
	if r.Failed() {
		return stage{}
	}
	v := validate(rule, res)
	return stage{members: []derivedMember{
		{name: "status", rule: R575, value: v.status},
		{name: "code", rule: R710, value: v.code(rule.isRequired)},
		{name: "reasons", rule: R575, value: v.reasons},
		{name: "totals", rule: R530, value: v.totals},
		{name: "accepted_ordinals", rule: R575, value: v.accepted},
		{name: "rejected_ordinals", rule: R940, value: v.rejected},
	}}
}

func conductStage(r reader) stage {
	in := conductInput{request: &request{}}
	q := in.request
	r.Object(
		into("deadline", &in.deadline, r.instant),
		into("kernel_reserve_ms", &in.reserveMS, r.count),
		into("parent", &in.parent, r.parentTurn),
		req("request", func() {
			r.Object(
				into("request_id", &q.id, r.token),
				into("snapshot_time", &q.snapshotTime, r.instant),
				into("input_set_digest", &q.inputSet, r.digest),
				into("output_contract_digest", &q.outputContract, r.digest),
				into("provider_binding_id", &q.binding, r.token),
			)
		}),
		into("attempts", &in.attempts, func() []attempt { return list(r, r.attempt) }),
		into("late_outputs", &in.late, r.lateOutputs),
		req("retry", func() {
			r.Object(
				into("max_retries", &in.retry.max, r.count),
				into("backoff_ms", &in.retry.backoff, func() []int64 { return list(r, r.count) }),
				into("idempotency_proven", &in.isIdempotent, r.Bool),
			)
		}),
	)
	in.binding = q.binding
	v := in.judge()
	s := stage{broken: v.fault, members: []derivedMember{
		{name: "conformant", rule: R940, value: len(v.fault) == 0},
		{name: "broken", rule: R940, value: v.fault.sorted()},
		{name: "event", rule: R450, value: v.event},
		{name: "late", rule: R460, value: v.isLate},
	}}
	if v.event == "" {
		s.missing = []string{"/attempts"}
	}
	return s
}

func cacheStage(r reader) stage {
	in := cacheInput{digestsHold: true}
	var stored, computed string
	r.Object(
		into("permitted", &in.permitted, r.Bool),
		into("requirement", &in.isRequired, func() bool { return r.requirement() == required }),
		into("freshness_requirement", &in.needsFresh, func() bool { return r.wordOf(fresh, "any") == fresh }),
		into("key", &in.key, r.cacheKey),
		into("current", &in.current, r.cacheKey),
		into("policy_ok", &in.policyOK, r.Bool),
		req("records", func() { r.Array(func(int) { r.cacheRecord(&in) }) }),
		into("stored_result_digest", &stored, r.digest),
		into("recomputed_result_digest", &computed, r.digest),
	)
	in.digestsHold = in.digestsHold && stored == computed
	v := in.judge()
	return stage{members: []derivedMember{
		{name: "status", rule: R870, value: v.status},
		{name: "reasons", rule: R870, value: v.reasons},
		{name: "code", rule: R710, value: v.code},
		{name: "attributed", rule: R885, value: v.attributed},
	}}
}

func (r reader) cacheRecord(in *cacheInput) {
	var ordinal int64
	var stored, kernel string
	var label Word
	r.Object(
		into("ordinal", &ordinal, r.count),
		into("stored_payload_digest", &stored, r.digest),
		into("kernel_payload_digest", &kernel, r.digest),
		into("freshness", &label, func() Word { return r.wordOf(fresh, stale, unknown) }),
	)
	in.ordinals = append(in.ordinals, ordinal)
	in.freshness = append(in.freshness, label)
	in.digestsHold = in.digestsHold && stored == kernel
}

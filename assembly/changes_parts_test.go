package assembly

import "time"

func planChanges() []change {
	late := time.Date(2026, 11, 30, 9, 0, 1, 0, time.UTC)
	return []change{
		{rule: R300, id: "snapshot", sealed: put("/plan/snapshot_id", "snap-9"), findings: []Rule{R300}},
		{rule: R300, id: "assembly", sealed: put("/plan/context_assembly_id", "asm-9"), findings: []Rule{R300}},
		{rule: R300, id: "positions", sealed: put("/plan/positions/-", tree{"position": 40, "deadline": clock(10), "input_set_digest": hashOf("z")}), findings: []Rule{R300}},
		{rule: R302, id: "digest", after: put("/plan/plan_digest", hashOf("z")), findings: []Rule{R302}},
		{rule: R305, id: "plan before snapshot", sealed: put("/plan/created_at", "2026-11-30T08:59:59.8Z"), findings: []Rule{R305}},
		{rule: R305, id: "attempt before plan", sealed: put("/plan/created_at", clock(0.101)), findings: []Rule{R305}},
		{rule: R305, id: "received afterwards", anchors: Anchors{PlanReceivedAt: &late}, findings: []Rule{R305}},
		{rule: R310, id: "no limit known", sealed: put("/plan/budget/model_candidates/0/input_limit_tokens", nil), missing: []string{"/plan/budget/model_candidates"}},
		{rule: R330, id: "reserves too large", sealed: all(put("/plan/budget/policy_ceiling/bytes", 899), unbound), outcome: Failed, code: BudgetUnavailable},
		{rule: R340, id: "minimums too large", sealed: all(put("/plan/budget/policy_ceiling/items", 0), unbound), outcome: Failed, code: BudgetUnavailable},
		{rule: R360, id: "allocation", after: put("/report/allocations/0/tokens", 1), findings: []Rule{R360}},
		{rule: R370, id: "budget skip", sealed: all(put(rule30+"/cap/items", 0), put(row30+"/cache", nil)), outcome: Degraded, derived: derived{"/positions/2/event": "budget_skip", "/positions/2/outcome": "skipped", "/allocations/2/skip": true}},
		{rule: R390, id: "asked although skipped", sealed: put(rule10+"/cap/items", 0), findings: []Rule{R390}, outcome: Degraded},
		{rule: R390, id: "asked although the plan failed", sealed: all(put("/plan/budget/policy_ceiling/items", 0), unbound), after: put(row10+"/request", requestTree()), findings: []Rule{R390}, outcome: Failed, code: BudgetUnavailable},
		{rule: R390, id: "asked although the plan failed, and cancelled", sealed: all(put("/plan/budget/policy_ceiling/items", 0), put("/parent/cancelled_at", clock(5))), findings: []Rule{R390}, outcome: Cancelled, code: StrategyCancelled},
		{rule: R752, id: "ceiling", sealed: put("/final/ceiling/tokens", 10000001), findings: []Rule{R752}},
	}
}

func requestTree() tree { return rowTree(0, 1)["request"].(tree) }

func requestChanges() []change {
	wrong := func(rule Rule, member string, value any) change {
		return change{rule: rule, id: member, after: put(row10+"/request/"+member, value), findings: []Rule{rule}}
	}
	list := []change{
		wrong(R400, "turn_id", tenant), wrong(R400, "snapshot_id", "snap-9"), wrong(R400, "correlation_id", "corr-9"), wrong(R400, "position", 20), wrong(R400, "operation", proposeCompaction),
		wrong(R415, "output_contract_digest", hashOf("z")), wrong(R420, "input_set_digest", hashOf("z")), wrong(R425, "cue_labels", []any{"user_request", "whole_transcript"}),
		wrong(R440, "policy_revisions", tree{"budget": "bud-3", "freshness": "frs-1", "redaction": "red-4", "final_assembly": "fin-3", "profile": "prof-7"}), wrong(R445, "deadline", clock(11)),
	}
	for i, c := range list { // what an attempt shares with its request differs from it as well
		switch c.id {
		case "output_contract_digest", "input_set_digest":
			list[i].findings = append(c.findings, R480)
		}
	}
	list = append(list,
		change{rule: R400, id: "snapshot time", after: put(row10+"/request/snapshot_time", clock(1)), findings: []Rule{R400, R480}},
		change{rule: R410, id: "bounds", after: put(row10+"/request/bounds/items", 1), findings: []Rule{R410, R415}},
		change{rule: R445, id: "kernel reserve", sealed: put("/plan/kernel_reserve_ms", 20001), findings: []Rule{R445}},
		change{rule: R480, id: "no request", sealed: put(row10+"/request", nil), findings: []Rule{R480}, outcome: Degraded},
		change{rule: R460, id: "late result kept", sealed: put(row10+"/attempts/0/ended_at", clock(10.001)), findings: []Rule{R460}, outcome: Degraded},
		change{rule: R490, id: "another provider for request and attempt", after: all(put(row10+"/request/provider_binding_id", "bind-9"), put(row10+"/attempts/0/provider_binding_id", "bind-9")), findings: []Rule{R400, R490}},
		change{rule: R490, id: "another provider", after: put(row10+"/attempts/0/provider_binding_id", "bind-9"), findings: []Rule{R490}},
	)
	return list
}

func positionChanges() []change {
	ended := func(row string, end Word) edit {
		return all(put(row+"/attempts/0/end", end), put(row+"/attempts/0/result_digest", nil), put(row+"/result", nil))
	}
	old := "2026-11-30T08:00:00Z"
	asLive := func(cause edit) edit { // position 30 asks, and its cached result stands ready
		return all(put(row30+"/source", "live"), cause)
	}
	unavailable30 := put(row30+"/pre_event", unavailable)
	return []change{
		{rule: R450, id: "timeout of an optional position", sealed: ended(row10, timeout), outcome: Degraded},
		{rule: R465, id: "cancelled", sealed: all(put("/parent/cancelled_at", clock(5)), put(row20+"/attempts/0/ended_at", clock(5)), ended(row20, parentCancelled)), outcome: Cancelled, code: StrategyCancelled},
		{rule: R470, id: "position cancelled", sealed: ended(row20, positionCancelled), outcome: Failed, code: StrategyCancelled},
		{rule: R488, id: "two results", sealed: all(put(row20+"/attempts/-", attemptTree()), ended(row20, endResult), put(row20+"/attempts/0/result_digest", hashOf("z")),
			func(t tree) {
				second := get(t, row20+"/attempts/1").(tree)
				first := get(t, row20+"/attempts/0").(tree)
				for _, name := range []string{"request_id", "provider_binding_id", "input_set_digest"} {
					second[name] = first[name]
				}
				second["started_at"], second["ended_at"] = clock(3), clock(4)
			}), findings: []Rule{R486}, outcome: Failed, code: ProtocolViolation},
		{rule: R390, id: "no attempt", sealed: all(put(row10+"/attempts", []any{}), put(row10+"/result", nil)), missing: []string{row10 + "/attempts"}},
		{rule: R575, id: "no result", sealed: put(row10+"/result", nil), missing: []string{row10 + "/result"}},
		{rule: R560, id: "unverifiable source", sealed: put(result10+"/0/source/proof_ok", false), outcome: Degraded, derived: derived{"/positions/0/event": "invalid_result", "/positions/0/outcome": "skipped", "/contributions/0/position": 20}},
		{rule: R550, id: "one without sensitivity", sealed: put(result10+"/0/sensitivity", nil), outcome: Degraded, derived: derived{"/positions/0/outcome": "accepted_partial", "/contributions/0/disposition": "rejected", "/contributions/0/freshness": nil, "/contributions/0/sensitivity": nil}},
		{rule: R550, id: "required without sensitivity", sealed: put(result20+"/0/sensitivity", nil), outcome: Failed, code: ProtocolViolation},
		{rule: R570, id: "empty", sealed: all(put(result10, []any{}), put(row10+"/result/envelope/item_count", 0), put(row10+"/result/envelope/byte_count", 0)), outcome: Success, derived: derived{"/positions/0/outcome": "accepted_empty"}},
		{rule: R610, id: "required stale", sealed: put(result20+"/1/observed_at", old), outcome: Failed, code: ContributionStale},
		{rule: R615, id: "optional stale", sealed: all(put(result10+"/1/observed_at", old), put(rule10+"/freshness/requirement", fresh)), outcome: Degraded, derived: derived{"/positions/0/outcome": "skipped", "/contributions/0/disposition": "freshness_skipped"}},
		{rule: R615, id: "optional stale, accepted", sealed: all(put(result10+"/1/observed_at", old), put(rule10+"/freshness/requirement", fresh), put(rule10+"/optional_rule/on_stale", acceptAttributed)), outcome: Degraded, derived: derived{"/positions/0/outcome": "accepted_stale", "/contributions/1/effective_authority": "untrusted_data", "/contributions/1/disposition": "included"}},
		{rule: R620, id: "stale and labelled", sealed: put(result10+"/1/observed_at", old)},
		{rule: R620, id: "stale and called fresh", sealed: put(result10+"/1/observed_at", old), after: put("/report/contributions/1/freshness", fresh), findings: []Rule{R660}},
		{rule: R635, id: "all omitted", sealed: all(put(result20+"/0/sensitivity", sensitive), put(result20+"/1/sensitivity", sensitive)), outcome: Failed, code: RequiredUnavailable},
		{rule: R635, id: "one omitted", sealed: put(result10+"/0/sensitivity", sensitive), outcome: Degraded, derived: derived{"/positions/0/outcome": "accepted_partial", "/positions/0/code": nil, "/contributions/0/sensitivity": "sensitive", "/contributions/0/wrapper": nil, "/contributions/0/freshness": "fresh"}},
		{rule: R640, id: "no class", sealed: all(put(result10+"/0/source", sourceOf("wiki")), put(rule10+"/admitted_sources/-", sourcePair("wiki", "board"))), missing: []string{"/profile/source_classes"}},
		{rule: R665, id: "no row", sealed: drop(row10), findings: []Rule{R665}, missing: []string{"/positions"}},
		{rule: R665, id: "a row too many", sealed: func(t tree) { put("/positions/-", get(t, row10))(t) }, findings: []Rule{R665}},
		{rule: R680, id: "conflict of optional positions", sealed: all(put(result10+"/0/source/stable_ref", "wi-2-0")), outcome: Degraded, derived: derived{"/positions/0/code": "context_contribution_conflict", "/positions/0/outcome": "accepted_partial", "/positions/2/outcome": "accepted_partial", "/conflicts/0/members": []any{[]any{10, 0}, []any{30, 0}}}},
		{rule: R685, id: "conflict with a required position", sealed: all(put(result10+"/0/source/stable_ref", "wi-1-0")), outcome: Failed, code: ContributionClash, derived: derived{"/stage": "merge", "/positions/0/outcome": "accepted", "/contributions": []any{}, "/final": nil, "/failure_codes": []any{"context_contribution_conflict"}}},
		{rule: R695, id: "inadmissible", sealed: put(result10+"/0/kernel_inadmissible_ref", "kernel/checkpoint"), outcome: Degraded, derived: derived{"/contributions/0/disposition": "kernel_inadmissible", "/contributions/0/wrapper": "slot"}},
		{rule: R695, id: "called inadmissible", after: put("/report/contributions/0/disposition", kernelInadmissible), findings: []Rule{R660}},
		{rule: R725, id: "timeout", sealed: put("/parent/settled_at", clock(31)), outcome: TimedOut, derived: derived{"/stage": "settle", "/code": nil, "/final": nil}},
		{rule: R860, id: "cache not permitted", sealed: put(rule30+"/cache/permitted", false), outcome: Degraded, derived: derived{"/positions/2/event": "cache_failed", "/positions/2/cache_status": "rejected", "/positions/2/code": "context_strategy_cache_unavailable"}},
		{rule: R865, id: "cache key", sealed: put(cache30+"/key/scope_digest", hashOf("z")), outcome: Degraded},
		{rule: R870, id: "cached ordinals", sealed: put(cache30+"/ordinals_as_stored", []any{1, 0}), outcome: Degraded},
		{rule: R875, id: "cached digest", after: put(cache30+"/stored_result_digest", hashOf("z")), findings: []Rule{R660, R705, R730, R750}, outcome: Degraded},
		{rule: R535, id: "cached beyond the allocation", sealed: put(rule30+"/cap/tokens", 49), outcome: Degraded, derived: derived{"/positions/2/event": "cache_failed", "/positions/2/cache_status": "rejected"}},
		{rule: R550, id: "cached without sensitivity", sealed: put(cache30+"/contributions/0/sensitivity", nil), outcome: Degraded, derived: derived{"/positions/2/event": "cache_failed"}},
		{rule: R878, id: "old envelope", after: put(cache30+"/contributions/0/context_assembly_id", "asm-1"), findings: []Rule{R878}},
		{rule: R880, id: "policy", sealed: put(cache30+"/policy_ok", false), outcome: Degraded},
		{rule: R885, id: "stale hit where fresh is required", sealed: all(put(rule30+"/requirement", required), put(rule30+"/optional_rule", nil), put(rule30+"/freshness/requirement", fresh),
			put(cache30+"/contributions/0/observed_at", old)), outcome: Failed, code: ContributionStale},
		{rule: R885, id: "stale hit elsewhere", sealed: put(cache30+"/contributions/0/observed_at", old), derived: derived{"/positions/2/outcome": "accepted_cache", "/contributions/4/freshness": "stale", "/contributions/4/wrapper": "data_isolation"}},
		{rule: R705, id: "declared fallback on a cached result", sealed: asLive(all(unavailable30, put(rule30+"/optional_rule/on_failure", staleCacheRule))), outcome: Degraded, derived: derived{"/positions/2/event": "unavailable", "/positions/2/outcome": "accepted_cache", "/contributions/4/position": 30}},
		{rule: R705, id: "fallback without admitted material", sealed: asLive(all(unavailable30, put(rule30+"/optional_rule/on_failure", staleCacheRule), put(rule30+"/sensitivities", []any{public}))), outcome: Degraded, derived: derived{"/positions/2/outcome": "skipped", "/positions/2/code": "context_strategy_cache_unavailable"}},
		{rule: R700, id: "required startup failure", sealed: all(put(row20+"/pre_event", startupFailed), put(row20+"/attempts", []any{}), put(row20+"/result", nil)), outcome: Failed, code: RequiredUnavailable},
	}
}

func sourceOf(class string) tree {
	return tree{"source_class": class, "namespace": "board", "stable_ref": "x", "shape_ok": true, "scope_ok": true, "proof_ok": true}
}

func reportChanges() []change {
	duplicate := func(t tree) { // position 10 says what required position 20 says
		for _, name := range []string{"payload_digest", "kernel_payload_digest"} {
			put(result10+"/0/"+name, get(t, result20+"/0/"+name))(t)
		}
		put(result10+"/0/source/stable_ref", "wi-1-0")(t)
	}
	small := func(tokens int) edit {
		return all(put("/final/ceiling/tokens", tokens), put("/plan/final_limits/tokens", tokens))
	}
	return []change{
		{rule: R675, id: "exact duplicate", sealed: duplicate, derived: derived{"/contributions/2/disposition": "duplicate_omitted", "/contributions/2/accepted_bytes": 0, "/positions/0/outcome": "accepted", "/positions/1/outcome": "accepted"}},
		{rule: R675, id: "duplicate kept", sealed: duplicate, after: put("/report/contributions/2/duplicate_of", nil), findings: []Rule{R660}},
		{rule: R690, id: "left out", after: drop("/report/contributions/0"), findings: []Rule{R660}},
		{rule: R660, id: "order", after: func(t tree) { put("/report/contributions/0", get(t, "/report/contributions/1"))(t) }, findings: []Rule{R660}},
		{rule: R715, id: "failure codes", after: put("/report/failure_codes", []any{ContributionStale}), findings: []Rule{R715}},
		{rule: R730, id: "stage", after: put("/report/stage", "final"), findings: []Rule{R730}},
		{rule: R735, id: "called degraded", after: put("/report/outcome", Degraded), findings: []Rule{R730}},
		{rule: R740, id: "contributions of a failure", sealed: put(result20+"/0/sensitivity", nil), after: put("/report/contributions", []any{record(1, 1)["report"].(tree)["contributions"].([]any)[0]}),
			findings: []Rule{R660}, outcome: Failed, code: ProtocolViolation},
		{rule: R740, id: "final part of a failure", sealed: put(result20+"/0/sensitivity", nil), after: put("/report/final", record(1, 1)["report"].(tree)["final"]), findings: []Rule{R750}, outcome: Failed, code: ProtocolViolation},
		{rule: R760, id: "truncated", sealed: small(300), outcome: Degraded},
		{rule: R780, id: "protected for a required duplicate", sealed: all(duplicate, small(180)), outcome: Degraded, derived: derived{"/contributions/0/disposition": "included", "/contributions/1/disposition": "truncated_omitted", "/contributions/5/disposition": "truncated_omitted"}},
		{rule: R775, id: "overflow", sealed: small(10), outcome: Overflow},
		{rule: R770, id: "to be rebuilt", sealed: all(small(10), put("/final/compaction", tree{"preconditions_met": true, "deadline_allows": true})), outcome: "null", derived: derived{"/stage": "final", "/final/result": "rebuild_after_compaction"}},
		{rule: R750, id: "measured without measurements", sealed: put("/final/size_model", "measured"), missing: []string{"/final/measured"}},
		{rule: R790, id: "removal not attributed", sealed: small(300), after: drop("/report/final/removed/0"), findings: []Rule{R750}, outcome: Degraded},
		{rule: R710, id: "code", sealed: put(result20+"/0/sensitivity", nil), after: put("/report/code", RequiredUnavailable), findings: []Rule{R710}, outcome: Failed, code: ProtocolViolation},
		{rule: R940, id: "position outcome", after: put("/report/positions/0/outcome", acceptedPartial), findings: []Rule{R705}},
		{rule: R945, id: "binding", after: put("/report/positions/0/provider_binding_id", "bind-9"), findings: []Rule{R705, R945}},
		{rule: R945, id: "release", after: put("/report/positions/0/provider_release_id", "rel-9"), findings: []Rule{R705, R945}},
	}
}

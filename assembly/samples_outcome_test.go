package assembly

func conductSamples() []sample {
	kept := `{"conformant":true,"broken":[],"event":"result","late":false}`
	misdone := func(rule Rule, id, why string, edits edit, more ...Rule) sample {
		rules := append([]Rule{rule}, more...)
		return sample{rule: rule, id: id, kind: "conduct", why: why, edits: edits, findings: rules,
			derived: `{"conformant":false,"broken":` + string(must(jsonOf(rules))) + `,"event":"result","late":false}`}
	}
	event := func(rule Rule, id, why, event string, late bool, edits edit) sample {
		return sample{rule: rule, id: id, kind: "conduct", why: why, edits: edits,
			derived: string(must(jsonOf(tree{"conformant": true, "broken": []Rule{}, "event": event, "late": late})))}
	}
	const a0, a1 = "/attempts/0", "/attempts/1"
	retry := func(t tree) { // a transport error, then the result, exactly the backoff later
		again := treeOf(get(t, a0))
		put("/attempts/-", again)(t)
		all(put(a0+"/end", transportError), put(a0+"/result_digest", nil), put(a0+"/ended_at", clock(1)), put(a1+"/started_at", clock(1.5)), put(a1+"/ended_at", clock(3)))(t)
	}
	cancelAt := func(s float64) edit {
		return all(put("/parent/cancelled_at", clock(s)), put("/parent/settled_at", clock(s+0.1)))
	}
	return []sample{
		{rule: R450, id: "in-time", kind: "conduct", why: "A result in time.", derived: kept},
		event(R450, "at-the-deadline", "A result at the deadline itself.", "result", false, put(a0+"/ended_at", clock(10))),
		event(R450, "overdue", "A result a millisecond after the deadline.", "timeout", true, put(a0+"/ended_at", clock(10.001))),
		event(R482, "retried", "One retry, exactly the backoff later.", "result", false, retry),
		event(R465, "at-cancellation", "A result at the instant of the parent's cancellation is late.", "parent_cancelled", true, cancelAt(2)),
		event(R465, "cancelled-later", "A cancellation after settlement changes nothing.", "result", false, put("/parent/cancelled_at", clock(11.001))),
		event(R470, "position-cancelled", "The position was cancelled while its parent went on.", "position_cancelled", false, all(put(a0+"/end", positionCancelled), put(a0+"/result_digest", nil))),
		event(R488, "two-results", "Two digests were seen for one request.", "invalid_result", false, all(retry, put(a0+"/result_digest", hashOf("z")))),
		misdone(R445, "no-kernel-time", "The deadline leaves the kernel less than its reserve.", put("/parent/deadline", clock(14.999))),
		misdone(R460, "early-late-output", "An output is called late that came in time.", put("/late_outputs", []any{tree{"received_at": clock(9), "result_digest": hashOf("z")}})),
		misdone(R475, "one-too-many", "More attempts than the schedule has.", all(retry, put("/retry/max_retries", 0))),
		misdone(R480, "other-input", "An attempt had another input set.", put(a0+"/input_set_digest", hashOf("z"))),
		misdone(R480, "other-time", "An attempt had another snapshot time.", put(a0+"/snapshot_time", clock(0.5))),
		misdone(R482, "too-early", "A retry came before its backoff had passed.", all(retry, put(a1+"/started_at", clock(1.499)))),
		misdone(R484, "not-idempotent", "A retry without proven idempotency.", all(retry, put("/retry/idempotency_proven", false))),
		misdone(R484, "started-late", "An attempt started after the deadline.", put(a0+"/started_at", clock(10.001))),
		misdone(R486, "after-timeout", "A retry after a timeout.", all(retry, put(a0+"/end", timeout))),
		misdone(R490, "alternate", "An attempt went to another provider.", put(a0+"/provider_binding_id", "bind-9")),
		{rule: R465, id: "no-parent-cancelled", kind: "conduct", why: "An attempt names a cancellation that the parent doesn't have.", edits: all(put(a0+"/end", parentCancelled), put(a0+"/result_digest", nil)),
			derived: `{"event":"parent_cancelled","broken":["C0-R465"]}`, findings: []Rule{R465}},
		{rule: R460, id: "used", kind: "conduct", why: "The record used a late result.", edits: put(a0+"/ended_at", clock(10.001)),
			derived: `{"event":"timeout","late":true}`, recorded: `{"event":"result","late":false}`, findings: []Rule{R450, R460}},
	}
}

const (
	optionalRow = "/positions/0"
	requiredRow = "/positions/1"
)

func failureSamples() []sample {
	result := func(rule Rule, id, why string, edits edit, derived string) sample {
		return sample{rule: rule, id: id, kind: "failure", why: why, edits: edits, derived: derived}
	}
	// after says what an optional position comes to; the required one is accepted.
	after := func(rule Rule, id, why string, event Word, edits edit, outcome, code string) sample {
		if edits == nil {
			edits = all()
		}
		return result(rule, id, why, all(put(optionalRow+"/event", event), edits), `{"outcome":"degraded","code":null,"failure_codes":[],"positions":[
			{"position":10,"outcome":"`+outcome+`","code":`+code+`},{"position":20,"outcome":"accepted","code":null}]}`)
	}
	failed := func(rule Rule, id, why string, event Word, code string) sample {
		return result(rule, id, why, put(requiredRow+"/event", event), `{"outcome":"failed","code":"`+code+`","failure_codes":["`+code+`"],"positions":[
			{"position":10,"outcome":"accepted","code":null},{"position":20,"outcome":"failed","code":"`+code+`"}]}`)
	}
	onFailure := func(w Word) edit { return put(optionalRow+"/optional_rule/on_failure", w) }
	onStale := func(w Word) edit { return put(optionalRow+"/optional_rule/on_stale", w) }
	cached := put(optionalRow+"/cache_status", hit)
	sound := `{"outcome":"success","code":null,"failure_codes":[]}`
	return []sample{
		result(R735, "success", "Nothing was lost.", nil, sound),
		{rule: R735, id: "called-degraded", kind: "failure", why: "The record calls it degraded.", derived: sound, recorded: `{"outcome":"degraded"}`, findings: []Rule{R730}},
		result(R735, "clean-hit", "A clean cache hit loses nothing.", all(put(optionalRow+"/event", cacheHit), cached), sound),
		failed(R700, "startup", "A required startup failure.", startupFailed, string(RequiredUnavailable)),
		failed(R700, "policy", "Nothing that was required is admitted.", policyOmitted, string(RequiredUnavailable)),
		failed(R700, "partial", "A partial result does not satisfy a required position.", partialResult, string(ProtocolViolation)),
		failed(R610, "required-stale", "Required material is not fresh.", stale, string(ContributionStale)),
		failed(R710, "cache", "A required position's cache failed.", cacheFailed, string(CacheUnavailable)),
		failed(R710, "binding", "A required binding is gone.", bindingUnavailable, string(BindingUnavailable)),
		failed(R470, "cancelled", "A cancelled required position fails.", positionCancelled, string(StrategyCancelled)),
		after(R705, "unavailable", "What is unavailable has no code where it is optional.", unavailable, nil, "skipped", "null"),
		after(R705, "partial", "A partial result is accepted in part.", partialResult, nil, "accepted_partial", `"context_strategy_protocol_violation"`),
		after(R705, "budget-skip", "A budget skip has no code.", budgetSkip, nil, "skipped", "null"),
		after(R705, "empty", "A declared empty contribution.", timeout, onFailure(degradedEmpty), "degraded_empty", `"context_strategy_deadline_exceeded"`),
		after(R705, "fallback", "A declared stale cache result, which is valid.", timeout, all(onFailure(staleCacheRule), cached), "accepted_cache", `"context_strategy_deadline_exceeded"`),
		after(R705, "no-fallback", "The declared stale cache result is not there.", timeout, onFailure(staleCacheRule), "skipped", `"context_strategy_cache_unavailable"`),
		after(R705, "cache-failed-empty", "A failed cache with a declared empty contribution.", cacheFailed, onFailure(degradedEmpty), "degraded_empty", `"context_strategy_cache_unavailable"`),
		after(R470, "optional-cancelled", "A cancelled optional position follows its rule.", positionCancelled, nil, "skipped", `"context_strategy_cancelled"`),
		after(R615, "stale-skipped", "Stale and skipped.", stale, nil, "skipped", `"context_contribution_stale"`),
		after(R615, "stale-accepted", "Stale and accepted as such.", stale, onStale(acceptAttributed), "accepted_stale", `"context_contribution_stale"`),
		after(R615, "stale-cached", "Stale, with a valid cached result.", stale, all(onStale(acceptedCache), cached), "accepted_cache", `"context_contribution_stale"`),
		after(R615, "stale-not-cached", "Stale, without one.", stale, onStale(acceptedCache), "skipped", `"context_strategy_cache_unavailable"`),
		result(R725, "late", "Settled after the parent's deadline.", put("/parent/settled_at", clock(30.001)), `{"outcome":"timeout","code":null,"failure_codes":[]}`),
		result(R725, "at-the-deadline", "Settled at the deadline itself.", put("/parent/settled_at", clock(30)), sound),
		result(R465, "cancelled", "A cancelled parent, whatever failed.", all(put("/parent/cancelled_at", clock(5)), put(requiredRow+"/event", timeout)),
			`{"outcome":"cancelled","code":"context_strategy_cancelled","failure_codes":[],"positions":[
			{"position":10,"outcome":"cancelled","code":"context_strategy_cancelled"},{"position":20,"outcome":"cancelled","code":"context_strategy_cancelled"}]}`),
		{rule: R715, id: "lowest-decides", kind: "failure", why: "Two required failures: the lowest position's code, both listed in position order.",
			edits:    all(put(optionalRow+"/requirement", required), put(optionalRow+"/optional_rule", nil), put(optionalRow+"/position", 30), put(optionalRow+"/event", timeout), put(requiredRow+"/event", stale)),
			derived:  `{"outcome":"failed","code":"context_contribution_stale","failure_codes":["context_contribution_stale","context_strategy_deadline_exceeded"]}`,
			recorded: `{"code":"context_strategy_deadline_exceeded","failure_codes":["context_strategy_deadline_exceeded","context_contribution_stale"]}`, findings: []Rule{R710, R715}},
	}
}

func recoverySamples() []sample {
	const p0 = "/positions/0"
	out := func(rule Rule, id, why string, edits edit, code, route string, broken ...Rule) sample {
		if broken == nil {
			broken = []Rule{}
		}
		return sample{rule: rule, id: id, kind: "recovery", why: why, edits: edits, findings: broken, derived: `{"conformant":` + string(must(jsonOf(len(broken) == 0))) + `,"broken":` + string(must(jsonOf(broken))) +
			`,"code":` + code + `,"positions":[{"position":10,"route":"` + route + `"},{"position":20,"route":"replay"}]}`}
	}
	unrestorable := all(put(p0+"/binding_restorable", false), put(p0+"/recovered_binding_id", nil), put(p0+"/replay_digest", nil))
	gone := out(R930, "route", "The record repeats through a binding that can't be restored.", unrestorable, `"context_strategy_binding_unavailable"`, "unavailable")
	gone.recorded, gone.findings = `{"code":null,"positions":[{"position":10,"route":"repeat"},{"position":20,"route":"replay"}]}`, []Rule{R920, R930}
	return []sample{
		out(R920, "replayed", "The accepted result is replayed.", nil, "null", "replay"),
		out(R910, "repeated", "No result was retained; the exact binding repeats the request.", all(put(p0+"/accepted_result_digest", nil), put(p0+"/replay_digest", nil)), "null", "repeat"),
		out(R900, "other-snapshot", "The recovery used another snapshot.", put("/recovered_snapshot_digest", hashOf("z")), "null", "replay", R900),
		out(R910, "other-binding", "The recovery went to another binding.", put(p0+"/recovered_binding_id", "bind-9"), "null", "replay", R910),
		out(R920, "other-result", "Another result was replayed.", put(p0+"/replay_digest", hashOf("z")), "null", "replay", R920),
		gone,
	}
}

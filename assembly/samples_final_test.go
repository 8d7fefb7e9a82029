package assembly

func mergeSamples() []sample {
	const order = `{"position":10,"ordinal":0,"disposition":"included","duplicate_of":null},{"position":10,"ordinal":1,"disposition":"included","duplicate_of":null},
		{"position":20,"ordinal":0,"disposition":"duplicate_omitted","duplicate_of":[10,1]},{"position":20,"ordinal":1,"disposition":"included","duplicate_of":null}`
	const merged = `{"order":[` + order + `],"conflicts":[],"gaps":[],"included":[[10,0],[10,1],[20,1]],"degraded":false,"code":null}`
	wrong := func(rule Rule, id, why, recorded string, findings ...Rule) sample {
		return sample{rule: rule, id: id, kind: "merge", why: why, derived: merged, recorded: recorded, findings: findings}
	}
	clash := put("/positions/1/contributions/0/payload_digest", hashOf("z")) // b of position 10
	return []sample{
		wrong(R675, "duplicate", "The first configured position keeps an exact duplicate.", ""),
		wrong(R660, "completion-order", "The record lists the required position first.", `{"included":[[20,1],[10,0],[10,1]]}`, R660),
		wrong(R690, "superseded", "The record left a contribution out for a reason of its own.", `{"included":[[10,0],[20,1]]}`, R660),
		wrong(R665, "gap-invented", "The record has a gap that isn't one.", `{"gaps":[10]}`, R665),
		{rule: R665, id: "gap", kind: "merge", why: "A skipped position is a gap, and nothing moves up.", edits: put("/positions/1/status", skipped),
			derived: `{"gaps":[10],"included":[[20,0],[20,1]],"conflicts":[]}`},
		{rule: R680, id: "conflict", kind: "merge", why: "One identity with two payloads keeps none.", edits: all(clash, put("/positions/0/requirement", optional)),
			derived:  `{"conflicts":[{"members":[[10,1],[20,0]],"affected_positions":[10,20]}],"included":[[10,0],[20,1]],"degraded":true,"code":null}`,
			recorded: `{"conflicts":[]}`, findings: []Rule{R680}},
		{rule: R685, id: "required", kind: "merge", why: "A required position is affected.", edits: clash,
			derived:  `{"conflicts":[{"members":[[10,1],[20,0]],"affected_positions":[10,20]}],"degraded":false,"code":"context_contribution_conflict"}`,
			recorded: `{"degraded":true,"code":null}`, findings: []Rule{R685}},
	}
}

func finalSamples() []sample {
	out := func(rule Rule, id, why string, edits edit, derived, recorded string, findings ...Rule) sample {
		return sample{rule: rule, id: id, kind: "truncate", why: why, edits: edits, derived: derived, recorded: recorded, findings: findings}
	}
	ceiling := func(n int) edit { return put("/ceiling/tokens", n) }
	const tool, last, firstOne, unit = `{"step":1,"ref":["tool_result","tr-a"]}`, `{"step":2,"ref":["contribution",10,1]}`, `{"step":2,"ref":["contribution",10,0]}`, `{"step":3,"ref":["transcript_unit","u1"]}`
	const two = `{"size_before":{"tokens":320,"bytes":1280},"size_after":{"tokens":240,"bytes":960},"removed":[` + tool + `,` + last + `],"result":"fit"}`
	const every = `"removed":[` + tool + `,` + last + `,` + firstOne + `,` + unit + `]`
	measured := all(put("/size_model", "measured"), put("/measured", []any{tree{"tokens": 400, "bytes": 1}, tree{"tokens": 330, "bytes": 1}, tree{"tokens": 320, "bytes": 1}}))
	return []sample{
		out(R785, "fits", "Equal fits.", nil, `{"removed":[],"result":"fit"}`, ""),
		out(R750, "sizes", "The record has another size after.", ceiling(260), two, `{"size_after":{"tokens":260,"bytes":960}}`, R750),
		out(R750, "measured", "The kernel's measurements decide after each action.", measured,
			`{"size_before":{"tokens":400,"bytes":1},"size_after":{"tokens":320,"bytes":1},"removed":[`+tool+`,`+last+`],"result":"fit"}`, ""),
		out(R755, "tool-results-only-when-over", "Old tool results go first, all at once, when it is over.", ceiling(319), `{"removed":[`+tool+`],"result":"fit"}`, `{"removed":[]}`, R755),
		out(R755, "recent-tool-result", "A recent tool result stays.", all(ceiling(319), put("/tool_results/0/message_index", 6)), `{"removed":[`+last+`],"result":"fit"}`, ""),
		out(R760, "forward", "The record began at the first position.", ceiling(260), two, `{"removed":[`+tool+`,`+firstOne+`]}`, R760),
		out(R760, "bytes", "The bytes alone are over.", put("/ceiling/bytes", 1000), `{"size_after":{"tokens":240,"bytes":960},"removed":[`+tool+`,`+last+`],"result":"fit"}`, ""),
		out(R765, "oldest-first", "Then the oldest unprotected transcript.", ceiling(170), `{`+every+`,"result":"fit"}`, ""),
		out(R765, "newest-first", "The record took a protected unit instead.", ceiling(170), `{`+every+`,"result":"fit"}`, `{"removed":[`+tool+`,`+last+`,`+firstOne+`,{"step":3,"ref":["transcript_unit","u2"]}]}`, R780),
		out(R770, "rebuild", "Compaction is possible: rebuild.", all(ceiling(100), put("/compaction", tree{"preconditions_met": true, "deadline_allows": true})), `{`+every+`,"result":"rebuild_after_compaction"}`, ""),
		out(R775, "overflow", "Nothing more can go.", ceiling(100), `{`+every+`,"size_after":{"tokens":170,"bytes":680},"result":"overflow"}`, `{"result":"fit"}`, R775),
		out(R780, "required", "The record removed a required contribution.", ceiling(260), two, `{"removed":[`+tool+`,`+last+`,{"step":2,"ref":["contribution",20,0]}]}`, R780),
		out(R785, "one-too-many", "The record went on after the first fit.", ceiling(260), two, `{"removed":[`+tool+`,`+last+`,`+firstOne+`]}`, R785),
		out(R790, "unattributed", "The record names only one of two removals.", ceiling(260), two, `{"removed":[`+tool+`]}`, R755),
	}
}

func compactionSamples() []sample {
	const state = `"pending_state_digest":"`
	advanced := `"state_advanced":true,"compacted_through_message_id":"m2","recent_message_ids":["m3"]`
	kept := `"state_advanced":false,"compacted_through_message_id":"m0","recent_message_ids":["m1","m2","m3"]`
	const invalid = `"context_compaction_proposal_invalid"`
	committed := `{"proposal_status":"accepted","reasons":[],"broken":[],"proposal_code":null,"action":"commit_proposal","reason":"proposal","code":null,` + advanced + `}`
	out := func(rule Rule, id, why string, edits edit, derived, recorded string, findings ...Rule) sample {
		return sample{rule: rule, id: id, kind: "compaction", why: why, edits: edits, derived: derived, recorded: recorded, findings: findings}
	}
	refused := func(rule Rule, id, why string, edits edit, code string) sample {
		return out(rule, id, why, edits, `{"proposal_status":"rejected","reasons":["`+string(rule)+`"],"proposal_code":`+code+`,"action":"no_commit","reason":null,"code":`+code+`,`+kept+`}`, "")
	}
	absent := func(id, why string, event Word, code, action string, edits edit) sample {
		state := kept + `,"code":` + code
		switch action {
		case "commit_fallback":
			state = advanced + `,"code":null`
		case "fail_closed":
			state = kept + `,"code":"context_strategy_required_unavailable"`
		}
		return out(R845, id, why, all(put("/proposal", nil), put("/event", event), edits), `{"proposal_status":"absent","reasons":[],"proposal_code":`+code+`,"action":"`+action+`",`+state+`}`, "")
	}
	required := put("/operation/proposer_rule", proposalRequired)
	return []sample{
		out(R845, "commit", "An accepted proposal is committed.", nil, committed, ""),
		out(R845, "silent", "The record calls the proposal a fallback.", nil, committed, `{"reason":"fallback"}`, R845),
		out(R848, "ids", "The record kept other messages.", nil, committed, `{"recent_message_ids":["m2","m3"]}`, R848),
		out(R848, "overlap", "A message is both dropped and kept.", put("/operation/kept_message_ids", []any{"m2", "m3"}), `{"broken":["C0-R848"],"action":"commit_proposal"}`, "", R848),
		out(R850, "pending", "The record committed another pending state.", nil, `{`+state+hashOf("p")+`"}`, `{`+state+hashOf("z")+`"}`, R850),
		out(R855, "transcript", "The transcript changed.", nil, `{"transcript_digest":"`+hashOf("t")+`"}`, `{"transcript_digest":"`+hashOf("z")+`"}`, R855),
		out(R800, "not-designated", "Somebody proposed where no proposer is designated.", put("/operation/proposer_rule", nil), `{"proposal_status":"absent","broken":["C0-R800"],"action":"no_commit","code":null,`+kept+`}`, "", R800),
		out(R805, "other-revision", "The operation used another profile revision than its turn.", put("/operation/profile_revision_id", "prof-8"), `{"broken":["C0-R805"]}`, "", R805),
		refused(R810, "other-request", "The proposal answers another request.", put("/proposal/request_id", "creq-9"), invalid),
		refused(R815, "field-missing", "A checkpoint field is missing.", drop("/proposal/fields_present/3"), invalid),
		refused(R815, "field-twice", "A checkpoint field stands twice.", put("/proposal/fields_present/-", "goal"), invalid),
		refused(R820, "order", "The messages are covered in another order.", put("/proposal/covered_message_ids", []any{"m2", "m1"}), invalid),
		refused(R825, "identifier-lost", "A critical identifier is lost.", put("/proposal/identifier_digests", []any{hashOf("y")}), invalid),
		refused(R830, "invented", "An identifier is not supported.", put("/proposal/identifier_digests/-", hashOf("z")), invalid),
		refused(R835, "no-source", "A critical claim cites nothing.", put("/proposal/critical_claims/0/source_message_ids", []any{}), invalid),
		refused(R835, "kept-source", "A critical claim cites a kept message.", put("/proposal/critical_claims/0/source_message_ids", []any{"m3"}), invalid),
		refused(R840, "too-large", "The proposal exceeds its bound by a byte.", put("/operation/max_bytes", 1799), invalid),
		refused(R841, "digest", "The proposal's digest is not the kernel's.", put("/proposal/proposal_digest", hashOf("z")), invalid),
		refused(R841, "redaction", "The redaction is not confirmed.", put("/proposal/redaction_ok", false), invalid),
		refused(R842, "late", "The proposal came a millisecond late.", put("/proposal/received_at", clock(8.001)), `"context_strategy_deadline_exceeded"`),
		absent("timeout-fallback", "A timeout with the fallback enabled.", timeout, `"context_strategy_deadline_exceeded"`, "commit_fallback", put("/operation/fallback_enabled", true)),
		absent("failed", "A failure without a fallback.", "failed", `"context_strategy_required_unavailable"`, "no_commit", all()),
		absent("cancelled", "A cancelled proposer without a fallback.", positionCancelled, `"context_strategy_cancelled"`, "no_commit", all()),
		absent("required", "A required proposer gave nothing.", none, "null", "fail_closed", required),
		out(R845, "parent-cancelled", "The parent was cancelled.", put("/parent_cancelled", true), `{"action":"cancelled","code":"context_strategy_cancelled","reason":null,`+kept+`}`, ""),
	}
}

func contentSamples() []sample {
	forbidden := func(id, why string, edits edit, at string) sample {
		return sample{rule: R020, id: id, kind: "privacy", why: why, edits: edits, derived: `{"code":"record_forbidden_content","at":["` + at + `"]}`}
	}
	return []sample{
		{rule: R020, id: "clean", kind: "privacy", why: "A whole record without anything forbidden.", derived: `{"code":null,"at":[]}`},
		forbidden("prose", "A stable reference is prose.", put("/record/positions/0/result/contributions/0/source/stable_ref", "the user's door code"), "/positions/0/result/contributions/0/source/stable_ref"),
		forbidden("fraction", "A size is a fraction.", put("/record/final/fixed/tokens", 1.5), "/final/fixed/tokens"),
		forbidden("deep", "A prompt stands below a name that is not ours.", put("/record/parent/x-secret-name", tree{"prompt": "a"}), "/parent"),
		{rule: R525, id: "measured", kind: "payload", why: "Twelve bytes, seven characters, eight UTF-16 units.", derived: `{"payload_digest":"` + hashOf("grüße 👋") + `","bytes":12,"tokens":2}`},
		{rule: R525, id: "other-payload", kind: "payload", why: "The recorded digest is another payload's.", derived: `{"payload_digest":"` + hashOf("grüße 👋") + `"}`, recorded: `{"payload_digest":"` + hashOf("z") + `"}`, findings: []Rule{R525}},
		{rule: R530, id: "tokens", kind: "payload", why: "The record counts characters.", derived: `{"tokens":2}`, recorded: `{"tokens":7}`, findings: []Rule{R530}},
	}
}

package assembly

import (
	"encoding/json"
	"fmt"
)

// record builds an assembly with n positions of m contributions each, sealed and with its dictated report. Of every three
// positions the second is required and must be fresh, and the third comes from a cache.
func record(n, m int, edits ...edit) tree {
	t := tree{
		"record_version": Version,
		"identity": tree{"tenant_id": tenant, "agent_id": agent, "workspace_id": workspace, "conversation_id": conversation, "turn_id": turn,
			"context_assembly_id": assemblyID, "assembly_kind": "initial", "predecessor_assembly_id": nil, "correlation_id": "corr-1"},
		"profile_resolution": tree{"lookup_key": lookup(), "candidates": []any{
			tree{"profile_revision_id": "prof-7", "content_digest": hashOf(""), "origin": "explicit", "active": true}}},
		"profile": profileTree(n, m), "snapshot": snapshotTree(n), "plan": planTree(n, m), "anchors": []any{},
		"parent":    tree{"deadline": clock(30), "cancelled_at": nil, "settled_at": clock(11)},
		"positions": rowTrees(n, m),
		"final": tree{"ceiling": tree{"tokens": 10000000, "bytes": nil}, "size_model": "additive", "fixed": tree{"tokens": 100, "bytes": 400},
			"tool_results":     []any{tree{"ref": "tr-a", "message_index": 2, "tokens": 30, "bytes": 120, "protected": false}},
			"transcript_units": []any{tree{"unit": "u1", "tokens": 20, "bytes": 80, "protected": false}, tree{"unit": "u2", "tokens": 20, "bytes": 80, "protected": true}},
			"pruning":          tree{"message_count": 10, "keep_last_messages": 4}, "compaction": tree{"preconditions_met": false, "deadline_allows": false}},
	}
	t = treeOf(t)
	all(edits...)(t)
	seal(t)
	return t
}

// seal sets every digest, request and cache key to what the rest of the record makes it, and then the report.
func seal(t tree) {
	for i, r := range get(t, "/profile/positions").([]any) {
		if list := get(t, "/snapshot/positions").([]any); i < len(list) {
			list[i].(tree)["rule_digest"] = digestTwice(ruleDomain, r)
		}
	}
	put("/profile_resolution/candidates/0/content_digest", digestTwice(profileDomain, t["profile"]))(t)
	for _, part := range []struct{ at, domain, digest string }{
		{"/snapshot", snapshotDomain, "snapshot_digest"}, {"/plan", planDomain, "plan_digest"},
	} {
		value := get(t, part.at).(tree)
		delete(value, part.digest)
		value[part.digest] = digestTwice(part.domain, value)
	}
	sealRows(t)
	report(t)
}

// sealRows gives requests and cached results the bounds and digests that follow from profile and budget.
func sealRows(t tree) {
	t["report"] = treeOf(failedAt(atProfile, ProfileInvalid))
	a, err := Parse(must(json.Marshal(t)))
	if err != nil {
		return // a test wants it so
	}
	v := verifier{rec: a}
	if v.resolveProfile() || v.bind() || v.plan() || !v.isKnown() {
		return
	}
	for i, row := range t["positions"].([]any) {
		row := row.(tree)
		s := v.at(a.rows[i].position)
		if s == nil {
			continue
		}
		bounds := treeOf(s.allocation.Bounds)
		contract := digestTwice(outputContractDomain, tree{
			"admitted_sources": pairTrees(s.rule.sources.list), "authority_ceiling": s.rule.ceiling, "bounds": bounds,
			"sensitivities": s.rule.sensitivities, "target_slots": s.rule.slots})
		if q, ok := row["request"].(tree); ok {
			q["bounds"], q["output_contract_digest"] = bounds, contract
		}
		for _, at := range row["attempts"].([]any) {
			at.(tree)["output_contract_digest"] = contract
		}
		if c, ok := row["cache"].(tree); ok {
			c["key"].(tree)["output_contract_digest"] = contract
			c["stored_result_digest"] = digestTwice(resultDomain, normalisedTrees(c["contributions"].([]any)))
		}
	}
}

func pairTrees(pairs []pair) (list []tree) {
	for _, p := range pairs {
		list = append(list, tree{"source_class": p.class, "namespace": p.namespace})
	}
	return list
}

// normalisedTrees is section 6.7 by maps, as the second way to a result digest.
func normalisedTrees(contributions []any) []any {
	out := []any{}
	for _, c := range contributions {
		c := c.(tree)
		s := c["source"].(tree)
		n := tree{"bytes": c["kernel_bytes"], "payload_digest": c["kernel_payload_digest"],
			"source": tree{"source_class": s["source_class"], "namespace": s["namespace"], "stable_ref": s["stable_ref"]}}
		for _, name := range []string{"authority", "observed_at", "ordinal", "retrieved_at", "sensitivity", "source_revision", "target_slot", "valid_until"} {
			n[name] = c[name]
		}
		out = append(out, n)
	}
	return out
}

// report sets the dictated outcome, where one can be derived.
func report(t tree) {
	input := treeOf(t)
	delete(input, "report")
	r, err := VerifyStage("assembly", must(json.Marshal(input)), []byte("{}"))
	if err == nil && r.Derived != nil {
		t["report"] = treeOf(r.Derived)
	}
}

func lookup() tree {
	return tree{"deployment_configuration_revision": "dcr-41", "tenant_id": tenant, "agent_id": agent, "provider_kind_id": ProviderKind}
}

func policies() tree {
	return tree{"budget": "bud-2", "freshness": "frs-1", "redaction": "red-4", "final_assembly": "fin-3", "profile": "prof-7"}
}

// role is what a position of the fixture is: 0 optional, 1 required and fresh, 2 optional from a cache.
func role(i int) int { return i % 3 }

func rowTrees(n, m int) (rows []any) {
	for i := n - 1; i >= 0; i-- { // not in the order of the positions
		rows = append(rows, rowTree(i, m))
	}
	return rows
}

func rowTree(i, m int) tree {
	row := tree{"position": 10 * (i + 1), "source": "live", "pre_event": nil, "request": nil, "attempts": []any{}, "result": nil, "cache": nil, "late_outputs": []any{}}
	if role(i) == 2 {
		row["source"] = "cache"
		row["cache"] = tree{"key": tree{"provider_kind_id": ProviderKind, "provider_binding_id": bindingName(i), "provider_release_id": fmt.Sprintf("rel-%d", i),
			"configuration_revision": "cfg-2", "profile_revision_id": "prof-7", "position": 10 * (i + 1), "operation": "contribute", "input_set_digest": hashOf(fmt.Sprint("in", i)),
			"scope_digest":              digestTwice(scopeDomain, tree{"tenant_id": tenant, "agent_id": agent, "workspace_id": workspace, "conversation_id": conversation}),
			"redaction_policy_revision": "red-4", "output_contract_digest": hashOf("")},
			"ordinals_as_stored": ordinals(m), "stored_result_digest": hashOf(""), "contributions": contributionTrees(i, m), "checked_at": clock(2), "policy_ok": true}
		return row
	}
	request := fmt.Sprintf("req-%d", i)
	row["request"] = tree{"request_id": request, "correlation_id": "corr-1", "turn_id": turn, "context_assembly_id": assemblyID, "snapshot_id": snapshotID,
		"position": 10 * (i + 1), "provider_binding_id": bindingName(i), "operation": "contribute", "snapshot_time": clock(0), "deadline": clock(10),
		"input_set_digest": hashOf(fmt.Sprint("in", i)), "cue_labels": []any{"user_request"}, "bounds": bound(0, 0, 0, 0), "output_contract_digest": hashOf(""), "policy_revisions": policies()}
	row["attempts"] = []any{tree{"request_id": request, "provider_binding_id": bindingName(i), "snapshot_time": clock(0), "input_set_digest": hashOf(fmt.Sprint("in", i)),
		"output_contract_digest": hashOf(""), "started_at": clock(0.1), "ended_at": clock(2), "end": "result", "result_digest": hashOf(request)}}
	row["result"] = tree{"contributions": contributionTrees(i, m), "envelope": tree{"request_id": request, "context_assembly_id": assemblyID,
		"provider_binding_id": bindingName(i), "item_count": m, "byte_count": 100 * m}}
	return row
}

func ordinals(m int) (list []int) {
	for i := range m {
		list = append(list, i)
	}
	return list
}

func bindingName(i int) string { return fmt.Sprintf("bind-%03d", i) }

package assembly

import "slices"

// baseInput is the input that a kind's samples change.
func baseInput(kind string) tree {
	switch kind {
	case "profile":
		return tree{"identity": tree{"tenant_id": tenant, "agent_id": agent}, "profile": profileTree(3, 2),
			"resolution": tree{"lookup_key": lookup(), "candidates": []any{
				tree{"profile_revision_id": "prof-7", "content_digest": hashOf("a"), "origin": "explicit", "active": true}}}}
	case "budget":
		return tree{"model_candidates": []any{tree{"model_ref": "m-0", "input_limit_tokens": 580, "context_limit_tokens": 900}},
			"policy_ceiling": tree{"items": 10, "bytes": 1900, "tokens": nil}, "reserves": reserveTrees(), // 900 bytes, 180 tokens
			"positions": []any{
				tree{"position": 10, "requirement": optional, "minimum": amount(0, 0, 0), "cap": bound(4, 500, 300, 200)},
				tree{"position": 20, "requirement": required, "minimum": amount(1, 300, 200), "cap": bound(3, 600, 250, 900)},
				tree{"position": 30, "requirement": optional, "minimum": amount(0, 0, 0), "cap": bound(9, 900, 900, 900)}}}
	case "validate":
		return tree{"rule": tree{"requirement": optional, "target_slots": []any{"work_context"}, "empty_success": true,
			"admitted_sources": []any{tree{"source_class": "work", "namespace": "board"}}},
			"allocation": bound(3, 350, 90, 200), "ids": tree{"request_id": "req-0", "context_assembly_id": assemblyID, "provider_binding_id": "bind-000"},
			"result": tree{"contributions": contributionTrees(0, 2),
				"envelope": tree{"request_id": "req-0", "context_assembly_id": assemblyID, "provider_binding_id": "bind-000", "item_count": 2, "byte_count": 200}}}
	case "freshness":
		return tree{"policy": tree{"requirement": fresh, "max_age_ms": 600000, "age_basis": "observed_at", "required_revision": nil}, "clock_skew_ms": 2000,
			"snapshot_time": clock(0), "received_at": clock(2), "contribution": tree{"observed_at": "2026-11-30T08:55:00Z", "retrieved_at": clock(1),
				"valid_until": nil, "source_revision": tree{"kind": "version", "value": "v4"}}}
	case "clamp":
		p := profileTree(0, 0)
		return tree{"claim": workflowGuidance, "sensitivity": public, "kernel_sensitivity_floor": nil, "profile_ceiling": workflowGuidance, "freshness": fresh,
			"source_class_rule":   tree{"authority_ceiling": workflowGuidance, "sensitivity_floor": public, "externally_derived": false},
			"freshness_authority": p["freshness_authority"], "sensitivity_policy": p["sensitivity_policy"],
			"model_boundary_sensitivities": []any{public, private}, "position_sensitivities": []any{public, private, sensitive}}
	case "identity":
		return tree{"equivalence_mapping": tree{"version": "eq-3", "entries": []any{tree{"from": sourcePair("tickets", "jira"), "to": sourcePair("work", "board")}}},
			"admitted_sources": []any{sourcePair("tickets", "jira"), sourcePair("work", "board")},
			"source":           tree{"source_class": "tickets", "namespace": "jira", "stable_ref": "wi-7"}}
	}
	return laterInput(kind)
}

func sourcePair(class, namespace string) tree {
	return tree{"source_class": class, "namespace": namespace}
}

func laterInput(kind string) tree {
	parent := tree{"deadline": clock(30), "cancelled_at": nil, "settled_at": clock(11)}
	switch kind {
	case "merge":
		return tree{"equivalence_mapping": tree{"version": "eq-3", "entries": []any{}}, "positions": []any{
			mergeTree(20, required, "b", "c"), mergeTree(10, optional, "a", "b")}}
	case "failure":
		rule := tree{"on_failure": attributedSkip, "on_stale": skipRule}
		return tree{"parent": parent, "positions": []any{
			tree{"position": 10, "requirement": optional, "event": "result_ok", "optional_rule": rule, "cache_status": "none"},
			tree{"position": 20, "requirement": required, "event": "result_ok", "optional_rule": nil, "cache_status": "none"}}}
	case "conduct":
		row := rowTree(0, 1)
		q := row["request"].(tree)
		request := tree{}
		for _, name := range []string{"request_id", "snapshot_time", "input_set_digest", "output_contract_digest", "provider_binding_id"} {
			request[name] = q[name]
		}
		return tree{"deadline": clock(10), "kernel_reserve_ms": 5000, "parent": parent, "request": request, "attempts": row["attempts"],
			"late_outputs": []any{}, "retry": tree{"max_retries": 1, "backoff_ms": []any{500}, "idempotency_proven": true}}
	case "truncate":
		part := func(position, ordinal int, requirement Word) tree {
			return tree{"position": position, "ordinal": ordinal, "requirement": requirement, "tokens": 50, "bytes": 200}
		}
		t := record(1, 1)["final"].(tree)
		t["ceiling"] = tree{"tokens": 320, "bytes": nil}
		t["contributions"] = []any{part(10, 0, optional), part(10, 1, optional), part(20, 0, required)}
		return t // 100 + 150 contributions + 30 tool results + 40 transcript = 320 tokens
	case "cache":
		key := rowTree(2, 1)["cache"].(tree)["key"]
		record := func(i int, digest string) tree {
			return tree{"ordinal": i, "stored_payload_digest": digest, "kernel_payload_digest": digest, "freshness": fresh}
		}
		return tree{"permitted": true, "requirement": required, "freshness_requirement": fresh, "key": key, "current": key, "policy_ok": true,
			"records":              []any{record(0, hashOf("a")), record(1, hashOf("b"))},
			"stored_result_digest": hashOf("r"), "recomputed_result_digest": hashOf("r")}
	case "compaction":
		return compactionTree()
	case "recovery":
		position := func(n int, requirement Word) tree {
			return tree{"position": n, "requirement": requirement, "binding_id": bindingName(n), "recovered_binding_id": bindingName(n), "binding_restorable": true,
				"accepted_result_digest": hashOf("r"), "replay_digest": hashOf("r")}
		}
		return tree{"turn_snapshot_id": snapshotID, "turn_snapshot_digest": hashOf("s"), "recovered_snapshot_id": snapshotID,
			"recovered_snapshot_digest": hashOf("s"), "positions": []any{position(10, required), position(20, optional)}}
	case "privacy":
		return tree{"record": record(1, 1)}
	case "payload":
		return tree{"presented_payload": "grüße 👋", "payload_type": "text", "estimator": "chars-div-4-ceil/1"}
	}
	return nil
}

func mergeTree(position int, requirement Word, refs ...string) tree {
	list := []any{}
	for i, ref := range slices.Backward(refs) { // not in the order of the ordinals
		list = append(list, tree{"ordinal": i, "source": tree{"source_class": "work", "namespace": "board", "stable_ref": ref}, "payload_digest": hashOf(ref)})
	}
	return tree{"position": position, "requirement": requirement, "status": "accepted", "admitted_sources": []any{sourcePair("work", "board")}, "contributions": list}
}

func compactionTree() tree {
	return tree{"operation": tree{"compaction_operation_id": "cop-1", "profile_revision_id": "prof-7", "pinned_profile_revision_id": "prof-7",
		"provider_binding_id": "bind-000", "request_id": "creq-1", "proposer_rule": proposalOptional, "fallback_enabled": false, "deadline": clock(8), "max_bytes": 4000,
		"dropped_message_ids": []any{"m1", "m2"}, "kept_message_ids": []any{"m3"}, "previous_compacted_through_message_id": "m0", "previous_recent_message_ids": []any{"m1", "m2", "m3"},
		"critical_identifier_digests": []any{hashOf("x")}, "supported_identifier_digests": []any{hashOf("x"), hashOf("y")},
		"kernel_pending_state_digest": hashOf("p"), "transcript_digest_before": hashOf("t")},
		"event": none, "parent_cancelled": false,
		"proposal": tree{"provider_binding_id": "bind-000", "request_id": "creq-1", "covered_message_ids": []any{"m1", "m2"}, "identifier_digests": []any{hashOf("x")},
			"fields_present":  []any{"goal", "user_constraints", "decisions", "discoveries", "completed_work", "pending_work", "unresolved_questions", "critical_identifiers", "relevant_files", "handoff_md"},
			"critical_claims": []any{tree{"claim_digest": hashOf("c"), "source_message_ids": []any{"m2"}}}, "kernel_bytes": 1800, "proposal_digest": hashOf("q"), "kernel_proposal_digest": hashOf("q"),
			"redaction_ok": true, "received_at": clock(6)}}
}

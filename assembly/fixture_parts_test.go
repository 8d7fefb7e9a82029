package assembly

import "fmt"

func profileTree(n, m int) tree {
	ceilings := func(c Word) tree { return tree{"admit": true, "authority_ceiling": c} }
	p := tree{"profile_revision_id": "prof-7", "contract_version": "1.0.0", "clock_skew_ms": 2000,
		"equivalence_mapping": tree{"version": "eq-3", "entries": []any{}},
		"source_classes": tree{
			"work":  tree{"authority_ceiling": contextData, "sensitivity_floor": public, "externally_derived": false},
			"skill": tree{"authority_ceiling": workflowGuidance, "sensitivity_floor": public, "externally_derived": false},
			"web":   tree{"authority_ceiling": contextData, "sensitivity_floor": public, "externally_derived": true}},
		"freshness_authority": tree{"fresh": workflowGuidance, "stale": untrustedData, "unknown": untrustedData},
		"sensitivity_policy":  tree{"public": ceilings(workflowGuidance), "private": ceilings(workflowGuidance), "sensitive": tree{"admit": false, "authority_ceiling": untrustedData}},
	}
	positions := []any{}
	for i := range n {
		positions = append(positions, ruleTree(i, m))
	}
	p["positions"] = positions
	return p
}

func ruleTree(i, m int) tree {
	r := tree{"position": 10 * (i + 1), "enabled": true, "requirement": optional, "operations": []any{"contribute"},
		"implementations":   []any{tree{"implementation_id": fmt.Sprintf("impl-%d", i), "implementation_version": "1.0.0", "provider_release_id": fmt.Sprintf("rel-%d", i)}},
		"target_slots":      []any{"work_context"},
		"admitted_sources":  []any{tree{"source_class": "work", "namespace": "board"}, tree{"source_class": "web", "namespace": "docs"}},
		"authority_ceiling": workflowGuidance, "sensitivities": []any{public, private}, "minimum": amount(0, 0, 0),
		"cap":           bound(m, 200*m, 60*m, 150),
		"freshness":     tree{"requirement": "any", "max_age_ms": 600000, "age_basis": "observed_else_retrieved", "required_revision": nil},
		"empty_success": true, "optional_rule": tree{"on_failure": attributedSkip, "on_stale": skipRule}, "cache": tree{"permitted": role(i) == 2},
		"retry": tree{"max_retries": 1, "backoff_ms": []any{500}}, "compaction_proposer": nil, "allow_degraded_bind": false, "allowed_cues": []any{"user_request"}}
	if role(i) == 1 {
		r["requirement"], r["optional_rule"], r["empty_success"] = required, nil, false
		r["minimum"] = amount(1, 100, 30)
		r["freshness"].(tree)["requirement"] = fresh
	}
	return r
}

func snapshotTree(n int) tree {
	bindings := []any{}
	for i := range n {
		bindings = append(bindings, tree{"position": 10 * (i + 1), "provider_binding_id": bindingName(i), "contract_version": "1.0.0",
			"implementation_id": fmt.Sprintf("impl-%d", i), "implementation_version": "1.0.0", "provider_release_id": fmt.Sprintf("rel-%d", i),
			"configuration_revision": "cfg-2", "conformance_evidence_ref": "conf-1", "trust_posture": "first_party", "deployment_posture": "in_process",
			"authenticated_peer_ref": nil, "idempotency_proven": true, "eligible": true, "rule_digest": hashOf(""),
			"axes": tree{"registered": yes, "configured": yes, "compatible": yes, "conforming": yes, "ready": yes, "healthy": yes, "capable": yes}})
	}
	return tree{"snapshot_id": snapshotID, "turn_id": turn, "profile_revision_id": "prof-7", "selection_scope": lookup(),
		"created_at": "2026-11-30T08:59:59.9Z", "recorded_at": "2026-11-30T08:59:59.95Z", "policy_revisions": policies(),
		"token_estimator": tree{"id": "chars-div-4-ceil", "version": "1"}, "positions": bindings, "snapshot_digest": hashOf("")}
}

func planTree(n, m int) tree {
	positions := []any{}
	for i := range n {
		positions = append(positions, tree{"position": 10 * (i + 1), "deadline": clock(10), "input_set_digest": hashOf(fmt.Sprint("in", i))})
	}
	return tree{"plan_id": "plan-1", "context_assembly_id": assemblyID, "snapshot_id": snapshotID, "created_at": "2026-11-30T08:59:59.97Z",
		"snapshot_time": clock(0), "kernel_reserve_ms": 5000, "model_boundary_sensitivities": []any{public, private},
		"budget": tree{"model_candidates": []any{tree{"model_ref": "model-0", "input_limit_tokens": 1000 + 60*n*m, "context_limit_tokens": nil}},
			"policy_ceiling": tree{"items": n * m, "bytes": 4000 + 200*n*m, "tokens": nil}, "reserves": reserveTrees()},
		"final_limits": tree{"tokens": 10000000, "bytes": nil}, "positions": positions, "plan_digest": hashOf("")}
}

func reserveTrees() (list []any) {
	for _, kind := range []string{"output", "protocol_serialization", "tool_schemas", "native_attachments", "identity_safety_policy",
		"current_user_content", "conversation_checkpoint", "pending_approvals_tool_state", "minimum_recent_transcript"} {
		list = append(list, tree{"kind": kind, "items": 0, "bytes": 100, "tokens": 20})
	}
	return list
}

func contributionTrees(i, m int) []any {
	list := []any{}
	for j := range m {
		list = append(list, contributionTree(i, j))
	}
	return list
}

func contributionTree(i, j int) tree {
	digest := hashOf(fmt.Sprint(i, "/", j))
	return tree{"context_contribution_id": fmt.Sprintf("cc-%d-%d", i, j), "context_assembly_id": assemblyID, "provider_binding_id": bindingName(i),
		"ordinal": j, "payload_type": "text", "utf8_valid": true, "payload_digest": digest, "kernel_payload_digest": digest,
		"kernel_bytes": 100, "kernel_tokens": 25, "rendered_bytes": 120, "rendered_tokens": 30,
		"source":          tree{"source_class": "work", "namespace": "board", "stable_ref": fmt.Sprintf("wi-%d-%d", i, j), "shape_ok": true, "scope_ok": true, "proof_ok": true},
		"source_revision": tree{"kind": "version", "value": "v1"}, "observed_at": "2026-11-30T08:55:00Z", "retrieved_at": clock(1), "valid_until": nil,
		"malformed_times": []any{}, "sensitivity": private, "kernel_sensitivity_floor": nil, "authority": contextData, "target_slot": "work_context",
		"kernel_inadmissible_ref": nil}
}

package assembly

// isMember: a member name of the records here. Only these may stand in a pointer; every other name is the sender's. A test
// holds the list against the shapes.
func isMember(name string) bool {
	switch name {
	case "accepted_bytes", "accepted_ordinals", "accepted_result_digest", "action", "active", "admit", "admitted",
		"admitted_sources", "affected_positions", "age_basis", "agent_id", "allocation", "allocations",
		"allow_degraded_bind", "allowed_cues", "anchors", "assembly_kind", "attempts", "attributed",
		"authenticated_peer_ref", "authority", "authority_ceiling", "axes", "backoff_ms", "binding_id",
		"binding_restorable", "bounds", "broken", "budget", "byte_count", "bytes", "cache", "cache_status",
		"cancelled_at", "candidates", "cap", "capable", "ceiling", "checked_at", "claim", "claim_digest",
		"clock_skew_ms", "code", "compacted_through_message_id", "compaction", "compaction_operation_id",
		"compaction_proposer", "compatible", "configuration_revision", "configured", "conflicts",
		"conformance_evidence_ref", "conforming", "content_digest", "context_assembly_id", "context_contribution_id",
		"context_limit_tokens", "context_report_digest", "context_report_id", "contract_version", "contribution",
		"contributions", "conversation_id", "correlation_id", "covered_message_ids", "created_at", "critical_claims",
		"critical_identifier_digests", "cue_labels", "current", "deadline", "deadline_allows", "degraded",
		"deployment_configuration_revision", "deployment_posture", "disposition", "dropped_message_ids", "duplicate_of",
		"effective_authority", "eligible", "empty_success", "enabled", "end", "ended_at", "entries", "envelope",
		"equivalence_mapping", "estimator", "event", "externally_derived", "failure_codes", "fallback_enabled",
		"fields_present", "final", "final_assembly", "final_limits", "fixed", "fresh", "freshness",
		"freshness_authority", "freshness_requirement", "from", "gaps", "generated_at", "healthy", "id",
		"idempotency_proven", "identifier_digests", "identity", "ids", "implementation_id", "implementation_version",
		"implementations", "included", "input_limit_tokens", "input_set_digest", "item_count", "items",
		"keep_last_messages", "kept_message_ids", "kernel_bytes", "kernel_inadmissible_ref", "kernel_payload_digest",
		"kernel_pending_state_digest", "kernel_proposal_digest", "kernel_reserve_ms", "kernel_sensitivity_floor",
		"kernel_tokens", "key", "kind", "late", "late_outputs", "lookup_key", "malformed_times", "max_age_ms",
		"max_bytes", "max_retries", "measured", "members", "message_count", "message_index", "minimum",
		"model_boundary_sensitivities", "model_candidates", "model_ref", "namespace", "observed_at", "on_failure",
		"on_stale", "operation", "operations", "optional_rule", "order", "ordinal", "ordinals_as_stored", "origin",
		"original_bytes", "outcome", "output_contract_digest", "parent", "parent_cancelled", "payload_digest",
		"payload_type", "pending_state_digest", "per_item_bytes", "permitted", "pinned_profile_revision_id", "plan",
		"plan_digest", "plan_id", "policy", "policy_ceiling", "policy_ok", "policy_revisions", "pool", "position",
		"position_sensitivities", "positions", "pre_event", "preconditions_met", "predecessor_assembly_id",
		"presented_payload", "previous_compacted_through_message_id", "previous_recent_message_ids", "private",
		"profile", "profile_ceiling", "profile_resolution", "profile_revision_id", "proof_ok", "proposal",
		"proposal_code", "proposal_digest", "proposal_status", "proposer_rule", "protected", "provider_binding_id",
		"provider_kind_id", "provider_release_id", "pruning", "public", "ready", "reason", "reasons", "received_at",
		"recent_message_ids", "recomputed_result_digest", "record", "record_version", "recorded_at", "records",
		"recovered_binding_id", "recovered_snapshot_digest", "recovered_snapshot_id", "redaction", "redaction_ok",
		"redaction_policy_revision", "ref", "registered", "rejected_ordinals", "removed", "rendered_bytes",
		"rendered_tokens", "replay_digest", "report", "request", "request_id", "required_reserve", "required_revision",
		"requirement", "reserves", "resolution", "result", "result_digest", "retrieved_at", "retry", "route", "rule",
		"rule_digest", "scope_digest", "scope_ok", "selection_scope", "sensitive", "sensitivities", "sensitivity",
		"sensitivity_floor", "sensitivity_policy", "settled_at", "shape_ok", "size_after", "size_before", "size_model",
		"skip", "snapshot", "snapshot_digest", "snapshot_id", "snapshot_time", "source", "source_class",
		"source_class_rule", "source_classes", "source_message_ids", "source_ref", "source_revision", "stable_ref",
		"stage", "stale", "started_at", "state_advanced", "status", "step", "stored_payload_digest",
		"stored_result_digest", "supported_identifier_digests", "target_slot", "target_slots", "tenant_id", "to",
		"token_estimator", "tokens", "tool_results", "totals", "transcript_digest", "transcript_digest_before",
		"transcript_units", "trust_posture", "turn_id", "turn_snapshot_digest", "turn_snapshot_id", "unit", "unknown",
		"utf8_valid", "valid_until", "value", "version", "workspace_id", "wrapper":
		return true
	}
	return false
}

package assembly

// The members of the other two operations and the rules that are reported for them (section 7.3), and their stages.

func compactionMembers(o CompactionOutcome) []derivedMember {
	return []derivedMember{
		{name: "proposal_status", rule: R845, value: o.ProposalStatus},
		{name: "reasons", rule: R845, value: o.Reasons},
		{name: "broken", rule: R940, value: o.Broken},
		{name: "proposal_code", rule: R710, value: o.ProposalCode},
		{name: "action", rule: R845, value: o.Action},
		{name: "reason", rule: R845, value: o.Reason},
		{name: "code", rule: R845, value: o.Code},
		{name: "state_advanced", rule: R845, value: o.StateAdvanced},
		{name: "compacted_through_message_id", rule: R848, value: o.CompactedThrough},
		{name: "recent_message_ids", rule: R848, value: o.RecentMessageIDs},
		{name: "pending_state_digest", rule: R850, value: o.PendingDigest},
		{name: "transcript_digest", rule: R855, value: o.TranscriptDigest},
	}
}

func recoveryMembers(o RecoveryOutcome) []derivedMember {
	return []derivedMember{
		{name: "conformant", rule: R940, value: o.Conformant},
		{name: "broken", rule: R940, value: o.Broken},
		{name: "code", rule: R930, value: o.Code},
		{name: "positions", rule: R920, value: o.Positions},
	}
}

func compactionStage(r reader) stage {
	var in compactionInput
	r.Object(r.compactionMembers(&in)...)
	out := in.derive()
	return stage{members: compactionMembers(out), broken: out.Broken}
}

func recoveryStage(r reader) stage {
	var in recoveryInput
	r.Object(r.recoveryMembers(&in)...)
	out := in.derive()
	return stage{members: recoveryMembers(out), broken: out.Broken}
}

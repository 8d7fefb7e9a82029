package assembly

import "slices"

// The contract's "Compaction proposal boundary"; section 6.8, C0-R800 … C0-R855.

// CompactionOutcome is what a compaction operation comes to.
type CompactionOutcome struct {
	ProposalStatus   Word     `json:"proposal_status"` // accepted, rejected or absent
	Reasons          []Rule   `json:"reasons"`
	Broken           []Rule   `json:"broken"`
	ProposalCode     Code     `json:"proposal_code"`
	Action           Word     `json:"action"`
	Reason           Word     `json:"reason"` // proposal, fallback or null
	Code             Code     `json:"code"`
	StateAdvanced    bool     `json:"state_advanced"`
	CompactedThrough Word     `json:"compacted_through_message_id"`
	RecentMessageIDs []string `json:"recent_message_ids"`
	PendingDigest    string   `json:"pending_state_digest"`
	TranscriptDigest string   `json:"transcript_digest"`
}

// derive decides about one operation. Whatever it comes to, the pending state is the kernel's own reconstruction and the
// transcript keeps its digest.
func (in *compactionInput) derive() CompactionOutcome {
	op := &in.operation
	out := CompactionOutcome{
		Reasons: []Rule{}, CompactedThrough: Word(op.previousThrough), RecentMessageIDs: op.previousRecent,
		PendingDigest: op.pendingDigest, TranscriptDigest: op.transcriptDigest,
	}
	var b broken
	b.unless(in.proposal == nil || op.proposerRule != "", R800)
	b.unless(op.revision == op.pinnedRevision, R805)
	b.unless(disjoint(op.dropped, op.kept), R848)
	out.Broken = b.sorted()
	in.judgeProposal(&out)
	in.decide(&out)
	if out.StateAdvanced && len(op.dropped) > 0 {
		out.CompactedThrough = Word(op.dropped[len(op.dropped)-1])
	}
	if out.StateAdvanced {
		out.RecentMessageIDs = op.kept
	}
	return out
}

// judgeProposal validates the proposal, or says by the event why there is none. Nobody but the designated proposer may be
// asked, so that without a designation there is none.
func (in *compactionInput) judgeProposal(out *CompactionOutcome) {
	if in.proposal == nil || in.operation.proposerRule == "" {
		out.ProposalStatus = "absent"
		if in.event == "failed" {
			out.ProposalCode = RequiredUnavailable
		} else {
			out.ProposalCode = codeOf(in.event)
		}
		return
	}
	out.Reasons = in.proposal.faults(&in.operation)
	switch {
	case len(out.Reasons) == 0:
		out.ProposalStatus = accepted
	case slices.Equal(out.Reasons, []Rule{R842}):
		out.ProposalStatus, out.ProposalCode = rejected, DeadlineExceeded
	default:
		out.ProposalStatus, out.ProposalCode = rejected, ProposalInvalid
	}
}

func (p *proposal) faults(op *compactionOperation) []Rule {
	var b broken
	b.unless(p.binding == op.binding && p.request == op.request, R810)
	b.unless(hasEveryField(p.fields), R815)
	b.unless(slices.Equal(p.covered, op.dropped), R820)
	b.unless(contains(p.identifiers, op.critical), R825)
	b.unless(contains(op.supported, p.identifiers), R830)
	dropped := setOf(op.dropped)
	for _, c := range p.claims {
		b.unless(len(c.sources) > 0 && !slices.ContainsFunc(c.sources, func(id string) bool { return !dropped[id] }), R835)
	}
	b.unless(p.bytes <= op.maxBytes, R840)
	b.unless(p.digest == p.kernelDigest && p.redactionOK, R841)
	b.unless(!p.receivedAt.after(op.deadline), R842)
	return b.sorted()
}

// decide chooses the action. Only the kernel commits, and only two actions advance the state.
func (in *compactionInput) decide(out *CompactionOutcome) {
	switch {
	case in.isParentCancelled:
		out.Action, out.Code = Cancelled, StrategyCancelled
	case out.ProposalStatus == accepted:
		out.Action, out.Reason, out.StateAdvanced = "commit_proposal", "proposal", true
	case in.operation.proposerRule == proposalRequired:
		if out.Action, out.Code = "fail_closed", out.ProposalCode; out.Code == "" {
			out.Code = RequiredUnavailable
		}
	case in.operation.fallbackEnabled: // D-21
		out.Action, out.Reason, out.StateAdvanced = "commit_fallback", "fallback", true
	default:
		out.Action, out.Code = "no_commit", out.ProposalCode
	}
}

// hasEveryField: the ten checkpoint fields, each once.
func hasEveryField(fields []string) bool {
	want := []string{"completed_work", "critical_identifiers", "decisions", "discoveries", "goal", "handoff_md", "pending_work",
		"relevant_files", "unresolved_questions", "user_constraints"}
	return slices.Equal(slices.Sorted(slices.Values(fields)), want)
}

// contains says whether all has every one of some.
func contains(all, some []string) bool {
	set := setOf(all)
	return !slices.ContainsFunc(some, func(s string) bool { return !set[s] })
}

func disjoint(a, b []string) bool {
	set := setOf(a)
	return !slices.ContainsFunc(b, func(s string) bool { return set[s] })
}

func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}

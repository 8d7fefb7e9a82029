package assembly

// compactionInput is what a compaction operation's outcome follows from (section 3.9).
type compactionInput struct {
	operation         compactionOperation
	event             Word // why there is no proposal
	isParentCancelled bool
	proposal          *proposal
}

type compactionOperation struct {
	id, revision, pinnedRevision, binding, request string
	proposerRule                                   Word // "" is null
	fallbackEnabled                                bool
	deadline                                       instant
	maxBytes                                       int64
	dropped, kept                                  []string
	previousThrough                                string // "" is null
	previousRecent                                 []string
	critical, supported                            []string // identifier digests
	pendingDigest, transcriptDigest                string
}

type proposal struct {
	binding, request     string
	fields               []string
	covered, identifiers []string
	claims               []criticalClaim
	bytes                int64
	digest, kernelDigest string
	redactionOK          bool
	receivedAt           instant
}

type criticalClaim struct {
	digest  string
	sources []string
}

func (r reader) compactionMembers(in *compactionInput) []member {
	return []member{
		into("operation", &in.operation, r.compactionOperation),
		into("event", &in.event, func() Word { return r.wordOf(none, timeout, "failed", positionCancelled) }),
		into("parent_cancelled", &in.isParentCancelled, r.Bool),
		into("proposal", &in.proposal, func() *proposal { return orNull(r, r.proposal) }),
	}
}

func (r reader) compactionOperation() (op compactionOperation) {
	r.Object(
		into("compaction_operation_id", &op.id, r.token),
		into("profile_revision_id", &op.revision, r.token),
		into("pinned_profile_revision_id", &op.pinnedRevision, r.token),
		into("provider_binding_id", &op.binding, r.token),
		into("request_id", &op.request, r.token),
		into("proposer_rule", &op.proposerRule, func() Word { return orNull(r, r.proposerRule) }),
		into("fallback_enabled", &op.fallbackEnabled, r.Bool),
		into("deadline", &op.deadline, r.instant),
		into("max_bytes", &op.maxBytes, r.count),
		into("dropped_message_ids", &op.dropped, r.tokenList),
		into("kept_message_ids", &op.kept, r.tokenList),
		into("previous_compacted_through_message_id", &op.previousThrough, func() string { return orNull(r, r.token) }),
		into("previous_recent_message_ids", &op.previousRecent, r.tokenList),
		into("critical_identifier_digests", &op.critical, r.digestList),
		into("supported_identifier_digests", &op.supported, r.digestList),
		into("kernel_pending_state_digest", &op.pendingDigest, r.digest),
		into("transcript_digest_before", &op.transcriptDigest, r.digest),
	)
	return op
}

func (r reader) proposal() *proposal {
	p := &proposal{}
	r.Object(
		into("provider_binding_id", &p.binding, r.token),
		into("request_id", &p.request, r.token),
		into("fields_present", &p.fields, r.tokenList),
		into("covered_message_ids", &p.covered, r.tokenList),
		into("identifier_digests", &p.identifiers, r.digestList),
		into("critical_claims", &p.claims, func() []criticalClaim {
			return list(r, func() (c criticalClaim) {
				r.Object(into("claim_digest", &c.digest, r.digest), into("source_message_ids", &c.sources, r.tokenList))
				return c
			})
		}),
		into("kernel_bytes", &p.bytes, r.count),
		into("proposal_digest", &p.digest, r.digest),
		into("kernel_proposal_digest", &p.kernelDigest, r.digest),
		into("redaction_ok", &p.redactionOK, r.Bool),
		into("received_at", &p.receivedAt, r.instant),
	)
	return p
}

func (r reader) tokenList() []string  { return list(r, r.token) }
func (r reader) digestList() []string { return list(r, r.digest) }

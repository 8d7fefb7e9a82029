package assembly

// The words of the closed vocabularies (section 2) that the rules name. What is exported is what a caller compares with.

// Outcomes of an assembly. It is null while the final result is a rebuild after compaction.
const (
	Success   Word = "success"
	Degraded  Word = "degraded"
	Failed    Word = "failed"
	Cancelled Word = "cancelled" // also of a position
	TimedOut  Word = "timeout"
	Overflow  Word = "overflow"
)

// Stages of an assembly: the one that decided its outcome.
const (
	atProfile Word = "profile"
	atBind    Word = "bind"
	atPlan    Word = "plan"
	atSettle  Word = "settle"
	atMerge   Word = "merge"
	atFinal   Word = "final"
	atSettled Word = "settled"
)

// Outcomes of a position, beside Failed and Cancelled.
const (
	accepted        Word = "accepted"
	acceptedEmpty   Word = "accepted_empty"
	acceptedPartial Word = "accepted_partial"
	acceptedStale   Word = "accepted_stale"
	acceptedCache   Word = "accepted_cache"
	skipped         Word = "skipped"
	degradedEmpty   Word = "degraded_empty"
)

// Events of a position: what happened to it, before its rule decides what follows.
const (
	resultOK           Word = "result_ok"
	emptyOK            Word = "empty_ok"
	cacheHit           Word = "cache_hit"
	budgetSkip         Word = "budget_skip"
	ineligible         Word = "ineligible"
	startupFailed      Word = "startup_failed"
	unavailable        Word = "unavailable" // also a recovery route
	transportFailed    Word = "transport_failed"
	timeout            Word = "timeout"
	positionCancelled  Word = "position_cancelled"
	parentCancelled    Word = "parent_cancelled"
	invalidResult      Word = "invalid_result"
	partialResult      Word = "partial_result"
	emptyDisallowed    Word = "empty_disallowed"
	policyOmitted      Word = "policy_omitted"
	stale              Word = "stale" // also a freshness
	cacheFailed        Word = "cache_failed"
	bindingUnavailable Word = "binding_unavailable"
)

// Dispositions of a contribution. A contribution that nothing has decided yet has none.
const (
	included           Word = "included"
	duplicateOmitted   Word = "duplicate_omitted"
	conflictOmitted    Word = "conflict_omitted"
	rejected           Word = "rejected"
	sensitivityOmitted Word = "sensitivity_omitted"
	kernelInadmissible Word = "kernel_inadmissible"
	freshnessSkipped   Word = "freshness_skipped"
	truncatedOmitted   Word = "truncated_omitted"
)

// Requirements, freshness, authority, sensitivity and wrappers.
const (
	required Word = "required"
	optional Word = "optional"

	fresh   Word = "fresh"
	unknown Word = "unknown" // also of an axis or a revision kind

	untrustedData    Word = "untrusted_data"
	contextData      Word = "context_data"
	workflowGuidance Word = "workflow_guidance"

	public    Word = "public"
	private   Word = "private"
	sensitive Word = "sensitive"

	inSlot        Word = "slot"
	dataIsolation Word = "data_isolation"
)

// Declared rules of optional positions, cache states, final results, proposer rules.
const (
	attributedSkip   Word = "attributed_skip"
	staleCacheRule   Word = "accepted_stale_cache"
	acceptAttributed Word = "accept_attributed_stale"
	skipRule         Word = "skip"

	none Word = "none"
	live Word = "live"
	hit  Word = "valid"

	fits    Word = "fit"
	rebuild Word = "rebuild_after_compaction"

	proposalRequired Word = "proposal_required"
	proposalOptional Word = "proposal_optional"
)

// Operations of the provider kind.
const (
	contribute        Word = "contribute"
	proposeCompaction Word = "propose_compaction"
)

// Values of a D1 axis, beside unknown and, for health, Degraded.
const (
	yes Word = "yes"
	no  Word = "no"
)

// Where a row's material came from, and how an attempt ended beside timeout and the cancellations.
const (
	cacheSource    Word = "cache"
	endResult      Word = "result"
	transportError Word = "transport_error"
)

// Stored claims: the one payload type of v1, and what replaces an unknown word of a provider.
const (
	text  Word = "text"
	other Word = "other"
)

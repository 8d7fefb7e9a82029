package assembly

import (
	"encoding/json"
	"slices"
)

// ProviderKind is the one provider kind of the contract. Its cardinality is ordered-many.
const ProviderKind = "tyrum.provider.context-strategy"

// Code is the contract's code of a failure, or one of the ledger's two. The empty code is JSON null: nothing failed.
type Code string

// The codes of "Error specialization", and the two with which a ledger refuses a record.
const (
	ProfileInvalid      Code = "context_profile_invalid"
	RequiredUnavailable Code = "context_strategy_required_unavailable"
	ProtocolViolation   Code = "context_strategy_protocol_violation"
	DeadlineExceeded    Code = "context_strategy_deadline_exceeded"
	StrategyCancelled   Code = "context_strategy_cancelled"
	ContributionClash   Code = "context_contribution_conflict"
	ContributionStale   Code = "context_contribution_stale"
	BudgetUnavailable   Code = "context_budget_unavailable"
	ProposalInvalid     Code = "context_compaction_proposal_invalid"
	CacheUnavailable    Code = "context_strategy_cache_unavailable"
	BindingUnavailable  Code = "context_strategy_binding_unavailable"

	SchemaInvalid    Code = "record_schema_invalid"
	ForbiddenContent Code = "record_forbidden_content"
)

// MarshalJSON writes the empty code as null.
func (c Code) MarshalJSON() ([]byte, error) { return json.Marshal(nullable(c)) }

// Word is a word of one of the contract's closed vocabularies. The empty word is JSON null.
type Word string

// MarshalJSON writes the empty word as null.
func (w Word) MarshalJSON() ([]byte, error) { return json.Marshal(nullable(w)) }

// nullable is the JSON value of a string that is never empty unless it is absent.
func nullable[S ~string](s S) *string {
	if s == "" {
		return nil
	}
	text := string(s)
	return &text
}

// words is a closed vocabulary.
type words []Word

func (w words) has(word Word) bool { return slices.Contains(w, word) }

// isSlot: the target slots of v1.
func isSlot(w Word) bool {
	switch w {
	case "skill_guidance", "work_context", "attachment_context", "automation_context", "supplemental_context":
		return true
	}
	return false
}

// authorityRank orders authorities from least to most. A reserved or unknown one is none that a contribution can have, and
// ranks -1.
func authorityRank(w Word) int {
	switch w {
	case untrustedData:
		return 0
	case contextData:
		return 1
	case workflowGuidance:
		return 2
	}
	return -1
}

// sensitivityRank orders sensitivities from low to high; an omitted or unknown one ranks -1.
func sensitivityRank(w Word) int {
	switch w {
	case public:
		return 0
	case private:
		return 1
	case sensitive:
		return 2
	}
	return -1
}

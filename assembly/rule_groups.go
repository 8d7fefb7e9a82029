package assembly

import "strings"

// Group is the part of the pipeline that a rule belongs to.
type Group string

// The groups of an assembly in the order of section 4, and those of the other two operations.
const (
	FormRules       Group = "form"
	ProfileRules    Group = "profile"
	BindRules       Group = "bind"
	PlanRules       Group = "plan"
	InvocationRules Group = "invocation"
	ValidationRules Group = "validation"
	CacheRules      Group = "cache"
	AssessmentRules Group = "assessment"
	SettleRules     Group = "settle"
	MergeRules      Group = "merge"
	FinalRules      Group = "final"
	ReportRules     Group = "report"
	CompactionRules Group = "compaction"
	RecoveryRules   Group = "recovery"
)

// assemblyGroups are the groups that an assembly goes through; a decision in one leaves the later ones unevaluated.
func assemblyGroups() []Group {
	return []Group{
		FormRules, ProfileRules, BindRules, PlanRules, InvocationRules, ValidationRules, CacheRules, AssessmentRules,
		SettleRules, MergeRules, FinalRules, ReportRules,
	}
}

func groups() []Group { return append(assemblyGroups(), CompactionRules, RecoveryRules) }

// Section names the contract's section.
func (g Group) Section() string {
	switch g {
	case FormRules:
		return "Normative boundary; Privacy, redaction, and observability"
	case ProfileRules, BindRules:
		return "Scope, identity, selection, and ordered binding; Health, lifecycle, and conformance"
	case PlanRules, FinalRules:
		return "Budgeting, rendering, and final truncation"
	case InvocationRules, SettleRules, CacheRules, RecoveryRules:
		return "Deadlines, cancellation, failure, and recovery"
	case ValidationRules:
		return "Typed contribution operation: contribution result"
	case AssessmentRules, MergeRules:
		return "Ordered merge, duplicates, freshness, and authority"
	case CompactionRules:
		return "Compaction proposal boundary"
	case ReportRules:
		return "Privacy, redaction, and observability: canonical context reports"
	}
	return ""
}

// ruleRow is a rule with one letter for each kind of evidence.
type ruleRow struct {
	rule  Rule
	kinds string
}

func (r ruleRow) parts() []Evidence {
	parts := make([]Evidence, len(r.kinds))
	for i := range r.kinds {
		parts[i] = Evidence(r.kinds[i : i+1])
	}
	return parts
}

func compareRules(a, b Rule) int { return strings.Compare(string(a), string(b)) }

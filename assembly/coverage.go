package assembly

import "slices"

// Status says how far a rule, or a part of one, was checked.
type Status string

// The states of coverage.
const (
	Checked    Status = "checked"     // recomputed
	Attested   Status = "attested"    // consistent with what the kernel attests, which is taken as given
	NotChecked Status = "not_checked" // not evaluated, or nothing to check it against
)

// Coverage is one row: a part of a rule by its evidence, or a fact that no record can prove. It is there so that a verdict
// is not overread.
type Coverage struct {
	Rule     Rule     `json:"rule,omitempty"`
	Evidence Evidence `json:"evidence,omitempty"`
	Fact     string   `json:"fact,omitempty"`
	Status   Status   `json:"status"`
}

// unprovable are the facts that no record can prove (section 8).
func unprovable() []string {
	return []string{
		"the model could not influence selection",
		"no strategy had ambient access or a side effect",
		"no strategy observed another position or changed transcript, memory, tools, policy or reports",
		"claimed sources exist; a provider's times and sensitivity are truthful",
		"redaction was sufficient; prompt roles and wrapper text",
		"the fallback checkpoint is what the algorithm gives; a summary is supported beyond identifiers",
		"conformance evidence",
		"the kernel recorded every attempt and every late output",
	}
}

// coverage lists every rule of an assembly. A rule that has nothing to apply to, such as one about a cache where there is
// none, holds and counts as checked.
func (v *verifier) coverage(hasEveryPayload bool) []Coverage {
	var rows []Coverage
	reached := slices.Index(assemblyGroups(), v.reached)
	for i, group := range assemblyGroups() {
		rows = append(rows, cover(group, i <= reached || group == ReportRules && v.isCompared, func(rule Rule, e Evidence) bool {
			return e == FromPayloads && hasEveryPayload || e == FromLedger && v.anchors.has(rule)
		})...)
	}
	return closed(rows)
}

// cover gives a group's rows; has says whether evidence from outside the record was there.
func cover(group Group, isReached bool, has func(Rule, Evidence) bool) (rows []Coverage) {
	for _, row := range group.rules() {
		for _, e := range row.parts() {
			status := Checked
			switch {
			case !isReached:
				status = NotChecked
			case e == FromKernel:
				status = Attested
			case e != FromRecord && !has(row.rule, e):
				status = NotChecked
			}
			rows = append(rows, Coverage{Rule: row.rule, Evidence: e, Status: status})
		}
	}
	return rows
}

// closed puts rows in rule order and adds what can't be proved.
func closed(rows []Coverage) []Coverage {
	slices.SortStableFunc(rows, func(a, b Coverage) int { return compareRules(a.Rule, b.Rule) })
	for _, fact := range unprovable() {
		rows = append(rows, Coverage{Fact: fact, Status: NotChecked})
	}
	return rows
}

// has says whether the anchor that a rule needs was supplied.
func (a Anchors) has(rule Rule) bool {
	switch rule {
	case R115:
		return a.Revisions != nil
	case R215:
		return a.Snapshots != nil
	case R260:
		return a.SnapshotReceivedAt != nil
	case R770:
		return a.Predecessor != nil
	}
	return false
}

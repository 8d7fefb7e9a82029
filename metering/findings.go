package metering

import (
	"strconv"

	"ledgerd/frames"
)

// The findings about usage reports, beside those of package frames. None of them is a reason of refusal.
const (
	// OverBudget: more was consumed than requested; see UsageReport.WithinBudget.
	OverBudget frames.Code = "over-budget"
	// Overflow: the rows' costs sum beyond 64 bits. Such a report is always inconsistent.
	Overflow frames.Code = "overflow"
	// AsOfNotF4: as_of is no protocol timestamp.
	AsOfNotF4 frames.Code = "as-of-not-f4"
	// FrameProviderMismatch: a served frame names another provider than its row.
	FrameProviderMismatch frames.Code = "frame-provider-mismatch"
	// DuplicateServedFrame: one identity is itemised, and so billed, more than once in the report.
	DuplicateServedFrame frames.Code = "duplicate-served-frame"
	// DuplicateProviderRow: one provider has several rows; Events merges them.
	DuplicateProviderRow frames.Code = "duplicate-provider-row"
	// CostDrift: one identity at two costs. Cost is derived, so this breaks no requirement.
	CostDrift frames.Code = "cost-drift"
)

// Findings is what an auditor wants to know about a report although the reference accepts it, in document order within
// one kind of place. It does not repeat Check and can be asked of an inconsistent report too.
func Findings(r UsageReport) []frames.Finding {
	var f frames.Findings
	f.AddUnknown(r.unknownAt)
	if !r.WithinBudget() {
		f.Add(OverBudget, "", "/budget_consumed")
	}
	if sumRows(r.Providers).overflows() {
		f.Add(Overflow, docUR1, "/budget_consumed")
	}
	if !frames.IsInstant(r.AsOf) {
		f.Add(AsOfNotF4, frames.DocSpecF4, "/as_of")
	}
	a := auditor{findings: &f, rows: map[string]bool{}, costs: map[frames.FrameID]uint32{}}
	for i, p := range r.Providers {
		a.row(p, "/providers/"+strconv.Itoa(i))
	}
	return f.List()
}

const docUR1 = "context-reuse UR1"

// auditor remembers what earlier rows held.
type auditor struct {
	findings *frames.Findings
	rows     map[string]bool
	costs    map[frames.FrameID]uint32 // the cost at an identity's first place
}

func (a *auditor) row(p ProviderUsage, at string) {
	if p.ProviderID == "" {
		a.findings.Add(frames.EmptyID, "", at+"/provider_id")
	}
	if a.rows[p.ProviderID] {
		a.findings.Add(DuplicateProviderRow, "", at+"/provider_id")
	}
	a.rows[p.ProviderID] = true
	for j, s := range p.ServedFrames {
		a.frame(p.ProviderID, s, at+"/served_frames/"+strconv.Itoa(j))
	}
}

func (a *auditor) frame(rowProvider string, s ServedFrame, at string) {
	a.findings.AddIdentity(s.Frame, at+"/frame")
	if s.Frame.ProviderID != rowProvider {
		a.findings.Add(FrameProviderMismatch, "", at+"/frame/provider_id")
	}
	first, seen := a.costs[s.Frame]
	if !seen {
		a.costs[s.Frame] = s.TokenCost
		return
	}
	a.findings.Add(DuplicateServedFrame, "", at+"/frame")
	if first != s.TokenCost {
		a.findings.Add(CostDrift, "", at+"/token_cost")
	}
}

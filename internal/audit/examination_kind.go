package audit

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"ledgerd/assembly"
	"ledgerd/internal/kinds"
	"ledgerd/metering"
	"ledgerd/receipts/air"
)

// IsBundle says that Current applies.
func (x *Examination) IsBundle() bool { return x.kind == &kinds.ReceiptBundle }

// Current judges a receipt bundle under a policy (nil for none) at an instant, whatever was recorded. Of other kinds it is
// nothing.
func (x *Examination) Current(policy *kinds.TrustPolicy, at time.Time) {
	if !x.IsBundle() || x.unread(CheckCurrent) {
		return
	}
	v, err := VerifyBundle(x.Derived.Content.Artifact, policy, at)
	if err != nil {
		x.Skip(CheckCurrent, "the current policy can't be used: "+err.Error())
		return
	}
	x.disclose(v.Verdict.Disclosures)
	under := "under no policy"
	if policy != nil {
		under = "under the trust policy of entry " + strconv.FormatInt(policy.Seq, 10)
	}
	switch v.Verdict.Status {
	case air.Valid:
		x.pass(CheckCurrent, "valid "+under)
	case air.Indeterminate:
		x.Skip(CheckCurrent, "indeterminate "+under+": "+strings.Join(rulesOf(v.Verdict.Indeterminate), ", "))
	default:
		x.refuse(CheckCurrent, "invalid "+under+": "+strings.Join(rulesOf(v.Verdict.Errors), ", "))
	}
}

// disclose adds what a verdict on a bundle does not prove.
func (x *Examination) disclose(list []air.Disclosure) {
	for _, d := range list {
		x.limits = append(x.limits, Limit{d.Code, d.Text})
	}
}

// Joins names the entries that a context record's verdict was reached with; nil for other kinds, and for one that can't be
// read.
func (x *Examination) Joins() []int64 {
	if x.Derived.Judged == nil {
		return nil
	}
	seqs, _ := x.Derived.Judged.Receiver.Joined.Seqs() // too many of them are a fault, which Rejudge says
	return append([]int64{}, seqs...)
}

// Needs names what a context record would be judged with if it came now; nil for other kinds.
func (x *Examination) Needs() *kinds.ContextNeeds {
	r := x.Derived.Judged
	if r == nil {
		return nil
	}
	needs := r.Needs()
	return &needs
}

// Rejudge judges a context record again with what was found of the entries that its verdict names.
func (x *Examination) Rejudge(found map[int64]*kinds.ContextPart) {
	r := x.Derived.Judged
	if r == nil {
		return
	}
	fault, report, erased := judgeAgain(r, found)
	switch {
	case fault != nil:
		x.Fault(CheckVerdict, fault.Code, fault.Detail)
	case erased != nil:
		x.Skip(CheckVerdict, partReason(erased))
	default:
		x.pass(CheckVerdict, string(r.Receiver.Verdict.Verdict))
	}
	for _, row := range report.Coverage {
		if row.Fact != "" {
			x.limits = append(x.limits, Limit{"c0-unprovable", row.Fact})
		}
	}
}

// RejudgeNow judges a context record with the entries that there are now.
func (x *Examination) RejudgeNow(current *kinds.ContextParts) {
	r := x.Derived.Judged
	if r == nil {
		return
	}
	now, err := VerifyContext(r, current)
	if err != nil {
		x.Skip(CheckCurrent, partReason(err))
		return
	}
	switch verdict := string(now.Verdict.Verdict); now.Verdict.Verdict {
	case assembly.Verified:
		x.pass(CheckCurrent, verdict)
	case assembly.Indeterminate:
		x.Skip(CheckCurrent, verdict)
	default:
		x.refuse(CheckCurrent, verdict+": "+strings.Join(mismatchedRules(now), ", "))
	}
}

func mismatchedRules(r ContextReport) (rules []string) {
	for _, f := range r.Verdict.Findings {
		if n := len(rules); n == 0 || rules[n-1] != string(f.Rule) {
			rules = append(rules, string(f.Rule))
		}
	}
	return rules
}

// partReason says why a verdict can't be reached again: a part was erased, or is not there.
func partReason(err error) string {
	var erased *kinds.ErasedError
	if errors.As(err, &erased) {
		return "entry " + strconv.FormatInt(erased.Seq, 10) + ", which it was judged with, was erased"
	}
	return "an entry that it was judged with is not at hand"
}

// Egress is what an entry reports to have left, line by provider; nil for kinds that report none, and for one that can't be
// read.
func (x *Examination) Egress() []UsageLine {
	if x.kind == nil || !x.kind.Gated || !x.Derived.Known {
		return nil
	}
	return usageOf(x.entry.Seq, x.Derived, x.Derived.Meta.Key)
}

// usageOf makes usage lines of a recorded report, without its frames.
func usageOf(seq int64, d Derived, requestID string) []UsageLine {
	report, err := metering.ParseUsageReport(d.Content.Artifact)
	if err != nil {
		return nil
	}
	at, ok := report.AsOfInstant()
	verified, err := metering.Verify(report)
	if err != nil || !ok {
		return nil
	}
	events, err := metering.Events(verified)
	if err != nil {
		return nil
	}
	lines := make([]UsageLine, 0, len(events))
	for _, e := range events {
		lines = append(lines, UsageLine{
			Seq: seq, RecordedAt: d.RecordedAt, RequestID: requestID, ProviderID: e.ProviderID, AsOf: kinds.Kept(at), FramesServed: e.FramesServed, Tokens: e.Tokens,
		})
	}
	return lines
}

package audit

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"ledgerd/frames"
	"ledgerd/internal/kinds"
	"ledgerd/metering/billing"
)

// DisputedEvent is a billing intent of a dispute, read again from its entry.
type DisputedEvent struct {
	Seq            int64          `json:"seq"`
	Identifier     string         `json:"identifier" jsonschema:"under which the payment processor knows the event"`
	StripeCustomer string         `json:"stripe_customer"`
	EventName      string         `json:"event_name"`
	Value          string         `json:"value" jsonschema:"tokens, a decimal"`
	Timestamp      time.Time      `json:"timestamp"`
	Window         billing.Period `json:"window"`
	Claims         int            `json:"claims" jsonschema:"usage lines that it bills, in question or not"`
	Replaces       *int64         `json:"replaces" jsonschema:"the intent that it stands for, null for none"`
	State          billing.State  `json:"state"`
	Outcomes       []int64        `json:"outcomes"`
}

// DisputedReport is a usage report, or a correction, of a dispute, read again from its entry.
type DisputedReport struct {
	Seq          int64              `json:"seq"`
	RequestID    string             `json:"request_id"`
	AsOf         time.Time          `json:"as_of"`
	Corrects     *int64             `json:"corrects" jsonschema:"the entry that it corrects; null for a report"`
	Verification *Report            `json:"verification" jsonschema:"null where the entry is not there"`
	Providers    []DisputedProvider `json:"providers"`
	Receipts     []int64            `json:"receipts" jsonschema:"receipt bundles of the same request"`
}

// DisputedProvider is what a report used of one provider: billed by what, covered by what, frame by frame.
type DisputedProvider struct {
	ProviderID string          `json:"provider_id"`
	Tokens     string          `json:"tokens"`
	Claims     []ClaimView     `json:"claims"`
	Consent    *Ruling         `json:"consent" jsonschema:"null for a correction, which moved no content"`
	Frames     []DisputedFrame `json:"frames" jsonschema:"empty once erased"`
}

// ClaimView is a claim of an intent on a line.
type ClaimView struct {
	Intent int64  `json:"intent"`
	Tokens string `json:"tokens"`
}

// DisputedFrame is one served frame and its cost.
type DisputedFrame struct {
	frames.FrameID
	Tokens string `json:"tokens"`
}

// Events shows the intents, in order of seq.
func (e DisputeEvidence) Events() []DisputedEvent {
	list := make([]DisputedEvent, 0, len(e.Intents))
	for _, x := range e.Intents {
		v := DisputedEvent{
			Seq: x.Seq, Identifier: x.Intent.Event.Identifier, StripeCustomer: x.Intent.Event.Customer, EventName: x.Intent.Event.EventName, Value: decimal(x.Intent.Event.Value),
			Timestamp: x.Intent.Event.Timestamp, Window: x.Intent.Window, Claims: len(x.Intent.Claims), State: x.State, Outcomes: x.Outcomes,
		}
		if x.Intent.Replaces != 0 {
			v.Replaces = &x.Intent.Replaces
		}
		if v.Outcomes == nil {
			v.Outcomes = []int64{}
		}
		list = append(list, v)
	}
	return list
}

// Reports shows the reports, in order of seq.
func (e DisputeEvidence) Reports() []DisputedReport {
	receipts := map[string][]int64{}
	for _, r := range e.Receipts {
		receipts[r.RequestID] = append(receipts[r.RequestID], r.Seq)
	}
	claims := map[lineKey][]ClaimView{}
	for _, c := range e.Claims {
		k := lineKey{c.UsageSeq, c.ProviderID}
		claims[k] = append(claims[k], ClaimView{c.Intent, decimal(c.Tokens)})
	}
	lines := slices.Clone(e.Lines)
	slices.SortFunc(lines, func(a, b DisputedLine) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ProviderID, b.ProviderID))
	})
	list := []DisputedReport{}
	for _, l := range lines {
		if n := len(list); n == 0 || list[n-1].Seq != l.Seq {
			list = append(list, e.report(l, receipts[l.RequestID]))
		}
		r := &list[len(list)-1]
		r.Providers = append(r.Providers, e.provider(l, claims[lineKey{l.Seq, l.ProviderID}]))
	}
	return list
}

func (e DisputeEvidence) report(l DisputedLine, receipts []int64) DisputedReport {
	r := DisputedReport{Seq: l.Seq, RequestID: l.RequestID, AsOf: l.AsOf, Corrects: l.Corrects, Providers: []DisputedProvider{}, Receipts: receipts}
	if r.Receipts == nil || l.Corrects != nil {
		r.Receipts = []int64{}
	}
	if checked, found := e.Checked[l.Seq]; found {
		r.Verification = &checked
	}
	return r
}

func (e DisputeEvidence) provider(l DisputedLine, claims []ClaimView) DisputedProvider {
	p := DisputedProvider{ProviderID: l.ProviderID, Tokens: decimal(l.Tokens), Claims: claims, Frames: []DisputedFrame{}}
	if claims == nil {
		p.Claims = []ClaimView{}
	}
	if l.Corrects == nil && e.Gate != nil {
		ruling := e.Gate.Judge(l.UsageLine)
		p.Consent = &ruling
	}
	for _, f := range l.Frames {
		p.Frames = append(p.Frames, DisputedFrame{f.ID, decimal(f.Tokens)})
	}
	return p
}

// DisputeChanges names what differs between how a dispute stood before and how it stands now, in a fixed order: the rules' version, result, levels
// by name, rules by name, and which lists of entries.
func DisputeChanges(before, now kinds.DisputeArtifact) []string {
	changed := []string{}
	note := func(what string, same bool) {
		if !same {
			changed = append(changed, what)
		}
	}
	note("rules", before.Rules == now.Rules)
	note("result", before.Result == now.Result)
	then := map[string]kinds.DisputeLevel{}
	for _, l := range before.Levels {
		then[l.Level] = l
	}
	for _, l := range now.Levels {
		note("level:"+l.Level, then[l.Level] == l)
	}
	for _, r := range disputeRules {
		a, b := findingOf(before, r.rule), findingOf(now, r.rule)
		note("rule:"+string(r.rule), a.Times == b.Times && slices.Equal(a.Seqs, b.Seqs))
	}
	for _, list := range []struct {
		name         string
		before, then []int64
	}{
		{"intents", before.Entries.Intents, now.Entries.Intents}, {"outcomes", before.Entries.Outcomes, now.Entries.Outcomes},
		{"reports", before.Entries.Reports, now.Entries.Reports}, {"consents", before.Entries.Consents, now.Entries.Consents},
		{"receipts", before.Entries.Receipts, now.Entries.Receipts}, {"configs", before.Entries.Configs, now.Entries.Configs},
	} {
		note("entries:"+list.name, slices.Equal(list.before, list.then))
	}
	return changed
}

func findingOf(a kinds.DisputeArtifact, rule DisputeRule) kinds.DisputeFinding {
	for _, f := range slices.Concat(a.Failures, a.Open) {
		if f.Rule == string(rule) {
			return f
		}
	}
	return kinds.DisputeFinding{}
}

// DisputeReverified makes the reverification of a recorded dispute: how it stands now, and what changed since it was recorded.
// last is the reverification before, nil for none.
func DisputeReverified(seq int64, last *int64, before, now kinds.DisputeArtifact, key string) (*kinds.Accepted, error) {
	a := kinds.ReverificationArtifact{
		OfSeq: seq, Cause: kinds.CauseDispute, After: last, Result: now.Result, Failed: []kinds.FailedCheck{}, Changed: DisputeChanges(before, now),
		Against: now.Against, Levels: now.Levels,
	}
	for _, f := range slices.Concat(now.Failures, now.Open) {
		a.Failed = append(a.Failed, kinds.FailedCheck{Check: f.Rule, Fault: strconv.FormatInt(f.Times, 10), Reason: f.Text})
	}
	a.Digest = digestOfFailed(a.Failed)
	return kinds.NewReverification(key, a)
}

package audit

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"ledgerd/frames"
	"ledgerd/receipts"
)

// MaxEgressLines bounds one egress question: the usage lines that it may read.
const MaxEgressLines = 50_000

// EgressQuery is the auditor's question. From and To are instants of as_of, half-open; empty strings select all.
type EgressQuery struct {
	From, To   time.Time
	ProviderID string
	CustomerID string
	Size       int64 // entries from this seq on are left out
}

// UsageLine is one provider's part of a recorded usage report.
type UsageLine struct {
	Seq          int64 // of the usage-report entry
	RecordedAt   time.Time
	RequestID    string
	ProviderID   string
	AsOf         time.Time
	FramesServed int64
	Tokens       int64
	Frames       []ServedFrame // nil once erased
}

// ServedFrame is one served frame and its cost in tokens.
type ServedFrame struct {
	ID     frames.FrameID
	Tokens int64
}

// Grant is a recorded consent receipt.
type Grant struct {
	Seq        int64
	RecordedAt time.Time
	Receipt    receipts.ConsentReceipt
	Erased     bool // who agreed was erased
}

// Verdict is what the ledger can say about one scope at the instant of one egress.
type Verdict string

// The verdicts, best first. A line shows the worst that holds for any of its reports, and how many have which.
const (
	Consented     Verdict = "consented"      // a grant was in force at that instant and had been recorded by then
	RecordedAfter Verdict = "recorded-after" // in force on paper, but recorded only after the egress
	Expired       Verdict = "expired"        // granted before, and lapsed by then
	GrantedAfter  Verdict = "granted-after"  // granted later than the egress
	Unconsented   Verdict = "unconsented"    // no readable grant
)

var severity = map[Verdict]int{Consented: 0, RecordedAfter: 1, Expired: 2, GrantedAfter: 3, Unconsented: 4}

// The flags of a line.
const (
	// FlagNoConsent: no consent of any scope is recorded for the provider.
	FlagNoConsent = "no-recorded-consent"
	// FlagReachUnknown: some reports served nothing, but the query itself went to the provider.
	FlagReachUnknown = "reach-unknown"
	// FlagErased: parts of what was served were erased.
	FlagErased = "erased"
)

// EgressLine answers, for one provider over a period: what left, to whom, who agreed, when. Sums are decimal strings, so
// that no reader rounds them.
type EgressLine struct {
	ProviderID   string        `json:"provider_id"`
	Reports      int           `json:"reports"`
	FirstAsOf    time.Time     `json:"first_as_of"`
	LastAsOf     time.Time     `json:"last_as_of"`
	FramesServed string        `json:"frames_served"`
	Tokens       string        `json:"tokens"`
	Frames       []EgressFrame `json:"frames"`
	Scopes       []EgressScope `json:"scopes"`
	Flags        []string      `json:"flags"`
	Seqs         []int64       `json:"seqs"` // the usage reports
}

// EgressFrame is one frame that left, by identity, over all reports of the line.
type EgressFrame struct {
	frames.FrameID
	Times  int     `json:"times"`
	Tokens string  `json:"tokens"`
	Seqs   []int64 `json:"seqs"`
}

// EgressScope is one class of destination that somebody agreed to for the provider. Who agreed is what a host's token
// claimed when it posted the consent.
type EgressScope struct {
	Scope    receipts.EgressScope `json:"scope"`
	Verdict  Verdict              `json:"verdict"`
	Verdicts map[Verdict]int      `json:"verdicts"` // reports per verdict
	Grants   []EgressGrant        `json:"grants"`
	Seqs     []int64              `json:"seqs"` // the consents
}

// EgressGrant is who agreed, when, and to whom by name at that time.
type EgressGrant struct {
	Grantor         *receipts.Grantor `json:"grantor"` // null once erased
	ProviderName    string            `json:"provider_name"`
	ProviderVersion string            `json:"provider_version"`
	GrantedAt       string            `json:"granted_at"`
	ExpiresAt       *string           `json:"expires_at"`
	RecordedAt      time.Time         `json:"recorded_at"`
	Seq             int64             `json:"seq"`
}

// Egress joins usage and consent into one line per provider, ordered by provider id. It is pure and depends on nothing but
// its arguments; usage may come in any order.
func Egress(usage []UsageLine, grants []Grant) []EgressLine {
	byProvider := map[string][]UsageLine{}
	for _, u := range usage {
		byProvider[u.ProviderID] = append(byProvider[u.ProviderID], u)
	}
	granted := map[string][]Grant{}
	for _, g := range grants {
		granted[g.Receipt.ProviderID] = append(granted[g.Receipt.ProviderID], g)
	}
	lines := make([]EgressLine, 0, len(byProvider))
	for provider, usage := range byProvider {
		slices.SortFunc(usage, func(a, b UsageLine) int { return cmp.Compare(a.Seq, b.Seq) })
		lines = append(lines, egressLine(provider, usage, granted[provider]))
	}
	slices.SortFunc(lines, func(a, b EgressLine) int { return cmp.Compare(a.ProviderID, b.ProviderID) })
	return lines
}

func egressLine(provider string, usage []UsageLine, grants []Grant) EgressLine {
	line := EgressLine{
		ProviderID: provider, Reports: len(usage), FirstAsOf: usage[0].AsOf, LastAsOf: usage[0].AsOf,
		Frames: egressFrames(usage), Scopes: egressScopes(usage, grants), Flags: []string{}, Seqs: []int64{},
	}
	var tokens, served int64
	empty, erased := false, false
	for _, u := range usage {
		tokens += u.Tokens
		served += u.FramesServed
		empty = empty || u.FramesServed == 0
		erased = erased || (u.FramesServed > 0 && u.Frames == nil)
		line.FirstAsOf = earlier(line.FirstAsOf, u.AsOf)
		line.LastAsOf = later(line.LastAsOf, u.AsOf)
		line.Seqs = append(line.Seqs, u.Seq)
	}
	line.Tokens, line.FramesServed = strconv.FormatInt(tokens, 10), strconv.FormatInt(served, 10)
	for _, f := range []struct {
		flag  string
		holds bool
	}{{FlagNoConsent, len(grants) == 0}, {FlagReachUnknown, empty}, {FlagErased, erased}} {
		if f.holds {
			line.Flags = append(line.Flags, f.flag)
		}
	}
	return line
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// egressFrames merges the frames of a line by identity, in canonical order (context-reuse §1).
func egressFrames(usage []UsageLine) []EgressFrame {
	type total struct {
		times  int
		tokens int64
		seqs   []int64
	}
	totals := map[frames.FrameID]*total{}
	for _, u := range usage {
		for _, f := range u.Frames {
			t := totals[f.ID]
			if t == nil {
				t = &total{}
				totals[f.ID] = t
			}
			t.times++
			t.tokens += f.Tokens
			if len(t.seqs) == 0 || t.seqs[len(t.seqs)-1] != u.Seq {
				t.seqs = append(t.seqs, u.Seq)
			}
		}
	}
	list := make([]EgressFrame, 0, len(totals))
	for id, t := range totals {
		list = append(list, EgressFrame{FrameID: id, Times: t.times, Tokens: strconv.FormatInt(t.tokens, 10), Seqs: t.seqs})
	}
	slices.SortFunc(list, func(a, b EgressFrame) int { return frames.Compare(a.FrameID, b.FrameID) })
	return list
}

func egressScopes(usage []UsageLine, grants []Grant) []EgressScope {
	byScope := map[receipts.EgressScope][]Grant{}
	for _, g := range grants {
		byScope[g.Receipt.Scope] = append(byScope[g.Receipt.Scope], g)
	}
	scopes := make([]EgressScope, 0, len(byScope))
	for scope, grants := range byScope {
		slices.SortFunc(grants, func(a, b Grant) int { return cmp.Compare(a.Seq, b.Seq) })
		s := EgressScope{Scope: scope, Verdict: Consented, Verdicts: map[Verdict]int{}}
		for _, u := range usage {
			v := ScopeVerdict(grants, u.AsOf, u.Seq)
			s.Verdicts[v]++
			if severity[v] > severity[s.Verdict] {
				s.Verdict = v
			}
		}
		for _, g := range grants {
			s.Grants = append(s.Grants, egressGrant(g))
			s.Seqs = append(s.Seqs, g.Seq)
		}
		scopes = append(scopes, s)
	}
	slices.SortFunc(scopes, func(a, b EgressScope) int { return cmp.Compare(a.Scope, b.Scope) })
	return scopes
}

func egressGrant(g Grant) EgressGrant {
	e := EgressGrant{
		ProviderName: g.Receipt.ProviderName, ProviderVersion: g.Receipt.ProviderVersion,
		GrantedAt: g.Receipt.GrantedAt, ExpiresAt: g.Receipt.ExpiresAt, RecordedAt: g.RecordedAt, Seq: g.Seq,
	}
	if !g.Erased {
		e.Grantor = &g.Receipt.Grantor
	}
	return e
}

// ScopeVerdict judges the grants of one provider and scope at the instant of an egress that entry seq reports: by what the
// grants say of themselves, and by when they were recorded, so that a backdated one does not read as consent.
func ScopeVerdict(grants []Grant, at time.Time, seq int64) Verdict {
	best := Unconsented
	for _, g := range grants {
		if v := grantVerdict(g, at, seq); severity[v] < severity[best] {
			best = v
		}
	}
	return best
}

func grantVerdict(g Grant, at time.Time, seq int64) Verdict {
	granted, ok := frames.ParseRFC3339(g.Receipt.GrantedAt)
	switch {
	case !ok:
		return Unconsented
	case granted.After(at):
		return GrantedAfter
	case !g.Receipt.IsLive(at):
		return Expired
	case g.Seq > seq || !recordedBy(g.RecordedAt, at):
		return RecordedAfter
	}
	return Consented
}

// recordedBy says whether something was recorded by the instant of an egress. Hosts stamp whole seconds and the ledger
// microseconds: an instant in whole seconds names that second, so what was recorded within it is not held to be late.
func recordedBy(recorded, at time.Time) bool {
	if at.Nanosecond() == 0 {
		return recorded.Before(at.Add(time.Second))
	}
	return !recorded.After(at)
}

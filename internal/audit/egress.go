package audit

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"ledgerd/frames"
	"ledgerd/receipts"
	"ledgerd/receipts/air"
)

// The flags of a line: what else holds, beside its verdicts. They stand in this order.
const (
	// FlagUndeclared: no declaration of the provider was in force, so the scopes shown are those that somebody agreed to.
	FlagUndeclared = "undeclared-provider"
	// FlagDeclaredAfter: the declaration in force was recorded only after some of the egress.
	FlagDeclaredAfter = "declared-after"
	// FlagNoConsent: no consent of any sort is recorded for the provider.
	FlagNoConsent = "no-recorded-consent"
	// FlagDrift: the provider's declared name or version is none that the consent in force was given to.
	FlagDrift = "identity-drift"
	// FlagLateRevocation: consent counts as revoked at the egress, but the revocation was recorded only after it.
	FlagLateRevocation = "revocation-recorded-after"
	// FlagReachUnknown: some reports served nothing, but the query itself may have gone to the provider.
	FlagReachUnknown = "reach-unknown"
	// FlagErased: parts of what was served were erased.
	FlagErased = "erased"
)

var flagOrder = [...]string{FlagUndeclared, FlagDeclaredAfter, FlagNoConsent, FlagDrift, FlagLateRevocation, FlagReachUnknown, FlagErased}

// EgressAnswer is the answer to an egress question.
type EgressAnswer struct {
	Lines  []EgressLine
	Totals EgressTotals
}

// EgressTotals are sums over all lines; each token is counted once, however many scopes its provider has. Sums are decimal
// strings, so that no reader rounds them.
type EgressTotals struct {
	Reports      int             `json:"reports" jsonschema:"reports per provider, added up"`
	FramesServed string          `json:"frames_served"`
	Tokens       string          `json:"tokens"`
	Verdicts     map[Verdict]int `json:"verdicts" jsonschema:"lines per verdict"`
}

// EgressLine answers, for one provider under one declaration: what left, to whom, who agreed, when.
type EgressLine struct {
	ProviderID   string             `json:"provider_id"`
	Declaration  *EgressDeclaration `json:"declaration" jsonschema:"in force at the reports' as_of; null for none"`
	Verdict      Verdict            `json:"verdict" jsonschema:"the worst of the scopes"`
	Reports      int                `json:"reports"`
	FirstAsOf    time.Time          `json:"first_as_of"`
	LastAsOf     time.Time          `json:"last_as_of"`
	FramesServed string             `json:"frames_served"`
	Tokens       string             `json:"tokens"`
	Frames       []EgressFrame      `json:"frames"`
	Scopes       []EgressScope      `json:"scopes"`
	Exchanges    []EgressExchange   `json:"exchanges" jsonschema:"receipts of exchanges that share a request with the reports"`
	Flags        []string           `json:"flags"`
	Seqs         []int64            `json:"seqs" jsonschema:"the usage reports"`
	Verification *LineVerification  `json:"verification,omitzero" jsonschema:"when it was asked for"`

	served, tokens int64
}

// EgressDeclaration is how the provider introduced itself, from when on.
type EgressDeclaration struct {
	Name       string            `json:"name"`
	Version    string            `json:"version"`
	DataFlow   receipts.DataFlow `json:"data_flow"`
	DeclaredAt string            `json:"declared_at"`
	RecordedAt time.Time         `json:"recorded_at"`
	Seq        int64             `json:"seq"`
}

// EgressFrame is one frame that left, by identity, over all reports of the line.
type EgressFrame struct {
	frames.FrameID
	Times  int     `json:"times"`
	Tokens string  `json:"tokens"`
	Seqs   []int64 `json:"seqs"`
}

// EgressExchange is what recorded receipts of exchanges say about where requests of the line went. They are the host's
// evidence, and the disclosures say what they do not prove.
type EgressExchange struct {
	EndpointHost   string           `json:"endpoint_host"`
	ModelID        string           `json:"model_id"`
	Provider       string           `json:"provider"`
	RetentionClass string           `json:"retention_class"`
	WitnessMode    string           `json:"witness_mode"`
	Status         string           `json:"status" jsonschema:"the recorded verdict"`
	Disclosures    []air.Disclosure `json:"disclosures"`
	Seqs           []int64          `json:"seqs"`
}

// Egress joins usage, declarations, consent and receipts into one line per provider and declaration in force, ordered by
// provider id and declaration. It is pure and depends on nothing but its arguments.
func Egress(e Evidence, q EgressQuery) EgressAnswer {
	j := joiner{book: newBook(e.Consents), declared: declarationsOf(e.Declarations), exchanges: exchangesOf(e.Exchanges)}
	answer := EgressAnswer{Lines: []EgressLine{}, Totals: EgressTotals{Verdicts: map[Verdict]int{}}}
	var served, tokens int64
	for _, group := range j.groups(e.Usage) {
		line := j.line(group)
		if !line.matches(q) {
			continue
		}
		answer.Lines = append(answer.Lines, line)
		served, tokens = served+line.served, tokens+line.tokens
		answer.Totals.Reports += line.Reports
		answer.Totals.Verdicts[line.Verdict]++
	}
	answer.Totals.FramesServed, answer.Totals.Tokens = decimal(served), decimal(tokens)
	return answer
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// joiner is the evidence, indexed.
type joiner struct {
	book      *book
	declared  map[string][]Declaration
	exchanges map[string][]Exchange // by request id
}

// group is the usage of one line, in order of seq.
type group struct {
	provider    string
	declaration *Declaration
	usage       []UsageLine
}

func (j *joiner) groups(usage []UsageLine) []group {
	type key struct {
		provider string
		seq      int64
	}
	index := map[key]int{}
	var list []group
	for _, u := range usage {
		d := inForce(j.declared[u.ProviderID], u.AsOf)
		k := key{u.ProviderID, -1}
		if d != nil {
			k.seq = d.Seq
		}
		i, known := index[k]
		if !known {
			i = len(list)
			index[k] = i
			list = append(list, group{provider: u.ProviderID, declaration: d})
		}
		list[i].usage = append(list[i].usage, u)
	}
	for _, g := range list {
		slices.SortFunc(g.usage, func(a, b UsageLine) int { return cmp.Compare(a.Seq, b.Seq) })
	}
	slices.SortFunc(list, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.provider, b.provider), compareDeclarations(a.declaration, b.declaration))
	})
	return list
}

func (j *joiner) line(g group) EgressLine {
	line := EgressLine{
		ProviderID: g.provider, Reports: len(g.usage), FirstAsOf: g.usage[0].AsOf, LastAsOf: g.usage[0].AsOf, Verdict: LocalOnly,
		Frames: egressFrames(g.usage), Exchanges: j.exchangesWith(g.usage), Seqs: []int64{},
	}
	flags := map[string]bool{FlagUndeclared: g.declaration == nil}
	if d := g.declaration; d != nil {
		line.Declaration = &EgressDeclaration{
			Name: d.Event.Provider.Name, Version: d.Event.Provider.Version, DataFlow: d.Event.Provider.DataFlow,
			DeclaredAt: d.Event.DeclaredAt, RecordedAt: d.RecordedAt, Seq: d.Seq,
		}
	}
	for _, u := range g.usage {
		line.served, line.tokens = line.served+u.FramesServed, line.tokens+u.Tokens
		line.FirstAsOf, line.LastAsOf = earlier(line.FirstAsOf, u.AsOf), later(line.LastAsOf, u.AsOf)
		line.Seqs = append(line.Seqs, u.Seq)
		flags[FlagReachUnknown] = flags[FlagReachUnknown] || u.FramesServed == 0
		flags[FlagErased] = flags[FlagErased] || u.FramesServed > 0 && u.Frames == nil
		if d := g.declaration; d != nil && !(moment{u.AsOf, u.Seq}).knew(d.Seq, d.RecordedAt) {
			flags[FlagDeclaredAfter] = true
		}
	}
	line.FramesServed, line.Tokens = decimal(line.served), decimal(line.tokens)
	line.Scopes = j.scopes(g, flags)
	for _, s := range line.Scopes {
		line.Verdict = worse(line.Verdict, s.Verdict)
	}
	flags[FlagNoConsent] = line.Verdict != LocalOnly && len(j.book.scopes[g.provider]) == 0 && len(j.book.records[g.provider]) == 0
	line.Flags = listFlags(flags)
	return line
}

func listFlags(set map[string]bool) []string {
	list := []string{}
	for _, f := range flagOrder {
		if set[f] {
			list = append(list, f)
		}
	}
	return list
}

// matches says whether a line is asked for: whether one of its scopes is the asked one, and somebody agreed to one of them.
func (l EgressLine) matches(q EgressQuery) bool {
	scope := func(s EgressScope) bool { return q.Scope == "" || string(s.Scope) == q.Scope }
	granted := func(g EgressGrant) bool { return g.Grantor != nil && g.Grantor.ID == q.Grantor }
	return slices.ContainsFunc(l.Scopes, func(s EgressScope) bool {
		return scope(s) && (q.Grantor == "" || slices.ContainsFunc(s.Grants, granted))
	})
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

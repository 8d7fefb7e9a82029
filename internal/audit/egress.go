package audit

import (
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"ledgerd/frames"
	"ledgerd/internal/kinds"
	"ledgerd/receipts"
	"ledgerd/receipts/air"
)

// The flags of a line: what else holds, beside its verdicts. They stand in this order.
const (
	// FlagUndeclared: no declaration of the provider was on record by then. Without a later one that is dated before, the
	// scopes shown are those that somebody agreed to.
	FlagUndeclared = "undeclared-provider"
	// FlagDeclaredAfter: the declaration that is in force by its own instant was recorded only after the egress. What the
	// line gets is the worse of it and of the one that was known, see EgressLine.KnownDeclaration.
	FlagDeclaredAfter = "declared-after"
	// FlagNoConsent: no consent of any sort is recorded for the provider.
	FlagNoConsent = "no-recorded-consent"
	// FlagDrift: the provider's declared name or version is none that the consent in force was given to.
	FlagDrift = "identity-drift"
	// FlagLateRevocation: consent counts as revoked at the egress, but no revocation that says so was on record by then: the
	// host could not know.
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
	ProviderID  string             `json:"provider_id"`
	Declaration *EgressDeclaration `json:"declaration" jsonschema:"in force at the reports' as_of by its own instant; null for none"`
	// KnownDeclaration is what the reports are judged by too, so that nothing looks better for what was declared later.
	KnownDeclaration *EgressDeclaration `json:"known_declaration,omitzero" jsonschema:"with the flag declared-after: the one that was in force by what had been recorded; absent for none"`
	Verdict          Verdict            `json:"verdict" jsonschema:"the worst of the reports; undeclared-provider where no declaration was on record by then"`
	Reports          int                `json:"reports"`
	FirstAsOf        time.Time          `json:"first_as_of"`
	LastAsOf         time.Time          `json:"last_as_of"`
	FramesServed     string             `json:"frames_served"`
	Tokens           string             `json:"tokens"`
	Frames           []EgressFrame      `json:"frames"`
	Scopes           []EgressScope      `json:"scopes"`
	Exchanges        []EgressExchange   `json:"exchanges" jsonschema:"receipts of exchanges that share a request with the reports"`
	Flags            []string           `json:"flags"`
	Seqs             []int64            `json:"seqs" jsonschema:"the usage reports"`
	Verification     *LineVerification  `json:"verification,omitzero" jsonschema:"when it was asked for"`

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

// MaxListedConsents bounds the grants, records and revocations that an answer lists, over all its lines: each line lists the
// history of its scopes, and a provider that declares often has many lines.
const MaxListedConsents = 200_000

// Egress joins usage, declarations, consent and receipts into one line per provider and declaration in force, ordered by
// provider id and declaration. It is pure and depends on nothing but its arguments; it costs n log n in the evidence.
func Egress(e Evidence, q EgressQuery) EgressAnswer {
	answer, _ := joinEgress(context.Background(), e, q, math.MaxInt) // neither of the two errors can be
	return answer
}

// EgressWithin is Egress for a question that somebody waits for: the context's error when it ends first, and
// kinds.ErrTooMuch beyond MaxListedConsents.
func EgressWithin(ctx context.Context, e Evidence, q EgressQuery) (EgressAnswer, error) {
	return joinEgress(ctx, e, q, MaxListedConsents)
}

func joinEgress(ctx context.Context, e Evidence, q EgressQuery, mostListed int) (EgressAnswer, error) {
	j := newJoiner(e)
	answer := EgressAnswer{Lines: []EgressLine{}, Totals: EgressTotals{Verdicts: map[Verdict]int{}}}
	var served, tokens int64
	listed := 0
	for _, group := range j.groups(e.Usage) {
		line, err := j.line(ctx, group)
		if err != nil {
			return answer, err
		}
		if !line.matches(q) {
			continue
		}
		if listed += line.consents(); listed > mostListed {
			return answer, kinds.ErrTooMuch
		}
		answer.Lines = append(answer.Lines, line)
		served, tokens = served+line.served, tokens+line.tokens
		answer.Totals.Reports += line.Reports
		answer.Totals.Verdicts[line.Verdict]++
	}
	answer.Totals.FramesServed, answer.Totals.Tokens = decimal(served), decimal(tokens)
	return answer, nil
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

func (j *joiner) line(ctx context.Context, g group) (EgressLine, error) {
	line := EgressLine{
		ProviderID: g.provider, Declaration: egressDeclaration(g.dated), Reports: len(g.usage),
		FirstAsOf: g.usage[0].AsOf, LastAsOf: g.usage[0].AsOf, Verdict: LocalOnly,
		Frames: egressFrames(g.usage), Scopes: j.newScopes(g), Exchanges: j.exchangesWith(g.usage), Seqs: make([]int64, 0, len(g.usage)),
	}
	flags := map[string]bool{FlagUndeclared: g.known == nil, FlagDeclaredAfter: g.known != g.dated}
	if g.known != g.dated {
		line.KnownDeclaration = egressDeclaration(g.known)
	}
	var scratch []ruling
	for _, u := range g.usage {
		if err := ctx.Err(); err != nil {
			return line, err
		}
		judged := j.assess(g, u, scratch)
		scratch = judged.scopes
		line.add(u, judged)
		flags[FlagReachUnknown] = flags[FlagReachUnknown] || u.FramesServed == 0
		flags[FlagErased] = flags[FlagErased] || u.FramesServed > 0 && u.Frames == nil
		for i, r := range judged.scopes {
			flags[FlagLateRevocation] = flags[FlagLateRevocation] || r.late
			flags[FlagDrift] = flags[FlagDrift] || j.drifted(g, g.asked[i], u)
		}
	}
	line.FramesServed, line.Tokens = decimal(line.served), decimal(line.tokens)
	flags[FlagNoConsent] = line.Verdict != LocalOnly && len(j.book.scopes[g.provider]) == 0 && len(j.book.records[g.provider]) == 0
	line.Flags = listFlags(flags)
	return line, nil
}

// add takes in one report and what it was judged to be.
func (l *EgressLine) add(u UsageLine, judged assessment) {
	l.served, l.tokens = l.served+u.FramesServed, l.tokens+u.Tokens
	l.FirstAsOf, l.LastAsOf = earlier(l.FirstAsOf, u.AsOf), later(l.LastAsOf, u.AsOf)
	l.Seqs = append(l.Seqs, u.Seq)
	l.Verdict = worse(l.Verdict, judged.verdict)
	for i, r := range judged.scopes {
		l.Scopes[i].count(r.verdict)
	}
}

// consents counts what the line lists of the history of consent.
func (l EgressLine) consents() int {
	n := 0
	for _, s := range l.Scopes {
		n += len(s.Grants) + len(s.Records) + len(s.Revocations)
	}
	return n
}

func egressDeclaration(d *Declaration) *EgressDeclaration {
	if d == nil {
		return nil
	}
	return &EgressDeclaration{
		Name: d.Event.Provider.Name, Version: d.Event.Provider.Version, DataFlow: d.Event.Provider.DataFlow,
		DeclaredAt: d.Event.DeclaredAt, RecordedAt: d.RecordedAt, Seq: d.Seq,
	}
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
	granted := func(g EgressGrant) bool {
		return g.Grantor != nil && (q.Grantor == "" || g.Grantor.ID == q.Grantor) && (q.GrantorKind == "" || string(g.Grantor.Kind) == q.GrantorKind)
	}
	return slices.ContainsFunc(l.Scopes, func(s EgressScope) bool {
		return scope(s) && (q.Grantor == "" && q.GrantorKind == "" || slices.ContainsFunc(s.Grants, granted))
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

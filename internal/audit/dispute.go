package audit

import (
	"encoding/base64"
	"slices"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
	"ledgerd/metering/billing"
)

// DisputeEvidence is all that a dispute is decided from, as one tree has it.
type DisputeEvidence struct {
	Question kinds.DisputeQuestion
	Lines    []DisputedLine   // of the usage in question, by seq and provider
	Claims   []DisputedClaim  // on these lines, by any intent
	Intents  []DisputedIntent // that claim them, by seq
	Receipts []DisputedReceipt
	Bare     []int64         // reports in question that reached no provider, and have no line
	Configs  []int64         // of billing: the entry of Terms, and those that intents were planned under
	Terms    *billing.Config // in force, nil when nothing is billed
	Gate     *Gate
	Checked  Checked // every entry of Chain
}

// DisputedLine is what one entry used of one provider.
type DisputedLine struct {
	UsageLine
	CustomerID string // "" once erased
	FrameCost  int64  // of all its frames, also once their names are erased
	Corrects   *int64 // the entry that this line corrects; nil for a report's own
}

// DisputedClaim says that an intent bills a line.
type DisputedClaim struct {
	Intent     int64 // seq
	UsageSeq   int64
	ProviderID string
	Tokens     int64
}

// DisputedIntent is an intent and what became of it.
type DisputedIntent struct {
	Seq        int64
	Intent     billing.Intent
	State      billing.State
	Outcomes   []int64
	CustomerID string // whom its configuration bills for it, "" where that is not known
}

// DisputedReceipt is a recorded bundle of a request in question.
type DisputedReceipt struct {
	Seq       int64
	RequestID string
}

// lineKey names a usage line.
type lineKey struct {
	seq      int64
	provider string
}

// dispute is evidence on its way to a result.
type dispute struct {
	DisputeEvidence
	lines    map[lineKey]*DisputedLine
	claims   map[lineKey][]DisputedClaim
	intents  map[int64]*DisputedIntent
	rulings  map[lineKey]Ruling
	failures tallies
	open     tallies
}

// Decide says how the ledger's own record of what is disputed holds up: the entries of the chain, totals at each level and
// where they differ, and every rule that is broken, or that can't be judged. It is pure: the same evidence gives the same
// answer. The result follows from what was found, see kinds.DisputeResult.
func Decide(e DisputeEvidence) kinds.DisputeArtifact {
	d := newDispute(e)
	d.judgeEntries()
	d.judgeClaims()
	d.judgeIntents()
	d.judgeLines()
	d.judgeEmptiness()
	a := kinds.DisputeArtifact{Rules: DisputeRulesVersion, Question: e.Question, Failures: d.failures.list(), Open: d.open.list(), Levels: d.levels(), Entries: d.entries()}
	a.Differences = differences(a.Levels)
	a.Result = kinds.DisputeResult(len(a.Failures), len(a.Open))
	return a
}

// judgeEmptiness sees to it that what nothing is known of is not explained.
func (d *dispute) judgeEmptiness() {
	if len(d.Lines) > 0 || len(d.Bare) > 0 || len(d.Intents) > 0 {
		return
	}
	for _, r := range d.Receipts {
		d.open.add(OpenUnreported, r.Seq)
	}
	if len(d.Receipts) == 0 {
		d.open.add(OpenNothing, 0)
	}
}

func newDispute(e DisputeEvidence) *dispute {
	d := &dispute{
		DisputeEvidence: e, lines: make(map[lineKey]*DisputedLine, len(e.Lines)), claims: make(map[lineKey][]DisputedClaim, len(e.Claims)),
		intents: map[int64]*DisputedIntent{}, rulings: make(map[lineKey]Ruling, len(e.Lines)), failures: tallies{}, open: tallies{},
	}
	for i := range e.Lines {
		l := &e.Lines[i]
		k := lineKey{l.Seq, l.ProviderID}
		d.lines[k] = l
		if l.Corrects == nil && e.Gate != nil { // a correction moved no content
			d.rulings[k] = e.Gate.Judge(l.UsageLine)
		}
	}
	for _, c := range e.Claims {
		k := lineKey{c.UsageSeq, c.ProviderID}
		d.claims[k] = append(d.claims[k], c)
	}
	for i := range e.Intents {
		d.intents[e.Intents[i].Seq] = &e.Intents[i]
	}
	return d
}

// Chain lists every entry that is to be verified again, in order.
func (e DisputeEvidence) Chain() []int64 {
	seqs := newDispute(e).entries().All()
	slices.Sort(seqs)
	return slices.Compact(seqs)
}

// TreeOf is the tree that a checkpoint states.
func TreeOf(c ledger.Checkpoint) kinds.VerifiedTree {
	return kinds.VerifiedTree{Origin: c.Origin, TreeSize: c.Size, RootHash: base64.StdEncoding.EncodeToString(c.Root[:])}
}

// entries lists the chain.
func (d *dispute) entries() kinds.DisputeEntries {
	e := kinds.DisputeEntries{Intents: []int64{}, Outcomes: []int64{}, Reports: []int64{}, Consents: []int64{}, Receipts: []int64{}, Configs: []int64{}}
	for _, i := range d.Intents {
		e.Intents, e.Outcomes = append(e.Intents, i.Seq), append(e.Outcomes, i.Outcomes...)
	}
	for _, l := range d.Lines {
		e.Reports = append(e.Reports, l.Seq)
	}
	e.Reports = append(e.Reports, d.Bare...)
	e.Consents = d.consents()
	for _, r := range d.Receipts {
		e.Receipts = append(e.Receipts, r.Seq)
	}
	e.Configs = append(e.Configs, d.Configs...)
	for _, list := range []*[]int64{&e.Intents, &e.Outcomes, &e.Reports, &e.Consents, &e.Receipts, &e.Configs} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return e
}

// consents lists what decides how the lines were covered, with what ever ends these consents: whoever has just these entries
// reaches the same rulings.
func (d *dispute) consents() []int64 {
	basis := map[int64]bool{}
	for _, r := range d.rulings {
		for _, seq := range r.Basis {
			basis[seq] = true
		}
	}
	if d.Gate != nil {
		d.Gate.withEndings(basis)
	}
	seqs := make([]int64, 0, len(basis))
	for seq := range basis {
		seqs = append(seqs, seq)
	}
	return seqs
}

// counts says whether a line is one that is due to be billed.
func (d *dispute) counts(l *DisputedLine) bool {
	if l.Tokens == 0 {
		return false
	}
	if d.Terms == nil { // a charge is disputed, and nothing says what would be charged
		return d.Question.CustomerID != "" || d.Question.BillingEvent != ""
	}
	_, mapped := d.Terms.Mapped(l.CustomerID)
	return d.Terms.Counts(l.ProviderID) && !l.AsOf.Before(d.Terms.Start) && (mapped || l.CustomerID == "")
}

// within says whether an instant lies in a half-open period.
func within(p billing.Period, at time.Time) bool { return !at.Before(p.Start) && at.Before(p.End) }

package audit

import (
	"slices"

	"ledgerd/internal/kinds"
	"ledgerd/metering/billing"
)

// DisputeRule is the stable name of a rule that a dispute is decided by.
type DisputeRule string

// What makes a dispute upheld: the record of the chain is broken, or it says that something was billed or sent that must not
// have been.
const (
	FailArithmetic  DisputeRule = "arithmetic"       // an entry's own sums do not hold
	FailInclusion   DisputeRule = "inclusion"        // an entry is not proven to be in the tree
	FailAltered     DisputeRule = "altered"          // an entry, or what was derived from it, is not what was recorded
	FailMissing     DisputeRule = "missing"          // an entry that the chain names is not there
	FailVerdict     DisputeRule = "recorded-verdict" // the recorded verdict on a receipt is not reached again
	FailUnfounded   DisputeRule = "claim-unfounded"  // a claim names usage that is not there
	FailAmount      DisputeRule = "claim-amount"     // a claim bills another number of tokens than was reported
	FailTwice       DisputeRule = "billed-twice"     // usage is billed by two intents, or an event and its replacement both count
	FailCustomer    DisputeRule = "wrong-customer"   // usage of another customer is billed
	FailWindow      DisputeRule = "outside-window"   // usage is billed in a window that it does not lie in
	FailUnconsented DisputeRule = "unconsented"      // something left without consent that was in force and on record
)

// What leaves a dispute inconclusive.
const (
	OpenErased       DisputeRule = "erased"        // an entry's content was erased, so its sums can't be made again
	OpenNotCheckable DisputeRule = "not-checkable" // a check of an entry could not be made
	OpenReach        DisputeRule = "reach-unknown" // nothing was served and nothing covers it: whether the query left is not known
	OpenUnbilled     DisputeRule = "unbilled"      // usage that counts is claimed by no intent yet
	OpenUnconfirmed  DisputeRule = "unconfirmed"   // an intent is not known to have been counted by the payment processor
	OpenUnreported   DisputeRule = "unreported"    // a receipt says that something was sent, and no report of it is recorded
	OpenNothing      DisputeRule = "nothing-found" // the ledger has nothing of what is disputed
)

// DisputeRulesVersion is the version of the rules that Decide decides by. It changes with every change after which the same evidence
// might be decided differently.
const DisputeRulesVersion = kinds.FirstDisputeRules

// disputeRules is every rule in the order in which they are shown, and what it says.
var disputeRules = [...]struct {
	rule DisputeRule
	text string
}{
	{FailMissing, "an entry that the chain names is not there"},
	{FailInclusion, "an entry is not proven to be in the tree of the checkpoint"},
	{FailAltered, "an entry, or what was derived from it, is not what was recorded"},
	{FailArithmetic, "an entry's own check does not hold: its sums, its identifier or its form"},
	{FailVerdict, "the recorded verdict on a receipt is not reached again"},
	{FailUnfounded, "a billing intent claims usage that is not there"},
	{FailAmount, "a billing intent claims another number of tokens than was reported"},
	{FailTwice, "usage is billed twice"},
	{FailCustomer, "a billing intent claims usage of another customer"},
	{FailWindow, "a billing intent claims usage that lies outside its window"},
	{FailUnconsented, "something was sent for which no consent was in force and on record at that instant"},
	{OpenErased, "the content of an entry was erased: its own check can't be run again"},
	{OpenNotCheckable, "a check could not be made"},
	{OpenReach, "a report served nothing, and no consent covers the query itself: whether it left is not known"},
	{OpenUnbilled, "usage is not billed yet"},
	{OpenUnconfirmed, "it is not recorded that the payment processor counted it"},
	{OpenUnreported, "a receipt stands alone: no report says what was served for its request, so neither a charge nor consent can be held against it"},
	{OpenNothing, "the ledger has no entry of what is disputed"},
}

// maxTallySeqs bounds the entries that are listed for one rule.
const maxTallySeqs = 64

// tallies counts occurrences by rule.
type tallies map[DisputeRule]*kinds.DisputeFinding

func (t tallies) add(rule DisputeRule, seqs ...int64) {
	f := t[rule]
	if f == nil {
		f = &kinds.DisputeFinding{Rule: string(rule), Seqs: []int64{}}
		t[rule] = f
	}
	f.Times++
	if rule == OpenNothing {
		return
	}
	f.Seqs = append(f.Seqs, seqs...)
}

// list gives what was found in the order of the rules, each with its first entries.
func (t tallies) list() []kinds.DisputeFinding {
	list := []kinds.DisputeFinding{}
	for _, r := range disputeRules {
		f := t[r.rule]
		if f == nil {
			continue
		}
		f.Text = r.text
		slices.Sort(f.Seqs)
		if f.Seqs = slices.Compact(f.Seqs); len(f.Seqs) > maxTallySeqs {
			f.Seqs = f.Seqs[:maxTallySeqs]
		}
		list = append(list, *f)
	}
	return list
}

// judgeEntries takes what verifying each entry of the chain again gave.
func (d *dispute) judgeEntries() {
	for _, seq := range d.entries().All() {
		r, found := d.Checked[seq]
		if !found {
			d.failures.add(FailMissing, seq)
			continue
		}
		for _, c := range r.Checks {
			switch {
			case c.Name.isJudgement() || c.Result == Passed:
			case c.Result == Failed:
				d.failures.add(ruleOf(c.Name), seq)
			default:
				d.open.add(openOf(r), seq)
			}
		}
	}
}

func ruleOf(name CheckName) DisputeRule {
	switch name {
	case CheckKind:
		return FailArithmetic
	case CheckLeaf, CheckInclusion, CheckCheckpoint:
		return FailInclusion
	case CheckVerdict:
		return FailVerdict
	}
	return FailAltered
}

// openOf names why a check of an entry could not be made. Of an erased entry the projection and the kind can't be checked for
// the same reason as the content, so it counts once.
func openOf(r Report) DisputeRule {
	if content := r.of(CheckContent); content != nil && content.Result == NotCheckable {
		return OpenErased
	}
	return OpenNotCheckable
}

// judgeClaims holds each claim against the line that it bills.
func (d *dispute) judgeClaims() {
	for _, c := range d.Claims {
		line := d.lines[lineKey{c.UsageSeq, c.ProviderID}]
		intent := d.intents[c.Intent]
		switch {
		case intent == nil:
			d.failures.add(FailMissing, c.Intent)
			continue
		case line == nil:
			d.failures.add(FailUnfounded, c.Intent, c.UsageSeq)
			continue
		}
		if line.Tokens != c.Tokens {
			d.failures.add(FailAmount, c.Intent, c.UsageSeq)
		}
		if another(line.CustomerID, intent.CustomerID) || another(line.CustomerID, d.Question.CustomerID) {
			d.failures.add(FailCustomer, c.Intent, c.UsageSeq)
		}
		if !within(intent.Intent.Window, line.AsOf) {
			d.failures.add(FailWindow, c.Intent, c.UsageSeq)
		}
	}
	for k, list := range d.claims {
		if len(list) > 1 {
			d.failures.add(FailTwice, append(intentsOf(list), k.seq)...)
		}
	}
}

// another says that two customers are known, and are two.
func another(a, b string) bool { return a != "" && b != "" && a != b }

func intentsOf(claims []DisputedClaim) []int64 {
	seqs := make([]int64, 0, len(claims)+1)
	for _, c := range claims {
		seqs = append(seqs, c.Intent)
	}
	return seqs
}

// judgeIntents checks that intents hold together, and follows each to the event that counts in its place.
func (d *dispute) judgeIntents() {
	replacedBy := map[int64]*DisputedIntent{}
	for i := range d.Intents {
		x := &d.Intents[i]
		if x.Intent.Check() != nil {
			d.failures.add(FailArithmetic, x.Seq)
		}
		if x.Intent.Replaces != 0 {
			replacedBy[x.Intent.Replaces] = x
		}
	}
	for i := range d.Intents {
		if x := &d.Intents[i]; x.Intent.Replaces == 0 {
			d.judgeEvents(x, replacedBy)
		}
	}
}

// judgeEvents counts the events of one intent and its replacements that the processor has.
func (d *dispute) judgeEvents(x *DisputedIntent, replacedBy map[int64]*DisputedIntent) {
	chain := []int64{}
	confirmed := 0
	settled := !x.Intent.Sends()
	for at := x; at != nil && !slices.Contains(chain, at.Seq); at = replacedBy[at.Seq] {
		chain = append(chain, at.Seq)
		if at.State == billing.Confirmed {
			confirmed++
		}
		if at != x && at.Intent.Event.Value != x.Intent.Event.Value {
			d.failures.add(FailAmount, x.Seq, at.Seq)
		}
	}
	switch {
	case confirmed > 1:
		d.failures.add(FailTwice, chain...)
	case confirmed == 0 && !settled:
		d.open.add(OpenUnconfirmed, chain...)
	}
}

// judgeLines asks of each line whether it is billed, and whether consent covered it.
func (d *dispute) judgeLines() {
	for i := range d.Lines {
		l := &d.Lines[i]
		k := lineKey{l.Seq, l.ProviderID}
		if len(d.claims[k]) == 0 && d.counts(l) {
			d.open.add(OpenUnbilled, l.Seq)
		}
		switch r, judged := d.rulings[k]; {
		case !judged || r.Covered():
		case r.Verdict == ReachUnknown:
			d.open.add(OpenReach, l.Seq)
		default:
			d.failures.add(FailUnconsented, l.Seq)
		}
	}
}

// DisputeRules lists every rule with what it says, for the documentation.
func DisputeRules() map[DisputeRule]string {
	m := map[DisputeRule]string{}
	for _, r := range disputeRules {
		m[r.rule] = r.text
	}
	return m
}

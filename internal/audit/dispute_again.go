package audit

import (
	"cmp"
	"fmt"
	"slices"

	"ledgerd/frames"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
	"ledgerd/metering/billing"
	"ledgerd/receipts"
)

// unseen are the rules that a dispute applied to the ledger's own tables, or to entries that are not there: who has nothing but
// whole entries can't see what broke them.
var unseen = [...]DisputeRule{FailInclusion, FailAltered, FailMissing, FailVerdict, FailUnfounded, OpenErased, OpenNotCheckable}

// Redecide decides a recorded dispute again from nothing but the entries that it names, which find gives: each of them whole and
// in the log, or false for one that is not at hand or can't be read. fault says what differs, "" for nothing. why says what
// keeps it from being decided again, "" for nothing.
//
// The consents that decide are the ones that the dispute names: that no other one would decide otherwise is the ledger's word.
func Redecide(a kinds.DisputeArtifact, find func(seq int64) (Derived, bool)) (fault, why string) {
	if a.Rules != DisputeRulesVersion {
		return "", "it was decided by another version of the rules than " + DisputeRulesVersion
	}
	for _, f := range slices.Concat(a.Failures, a.Open) {
		if slices.Contains(unseen[:], DisputeRule(f.Rule)) {
			return "", "it says of entries that they are " + f.Rule + ", which these entries can't show"
		}
	}
	r := redecision{a: a, find: find, e: DisputeEvidence{Question: a.Question, Checked: Checked{}}}
	for _, step := range []func() bool{r.configs, r.intents, r.reports, r.receipts, r.consents} {
		if !step() {
			return "", fmt.Sprintf("entry %d, which it names, is not at hand", r.absent)
		}
	}
	now := Decide(r.e)
	for _, c := range DisputeChanges(a, now) {
		return "the entries that it names lead to another decision: " + c + " differs", ""
	}
	if !slices.Equal(a.Differences, now.Differences) {
		return "the entries that it names lead to another decision: differences", ""
	}
	return "", ""
}

// redecision is evidence that is made of contents alone.
type redecision struct {
	a      kinds.DisputeArtifact
	e      DisputeEvidence
	find   func(seq int64) (Derived, bool)
	absent int64 // an entry that was not found

	revisions map[int64]*billing.Config
	claimed   map[lineKey][]DisputedClaim // by the intents that are named
}

// each gives the entries of a list, in order, until one is not at hand.
func (r *redecision) each(seqs []int64, take func(seq int64, d Derived) bool) bool {
	for _, seq := range seqs {
		d, found := r.find(seq)
		if !found || !d.Known || !take(seq, d) {
			r.absent = seq
			return false
		}
		r.e.Checked[seq] = Report{Seq: seq, Result: Passed, Checks: []Check{}}
	}
	return true
}

func (r *redecision) configs() bool {
	r.revisions = map[int64]*billing.Config{}
	r.e.Configs = r.a.Entries.Configs
	return r.each(r.a.Entries.Configs, func(seq int64, d Derived) bool {
		c, err := kinds.ReadBillingConfig(ledger.Entry{Seq: seq, Meta: d.Meta, Content: d.Content.Encode()})
		if err == nil {
			r.revisions[c.Revision], r.e.Terms = &c.Config, &c.Config // the newest comes last
		}
		return err == nil
	})
}

func (r *redecision) intents() bool {
	r.claimed = map[lineKey][]DisputedClaim{}
	at := map[int64]int{}
	ok := r.each(r.a.Entries.Intents, func(seq int64, d Derived) bool {
		i, err := kinds.ReadBillingIntent(ledger.Entry{Seq: seq, Content: d.Content.Encode()})
		x := DisputedIntent{Seq: seq, Intent: i, State: billing.Planned}
		if c := r.revisions[i.Revision]; c != nil {
			m, _ := c.Of(i.Event.Customer)
			x.CustomerID = m.CustomerID
		}
		if !i.Sends() {
			x.State = billing.Settled
		}
		for _, c := range i.Claims {
			k := lineKey{c.Seq, c.ProviderID}
			r.claimed[k] = append(r.claimed[k], DisputedClaim{Intent: seq, UsageSeq: c.Seq, ProviderID: c.ProviderID, Tokens: c.Tokens})
		}
		at[seq] = len(r.e.Intents)
		r.e.Intents = append(r.e.Intents, x)
		return err == nil
	})
	return ok && r.each(r.a.Entries.Outcomes, func(seq int64, d Derived) bool {
		o, err := kinds.ReadBillingOutcome(ledger.Entry{Seq: seq, Content: d.Content.Encode()})
		i, known := at[o.Intent]
		if err != nil || !known {
			return false
		}
		x := &r.e.Intents[i]
		x.State, x.Outcomes = o.State, append(x.Outcomes, seq)
		return true
	})
}

// reports takes the lines in question: those that were asked for, and those that a named intent claims.
func (r *redecision) reports() bool {
	ok := r.each(r.a.Entries.Reports, func(seq int64, d Derived) bool {
		usage := d.Projection.Usage()
		if len(usage) == 0 {
			r.e.Bare = append(r.e.Bare, seq)
		}
		for _, u := range usage {
			k := lineKey{seq, u.ProviderID}
			if !r.asked(u) && r.claimed[k] == nil {
				continue
			}
			r.e.Claims = append(r.e.Claims, r.claimed[k]...)
			r.e.Lines = append(r.e.Lines, DisputedLine{CustomerID: u.CustomerID, FrameCost: u.FrameCost, Corrects: u.Corrects, UsageLine: UsageLine{
				Seq: seq, RecordedAt: d.RecordedAt, RequestID: u.RequestID, ProviderID: u.ProviderID, AsOf: u.AsOf, FramesServed: u.FramesServed, Tokens: u.Tokens,
			}})
		}
		return true
	})
	slices.SortFunc(r.e.Claims, func(a, b DisputedClaim) int {
		return cmp.Or(cmp.Compare(a.UsageSeq, b.UsageSeq), cmp.Compare(a.ProviderID, b.ProviderID), cmp.Compare(a.Intent, b.Intent))
	})
	return ok
}

// asked says whether a line is one that the question asks for by itself.
func (r *redecision) asked(u kinds.ProjectedUsage) bool {
	switch q := r.a.Question; {
	case q.BillingEvent != "":
		return false
	case q.CustomerID != "":
		return u.CustomerID == q.CustomerID && !u.AsOf.Before(*q.From) && u.AsOf.Before(*q.To)
	}
	return true
}

func (r *redecision) receipts() bool {
	return r.each(r.a.Entries.Receipts, func(seq int64, _ Derived) bool {
		r.e.Receipts = append(r.e.Receipts, DisputedReceipt{Seq: seq})
		return true
	})
}

// consents makes the gate of the declarations, consents and revocations that decide.
func (r *redecision) consents() bool {
	var c Consents
	var declared []Declaration
	ok := r.each(r.a.Entries.Consents, func(seq int64, d Derived) (ok bool) {
		src := d.Content.Artifact
		switch d.Meta.Kind {
		case kinds.ConsentReceipt.Name:
			receipt, err := receipts.ParseConsentReceipt(src)
			c.Grants = append(c.Grants, Grant{Seq: seq, RecordedAt: d.RecordedAt, Receipt: receipt})
			return err == nil
		case kinds.ConsentRevocation.Name:
			event, err := receipts.ParseRevocation(src)
			c.Revocations = append(c.Revocations, Revocation{Seq: seq, RecordedAt: d.RecordedAt, Event: event})
			return err == nil
		case kinds.ConsentRecord.Name:
			record, err := receipts.ParseConsentRecord(src)
			c.Records = append(c.Records, Record{Seq: seq, RecordedAt: d.RecordedAt, Record: record})
			return err == nil
		case kinds.ProviderDeclaration.Name:
			event, err := receipts.ParseDeclaration(src)
			at, dated := frames.ParseInstant(event.DeclaredAt)
			declared = append(declared, Declaration{Seq: seq, RecordedAt: d.RecordedAt, DeclaredAt: kinds.Kept(at), Event: event})
			return err == nil && dated
		}
		return false
	})
	r.e.Gate = NewGate(c, declared)
	return ok
}

// Redecide decides a recorded dispute again from the entries that it names; of other kinds it is nothing.
func (x *Examination) Redecide(find func(seq int64) (Derived, bool)) {
	if x.kind != &kinds.Dispute || x.unread(CheckVerdict) {
		return
	}
	a, err := kinds.ReadDispute(ledger.Entry{Seq: x.entry.Seq, Content: x.entry.Content})
	if err != nil {
		x.Fault(CheckVerdict, FaultVerdict, "the recorded decision can't be read")
		return
	}
	switch fault, why := Redecide(a, find); {
	case fault != "":
		x.Fault(CheckVerdict, FaultVerdict, fault)
	case why != "":
		x.Skip(CheckVerdict, why)
	default:
		x.pass(CheckVerdict, a.Result)
	}
}

package audit

import (
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// Examination is the checking of one entry. Begin does what the entry's own bytes allow; each further method does one check
// that takes more, and what is not called stays not-checkable. It is for one goroutine.
type Examination struct {
	Derived Derived

	entry    StoredEntry
	kind     *kinds.Kind // nil for one that is not known
	erased   bool
	policies map[int64]RecordedPolicy
	faults   []Fault
	checks   map[CheckName]Check
	against  *Against
	limits   []Limit
}

// Begin examines an entry by itself: leaf, commitments, its kind's own check, and a bundle's recorded verdict where
// EntryCheck.Policies are given. It is Check, with a result for each thing that was checked.
func (c EntryCheck) Begin(e StoredEntry) *Examination {
	x := &Examination{entry: e, checks: map[CheckName]Check{}, policies: c.Policies}
	x.Derived, x.faults = c.Check(e)
	x.kind, x.erased = kinds.Lookup(x.Derived.Meta.Kind), e.Content == nil && c.Erased[e.Seq]
	x.begin(CheckLeaf, FaultLeaf, FaultEnvelope)
	x.begin(CheckMeta, FaultMeta, FaultColumn)
	x.begin(CheckContent, FaultContent)
	x.begin(CheckKind, FaultKind, FaultKey)
	if x.erased {
		x.Skip(CheckContent, erasedReason)
	}
	if !x.Derived.Known {
		x.unread(CheckKind)
	}
	if x.kind != nil && c.Policies != nil && x.kind == &kinds.ReceiptBundle {
		x.begin(CheckVerdict, FaultVerdict)
		x.unread(CheckVerdict)
	}
	if x.kind != nil && x.kind.IsJudged() {
		x.unread(CheckVerdict)
	}
	return x
}

const (
	erasedReason = "the content was erased; an erasure entry says so, and the leaf still stands"
	unreadReason = "there is no content that is known to be the recorded one"
)

// begin gives a check the result that the entry's own faults make.
func (x *Examination) begin(name CheckName, codes ...FaultCode) {
	x.pass(name, "")
	for _, f := range x.faults {
		if slices.Contains(codes, f.Code) {
			x.Fault(name, f.Code, f.Detail)
		}
	}
}

// unread makes a check of the content not-checkable when there is none to read. A failure stays.
func (x *Examination) unread(name CheckName) bool {
	if x.Derived.Known {
		return false
	}
	if x.checks[name].Result != Failed {
		if x.erased {
			x.Skip(name, erasedReason)
		} else {
			x.Skip(name, unreadReason)
		}
	}
	return true
}

func (x *Examination) pass(name CheckName, reason string) {
	x.checks[name] = Check{Name: name, Result: Passed, Reason: reason}
}

// Skip says why a check can't be made.
func (x *Examination) Skip(name CheckName, reason string) {
	x.checks[name] = Check{Name: name, Result: NotCheckable, Reason: reason}
}

func (x *Examination) refuse(name CheckName, reason string) {
	x.checks[name] = Check{Name: name, Result: Failed, Reason: reason}
}

// Fault fails a check by a fault that was found elsewhere. Several are joined, under the first one's code.
func (x *Examination) Fault(name CheckName, code FaultCode, detail string) {
	c := x.checks[name]
	if c.Result == Failed {
		c.Reason += "; " + detail
	} else {
		c = Check{Name: name, Result: Failed, Fault: code, Reason: detail}
	}
	x.checks[name] = c
}

// Rest says which checkpoint the examination rests on, and what became of its signature.
func (x *Examination) Rest(on *Anchor) {
	x.against = on.against
	x.checks[CheckCheckpoint] = on.check
}

// Included takes the outcome of proving the entry's leaf: detail is "" when it is at its place in the tree.
func (x *Examination) Included(detail string) {
	if detail != "" {
		x.Fault(CheckInclusion, FaultTile, detail)
		return
	}
	x.pass(CheckInclusion, "")
}

// Prove checks that the entry's leaf is at a place of the signed tree (RFC 9162 §2.1.3.2), and rests on it.
func (x *Examination) Prove(on *Anchor, index int64, hashes []tlog.Hash) {
	x.Rest(on)
	if !on.signed.Valid() {
		x.Skip(CheckInclusion, "there is no verified checkpoint to hold the proof against")
		return
	}
	detail := ""
	if _, err := ledger.CheckInclusion(on.signed, index, x.Derived.Leaf, hashes); err != nil {
		detail = "the proof does not show its leaf at its place in the tree"
	}
	x.Included(detail)
}

// Projected takes the outcome of comparing the entry's projection rows: detail is "" when they follow from the content.
func (x *Examination) Projected(detail string) {
	switch {
	case detail != "":
		x.Fault(CheckProjection, FaultProjection, detail)
	case !x.unread(CheckProjection):
		x.pass(CheckProjection, "")
	}
}

// Report is what the examination found so far.
func (x *Examination) Report() Report {
	r := Report{Seq: x.entry.Seq, Kind: x.Derived.Meta.Kind, Result: Passed, Against: x.against, NotChecked: x.notChecked()}
	for _, name := range x.applicable() {
		c, run := x.checks[name]
		if !run {
			c = Check{Name: name, Result: NotCheckable, Reason: "it was not run: what it takes is not at hand here"}
		}
		c.Says = x.says(name)
		r.Checks = append(r.Checks, c)
		r.Result = worst(r.Result, c.Result)
	}
	return r
}

// applicable lists the checks that an entry of the kind has. Those that judge by today's state are listed when they were run.
func (x *Examination) applicable() []CheckName {
	list := []CheckName{CheckLeaf, CheckMeta, CheckContent, CheckInclusion, CheckCheckpoint, CheckKind}
	if x.kind != nil && len(x.kind.Tables) > 0 {
		list = append(list, CheckProjection)
	}
	if x.hasVerdict() {
		list = append(list, CheckVerdict)
	}
	later := []CheckName{CheckCurrent, CheckConsent}
	if x.kind == &kinds.Dispute {
		later = append(later, CheckVerdict)
	}
	for _, name := range later {
		if _, run := x.checks[name]; run {
			list = append(list, name)
		}
	}
	return list
}

// hasVerdict says that the content records a verdict which depends on other entries.
func (x *Examination) hasVerdict() bool {
	return x.kind != nil && (x.kind == &kinds.ReceiptBundle || x.kind.IsJudged())
}

package evidence

import (
	"fmt"
	"slices"

	"ledgerd/internal/audit"
)

// Check is one sort of check, over everything in the file that it concerns.
type Check struct {
	Name         string       `json:"name"`
	What         string       `json:"what"` // what was checked
	Result       audit.Result `json:"result"`
	Passed       int64        `json:"passed"`        // how often it passed
	Failed       int64        `json:"failed"`        // how often it failed
	NotCheckable int64        `json:"not_checkable"` // how often it could not be made
}

// Remark is a check that failed or could not be made, and where.
type Remark struct {
	Check  string       `json:"check"`
	Result audit.Result `json:"result"`
	Place  string       `json:"place"` // a member, with the line where there is one
	Seq    *int64       `json:"seq"`   // the entry, null where none is concerned
	Detail string       `json:"detail"`
}

// MaxRemarks is how many remarks a report keeps of each result. All are counted.
const MaxRemarks = 1_000

// Report is what verifying a file gave: what was checked against which checkpoint, and what was not.
type Report struct {
	Manifest Manifest      `json:"manifest"`
	Checks   []Check       `json:"checks"`      // in the order of the format's documentation, none that concerned nothing
	Remarks  []Remark      `json:"remarks"`     // at most MaxRemarks of each result
	Unlisted int64         `json:"unlisted"`    // remarks beyond these
	Entries  int64         `json:"entries"`     // that were checked
	Limits   []audit.Limit `json:"not_checked"` // what it does not show, whatever came of the checks
}

// Failed says whether any check failed.
func (r Report) Failed() bool {
	for _, c := range r.Checks {
		if c.Result == audit.Failed {
			return true
		}
	}
	return false
}

// Check finds a check by name; its zero value when it concerned nothing.
func (r Report) Check(name string) Check {
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	return Check{}
}

// The names of the checks that are not those of a single entry (audit.CheckName).
const (
	checkSignature   = "signature"
	checkMembers     = "members"
	checkManifest    = "manifest"
	CheckConsistency = "consistency" // with the caller's own checkpoint
	checkErasure     = "erasure"
	checkReference   = "reference"
	checkClaim       = "claim"
	checkOrder       = "order"
	checkSummary     = "summary"

	checkCheckpoint = string(audit.CheckCheckpoint)
	checkInclusion  = string(audit.CheckInclusion)
)

// checks is every check in order, and what it says that it checked.
var checks = [...]struct{ name, what string }{
	{checkSignature, "the manifest is signed by the log's key, as evidence"},
	{checkMembers, "each member has the length and SHA-256 that the manifest names"},
	{checkManifest, "members, lines, counts and tenant are those of the manifest"},
	{checkCheckpoint, "each log's checkpoint is signed by the log's key, over the size and root of the manifest"},
	{CheckConsistency, "your own checkpoint is of the same log, which only grew since"},
	{string(audit.CheckLeaf), "each envelope is in its one spelling, of its log, and hashes to the leaf"},
	{string(audit.CheckMeta), "each meta, with its salt, is what the envelope commits to"},
	{string(audit.CheckContent), "each content, with its salt, is what the envelope commits to, in canonical form"},
	{checkInclusion, "each leaf is at its place in the tree of its log's checkpoint"},
	{string(audit.CheckKind), "each content passes its kind's own check again: shape, bounds, arithmetic, key"},
	{string(audit.CheckVerdict), "each recorded verdict is reached again, from the policy and entries that it names"},
	{checkErasure, "a content is absent only where an erasure in the file names the entry"},
	{checkReference, "entries that others name are in the file, before them"},
	{checkClaim, "no name that an entry reserves is claimed for another value, and no usage line is billed twice"},
	{checkOrder, "seqs ascend, times never go back, no key is there twice"},
	{checkSummary, "the page for people says just what the entries say"},
}

// tally gathers the results of checks.
type tally struct {
	counts   [len(checks)]map[audit.Result]int64
	remarks  []Remark
	unlisted int64
	kept     map[audit.Result]int
	limits   []audit.Limit
}

func (t *tally) count(check string, result audit.Result) {
	for i, c := range checks {
		if c.name == check {
			if t.counts[i] == nil {
				t.counts[i] = map[audit.Result]int64{}
			}
			t.counts[i][result]++
			return
		}
	}
}

func (t *tally) pass(check string) { t.count(check, audit.Passed) }

// fail notes that a check failed at a place; seq is the entry's, or noSeq.
func (t *tally) fail(check, place string, seq int64, format string, args ...any) {
	t.remark(check, audit.Failed, place, seq, format, args...)
}

// skip notes that a check could not be made.
func (t *tally) skip(check, place string, seq int64, format string, args ...any) {
	t.remark(check, audit.NotCheckable, place, seq, format, args...)
}

const noSeq = -1

func (t *tally) remark(check string, result audit.Result, place string, seq int64, format string, args ...any) {
	t.count(check, result)
	if t.kept == nil {
		t.kept = map[audit.Result]int{}
	}
	if t.kept[result]++; t.kept[result] > MaxRemarks {
		t.unlisted++
		return
	}
	r := Remark{Check: check, Result: result, Place: place, Detail: fmt.Sprintf(format, args...)}
	if seq != noSeq {
		r.Seq = &seq
	}
	t.remarks = append(t.remarks, r)
}

// limit notes what is not shown, each once.
func (t *tally) limit(list ...audit.Limit) {
	for _, l := range list {
		if !slices.Contains(t.limits, l) {
			t.limits = append(t.limits, l)
		}
	}
}

// limitComplete is that of every evidence file.
var limitComplete = audit.Limit{
	Code: "completeness", Text: "That no entry which the question matches was left out is what the server signed, and can't be seen from the file.",
}

// limitConsent is that of a file with what may have left the machine.
var limitConsent = audit.Limit{
	Code: "consent", Text: "Whether consent covered what left is not judged: that takes every consent and revocation of the tenant, and no file can show that it has them all.",
}

// report sums up.
func (t *tally) report(m Manifest, entries int64) Report {
	t.limit(limitComplete)
	r := Report{Manifest: m, Checks: []Check{}, Remarks: append([]Remark{}, t.remarks...), Unlisted: t.unlisted, Entries: entries, Limits: t.limits}
	for i, c := range checks {
		n := t.counts[i]
		check := Check{Name: c.name, What: c.what, Result: audit.Passed, Passed: n[audit.Passed], Failed: n[audit.Failed], NotCheckable: n[audit.NotCheckable]}
		switch {
		case n == nil:
			continue
		case check.Failed > 0:
			check.Result = audit.Failed
		case check.Passed == 0:
			check.Result = audit.NotCheckable
		}
		r.Checks = append(r.Checks, check)
	}
	return r
}

package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ledgerd/internal/kinds"
)

// SelfAudited is what the self-audit last recorded of an entry.
type SelfAudited struct {
	Seq    int64 // of the reverification
	Result string
	Digest string
}

// SelfAuditState is how far the self-audit's passes are.
type SelfAuditState struct {
	SinceSample    time.Duration  // since the last sample
	SinceFullBegan time.Duration  // since the last full pass began, whole or not
	SinceFull      *time.Duration // since the last full pass was done; nil for never
	FullNext       int64          // every entry of the full pass below is checked
	FullEnd        int64          // where it ends; FullNext when none is under way
	Checked        int64          // entries, ever
	Failing        int64          // entries that failed when they were last checked
}

// SelfAuditNews is an entry whose checks came out otherwise than when they were last recorded.
type SelfAuditNews struct {
	Seq        int64
	Ended      bool   // it failed before, and passes now
	Failures   string // the failed checks, with their reasons; no value of the entry
	Unrecorded bool   // the log is read-only, so no entry says it
}

// NewsOf makes the reverification to record of an entry, after the last one of it (nil for none); nil when there is
// nothing new: an entry that verifies and always did, or one that fails as before. So a failure is recorded once, and again
// when it becomes another, or ends. The key follows from what is recorded, so that two processes record it once.
func NewsOf(r Report, last *SelfAudited) (*kinds.Accepted, error) {
	a := kinds.ReverificationArtifact{
		OfSeq: r.Seq, Cause: kinds.CauseSelfAudit, Result: string(Passed), Failed: []kinds.FailedCheck{}, Changed: []string{}, Levels: []kinds.DisputeLevel{},
	}
	for _, p := range r.Checks {
		if p.Result == Failed && !p.Name.isJudgement() {
			a.Failed = append(a.Failed, kinds.FailedCheck{Check: string(p.Name), Fault: string(p.Fault), Reason: p.Reason})
		}
	}
	if len(a.Failed) > 0 {
		a.Result = string(Failed)
	}
	if a.Digest = digestOfFailed(a.Failed); last == nil && a.Result == string(Passed) || last != nil && last.Digest == a.Digest {
		return nil, nil
	}
	before := "-"
	if last != nil {
		a.After, before = &last.Seq, strconv.FormatInt(last.Seq, 10)
		a.Changed = append(a.Changed, "failed")
		if last.Result != a.Result {
			a.Changed = append(a.Changed, "result")
		}
	}
	if r.Against != nil {
		a.Against = kinds.VerifiedTree{Origin: r.Against.Origin, TreeSize: r.Against.TreeSize, RootHash: r.Against.RootHash}
	}
	return kinds.NewReverification(fmt.Sprintf("%s/%d/%s/%s", kinds.CauseSelfAudit, r.Seq, before, a.Digest), a)
}

// digestOfFailed names a set of failed checks.
func digestOfFailed(failed []kinds.FailedCheck) string {
	h := sha256.New()
	for _, f := range failed {
		fmt.Fprintf(h, "%q %q %q\n", f.Check, f.Fault, f.Reason)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// MissingEntry is the report of an entry that the log has and the store has not.
func MissingEntry(seq int64) Report {
	return Report{
		Seq: seq, Result: Failed, NotChecked: []Limit{limitFreshness},
		Checks: []Check{{Name: CheckLeaf, Result: Failed, Fault: FaultMissing, Reason: "the entry is not there", Says: "the entry is stored"}},
	}
}

// Failures lists the failed checks of the record itself, with their reasons.
func (r Report) Failures() string {
	var list []string
	for _, c := range r.Checks {
		if c.Result == Failed && !c.Name.isJudgement() {
			list = append(list, string(c.Name)+": "+c.Reason)
		}
	}
	return strings.Join(list, "; ")
}

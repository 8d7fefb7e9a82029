package audit

// Result is what became of one check.
type Result string

// The results. A check that was not run, or could not be, is never counted as passed.
const (
	Passed       Result = "passed"
	Failed       Result = "failed"
	NotCheckable Result = "not-checkable"
)

// CheckName is the stable name of a check of an entry.
type CheckName string

// The checks of an entry, in the order in which a report lists them. The last two say nothing about whether the record is
// whole: an entry that passes all others may well record an egress that nobody agreed to.
const (
	CheckLeaf       CheckName = "leaf"               // the envelope is in its one spelling, of this log, and hashes to the leaf
	CheckMeta       CheckName = "meta"               // meta and its salt give the envelope's commitment, and the columns repeat it
	CheckContent    CheckName = "content"            // content and its salt give the envelope's commitment, in canonical form
	CheckInclusion  CheckName = "inclusion"          // the leaf is at its place in the tree of the checkpoint
	CheckCheckpoint CheckName = "checkpoint"         // the checkpoint is signed by a known key of the log
	CheckKind       CheckName = "kind"               // the kind's own core, run again over the recorded content: see Check.Says
	CheckProjection CheckName = "projection"         // the rows that answers are made of follow from the content
	CheckVerdict    CheckName = "recorded-verdict"   // a recorded verdict is reached again, with what it names
	CheckCurrent    CheckName = "current-verdict"    // the verdict under today's policy, or with today's entries
	CheckConsent    CheckName = "consent-at-instant" // consent covered each egress at its instant, and was on record by then
)

// Check is one check of an entry and what became of it.
type Check struct {
	Name   CheckName `json:"check"`
	Result Result    `json:"result"`
	Fault  FaultCode `json:"fault,omitzero" jsonschema:"of a failure of the record itself: its stable code"`
	Reason string    `json:"reason,omitzero" jsonschema:"why it failed or can't be checked, or what came out"`
	Says   string    `json:"says" jsonschema:"what passing means"`
}

// Report says what of one entry was checked again, against which checkpoint, and what was not. It is made by an Examination.
type Report struct {
	Seq    int64   `json:"seq"`
	Kind   string  `json:"kind" jsonschema:"empty where the meta can't be read"`
	Result Result  `json:"result" jsonschema:"the worst of the checks: failed, else not-checkable, else passed; read it with the checks and with not_checked"`
	Checks []Check `json:"checks"`
	// Against is the tree that inclusion was checked in.
	Against    *Against `json:"against" jsonschema:"null where there was no checkpoint"`
	NotChecked []Limit  `json:"not_checked" jsonschema:"what this report does not show, whatever its result"`
}

// Against is the checkpoint that a report rests on.
type Against struct {
	Origin     string `json:"origin"`
	TreeSize   int64  `json:"tree_size" jsonschema:"leaves of the log's tree"`
	RootHash   string `json:"root_hash" jsonschema:"standard base64"`
	Checkpoint string `json:"checkpoint" jsonschema:"the signed note; check its signature with a key that you got elsewhere"`
	Key        string `json:"key" jsonschema:"the verifier key whose signature was verified, empty for none"`
}

// Limit is something that a report does not show.
type Limit struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// of finds a check; nil when the report has none of the name.
func (r Report) of(name CheckName) *Check {
	for i := range r.Checks {
		if r.Checks[i].Name == name {
			return &r.Checks[i]
		}
	}
	return nil
}

// ResultOf is what became of one check; NotCheckable when the report does not have it.
func (r Report) ResultOf(name CheckName) Result {
	if c := r.of(name); c != nil {
		return c.Result
	}
	return NotCheckable
}

// Whole says that no check of the record itself failed: what is recorded is what was recorded. What it says of consent, or
// of trust today, is another question.
func (r Report) Whole() bool {
	for _, c := range r.Checks {
		if c.Result == Failed && !c.Name.isJudgement() {
			return false
		}
	}
	return r.Checks != nil
}

// isJudgement says that a check judges what the record says, and not whether the record is whole.
func (n CheckName) isJudgement() bool { return n == CheckCurrent || n == CheckConsent }

// worst is the worse of two results.
func worst(a, b Result) Result {
	switch {
	case a == Failed || b == Failed:
		return Failed
	case a == NotCheckable || b == NotCheckable:
		return NotCheckable
	}
	return Passed
}

// ReportSet is the reports of several entries together.
type ReportSet struct {
	Result  Result         `json:"result" jsonschema:"the worst of the reports"`
	Entries int            `json:"entries"`
	Results map[Result]int `json:"results" jsonschema:"entries by result"`
	Reports []Report       `json:"reports" jsonschema:"in order of seq"`
}

// NewReportSet counts reports. A set of none passed nothing: it is not-checkable.
func NewReportSet(list []Report) ReportSet {
	s := ReportSet{Result: NotCheckable, Entries: len(list), Results: map[Result]int{}, Reports: list}
	if len(list) > 0 {
		s.Result = Passed
	}
	for _, r := range list {
		s.Results[r.Result]++
		s.Result = worst(s.Result, r.Result)
	}
	return s
}

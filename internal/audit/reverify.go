package audit

// MaxVerifiedEntries bounds the entries that one answer may verify again.
const MaxVerifiedEntries = 5_000

// Checked is the report of each entry that was verified again, by seq. An entry that is not in it was not found.
type Checked map[int64]Report

// LineVerification says whether all entries behind a line verify.
type LineVerification struct {
	Verified bool           `json:"verified"`
	Entries  int            `json:"entries"`
	Failed   []EntryProblem `json:"failed"`
}

// EntryProblem is an entry behind an answer that does not verify, and in what.
type EntryProblem struct {
	Seq    int64     `json:"seq"`
	Fault  FaultCode `json:"fault"`
	Detail string    `json:"detail"`
}

// Set is the reports of some entries in their order. One that was not found failed.
func (c Checked) Set(seqs []int64) ReportSet {
	list := make([]Report, 0, len(seqs))
	for _, seq := range seqs {
		r, found := c[seq]
		if !found {
			missing := Check{Name: CheckLeaf, Result: Failed, Fault: FaultMissing, Reason: "the entry is not there", Says: "the entry is in the log"}
			r = Report{Seq: seq, Result: Failed, Checks: []Check{missing}, NotChecked: []Limit{}}
		}
		list = append(list, r)
	}
	return NewReportSet(list)
}

// Verifies says whether an entry was found and is whole. See Report.Whole for what that leaves open.
func (c Checked) Verifies(seq int64) bool { return c[seq].Whole() }

// Verify puts the results into the lines: each line names the entries behind it that fail.
func (a EgressAnswer) Verify(checked Checked) {
	for i := range a.Lines {
		l := &a.Lines[i]
		v := &LineVerification{Verified: true, Failed: []EntryProblem{}}
		for _, seq := range l.Behind() {
			v.Entries++
			v.Verified = v.Verified && checked.Verifies(seq)
			if _, found := checked[seq]; !found {
				v.Failed = append(v.Failed, EntryProblem{seq, FaultMissing, "the entry is not there"})
			}
			v.Failed = append(v.Failed, checked[seq].problems()...)
		}
		l.Verification = v
	}
}

// problems are the failed checks of the record itself.
func (r Report) problems() (list []EntryProblem) {
	for _, c := range r.Checks {
		if c.Result == Failed && !c.Name.isJudgement() {
			list = append(list, EntryProblem{r.Seq, c.Fault, c.Reason})
		}
	}
	return list
}

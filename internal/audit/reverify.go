package audit

// MaxVerifiedEntries bounds the entries that one answer may verify again.
const MaxVerifiedEntries = 5_000

// Checked is what verifying entries again gave: the faults of each by seq, none for one that verifies. An entry that is not
// in it was not found.
type Checked map[int64][]Fault

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

// Verifies says whether an entry was found and has no fault.
func (c Checked) Verifies(seq int64) bool {
	faults, found := c[seq]
	return found && len(faults) == 0
}

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
			for _, f := range checked[seq] {
				v.Failed = append(v.Failed, EntryProblem{seq, f.Code, f.Detail})
			}
		}
		l.Verification = v
	}
}

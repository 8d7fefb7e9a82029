package assembly

// Turn is what a ledger has of the turn that an operation belongs to. A part that is nil is not supplied, and what needs it
// is not checked.
type Turn struct {
	Snapshot *Snapshot
	Profile  *Profile
	// Accepted are the result digests that were accepted at the turn's positions.
	Accepted map[int64]string
}

// CompactionReport is the answer about a compaction operation, with the outcome that the contract dictates.
type CompactionReport struct {
	Report
	Outcome CompactionOutcome `json:"derived"`
}

// RecoveryReport is the answer about a recovery, with the outcome that the contract dictates.
type RecoveryReport struct {
	Report
	Outcome RecoveryOutcome `json:"derived"`
}

// FaithfulCompaction is a compaction operation whose recorded outcome was verified. Only CompactionReport.Faithful makes one
// that is not zero.
type FaithfulCompaction struct{ outcome CompactionOutcome }

// Faithful gives the verified operation; ok is false for any other verdict.
func (r CompactionReport) Faithful() (c FaithfulCompaction, ok bool) {
	if r.Verdict != Verified {
		return FaithfulCompaction{}, false
	}
	return FaithfulCompaction{r.Outcome}, true
}

// Outcome is the recorded and dictated outcome.
func (c FaithfulCompaction) Outcome() CompactionOutcome { return c.outcome }

// FaithfulRecovery is a recovery whose recorded outcome was verified. Only RecoveryReport.Faithful makes one that is not
// zero.
type FaithfulRecovery struct{ outcome RecoveryOutcome }

// Faithful gives the verified recovery; ok is false for any other verdict.
func (r RecoveryReport) Faithful() (c FaithfulRecovery, ok bool) {
	if r.Verdict != Verified {
		return FaithfulRecovery{}, false
	}
	return FaithfulRecovery{r.Outcome}, true
}

// Outcome is the recorded and dictated outcome.
func (c FaithfulRecovery) Outcome() RecoveryOutcome { return c.outcome }

// VerifyCompaction says whether the recorded outcome of a compaction operation is the one that the contract dictates. Its
// dictated outcome is the action. Like Verify it is a pure function.
func VerifyCompaction(c *Compaction, turn Turn) CompactionReport {
	if c == nil || c.in.operation.id == "" {
		return CompactionReport{Report: refusal()}
	}
	out := c.in.derive()
	f := c.in.againstTurn(turn)
	return CompactionReport{
		Report: operationReport(compactionMembers(out), out.Broken, c.recorded, f, Dictated{out.Action, out.Code},
			cover(CompactionRules, true, func(rule Rule, _ Evidence) bool {
				return turn.Snapshot != nil && (rule == R805 || turn.Profile != nil)
			})),
		Outcome: out,
	}
}

// VerifyRecovery says whether the recorded outcome of a recovery is the one that the contract dictates.
func VerifyRecovery(c *Recovery, turn Turn) RecoveryReport {
	if c == nil || c.in.turn.id == "" {
		return RecoveryReport{Report: refusal()}
	}
	out := c.in.derive()
	f := c.in.againstTurn(turn)
	return RecoveryReport{
		Report: operationReport(recoveryMembers(out), out.Broken, c.recorded, f, Dictated{Code: out.Code},
			cover(RecoveryRules, true, func(rule Rule, _ Evidence) bool {
				return rule == R900 && turn.Snapshot != nil || rule == R920 && turn.Accepted != nil
			})),
		Outcome: out,
	}
}

// refusal is the verdict on the zero record.
func refusal() Report {
	return Report{Verdict: Mismatch, Findings: []Finding{{R010, ""}}, Missing: []string{}, Coverage: []Coverage{}}
}

func operationReport(members []derivedMember, broken []Rule, recorded []recordedMember, more []Finding, d Dictated, rows []Coverage) Report {
	s, err := stage{members: members, broken: broken}.compare(recorded)
	if err != nil { // only a value that can't be encoded, which no derived one is
		return refusal()
	}
	for i := range s.Findings {
		if s.Findings[i].At != "" {
			s.Findings[i].At = "/report" + s.Findings[i].At
		}
	}
	findings := inRuleOrder(append(s.Findings, more...))
	form := cover(FormRules, true, func(Rule, Evidence) bool { return false })
	return Report{
		Verdict: verdictOf(findings, nil), Dictated: &d, Findings: findings, Missing: []string{}, Coverage: closed(append(form, rows...)),
	}
}

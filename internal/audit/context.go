package audit

import (
	"ledgerd/assembly"
	"ledgerd/internal/kinds"
)

// ContextVerification compares the verdict that was recorded with a context record with what verification says now.
type ContextVerification struct {
	// Stored is the recorded verdict, and the entries that it was reached with.
	Stored ContextAnswer `json:"stored"`
	// Rerun is the answer to the same question today: the same record, joined with the same entries.
	Rerun ContextReport `json:"rerun"`
	// Reproduced says that Rerun agrees with Stored in verdict, dictated outcome, findings and missing inputs.
	Reproduced bool `json:"reproduced"`
	// Current is the answer with the entries that the ledger has now, which may be more.
	Current ContextReport `json:"current"`
}

// ContextAnswer is a recorded verdict and what it was reached with.
type ContextAnswer struct {
	Verdict kinds.ContextVerdict `json:"verdict"`
	Joined  kinds.ContextJoined  `json:"joined"`
}

// ContextReport is a whole verdict, with the coverage that says what it does not prove.
type ContextReport struct {
	Verdict assembly.Report     `json:"verdict"`
	Joined  kinds.ContextJoined `json:"joined"`
}

// VerifyContext judges a record with the parts given.
func VerifyContext(r *kinds.RecordedContext, parts *kinds.ContextParts, shown ...assembly.Presented) (ContextReport, error) {
	report, err := r.Kind.Judge(r.Submission, parts, shown...)
	return ContextReport{Verdict: report, Joined: parts.Joined()}, err
}

// ReverifyContext judges a recorded record again: with the entries that its verdict names, and with those that the ledger has
// now.
func ReverifyContext(r *kinds.RecordedContext, then, current *kinds.ContextParts) (v ContextVerification, err error) {
	v.Stored = ContextAnswer{Verdict: r.Receiver.Verdict, Joined: r.Receiver.Joined}
	if v.Rerun, err = VerifyContext(r, then); err != nil {
		return v, err
	}
	v.Reproduced = v.Stored.Verdict.Same(kinds.VerdictOf(v.Rerun.Verdict))
	v.Current, err = VerifyContext(r, current)
	return v, err
}

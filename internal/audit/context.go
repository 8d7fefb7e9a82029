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

// VerifyContext judges a recorded record with the parts given. *kinds.ErasedError when one that it can't be judged without was
// erased; any other error is kinds.ErrStored, since what was recorded could be judged.
func VerifyContext(r *kinds.RecordedContext, parts *kinds.ContextParts, shown ...assembly.Presented) (ContextReport, error) {
	report, err := r.Judge(parts, shown...)
	return ContextReport{Verdict: report, Joined: parts.Joined()}, kinds.Unreadable(r.Seq, err)
}

// ReverifyContext judges a recorded record again: with the entries that its verdict names, and with those that the ledger has
// now. Errors are those of VerifyContext.
func ReverifyContext(r *kinds.RecordedContext, then, current *kinds.ContextParts) (v ContextVerification, err error) {
	v.Stored = ContextAnswer{Verdict: r.Receiver.Verdict, Joined: r.Receiver.Joined}
	if v.Rerun, err = VerifyContext(r, then); err != nil {
		return v, err
	}
	if v.Reproduced = r.Answers(v.Rerun.Verdict); !v.Reproduced {
		if err := then.Erased(); err != nil { // it is not the verdict that changed
			return v, err
		}
	}
	v.Current, err = VerifyContext(r, current)
	return v, err
}

// JudgedAgain reaches a recorded verdict again with what was found of the entries that it names, and says what is wrong; nil for
// nothing. A verdict of which a part was erased can't be held to it.
func JudgedAgain(r *kinds.RecordedContext, found map[int64]*kinds.ContextPart) *Fault {
	fault, _, _ := judgeAgain(r, found)
	return fault
}

// judgeAgain gives the report as well, and the part that was erased where the verdict can't be held to it.
func judgeAgain(r *kinds.RecordedContext, found map[int64]*kinds.ContextPart) (fault *Fault, report assembly.Report, erased error) {
	wrong := func(detail string) *Fault { return &Fault{Seq: r.Seq, Code: FaultVerdict, Detail: detail} }
	if r.Receiver.Verdict.Model != assembly.Model {
		return wrong("the recorded verdict is by a version of the verification model that this program does not have"), report, nil
	}
	joined := r.Receiver.Joined
	seqs, ok := joined.Seqs()
	if !ok {
		return wrong("the recorded verdict names more entries than any is reached with"), report, nil
	}
	for _, seq := range seqs {
		if seq >= r.Seq || found[seq] == nil {
			return wrong("the recorded verdict names an entry that is not there before it, or can't be read"), report, nil
		}
	}
	parts := joined.Select(found)
	report, err := r.Judge(parts)
	if err == nil && r.Answers(report) {
		return nil, report, nil
	}
	if erased := parts.Erased(); erased != nil {
		return nil, report, erased
	}
	return wrong("the verifier does not reach the recorded verdict with the entries that it names"), report, nil
}

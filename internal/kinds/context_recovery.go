package kinds

import "ledgerd/assembly"

// ContextRecovery is the recovery of a durable turn (C0, "Deadlines, cancellation, failure, and recovery"). Context: its
// recovery_id, which the record itself does not have and which is the key, turn_id, the snapshot by id and digest, and where
// it is known the recorded assembly that is resumed, against whose accepted results it is then held (C0-R920).
var ContextRecovery = Kind{
	Name:           "context-recovery",
	Core:           "the operation has the form of context-strategy C0, and holds nothing forbidden",
	PostedBy:       []Role{Host},
	MaxBytes:       maxContext,
	KeepsConflicts: true,
	Tables:         []*Table{&contextRecoveries},
	check:          checkJoined(readRecovery),
	project:        projectJoined(readRecovery),
	joins:          readRecovery,
	refers:         referencesOfContext,
}

var contextRecoveries = Table{Name: "context_recoveries", Columns: []Column{
	{Name: "recovery_id"}, {Name: "turn_id", Personal: true}, {Name: "snapshot_id"}, {Name: "verdict"},
}}

type recoveryRecord struct {
	submission Submission
	operation  *assembly.Recovery
	context    contextTurn
}

func readRecovery(s Submission) (joined, error) {
	operation, err := assembly.ParseRecovery(s.Artifact)
	if err != nil {
		return nil, refusedRecord(s, err)
	}
	context, err := parseContextTurn(s, true)
	if err != nil {
		return nil, err
	}
	return &recoveryRecord{s, operation, context}, CheckKey(s.ContextAt+"/recovery_id", context.recoveryID)
}

func (r *recoveryRecord) of(s Submission) bool { return r.submission.of(s) }

func (r *recoveryRecord) needs() ContextNeeds {
	return ContextNeeds{SnapshotID: r.context.snapshotID, TurnID: r.context.turnID, AssemblyID: r.context.assemblyID}
}

func (r *recoveryRecord) judge(p *ContextParts, _ []assembly.Presented) (assembly.Report, error) {
	turn, err := r.context.turn(r.submission, p)
	if err != nil {
		return assembly.Report{}, err
	}
	resumed, err := part(r.context.assemblyID, r.submission.ContextAt+"/context_assembly_id", "assembly", p.Assembly, assembly.ParseRow)
	if err != nil {
		return assembly.Report{}, err
	}
	if resumed != nil {
		if resumed.Identity().TurnID != r.context.turnID {
			return assembly.Report{}, &Rejection{Code: "context-part-mismatch", Pointer: r.submission.ContextAt + "/context_assembly_id", Detail: "the recorded assembly is of another turn"}
		}
		turn.Accepted = resumed.AcceptedResults()
	}
	return assembly.VerifyRecovery(r.operation, turn).Report, nil
}

func (r *recoveryRecord) projection(v assembly.Verdict) Projection {
	c := r.context
	return Projection{Key: c.recoveryID, Rows: []Rows{{Table: &contextRecoveries, Values: [][]any{{c.recoveryID, c.turnID, c.snapshotID, string(v)}}}}}
}

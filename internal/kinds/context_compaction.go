package kinds

import "ledgerd/assembly"

// ContextCompaction is a compaction operation of a turn (C0, "Compaction proposal boundary"). Context: turn_id, and the
// snapshot by id and digest. The key is the operation's id.
var ContextCompaction = Kind{
	Name:           "context-compaction",
	Core:           "the operation has the form of context-strategy C0, and holds nothing forbidden",
	PostedBy:       []Role{Host},
	MaxBytes:       maxContext,
	KeepsConflicts: true,
	Tables:         []*Table{&contextCompactions},
	check:          checkJoined(readCompaction),
	project:        projectJoined(readCompaction),
	joins:          readCompaction,
	refers:         referencesOfContext,
}

var contextCompactions = Table{Name: "context_compactions", Columns: []Column{
	{Name: "compaction_operation_id"}, {Name: "turn_id", Personal: true}, {Name: "snapshot_id"}, {Name: "verdict"},
}}

type compactionRecord struct {
	submission Submission
	operation  *assembly.Compaction
	context    contextTurn
}

func readCompaction(s Submission) (joined, error) {
	operation, err := assembly.ParseCompaction(s.Artifact)
	if err != nil {
		return nil, refusedRecord(s, err)
	}
	context, err := parseContextTurn(s, false)
	if err != nil {
		return nil, err
	}
	return &compactionRecord{s, operation, context}, nil
}

func (c *compactionRecord) of(s Submission) bool { return c.submission.of(s) }

func (c *compactionRecord) needs() ContextNeeds {
	return ContextNeeds{SnapshotID: c.context.snapshotID, TurnID: c.context.turnID}
}

func (c *compactionRecord) judge(p *ContextParts, _ []assembly.Presented) (assembly.Report, error) {
	turn, err := c.context.turn(c.submission, p)
	if err != nil {
		return assembly.Report{}, err
	}
	return assembly.VerifyCompaction(c.operation, turn).Report, nil
}

func (c *compactionRecord) projection(v assembly.Verdict) Projection {
	id := c.operation.OperationID()
	return Projection{Key: id, Rows: []Rows{{Table: &contextCompactions, Values: [][]any{{id, c.context.turnID, c.context.snapshotID, string(v)}}}}}
}

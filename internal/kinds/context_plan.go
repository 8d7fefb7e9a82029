package kinds

import (
	"ledgerd/assembly"
	"ledgerd/ledger"
)

// ContextPlan is the plan of one assembly, recorded before anything is invoked under it (C0-R305). The key is its id.
var ContextPlan = Kind{
	Name:           "context-plan",
	Core:           "the plan has the form of context-strategy C0 and its own digest, and holds nothing forbidden",
	PostedBy:       []Role{Host},
	MaxBytes:       maxContext,
	KeepsConflicts: true,
	Tables:         []*Table{&contextPlans},
	check:          checkContextPlan,
	project:        projectContextPlan,
}

var contextPlans = Table{Name: "context_plans", Columns: []Column{
	{Name: "plan_id"}, {Name: "plan_digest", Personal: true}, {Name: "context_assembly_id"}, {Name: "snapshot_id"},
}}

func checkContextPlan(s Submission, _ Env) (*Accepted, error) {
	p, err := readContextPlan(s)
	if err != nil {
		return nil, err
	}
	return plainContext(s, p)
}

func projectContextPlan(c ledger.Content) (Projection, error) { return readContextPlan(recorded(c)) }

// readContextPlan refuses a plan that is wrong about its own digest: no assembly could ever be joined with it.
func readContextPlan(s Submission) (Projection, error) {
	if err := noContext(s); err != nil {
		return Projection{}, err
	}
	p, err := assembly.ParsePlan(s.Artifact)
	if err != nil {
		return Projection{}, refusedRecord(s, err)
	}
	if !p.DigestHolds() {
		return Projection{}, wrongDigest(s.ArtifactAt+"/plan_digest", assembly.R302)
	}
	return Projection{Key: p.ID(), Rows: []Rows{{Table: &contextPlans, Values: [][]any{{p.ID(), p.Digest(), p.AssemblyID(), p.SnapshotID()}}}}}, nil
}

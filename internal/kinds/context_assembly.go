package kinds

import (
	"errors"

	"ledgerd/assembly"
)

// ContextAssembly is the outcome of one construction of model input. It names its snapshot and plan by id and digest; the
// ledger joins them, verifies the recorded outcome and records its verdict. A mismatch is recorded too: it is what an auditor
// looks for. The key is the assembly's id; the record's tenant_id is data, the entry's tenant is the token's.
var ContextAssembly = Kind{
	Name:           "context-assembly",
	Core:           "the record has the form of context-strategy C0, and holds nothing forbidden",
	PostedBy:       []Role{Host},
	MaxBytes:       maxAssemblyContent - verdictBytes,
	MaxContent:     maxAssemblyContent,
	KeepsConflicts: true,
	Tables:         []*Table{&contextAssemblies},
	check:          checkJoined(readAssembly),
	project:        projectJoined(readAssembly),
	joins:          readAssembly,
	refers:         referencesOfContext,
}

var contextAssemblies = Table{Name: "context_assemblies", Columns: []Column{
	{Name: "context_assembly_id"}, {Name: "turn_id", Personal: true}, {Name: "snapshot_id"}, {Name: "plan_id"}, {Name: "assembly_kind"},
	{Name: "outcome"}, {Name: "verdict"},
}}

type assemblyRecord struct {
	submission Submission
	row        *assembly.Row
}

func readAssembly(s Submission) (joined, error) {
	if err := noContext(s); err != nil {
		return nil, err
	}
	row, err := assembly.ParseRow(s.Artifact)
	if err != nil {
		return nil, refusedRecord(s, err)
	}
	return &assemblyRecord{s, row}, nil
}

func (a *assemblyRecord) of(s Submission) bool { return a.submission.of(s) }

func (a *assemblyRecord) needs() ContextNeeds {
	n := ContextNeeds{TurnID: a.row.Identity().TurnID, AssemblyID: string(a.row.Identity().Predecessor)}
	n.SnapshotID, _ = a.row.Snapshot()
	n.PlanID, _ = a.row.Plan()
	n.RevisionID, _, _ = a.row.ActiveProfile()
	n.Revisions = a.row.Revisions()
	n.Revisions = n.Revisions[:min(len(n.Revisions), MaxRevisions)]
	return n
}

// judge joins the record with its parts. Parts that are not recorded refuse it: they come first, or nothing could show that
// they were there before anything was invoked.
func (a *assemblyRecord) judge(p *ContextParts, shown []assembly.Presented) (assembly.Report, error) {
	n, at := a.needs(), a.submission.ArtifactAt
	profile, err := part(n.RevisionID, at+"/profile_resolution", "profile", p.Profile, assembly.ParseProfile)
	if err != nil {
		return assembly.Report{}, err
	}
	snapshot, err := part(n.SnapshotID, at+"/snapshot", "snapshot", p.Snapshot, assembly.ParseSnapshot)
	if err != nil {
		return assembly.Report{}, err
	}
	plan, err := part(n.PlanID, at+"/plan", "plan", p.Plan, assembly.ParsePlan)
	if err != nil {
		return assembly.Report{}, err
	}
	whole, err := a.row.Join(profile, snapshot, plan)
	if errors.Is(err, assembly.ErrJoin) {
		return assembly.Report{}, &Rejection{Code: "context-part-mismatch", Pointer: at + "/snapshot", Detail: "the snapshot or the plan that is recorded under the id has another digest"}
	}
	if err != nil {
		return assembly.Report{}, err
	}
	anchors, err := p.anchors()
	if err != nil {
		return assembly.Report{}, err
	}
	return assembly.Verify(whole, anchors, shown...), nil
}

func (a *assemblyRecord) projection(v assembly.Verdict) Projection {
	id, n := a.row.Identity(), a.needs()
	return Projection{Key: id.AssemblyID, Rows: []Rows{{Table: &contextAssemblies, Values: [][]any{{
		id.AssemblyID, id.TurnID, orNull(n.SnapshotID), orNull(n.PlanID), string(id.Kind), orNull(string(a.row.Recorded().Outcome)), string(v),
	}}}}}
}

// orNull is a text as a nullable column, which is null for the empty one.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

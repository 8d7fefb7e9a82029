package assembly

// Version is the record_version of an assembly record.
const Version = "c0.assembly.v1"

// Identity says which assembly of which turn a record is of. The ids are what the host recorded: data, never authority.
type Identity struct {
	TenantID       string `json:"tenant_id"`
	AgentID        string `json:"agent_id"`
	WorkspaceID    string `json:"workspace_id"`
	ConversationID string `json:"conversation_id"`
	TurnID         string `json:"turn_id"`
	AssemblyID     string `json:"context_assembly_id"`
	// Kind is initial, tool_loop_step, approval_resume, bounded_retry or compaction_rebuild.
	Kind Word `json:"assembly_kind"`
	// Predecessor is the assembly before this one; "", which is null, where there is none.
	Predecessor   Word   `json:"predecessor_assembly_id"`
	CorrelationID string `json:"correlation_id"`
}

// Assembly is a whole assembly record (section 3.1): of the right shape, nothing more. Verify says whether its outcome is
// the dictated one. The zero Assembly is refused by it.
type Assembly struct {
	id         Identity
	resolution resolution
	profile    *Profile // these three are nil where no profile resolved, so that no snapshot could be made
	snapshot   *Snapshot
	plan       *Plan
	anchors    []SnapshotAnchor
	parent     parentTurn
	rows       []runtimeRow
	final      finalInput
	recorded   Outcome
}

// Parse reads a whole assembly record: profile, snapshot, plan and anchors stand in it. The error is a *RecordError.
func Parse(src []byte) (*Assembly, error) {
	return parse(src, func(r reader) *Assembly {
		a := &Assembly{}
		r.Object(append(a.members(r, true), a.joined(r)...)...)
		return a
	})
}

// joined are the members that a ledger keeps in entries of their own.
func (a *Assembly) joined(r reader) []member {
	return []member{
		into("profile", &a.profile, func() *Profile { return orNull(r, func() *Profile { return readProfile(r) }) }),
		into("snapshot", &a.snapshot, func() *Snapshot { return orNull(r, func() *Snapshot { return readSnapshot(r) }) }),
		into("plan", &a.plan, func() *Plan { return orNull(r, func() *Plan { return readPlan(r) }) }),
		into("anchors", &a.anchors, r.snapshotAnchors),
	}
}

// members are what a record holds itself, with or without its recorded outcome.
func (a *Assembly) members(r reader, isWhole bool) []member {
	shape := []member{
		req("record_version", func() { r.wordOf(Version) }),
		into("identity", &a.id, r.identity),
		into("profile_resolution", &a.resolution, r.resolution),
		into("parent", &a.parent, r.parentTurn),
		into("positions", &a.rows, func() []runtimeRow { return list(r, r.runtimeRow) }),
		into("final", &a.final, r.finalInput),
	}
	if !isWhole {
		return shape
	}
	return append(shape,
		into("report", &a.recorded, func() Outcome { return r.outcome(req) }),
		// What identifies the kernel's own context report, whose body is never stored. It is evidence for readers only.
		opt("context_report_id", func() { r.uuid() }),
		opt("context_report_digest", func() { r.digest() }),
		opt("generated_at", func() { r.instant() }),
	)
}

// Identity says which assembly of which turn the record is of.
func (a *Assembly) Identity() Identity { return a.id }

// Anchors are the anchors that stand in the record. A ledger takes its own instead.
func (a *Assembly) Anchors() Anchors { return Anchors{Snapshots: a.anchors} }

// Recorded is the outcome as recorded, unverified.
func (a *Assembly) Recorded() Outcome { return a.recorded }

func (r reader) identity() (id Identity) {
	r.Object(
		into("tenant_id", &id.TenantID, r.uuid),
		into("agent_id", &id.AgentID, r.uuid),
		into("workspace_id", &id.WorkspaceID, r.uuid),
		into("conversation_id", &id.ConversationID, r.uuid),
		into("turn_id", &id.TurnID, r.uuid),
		into("context_assembly_id", &id.AssemblyID, r.token),
		into("assembly_kind", &id.Kind, func() Word {
			return r.wordOf("initial", "tool_loop_step", "approval_resume", "bounded_retry", rebuildKind)
		}),
		into("predecessor_assembly_id", &id.Predecessor, func() Word { return orNull(r, r.word) }),
		into("correlation_id", &id.CorrelationID, r.token),
	)
	return id
}

const rebuildKind Word = "compaction_rebuild"

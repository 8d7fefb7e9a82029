package api

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/assembly"
	"ledgerd/internal/kinds"
	"ledgerd/internal/strictjson"
)

// contextReader reads the entries that context records are joined with.
type contextReader interface {
	// ContextParts finds what a record names as of now; a part that is not recorded is nil.
	ContextParts(ctx context.Context, tenant string, n kinds.ContextNeeds) (*kinds.ContextParts, error)
	// ContextJoined finds the same, and says how many bytes ContextPartsAt will read.
	ContextJoined(ctx context.Context, tenant string, n kinds.ContextNeeds) (joined kinds.ContextJoined, bytes int64, err error)
	// ContextPartsAt reads just the entries that a recorded verdict names.
	ContextPartsAt(ctx context.Context, tenant string, j kinds.ContextJoined) (*kinds.ContextParts, error)
}

// SnapshotNameBody names a recorded snapshot.
type SnapshotNameBody struct {
	ID     string `json:"snapshot_id"`
	Digest string `json:"snapshot_digest"`
}

// CompactionBody is a compaction operation with the turn and the snapshot that it belongs to.
type CompactionBody struct {
	TurnID     string           `json:"turn_id"`
	Snapshot   SnapshotNameBody `json:"snapshot"`
	Compaction jsontext.Value   `json:"compaction" jsonschema:"record_version c0.compaction.v1"`
}

// RecoveryBody is a recovery with the turn and the snapshot that it belongs to.
type RecoveryBody struct {
	RecoveryID string           `json:"recovery_id" jsonschema:"the entry's key: the record has no id of its own"`
	TurnID     string           `json:"turn_id"`
	Snapshot   SnapshotNameBody `json:"snapshot"`
	AssemblyID *string          `json:"context_assembly_id,omitzero" jsonschema:"the recorded assembly that is resumed; with it the accepted results are checked"`
	Recovery   jsontext.Value   `json:"recovery" jsonschema:"record_version c0.recovery.v1"`
}

// contextRoutes record what went into a model's context, in the order in which a host has it: profile, snapshot and plan
// before anything is invoked, the outcome afterwards.
func (a *API) contextRoutes() []*Route {
	problems := []string{
		"record_schema_invalid", "record_forbidden_content", "number-not-representable", "identifier-malformed", "conflict", "erased", "body-too-large", "unsupported-media-type", "busy",
	}
	post := func(path, name, summary, doc string, kind *kinds.Kind, body any, split func(*call, []byte) (kinds.Submission, error), more ...string) *Route {
		return &Route{
			Method: "POST", Path: path, Name: name, Summary: summary, Doc: doc, Roles: kind.PostedBy, Query: []Param{proofParam}, Body: body,
			Replies: recordReplies, Problems: append(more, problems...),
			handle: func(c *call) (reply, error) { return a.record(c, kind, split) },
		}
	}
	const second = " A second content under a known id is 409 and is kept as an entry of kind conflict."
	return []*Route{
		post("/v1/context-profiles", "postContextProfile", "Record a revision of a context profile",
			"C0 section 3.2. The key is profile_revision_id: one id never has two contents."+second, &kinds.ContextProfile, jsontext.Value{}, withoutKey),
		post("/v1/context-snapshots", "postContextSnapshot", "Record a turn's binding snapshot",
			"C0 section 3.3. The key is snapshot_id, and a turn has one snapshot. It is recorded before anything is invoked under it."+second, &kinds.ContextSnapshot, jsontext.Value{}, withoutKey, "digest-mismatch"),
		post("/v1/context-plans", "postContextPlan", "Record the plan of an assembly",
			"C0 section 3.4. The key is plan_id. It is recorded before anything is invoked under it."+second, &kinds.ContextPlan, jsontext.Value{}, withoutKey, "digest-mismatch"),
		post("/v1/context-assemblies", "postContextAssembly", "Record the outcome of a context assembly",
			"C0 section 3.1 without profile and anchors, and with {snapshot_id, snapshot_digest} and {plan_id, plan_digest} for snapshot and plan, both null where no profile resolved. "+
				"The server joins the recorded parts, verifies the outcome and records its verdict; a mismatch is recorded too, and the findings name the broken rules. "+
				"A record has at most 3.9 MiB, any other 928 KiB. Parts are recorded before what names them."+second,
			&kinds.ContextAssembly, jsontext.Value{}, withoutKey, "context-part-missing", "context-part-mismatch"),
		post("/v1/context-compactions", "postContextCompaction", "Record a compaction operation",
			"C0 section 3.9, verified with the turn's recorded snapshot and profile. The key is compaction_operation_id."+second,
			&kinds.ContextCompaction, CompactionBody{}, wrappedOperation("compaction"), "context-part-missing", "context-part-mismatch", "invalid-json", "unknown-member", "missing-member"),
		post("/v1/context-recoveries", "postContextRecovery", "Record the recovery of a turn",
			"C0 section 3.9, verified with the turn's recorded snapshot and, where it is named, the assembly that is resumed."+second,
			&kinds.ContextRecovery, RecoveryBody{}, wrappedOperation("recovery", "recovery_id"), "context-part-missing", "context-part-mismatch", "invalid-json", "unknown-member", "missing-member"),
	}
}

// joinContext puts into env what the check of a context record is made with; nothing for every other kind. Parts may be many
// times as large as the record that names them, so they take memory that is shared until leave, which is never nil.
func (a *API) joinContext(ctx context.Context, tenant string, kind *kinds.Kind, s kinds.Submission, env *kinds.Env) (leave func(), err error) {
	leave = func() {}
	if env.Needs, err = kind.Needs(s); err != nil || env.Needs == nil {
		return leave, err
	}
	joined, bytes, err := a.store.ContextJoined(ctx, tenant, *env.Needs)
	if err != nil {
		return leave, err
	}
	if leave, err = a.memory.enter(ctx, tenant, bytes*partsWeight>>20); err != nil {
		return leave, err
	}
	env.Context, err = a.store.ContextPartsAt(ctx, tenant, joined)
	return leave, err
}

// wrappedOperation: the body holds the operation and, beside it, what it belongs to.
func wrappedOperation(name string, ids ...string) func(*call, []byte) (kinds.Submission, error) {
	return func(_ *call, body []byte) (kinds.Submission, error) {
		s := kinds.Submission{ArtifactAt: "/" + name}
		if at := forbiddenBeside(body, name); at != "" {
			return s, &kinds.Rejection{Code: "record_forbidden_content", Pointer: at, Detail: "a record holds digests, sizes and safe tokens only"}
		}
		beside := []byte("{")
		d := strictjson.NewWrapper(body)
		keep := func(member string) func() {
			return func() {
				if len(beside) > 1 {
					beside = append(beside, ',')
				}
				beside = append(beside, `"`+member+`":`...)
				beside = append(beside, d.RawValue()...)
			}
		}
		members := []strictjson.Member{
			strictjson.Req("turn_id", keep("turn_id")), strictjson.Req("snapshot", keep("snapshot")),
			strictjson.Req(name, func() { s.Artifact = d.RawValue() }),
		}
		for _, id := range ids {
			members = append(members, strictjson.Req(id, keep(id)), strictjson.Opt("context_assembly_id", keep("context_assembly_id")))
		}
		d.Object(members...)
		s.Context = append(beside, '}')
		return s, d.Finish()
	}
}

// forbiddenBeside is the first place outside the wrapped operation, which names its own, that holds what must not be stored.
func forbiddenBeside(body []byte, name string) string {
	for _, at := range assembly.Forbidden(body) {
		if at != "/"+name && !isBelow(at, "/"+name) {
			return at
		}
	}
	return ""
}

func isBelow(at, parent string) bool {
	return len(at) > len(parent) && at[:len(parent)+1] == parent+"/"
}

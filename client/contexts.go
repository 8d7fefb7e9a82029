package client

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/assembly"
)

// Context records are digest-only documents of the contract C0, posted as JSON in the order in which a host has them: profile,
// snapshot and plan before anything is invoked, so that the ledger's own times show it. Each is kept under its own id: the same
// record again is a replay, another one under the same id a *Problem with status 409 that is kept as evidence. A record that
// holds what must not be stored is a *Problem with code record_forbidden_content and its place.

// PostContextProfile records a profile revision, for a host's token.
func (c *Client) PostContextProfile(ctx context.Context, profile []byte) (Recorded, error) {
	return c.postContext(ctx, "profile", "profiles", profile)
}

// PostContextSnapshot records a turn's binding snapshot, for a host's token. A turn has one.
func (c *Client) PostContextSnapshot(ctx context.Context, snapshot []byte) (Recorded, error) {
	return c.postContext(ctx, "snapshot", "snapshots", snapshot)
}

// PostContextPlan records an assembly's plan, for a host's token.
func (c *Client) PostContextPlan(ctx context.Context, plan []byte) (Recorded, error) {
	return c.postContext(ctx, "plan", "plans", plan)
}

// PostContextAssembly records an assembly, which names its snapshot and plan by id and digest, for a host's token. Findings are
// the rules that its recorded outcome breaks; it is recorded all the same.
func (c *Client) PostContextAssembly(ctx context.Context, record []byte) (Recorded, error) {
	return c.postContext(ctx, "assembly", "assemblies", record)
}

func (c *Client) postContext(ctx context.Context, what, path string, record []byte) (Recorded, error) {
	return c.send(ctx, request{doing: "posting a context " + what, method: http.MethodPost, path: "/v1/context-" + path, body: record})
}

// SnapshotName names a recorded snapshot.
type SnapshotName struct {
	ID     string `json:"snapshot_id"`
	Digest string `json:"snapshot_digest"`
}

// Compaction is a compaction operation with the turn and the snapshot that it belongs to.
type Compaction struct {
	TurnID     string         `json:"turn_id"`
	Snapshot   SnapshotName   `json:"snapshot"`
	Compaction jsontext.Value `json:"compaction"` // record_version c0.compaction.v1
}

// Recovery is the recovery of a turn with the turn and the snapshot that it belongs to.
type Recovery struct {
	RecoveryID string         `json:"recovery_id"` // the entry's key: the record has no id of its own
	TurnID     string         `json:"turn_id"`
	Snapshot   SnapshotName   `json:"snapshot"`
	AssemblyID *string        `json:"context_assembly_id,omitzero"` // that is resumed; with it the accepted results are checked
	Recovery   jsontext.Value `json:"recovery"`                     // record_version c0.recovery.v1
}

// PostContextCompaction records a compaction operation, for a host's token.
func (c *Client) PostContextCompaction(ctx context.Context, o Compaction) (Recorded, error) {
	return c.record(ctx, request{doing: "posting a context compaction", method: http.MethodPost, path: "/v1/context-compactions"}, o)
}

// PostContextRecovery records the recovery of a turn, for a host's token.
func (c *Client) PostContextRecovery(ctx context.Context, o Recovery) (Recorded, error) {
	return c.record(ctx, request{doing: "posting a context recovery", method: http.MethodPost, path: "/v1/context-recoveries"}, o)
}

// ContextVerdict is a verdict as it was recorded. What it does not prove is the coverage of a verdict that is reached again.
type ContextVerdict struct {
	Model    string             `json:"model"` // version of the verification model
	Verdict  assembly.Verdict   `json:"verdict"`
	Dictated *assembly.Dictated `json:"dictated"` // the outcome that the contract dictates, nil where it can't be derived
	Findings []assembly.Finding `json:"findings"`
	More     int                `json:"more_findings,omitzero"` // beyond those listed
	Missing  []string           `json:"missing"`
}

// ContextJoined names the entries that a record was judged with; nil for none.
type ContextJoined struct {
	ProfileSeq   *int64  `json:"profile_seq"`
	SnapshotSeq  *int64  `json:"snapshot_seq"`
	PlanSeq      *int64  `json:"plan_seq"`
	AssemblySeq  *int64  `json:"assembly_seq"` // the predecessor, or the assembly that a recovery resumes
	SeenSeqs     []int64 `json:"seen_seqs"`    // snapshots of the turn or under the id
	RevisionSeqs []int64 `json:"revision_seqs"`
}

// ContextVerification compares a recorded verdict with what verification says now.
type ContextVerification struct {
	Seq    int64  `json:"seq"`
	Kind   string `json:"kind"`
	Stored struct {
		Verdict ContextVerdict `json:"verdict"`
		Joined  ContextJoined  `json:"joined"`
	} `json:"stored"`
	Rerun      ContextReport `json:"rerun"`      // with the entries that the recorded verdict names
	Reproduced bool          `json:"reproduced"` // Rerun says what was recorded
	Current    ContextReport `json:"current"`    // with the entries that the ledger has now
}

// ContextReport is a whole verdict, with the coverage that says what it does not prove.
type ContextReport struct {
	Verdict assembly.Report `json:"verdict"`
	Joined  ContextJoined   `json:"joined"`
}

// VerifyContextEntry reaches the verdict on a recorded assembly, compaction or recovery again, for its host's token or an
// auditor's. kind is the entry's: context-assembly, context-compaction or context-recovery. A verdict of which a part was erased
// is a *Problem with status 410.
func (c *Client) VerifyContextEntry(ctx context.Context, kind string, seq int64) (ContextVerification, error) {
	path, ok := map[string]string{"context-assembly": "assemblies", "context-compaction": "compactions", "context-recovery": "recoveries"}[kind]
	n := strconv.FormatInt(seq, 10)
	if !ok {
		return ContextVerification{}, errors.New("verifying entry " + n + ": the kind is context-assembly, context-compaction or context-recovery")
	}
	var v ContextVerification
	_, err := c.call(ctx, request{doing: "verifying entry " + n, method: http.MethodGet, path: "/v1/context-" + path + "/" + n + "/verification"}, &v)
	return v, err
}

// ContextCheck asks about one assembly: a whole record that is not recorded, or a recorded one by its seq.
type ContextCheck struct {
	Record   jsontext.Value `json:"record,omitzero"` // with profile, snapshot, plan and anchors in it
	Seq      *int64         `json:"seq,omitzero"`
	Payloads []Presented    `json:"payloads,omitzero"` // at most 256
}

// Presented is a payload that is shown for one check. The server measures it and keeps it nowhere.
type Presented struct {
	Position int64  `json:"position"`
	Ordinal  int64  `json:"ordinal"`
	Payload  string `json:"payload"`
}

// ContextChecked is the verdict with what it does not prove, and the outcome that the contract dictates.
type ContextChecked struct {
	Verdict assembly.Report   `json:"verdict"`
	Derived *assembly.Outcome `json:"derived"` // nil where it can't be derived
}

// VerifyContextAssembly verifies an assembly without recording it, and payloads with it, for a host's or auditor's token.
func (c *Client) VerifyContextAssembly(ctx context.Context, check ContextCheck) (ContextChecked, error) {
	r, err := withBody(request{doing: "verifying a context assembly", method: http.MethodPost, path: "/v1/verify/context-assembly"}, check)
	if err != nil {
		return ContextChecked{}, err
	}
	var v ContextChecked
	_, err = c.call(ctx, r, &v)
	return v, err
}

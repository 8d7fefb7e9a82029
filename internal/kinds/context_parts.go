package kinds

import (
	"errors"
	"slices"
	"time"

	"ledgerd/assembly"
	"ledgerd/frames"
	"ledgerd/internal/strictjson"
	"ledgerd/ledger"
)

// maxContext bounds a context record in bytes: an entry's content less room for the verdict, or for the wrapper of a conflict.
const maxContext = ledger.MaxContent - verdictBytes

const verdictBytes = 96 << 10

// maxAssemblyContent is the larger content of an assembly. A contribution with its row in the report takes 1.3 KB with short
// names and 3.3 KB with the longest, so this is room for 16 positions of 64 contributions whatever they are called.
const maxAssemblyContent = 4 << 20

// ContextNeeds names what of the ledger's the check of a context record takes. An empty id asks for nothing.
type ContextNeeds struct {
	SnapshotID string
	TurnID     string // whose snapshots are anchors
	PlanID     string
	RevisionID string   // of the profile; where it is empty the snapshot's
	AssemblyID string   // another assembly: the predecessor, or the one that a recovery resumes
	Revisions  []string // the revisions of an assembly's profile resolution, at most MaxRevisions

	read joined // the record, which the check need not read again
}

// Lacks says whether something that a record names was not found.
func (n ContextNeeds) Lacks(p *ContextParts) bool {
	return n.SnapshotID != "" && p.Snapshot == nil || n.PlanID != "" && p.Plan == nil || n.AssemblyID != "" && p.Assembly == nil ||
		(n.RevisionID != "" || n.SnapshotID != "") && p.Profile == nil || len(p.Revisions) < len(n.Revisions)
}

// MaxRevisions bounds the candidates of a profile resolution that are held against recorded profiles, the first of them.
const MaxRevisions = 16

// MaxSeen bounds the snapshots that one record is held against. A turn has one by its claim, so more are of other turns under
// the same id, which the key rules out.
const MaxSeen = 8

// ContextParts are the entries of a tenant that a context record is joined with. A part that is not recorded is nil.
type ContextParts struct {
	Profile, Snapshot, Plan, Assembly *ContextPart
	Seen                              []ContextPart // every snapshot of the turn or under the snapshot's id, in order of seq
	Revisions                         []ContextPart // the recorded profiles among the revisions, in order of seq
}

// ContextPart is one recorded part.
type ContextPart struct {
	Seq        int64
	RecordedAt time.Time // the ledger's own time: what shows write-ahead
	Artifact   []byte    // nil once erased
	ErasedBy   int64
}

// ContextJoined names the entries that a record was joined with, so that its verdict can be reproduced; null for none.
type ContextJoined struct {
	ProfileSeq   *int64  `json:"profile_seq"`
	SnapshotSeq  *int64  `json:"snapshot_seq"`
	PlanSeq      *int64  `json:"plan_seq"`
	AssemblySeq  *int64  `json:"assembly_seq" jsonschema:"the predecessor, or the assembly that a recovery resumes"`
	SeenSeqs     []int64 `json:"seen_seqs" jsonschema:"the snapshots that the ledger had of the turn or under the id"`
	RevisionSeqs []int64 `json:"revision_seqs" jsonschema:"the recorded profiles among the candidates of the resolution"`
}

// Joined names the parts by seq.
func (p *ContextParts) Joined() ContextJoined {
	j := ContextJoined{SeenSeqs: []int64{}, RevisionSeqs: []int64{}}
	for _, x := range [...]struct {
		seq  **int64
		part *ContextPart
	}{{&j.ProfileSeq, p.Profile}, {&j.SnapshotSeq, p.Snapshot}, {&j.PlanSeq, p.Plan}, {&j.AssemblySeq, p.Assembly}} {
		if x.part != nil {
			*x.seq = &x.part.Seq
		}
	}
	for _, s := range p.Seen {
		j.SeenSeqs = append(j.SeenSeqs, s.Seq)
	}
	for _, r := range p.Revisions {
		j.RevisionSeqs = append(j.RevisionSeqs, r.Seq)
	}
	return j
}

// Seqs lists the entries, in no order. ok is false for more of them than any verdict is reached with.
func (j ContextJoined) Seqs() (seqs []int64, ok bool) {
	if len(j.SeenSeqs) > MaxSeen || len(j.RevisionSeqs) > MaxRevisions {
		return nil, false
	}
	seqs = slices.Concat(j.SeenSeqs, j.RevisionSeqs)
	for _, seq := range [...]*int64{j.ProfileSeq, j.SnapshotSeq, j.PlanSeq, j.AssemblySeq} {
		if seq != nil {
			seqs = append(seqs, *seq)
		}
	}
	return seqs, true
}

// Select gives the parts that a verdict names, out of what was found of them.
func (j ContextJoined) Select(found map[int64]*ContextPart) *ContextParts {
	at := func(seq *int64) *ContextPart {
		if seq == nil {
			return nil
		}
		return found[*seq]
	}
	all := func(seqs []int64) (list []ContextPart) {
		for _, seq := range seqs {
			if p := found[seq]; p != nil {
				list = append(list, *p)
			}
		}
		return list
	}
	return &ContextParts{
		Profile: at(j.ProfileSeq), Snapshot: at(j.SnapshotSeq), Plan: at(j.PlanSeq), Assembly: at(j.AssemblySeq),
		Seen: all(j.SeenSeqs), Revisions: all(j.RevisionSeqs),
	}
}

// Erased is the refusal that an erased part is, nil when none is.
func (p *ContextParts) Erased() error {
	for _, part := range slices.Concat([]*ContextPart{p.Profile, p.Snapshot, p.Plan, p.Assembly}, pointers(p.Seen), pointers(p.Revisions)) {
		if part != nil && part.Artifact == nil {
			return &ErasedError{Seq: part.Seq, ErasureSeq: part.ErasedBy}
		}
	}
	return nil
}

func pointers(list []ContextPart) (all []*ContextPart) {
	for i := range list {
		all = append(all, &list[i])
	}
	return all
}

// part reads a part that a record names. id is "" where it names none.
func part[T any](id, at, what string, p *ContextPart, parse func([]byte) (*T, error)) (*T, error) {
	switch {
	case id == "":
		return nil, nil
	case p == nil:
		return nil, &Rejection{Code: "context-part-missing", Pointer: at, Detail: "no " + what + " is recorded under this id; it is recorded before what names it"}
	case p.Artifact == nil:
		return nil, &ErasedError{Seq: p.Seq, ErasureSeq: p.ErasedBy}
	}
	return parse(p.Artifact)
}

// anchors are what a verification takes from the other entries (evidence X).
func (p *ContextParts) anchors() (assembly.Anchors, error) {
	a := assembly.Anchors{Snapshots: []assembly.SnapshotAnchor{}, Revisions: []assembly.RevisionAnchor{}}
	for _, recorded := range p.Revisions {
		if recorded.Artifact == nil {
			continue // erased: it says nothing any more
		}
		r, err := assembly.ParseProfile(recorded.Artifact)
		if err != nil {
			return a, err
		}
		a.Revisions = append(a.Revisions, assembly.RevisionAnchor{RevisionID: r.RevisionID(), ContentDigest: r.Digest()})
	}
	for _, seen := range p.Seen {
		if seen.Artifact == nil {
			continue // erased: it says nothing any more
		}
		s, err := assembly.ParseSnapshot(seen.Artifact)
		if err != nil {
			return a, err
		}
		a.Snapshots = append(a.Snapshots, assembly.SnapshotAnchor{TurnID: s.TurnID(), SnapshotID: s.ID(), SnapshotDigest: s.Digest()})
	}
	if p.Snapshot != nil {
		a.SnapshotReceivedAt = &p.Snapshot.RecordedAt
	}
	if p.Plan != nil {
		a.PlanReceivedAt = &p.Plan.RecordedAt
	}
	if p.Assembly == nil || p.Assembly.Artifact == nil {
		return a, nil
	}
	before, err := assembly.ParseRow(p.Assembly.Artifact)
	if err != nil {
		return a, err
	}
	snapshot, _ := before.Snapshot()
	a.Predecessor = &assembly.PredecessorAnchor{AssemblyID: before.Identity().AssemblyID, SnapshotID: snapshot, Rebuilds: before.Rebuilds()}
	return a, nil
}

// refusedRecord is RefusedRecord of a submission's artifact.
func refusedRecord(s Submission, err error) error { return RefusedRecord(s.ArtifactAt, err) }

// RefusedRecord turns the core's refusal of a document, which stands at base in the request, into ours: every place, and no
// value. It leaves other errors as they are.
func RefusedRecord(base string, err error) error {
	var e *assembly.RecordError
	if !errors.As(err, &e) {
		return err
	}
	r := &Rejection{Code: string(e.Code), Pointer: base + e.At[0], Detail: e.Detail}
	for _, at := range e.At {
		r.Causes = append(r.Causes, Cause{Rule: string(e.Rule()), Pointer: base + at, Detail: e.Detail})
	}
	return r
}

// contextTurn is what a host says beside a compaction or a recovery: which turn and snapshot it belongs to.
type contextTurn struct {
	turnID, snapshotID, snapshotDigest string
	recoveryID, assemblyID             string // of a recovery; the assembly is optional
}

func parseContextTurn(s Submission, isRecovery bool) (c contextTurn, err error) {
	if at := assembly.Forbidden(s.context()); len(at) > 0 {
		return c, &Rejection{Code: string(assembly.ForbiddenContent), Pointer: s.ContextAt + at[0], Detail: "a record holds digests, sizes and safe tokens only"}
	}
	d := strictjson.NewDecoder(s.context(), strictjson.Closed)
	members := []strictjson.Member{
		strictjson.Req("turn_id", func() { c.turnID = d.String() }),
		strictjson.Req("snapshot", func() {
			d.Object(
				strictjson.Req("snapshot_id", func() { c.snapshotID = d.String() }),
				strictjson.Req("snapshot_digest", func() { c.snapshotDigest = d.String() }),
			)
		}),
	}
	if isRecovery {
		members = append(members,
			strictjson.Req("recovery_id", func() { c.recoveryID = d.String() }),
			strictjson.Opt("context_assembly_id", func() {
				if id := d.OptString(); id != nil {
					c.assemblyID = *id
				}
			}))
	}
	d.Object(members...)
	return c, finish(d, s.ContextAt)
}

// snapshot is the recorded snapshot, which must be the named one: of this turn, and with this digest.
func (c contextTurn) snapshot(s Submission, p *ContextParts) (*assembly.Snapshot, error) {
	found, err := part(c.snapshotID, s.ContextAt+"/snapshot", "snapshot", p.Snapshot, assembly.ParseSnapshot)
	if err != nil {
		return nil, err
	}
	if found == nil || found.Digest() != c.snapshotDigest || found.TurnID() != c.turnID {
		return nil, &Rejection{Code: "context-part-mismatch", Pointer: s.ContextAt + "/snapshot", Detail: "the recorded snapshot has another digest, or is of another turn"}
	}
	return found, nil
}

// turn is what the ledger has of the operation's turn. A profile that is not there is not checked against.
func (c contextTurn) turn(s Submission, p *ContextParts) (t assembly.Turn, err error) {
	if t.Snapshot, err = c.snapshot(s, p); err != nil {
		return t, err
	}
	if p.Profile != nil && p.Profile.Artifact != nil {
		t.Profile, err = assembly.ParseProfile(p.Profile.Artifact)
	}
	return t, err
}

// plainContext accepts a context record that is judged by nobody: its shape is all that is checked.
func plainContext(s Submission, p Projection) (*Accepted, error) {
	content, err := canonical(s, withFindings([]frames.Finding{}))
	if err != nil {
		return nil, err
	}
	return &Accepted{Key: p.Key, Content: content, Claims: p.Claims, Rows: p.Rows}, nil
}

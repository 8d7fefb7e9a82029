package kinds

import (
	"ledgerd/assembly"
	"ledgerd/ledger"
)

// ContextSnapshot is a turn's binding snapshot, recorded before anything is invoked under it (C0-R260). The key is its id, so
// that it is never rewritten; it claims its turn, so that a turn has one (C0-R215).
var ContextSnapshot = Kind{
	Name:           "context-snapshot",
	Core:           "the snapshot has the form of context-strategy C0 and its own digest, and holds nothing forbidden",
	PostedBy:       []Role{Host},
	MaxBytes:       maxContext,
	KeepsConflicts: true,
	Tables:         []*Table{&contextSnapshots},
	ClaimSpace:     TurnClaim,
	check:          checkContextSnapshot,
	project:        projectContextSnapshot,
}

var contextSnapshots = Table{Name: "context_snapshots", Columns: []Column{
	{Name: "snapshot_id"}, {Name: "snapshot_digest", Personal: true}, {Name: "turn_id", Personal: true}, {Name: "profile_revision_id"},
}}

// TurnClaim is the space in which a snapshot reserves its turn for itself.
const TurnClaim = "turn_id"

func checkContextSnapshot(s Submission, _ Env) (*Accepted, error) {
	p, err := readContextSnapshot(s)
	if err != nil {
		return nil, err
	}
	return plainContext(s, p)
}

func projectContextSnapshot(c ledger.Content) (Projection, error) {
	return readContextSnapshot(recorded(c))
}

// readContextSnapshot refuses a snapshot that is wrong about its own digest: nothing could ever be joined with it.
func readContextSnapshot(s Submission) (Projection, error) {
	if err := noContext(s); err != nil {
		return Projection{}, err
	}
	v, err := assembly.ParseSnapshot(s.Artifact)
	if err != nil {
		return Projection{}, refusedRecord(s, err)
	}
	if !v.DigestHolds() {
		return Projection{}, wrongDigest(s.ArtifactAt+"/snapshot_digest", assembly.R210)
	}
	return Projection{
		Key:    v.ID(),
		Claims: []Claim{{Space: TurnClaim, Name: v.TurnID(), Value: v.ID(), Reserves: true}},
		Rows:   []Rows{{Table: &contextSnapshots, Values: [][]any{{v.ID(), v.Digest(), v.TurnID(), v.ProfileRevisionID()}}}},
	}, nil
}

func wrongDigest(at string, rule assembly.Rule) error {
	return &Rejection{Code: "digest-mismatch", Pointer: at, Detail: "the digest is not the one of the record's RFC 8785 form", Causes: []Cause{{Rule: string(rule), Pointer: at, Detail: "recomputed"}}}
}

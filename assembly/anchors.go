package assembly

import "time"

// Anchors are what a verification takes from other rows of the ledger (evidence X). A part that is nil is not supplied, and
// what needs it is not checked; an empty list that is not nil says that the ledger has none.
type Anchors struct {
	// Snapshots are those of every earlier record with the same turn or snapshot id.
	Snapshots []SnapshotAnchor
	// Revisions are the contents that the ledger has for the profile revisions of the resolution.
	Revisions []RevisionAnchor
	// SnapshotReceivedAt and PlanReceivedAt are when the ledger itself received them.
	SnapshotReceivedAt, PlanReceivedAt *time.Time
	// Predecessor is the assembly that this one names as the one before.
	Predecessor *PredecessorAnchor
}

// SnapshotAnchor is a snapshot that the ledger has seen.
type SnapshotAnchor struct{ TurnID, SnapshotID, SnapshotDigest string }

// RevisionAnchor is a profile revision that the ledger has seen.
type RevisionAnchor struct{ RevisionID, ContentDigest string }

// PredecessorAnchor is an earlier assembly.
type PredecessorAnchor struct {
	AssemblyID, SnapshotID string
	// Rebuilds says that its final result was to rebuild after compaction.
	Rebuilds bool
}

func (r reader) snapshotAnchors() []SnapshotAnchor {
	return list(r, func() (a SnapshotAnchor) {
		r.Object(
			into("turn_id", &a.TurnID, r.uuid),
			into("snapshot_id", &a.SnapshotID, r.token),
			into("snapshot_digest", &a.SnapshotDigest, r.digest),
		)
		return a
	})
}

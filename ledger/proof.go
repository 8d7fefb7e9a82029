package ledger

import (
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// ErrProof says that a proof does not show what it claims.
var ErrProof = errors.New("proof does not verify")

// Proof claims that a log has an entry: its place, the hashes from its sibling to the root (RFC 9162 §2.1.3.1), and the
// checkpoint that they lead to, a signed note. It is what a C2SP tlog-proof holds, and shows nothing until it is checked.
type Proof struct {
	Index      int64 // of the leaf in its log
	Hashes     []tlog.Hash
	Checkpoint []byte
}

// Check verifies the checkpoint's signature and that the leaf hash is where the proof says.
func (p Proof) Check(leaf tlog.Hash, origin string, verifiers ...note.Verifier) (Inclusion, error) {
	signed, err := OpenCheckpoint(p.Checkpoint, origin, verifiers...)
	if err != nil {
		return Inclusion{}, err
	}
	return CheckInclusion(signed, p.Index, leaf, p.Hashes)
}

// InclusionProof is a Proof with what it is of. Its Checkpoint is nil when the log keeps no signed checkpoint of this size:
// the hashes are then for somebody who holds one.
type InclusionProof struct {
	Proof
	Size int64 // of the tree, in leaves
	Leaf tlog.Hash
}

// ConsistencyProof claims that a log's first From leaves are the beginning of its first To leaves (RFC 9162 §2.1.4.1).
// Checkpoint is a signed note of size To, nil when the log keeps none.
type ConsistencyProof struct {
	From, To   int64
	Hashes     []tlog.Hash
	Checkpoint []byte
}

// Inclusion is a leaf that was proven to be in a signed tree. Only CheckInclusion and Proof.Check make one.
type Inclusion struct {
	checkpoint SignedCheckpoint
	index      int64
	leaf       tlog.Hash
}

// Checkpoint is the signed tree that the leaf is in; the zero value, of which nothing was proven, has a zero one.
func (i Inclusion) Checkpoint() SignedCheckpoint { return i.checkpoint }

// Index is the leaf's place.
func (i Inclusion) Index() int64 { return i.index }

// Leaf is the leaf's hash.
func (i Inclusion) Leaf() tlog.Hash { return i.leaf }

// Valid says whether anything was proven; it is false of the zero value.
func (i Inclusion) Valid() bool { return i.checkpoint.Valid() }

// CheckInclusion verifies that the signed tree has the leaf hash at index (RFC 9162 §2.1.3.2). Hashes are compared byte for
// byte, and there must be just as many as are needed.
func CheckInclusion(signed SignedCheckpoint, index int64, leaf tlog.Hash, hashes []tlog.Hash) (Inclusion, error) {
	if !signed.Valid() {
		return Inclusion{}, fmt.Errorf("%w: its checkpoint was not verified", ErrProof)
	}
	c := signed.Checkpoint()
	if err := tlog.CheckRecord(hashes, c.Size, c.Root, index, leaf); err != nil {
		return Inclusion{}, fmt.Errorf("%w: inclusion", ErrProof)
	}
	return Inclusion{checkpoint: signed, index: index, leaf: leaf}, nil
}

// Consistency is two signed trees of one log of which the earlier was proven to be the beginning of the later. Only
// CheckConsistency makes one.
type Consistency struct{ from, to SignedCheckpoint }

// From is the earlier tree.
func (c Consistency) From() SignedCheckpoint { return c.from }

// To is the later tree.
func (c Consistency) To() SignedCheckpoint { return c.to }

// Valid says whether anything was proven; it is false of the zero value.
func (c Consistency) Valid() bool { return c.from.Valid() && c.to.Valid() }

// CheckConsistency verifies that nothing between two signed trees of one log was changed or removed (RFC 9162 §2.1.4.2).
// Everything is consistent with the empty tree.
func CheckConsistency(from, to SignedCheckpoint, hashes []tlog.Hash) (Consistency, error) {
	if !from.Valid() || !to.Valid() {
		return Consistency{}, fmt.Errorf("%w: its checkpoints were not verified", ErrProof)
	}
	old, next := from.Checkpoint(), to.Checkpoint()
	if old.Origin != next.Origin {
		return Consistency{}, fmt.Errorf("%w: the checkpoints are of two logs", ErrProof)
	}
	if old.Size == 0 {
		if len(hashes) > 0 || old.Root != (Frontier{}).Root() || (next.Size == 0 && next.Root != old.Root) {
			return Consistency{}, fmt.Errorf("%w: consistency with the empty tree", ErrProof)
		}
		return Consistency{from: from, to: to}, nil
	}
	if err := tlog.CheckTree(hashes, next.Size, next.Root, old.Size, old.Root); err != nil {
		return Consistency{}, fmt.Errorf("%w: consistency", ErrProof)
	}
	return Consistency{from: from, to: to}, nil
}

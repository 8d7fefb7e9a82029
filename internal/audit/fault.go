package audit

// FaultCode is the stable name of a sort of fault.
type FaultCode string

// The faults that a full check of the log can find.
const (
	FaultMissing    FaultCode = "missing"    // an entry below the head's size is not there
	FaultDuplicate  FaultCode = "duplicate"  // two rows where there is one entry
	FaultOutside    FaultCode = "outside"    // a row whose seq is not of the log: at or beyond the head's size, or negative
	FaultTime       FaultCode = "time"       // recorded_at goes back
	FaultColumn     FaultCode = "column"     // a column of entries is not what meta or envelope say
	FaultMeta       FaultCode = "meta"       // meta or its salt does not match the leaf, or is malformed
	FaultContent    FaultCode = "content"    // content or its salt does not match the leaf, is absent or is malformed
	FaultEnvelope   FaultCode = "envelope"   // the leaf is malformed or of another log
	FaultLeaf       FaultCode = "leaf-hash"  // leaf_hash is not the envelope's
	FaultKind       FaultCode = "kind"       // its kind is not known, or would not have recorded this content
	FaultKey        FaultCode = "key"        // the key table does not lead to the entry, or the key is not the content's
	FaultClaim      FaultCode = "claim"      // a claimed name is not what the contents give
	FaultProjection FaultCode = "projection" // a projection row is not what the content gives
	FaultTile       FaultCode = "tile"       // a full tile is not that of the tree
	FaultRoot       FaultCode = "root"       // the head's root is not that of the tree
	FaultHead       FaultCode = "head"       // the head row is not what its checkpoint and the entries say
	FaultCheckpoint FaultCode = "checkpoint" // a kept checkpoint is not the log's own, or not of this tree
	FaultVerdict    FaultCode = "verdict"    // a recorded verdict is not what the verifier says
	FaultErased     FaultCode = "erased"     // what is erased is not what the erasures say
	// FaultIncarnation: a later log does not follow the one before as its first entry says.
	FaultIncarnation FaultCode = "incarnation"
	FaultSince       FaultCode = "since" // the log is not a continuation of the checkpoint that the user gave
)

// NoSeq stands where a fault concerns no single entry.
const NoSeq = -1

// Fault is one thing that a full check found wrong. It never holds a value of an entry.
type Fault struct {
	// Seq is the entry, NoSeq where there is no single one. Of a tile it is the first leaf that differs, of a checkpoint the
	// newest entry that it covers.
	Seq    int64
	Code   FaultCode
	Detail string
}

// faults collects what is wrong with one entry.
type faults struct {
	seq  int64
	list []Fault
}

func (f *faults) add(code FaultCode, detail string) {
	f.list = append(f.list, Fault{Seq: f.seq, Code: code, Detail: detail})
}

package metering

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Batch is a stretch of the log that is shipped as one: the lines of the entries in it, and those that its erasures changed.
type Batch struct {
	ID     int64
	Epoch  int64
	First  int64 // seq
	End    int64 // seq, not included
	Lines  []Line
	Erased []int64 // seqs of earlier entries whose personal columns an erasure in the stretch destroyed
	Cut    bool    // the log went on when the stretch was read: it was shortened
}

// Rejected is a line that the projection refuses, with the reason.
type Rejected struct {
	Seq        int64     `json:"seq"`
	ProviderID string    `json:"provider_id"`
	Reason     string    `json:"reason"`
	Since      time.Time `json:"since"`
}

// Shipping is how far the projection is behind the truth.
type Shipping struct {
	Epoch        int64         `json:"epoch"`
	NextSeq      int64         `json:"next_seq"`    // every entry below is in the projection
	LagEntries   int64         `json:"lag_entries"` // recorded and not shipped
	Lag          time.Duration `json:"-"`           // age of the oldest of them
	Attempts     int           `json:"attempts"`    // at the batch that is under way
	LastError    string        `json:"last_error"`
	Quarantined  int64         `json:"quarantined"`
	DriftedDays  int64         `json:"drifted_days"`
	ReconciledAt *time.Time    `json:"reconciled_at"`
	Changing     bool          `json:"changing"` // an erasure, a repair or a rebuild rewrites what the projection has shown
	Changes      int64         `json:"-"`        // how many of these have begun; rises, and starts anew with no epoch
}

// Digest is SHA-256 over the lines' identities and measures in their order. Two blocks with one digest hold the same.
func Digest(lines []Line) [32]byte {
	h := sha256.New()
	var b []byte // of one line
	for i := range lines {
		l := &lines[i]
		b = b[:0]
		for _, n := range [...]int64{l.Seq, l.ErasedBy, l.Tokens, l.AsOf.UnixMicro()} {
			b = binary.BigEndian.AppendUint64(b, uint64(n))
		}
		for _, s := range [...]string{l.ProviderID, l.RequestID, l.CustomerID, l.TurnID} {
			b = append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...)
		}
		b = binary.BigEndian.AppendUint64(b, uint64(len(l.Frames)))
		h.Write(b)
	}
	return [32]byte(h.Sum(nil))
}

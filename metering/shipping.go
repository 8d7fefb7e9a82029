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
}

// Digest is SHA-256 over the lines' identities and measures in their order. Two blocks with one digest hold the same.
func Digest(lines []Line) [32]byte {
	h := sha256.New()
	number := func(n int64) { _ = binary.Write(h, binary.BigEndian, n) } // a hash takes everything
	text := func(s string) {
		number(int64(len(s)))
		h.Write([]byte(s))
	}
	for _, l := range lines {
		number(l.Seq)
		number(l.ErasedBy)
		number(l.Tokens)
		number(l.AsOf.UnixMicro())
		for _, s := range []string{l.ProviderID, l.RequestID, l.CustomerID, l.TurnID} {
			text(s)
		}
		number(int64(len(l.Frames)))
	}
	return [32]byte(h.Sum(nil))
}

package metering

import (
	"math/big"
	"time"

	"ledgerd/frames"
)

// Line is an event as it is recorded: what one entry's report used of one provider. It is the row of every projection.
type Line struct {
	Seq            int64 // of the entry
	Tenant         string
	RequestID      string
	TurnID         string // "" once erased, like CustomerID and Frames
	CustomerID     string
	ProviderID     string
	AsOf           time.Time // UTC, in microseconds
	FramesServed   int64
	FramesRejected int64
	Tokens         int64
	Frames         []LineFrame
	ErasedBy       int64  // seq of the erasure, 0 for none: no erasure is a log's first entry
	Corrects       *int64 // seq of the entry that the line corrects; nil for a report's own
}

// Version orders the states of a line: the seq of the entry that brought it about.
func (l Line) Version() uint64 { return uint64(max(l.Seq, l.ErasedBy)) }

// LineFrame is a served frame of a line.
type LineFrame struct {
	ID     frames.FrameID
	Tokens int64
}

// DaySum is what a store holds of a tenant and a UTC day. Two stores with equal DaySums hold the same lines.
type DaySum struct {
	Tenant string
	Day    time.Time // its first instant
	Lines  int64
	Tokens *big.Int
	Hash   uint64 // sum of the lines' hashes modulo 2^64, so that order does not matter
}

// Equal says whether two sums of one day agree.
func (s DaySum) Equal(o DaySum) bool {
	return s.Lines == o.Lines && s.Hash == o.Hash && s.Tokens.Cmp(o.Tokens) == 0
}

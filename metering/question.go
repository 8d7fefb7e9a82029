package metering

import (
	"math/big"
	"time"
)

// Grouping is what a question about usage sums up by.
type Grouping string

// The groupings. Those by time are of the question's zone, days of 23 and 25 hours included.
const (
	ByCustomer Grouping = "customer"
	ByProvider Grouping = "provider"
	ByTurn     Grouping = "turn"
	ByRequest  Grouping = "request"
	ByFrame    Grouping = "frame"
	ByHour     Grouping = "hour"
	ByDay      Grouping = "day"
	ByMonth    Grouping = "month"
)

// Groupings are all of them.
func Groupings() []Grouping {
	return []Grouping{ByCustomer, ByProvider, ByTurn, ByRequest, ByFrame, ByHour, ByDay, ByMonth}
}

// Question asks for the usage of a tenant over a period of as_of. An empty filter is none.
type Question struct {
	Tenant     string
	From, To   time.Time // half-open
	Below      int64     // only entries of lower seq
	CustomerID string
	ProviderID string // of the line
	RequestID  string
	TurnID     string
	FrameID    string // lines that served it; grouped by frame, only it
	By         Grouping
	Zone       string // IANA name, for groupings by time
	Top        bool   // the greatest token sums first, instead of the order of keys
	Limit      int    // of groups
}

// Group is one sum of an answer.
type Group struct {
	Key            string    // customer, provider, turn or request; "" for an erased one
	Start          time.Time // of the hour, day or month; zero for other groupings
	Frame          LineFrame // its identity, for the grouping by frame
	Reports        int64     // entries behind the sum
	FramesServed   *big.Int
	FramesRejected *big.Int // zero for the grouping by frame
	Tokens         *big.Int
	FirstSeq       int64 // the entries lie between these two, both included
	LastSeq        int64
}

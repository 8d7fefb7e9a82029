package kinds

import "time"

// DisputeRequest is a dispute that somebody raises.
type DisputeRequest struct {
	ID       string // see Dispute
	Question DisputeQuestion
	Reason   string
}

// DisputeRaised is the answer to who raises a dispute: it is recorded, or, with nil, queued.
type DisputeRaised struct {
	Recorded *Recorded
	Replayed bool // it was raised before
}

// The states of a dispute that was raised.
const (
	DisputeQueued   = "queued"
	DisputeRunning  = "running"
	DisputeFailed   = "failed"
	DisputeRecorded = "recorded" // the entry says all else
)

// DisputeJob is a dispute that is worked on, because it covers more than one request may wait for.
type DisputeJob struct {
	DisputeRequest
	Who        Poster
	Reverifies *int64 // the dispute's entry, when it is to be decided again; nil for a new one
	State      string
	Done       int64 // entries verified
	Total      int64
	Problem    string // of a failed one: a problem's code
	RaisedAt   time.Time
}

// DisputeQuery selects recorded disputes; empty values select all.
type DisputeQuery struct {
	CustomerID string
	Result     string
	After      int64 // seq of the last one seen, -1 to begin
	Size       int64 // entries from this seq on are left out
	Limit      int
}

// DisputeRow is a recorded dispute in a listing, as its projection has it. What was erased is null.
type DisputeRow struct {
	Seq          int64      `json:"seq"`
	DisputeID    string     `json:"dispute_id"`
	RecordedAt   time.Time  `json:"recorded_at"`
	CustomerID   *string    `json:"customer_id"`
	From         *time.Time `json:"from"`
	To           *time.Time `json:"to"`
	BillingEvent *string    `json:"billing_event"`
	RequestID    *string    `json:"request_id"`
	ReceiptID    *string    `json:"receipt_id"`
	Result       string     `json:"result"`
}

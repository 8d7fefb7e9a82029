package billing

import (
	"fmt"
	"math"
	"time"
)

// Bounds of what Stripe's meters take, https://docs.stripe.com/api/billing/meter-event.
const (
	MaxIdentifier = 100                       // characters of an identifier
	MaxEventName  = 100                       // characters of an event_name
	MaxValue      = 1_000_000_000_000_000 - 1 // 15 significant digits; a value lies in [-MaxValue, MaxValue]
)

// MeterEvent is what a payment processor is told: a value to add to a customer's meter. It is frozen in an intent, and every
// attempt sends the same.
type MeterEvent struct {
	Identifier  string    // of the event and of the request that sends it: at most MaxIdentifier characters
	EventName   string    // names the meter: at most MaxEventName characters
	CustomerKey string    // the payload's key of the customer, as the meter has it
	Customer    string    // the processor's id of the customer
	ValueKey    string    // the payload's key of the value, as the meter has it
	Value       int64     // what is added: tokens; negative takes back
	Timestamp   time.Time // when it counts, UTC, whole seconds
}

// Class is what an answer, or its absence, says about whether an event counts.
type Class string

// The classes of an answer. Ambiguous is everything that none of the others claims.
const (
	Delivered     Class = "delivered"      // taken now, or by the same request before
	AlreadyExists Class = "already-exists" // taken before under this identifier
	Rejected      Class = "rejected"       // not taken, and never will be as it stands
	Busy          Class = "busy"           // not taken now: later, and no sooner than RetryAfter
	Ambiguous     Class = "ambiguous"      // taken or not: nobody knows
)

// Reply is what became of a call.
type Reply struct {
	Class      Class
	Status     int           // of HTTP, 0 when there was no answer
	Code       string        // the processor's word for an error, "" for none
	RequestID  string        // the processor's name of the call, for its support, "" for none
	RetryAfter time.Duration // how long to wait at least, as the processor asks; 0 when it doesn't
	Detail     string        // for people: at most 300 characters, without secrets
}

// Meter is a meter as the processor has it.
type Meter struct {
	ID              string
	EventName       string
	Formula         string // of the aggregation: sum, count or last
	Status          string // active or inactive
	EventTimeWindow string // "", or hour or day: then only the last event of each counts
	CustomerKey     string // the payload's key of the customer
	CustomerMapping string // by_id: the value at CustomerKey is the customer's id
	ValueKey        string // the payload's key of the value
}

// Customer is a customer as the processor has it.
type Customer struct {
	ID            string
	Deleted       bool
	Subscriptions []Subscription // at most 100, ended ones left out
}

// Subscription says in which periods a customer is billed.
type Subscription struct {
	ID            string
	Status        string    // active, trialing, past_due …
	Anchor        time.Time // the billing anchor: periods begin at it and at whole intervals from it
	PeriodStart   time.Time // of the open period
	PeriodEnd     time.Time // exclusive
	Interval      string    // day, week, month or year, of the item that is on the meter
	IntervalCount int       // how many of them a period has
	MeterIDs      []string  // the meters that its prices bill
}

// Summary is what a meter holds for a customer in [From, To): eventually, not at once.
type Summary struct {
	From  time.Time // UTC, a whole minute
	To    time.Time // UTC, a whole minute, exclusive
	Value float64   // of all events whose timestamp lies inside
}

// Tokens is the value as a whole number. False: it is none, or so large that a float64 no longer tells it from its neighbours.
func (s Summary) Tokens() (int64, bool) {
	const exact = 1 << 53
	if math.Abs(s.Value) >= exact || s.Value != math.Trunc(s.Value) {
		return 0, false
	}
	return int64(s.Value), true
}

// ErrorReport says that events which had been taken did not count after all. It has samples, not all of them.
type ErrorReport struct {
	EventID string // the processor's name of the report
	Type    string
	MeterID string // "" when the events named no meter
	Count   int64  // of events that did not count
	Samples []ReportedError
}

// ReportedError is one event that did not count.
type ReportedError struct {
	Identifier string // of the event, "" when the report has none
	Code       string
	Detail     string // for people: at most 300 characters
}

// SummaryQuestion asks what a meter holds for a customer.
type SummaryQuestion struct {
	MeterID  string
	Customer string    // the processor's id
	From     time.Time // a whole minute, and of an hour or UTC day when Group says so
	To       time.Time // likewise, exclusive
	Group    string    // hour or day: one summary for each; "" for one over all
}

// CallError is a question that got no answer to go by.
type CallError struct {
	Call  string // what was asked
	Reply Reply
}

// Error says what was asked and what came instead of an answer.
func (e *CallError) Error() string {
	text := e.Call + ": " + string(e.Reply.Class)
	if e.Reply.Status != 0 {
		text += fmt.Sprintf(", HTTP %d", e.Reply.Status)
	}
	for _, part := range []string{e.Reply.Code, e.Reply.Detail} {
		if part != "" {
			text += ": " + part
		}
	}
	return text
}

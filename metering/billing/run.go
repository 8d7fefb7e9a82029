package billing

import (
	"errors"
	"time"
)

// Lane is what a payment processor serves one call at a time for.
type Lane struct {
	Tenant   string
	MeterID  string
	Customer string // the processor's id
}

// Run is what a pass over a tenant's usage did.
type Run struct {
	Planned    int       `json:"planned" jsonschema:"intents that were recorded"`
	Attempts   int       `json:"attempts" jsonschema:"calls that told the payment processor of an event"`
	Confirmed  int       `json:"confirmed" jsonschema:"intents that the processor is now known to have"`
	Parked     int       `json:"parked" jsonschema:"intents that the processor refused for good"`
	Stopped    int       `json:"stopped" jsonschema:"intents of which it can't be told whether they count; their lanes stand still"`
	Replaced   int       `json:"replaced" jsonschema:"intents that never will count, and that others now stand for"`
	Unresolved int       `json:"unresolved" jsonschema:"intents whose answer was lost or was to come back later"`
	Refusals   []Refusal `json:"refusals" jsonschema:"why nothing is sent for some or for all customers"`
	More       bool      `json:"more" jsonschema:"true: the pass ended before everything was done that can be done now, or another process does it; run again"`
}

// Add sums up two runs.
func (r *Run) Add(o Run) {
	r.Planned += o.Planned
	r.Attempts += o.Attempts
	r.Confirmed += o.Confirmed
	r.Parked += o.Parked
	r.Stopped += o.Stopped
	r.Replaced += o.Replaced
	r.Unresolved += o.Unresolved
	r.Refusals = append(r.Refusals, o.Refusals...)
	r.More = r.More || o.More
}

// Refusal is why nothing is sent.
type Refusal struct {
	CustomerID string `json:"customer_id,omitzero" jsonschema:"the customer; none when it holds for all"`
	Reason     string `json:"reason"`
}

// Standing is how the ledger and the processor stand about a customer in an open billing period.
type Standing struct {
	CustomerID     string    `json:"customer_id"`
	StripeCustomer string    `json:"stripe_customer"`
	MeterID        string    `json:"meter_id"`
	Period         Period    `json:"billing_period"`
	Balance        Balance   `json:"ledger"`
	Total          int64     `json:"processor" jsonschema:"tokens that the processor's summary has"`
	Agreement      Agreement `json:"agreement" jsonschema:"agrees, settling, unresolved, lower or higher"`
	Detail         string    `json:"detail,omitzero"`
	CheckedAt      time.Time `json:"checked_at"`
}

// Drift is by how much the processor's total differs from what the ledger knows to be confirmed, in tokens.
func (s Standing) Drift() int64 { return s.Total - s.Balance.Confirmed }

// Progress says whether the run changed something, so that another one may find more to do.
func (r Run) Progress() bool {
	return r.More && r.Planned+r.Confirmed+r.Parked+r.Stopped+r.Replaced > 0
}

// Terms are a tenant's configuration in force.
type Terms struct {
	Tenant   string
	Origin   string // of the log
	Seq      int64  // of the configuration's entry
	Revision int64
	Config   Config
	Restored bool  // it is from before the log was opened anew, after a restore
	Base     int64 // seq of the log's first entry: what became of intents below it is known up to a backup only
}

// Pending is an intent that is not settled, with the calls that were made for it. Its claims are not read.
type Pending struct {
	Seq      int64
	Intent   Intent
	State    State
	Cause    Cause // of the newest outcome, "" for none
	Outcomes int   // that were recorded
	Attempts Attempts
}

// Closing is an outcome that is to be recorded, together with the intent that replaces the other where it is replaced.
type Closing struct {
	Outcome     Outcome
	Replacement *Intent
}

// Outcome is the next outcome of a pending intent, by an answer where there is one.
func (p Pending) Outcome(s State, c Cause, r Reply) Outcome {
	o := Outcome{
		Intent: p.Seq, Identifier: p.Intent.Event.Identifier, Number: p.Outcomes + 1, State: s, Cause: c, Attempts: p.Attempts.Count,
		Status: r.Status, Code: r.Code, RequestID: r.RequestID, Detail: r.Detail,
	}
	if !p.Attempts.First.IsZero() {
		o.FirstTry = &p.Attempts.First
	}
	return o
}

// With is the attempts with one more, at now.
func (a Attempts) With(now time.Time) Attempts {
	a.Count++
	a.Last = now
	if a.First.IsZero() {
		a.First = now
	}
	return a
}

// What can be wrong with what is asked of billing.
var (
	ErrClaimed   = errors.New("another billing intent claims the same usage")
	ErrNoIntent  = errors.New("there is no such billing intent")
	ErrNotParked = errors.New("the billing intent is neither parked nor stopped")
	ErrRefused   = errors.New("billing is refused")                                             // account, meter or configuration is not as it must be
	ErrUnsigned  = errors.New("the delivery has no fresh signature by a secret of its account") // of a webhook
)

// Gauges are how billing stands over all tenants.
type Gauges struct {
	Pending        int64         // intents that are planned and not known to count
	Ambiguous      int64         // of these, attempted without a known outcome
	OldestPending  time.Duration // since the oldest of them was planned
	Parked         int64         // intents
	Stopped        int64         // intents
	UnmappedTokens int64         // of unclaimed usage of customers that no configuration maps
	DriftTokens    int64         // by how much totals differed at the last reconciliations, without sign
	Disagreements  int64         // standings that are lower or higher
}

// Status is how a tenant's billing stands.
type Status struct {
	Revision       int64              `json:"config_revision" jsonschema:"of the configuration in force; 0: there is none, and nothing is billed"`
	Pending        int64              `json:"pending" jsonschema:"intents that are planned and not known to count"`
	PendingTokens  int64              `json:"pending_tokens"`
	Ambiguous      int64              `json:"ambiguous" jsonschema:"of these, attempted without a known outcome"`
	OldestPending  *time.Time         `json:"oldest_pending_at" jsonschema:"when the oldest of them was planned"`
	Parked         int64              `json:"parked"`
	Stopped        int64              `json:"stopped" jsonschema:"each holds up its customer until somebody has looked"`
	Unmapped       []UnmappedCustomer `json:"unmapped" jsonschema:"customers with unclaimed usage that the configuration maps to nobody, by customer, at most 100"`
	UnmappedTokens int64              `json:"unmapped_tokens"`
	Standings      []Standing         `json:"standings" jsonschema:"what the last reconciliations found of periods that ended at most 35 days ago, at most 1000, disagreements first"`
}

// UnmappedCustomer is a customer whose usage waits since nobody is billed for it.
type UnmappedCustomer struct {
	CustomerID string    `json:"customer_id" jsonschema:"empty: the reports name none, or were erased"`
	Tokens     int64     `json:"tokens"`
	Lines      int64     `json:"lines"`
	Since      time.Time `json:"since" jsonschema:"as_of of the oldest"`
}

// Waited is an intent that waits for a person: it is parked or stopped, with the outcome that made it so.
type Waited struct {
	Seq            int64     `json:"seq" jsonschema:"of the intent"`
	Identifier     string    `json:"identifier"`
	StripeCustomer string    `json:"stripe_customer"`
	MeterID        string    `json:"meter_id"`
	Value          int64     `json:"value" jsonschema:"tokens"`
	Timestamp      time.Time `json:"timestamp"`
	Window         Period    `json:"window"`
	Period         Period    `json:"billing_period"`
	State          State     `json:"state" jsonschema:"parked or stopped"`
	Cause          Cause     `json:"cause"`
	OutcomeSeq     int64     `json:"outcome_seq" jsonschema:"of the entry that says so"`
	Since          time.Time `json:"since"`
	Attempts       int       `json:"attempts"`
	Status         int       `json:"status" jsonschema:"of HTTP, 0 for none"`
	Code           string    `json:"code"`
	Detail         string    `json:"detail"`
}

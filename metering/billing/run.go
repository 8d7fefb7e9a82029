package billing

import "time"

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

package client

import (
	"time"

	"ledgerd/metering/billing"
)

// BillingWindows is what was billed to a customer, and what was not and why. Tokens are decimal strings, exact, in all answers
// about billing.
type BillingWindows struct {
	CustomerID     string           `json:"customer_id"`
	StripeCustomer *string          `json:"stripe_customer"` // nil: the configuration does not map the customer
	ConfigRevision int64            `json:"config_revision"`
	Windows        []BillingWindow  `json:"windows"`
	Next           *time.Time       `json:"next"` // nil on the last page
	Waiting        []BillingWaiting `json:"waiting"`
	BeforeStart    BillingSum       `json:"before_start"` // never billed
	NotCounted     BillingSum       `json:"not_counted"`  // of providers that the configuration does not count
	CreditNotes    []BillingCredit  `json:"credit_notes"` // corrections that touch a final invoice
}

// BillingWindow is a window and the events that tell of it.
type BillingWindow struct {
	Start     time.Time      `json:"start"`
	End       time.Time      `json:"end"`
	Claimed   string         `json:"claimed"`
	Confirmed string         `json:"confirmed"` // the payment processor is known to have it
	Intents   []BillingEvent `json:"intents"`
}

// BillingEvent is what the payment processor is told, or was.
type BillingEvent struct {
	Seq            int64          `json:"seq"`
	Identifier     string         `json:"identifier"`
	State          billing.State  `json:"state"`
	Tokens         string         `json:"tokens"`
	Timestamp      time.Time      `json:"timestamp"` // when it counts
	Window         billing.Period `json:"window"`
	BillingPeriod  billing.Period `json:"billing_period"`
	Carried        bool           `json:"carried"` // into a later billing period than its usage
	StripeCustomer string         `json:"stripe_customer"`
	ConfigRevision int64          `json:"config_revision"`
	Attempts       int            `json:"attempts"`
	Replaces       *int64         `json:"replaces,omitzero"`
}

// BillingWaiting is usage of a window that is not billed, for one reason.
type BillingWaiting struct {
	Reason billing.Reason `json:"reason"` // or "due": it is planned next
	Window billing.Period `json:"window"`
	Lines  int            `json:"lines"`
	Tokens string         `json:"tokens"`
}

// BillingSum is a number of usage lines and their tokens.
type BillingSum struct {
	Lines  int64  `json:"lines"`
	Tokens string `json:"tokens"`
}

// BillingCredit is a correction that touches a final invoice.
type BillingCredit struct {
	Correction int64           `json:"correction"` // seq
	Corrects   int64           `json:"corrects"`
	ProviderID string          `json:"provider_id"`
	AsOf       time.Time       `json:"as_of"`
	Invoice    billing.Period  `json:"invoice"`
	Tokens     string          `json:"tokens"`
	TakenBack  *int64          `json:"taken_back"` // the intent that took them back in a later period: not to be credited again
	In         *billing.Period `json:"in,omitzero"`
}

// BillingPreview is what would be billed now.
type BillingPreview struct {
	CustomerID     string           `json:"customer_id"`
	StripeCustomer *string          `json:"stripe_customer"`
	ConfigRevision int64            `json:"config_revision"`
	Period         Period           `json:"period"`
	At             time.Time        `json:"at"`
	Events         []PreviewedEvent `json:"events"`
	Tokens         string           `json:"tokens"`
	Waiting        []BillingWaiting `json:"waiting"`
}

// PreviewedEvent is an event that would be told.
type PreviewedEvent struct {
	Identifier    string         `json:"identifier"`
	Tokens        string         `json:"tokens"`
	Timestamp     time.Time      `json:"timestamp"`
	Window        billing.Period `json:"window"`
	BillingPeriod billing.Period `json:"billing_period"`
	Carried       bool           `json:"carried"`
	Lines         int            `json:"lines"`
}

// BillingUnmapped is usage that nobody is billed for.
type BillingUnmapped struct {
	ConfigRevision int64              `json:"config_revision"`
	Customers      []UnmappedCustomer `json:"customers"`
	Tokens         string             `json:"tokens"` // of all such customers
	Next           *string            `json:"next"`   // nil on the last page
	Erased         BillingSum         `json:"erased"` // before it could be billed
}

// UnmappedCustomer is a customer that nobody is billed for.
type UnmappedCustomer struct {
	CustomerID string    `json:"customer_id"`
	Lines      int64     `json:"lines"`
	Tokens     string    `json:"tokens"`
	Oldest     time.Time `json:"oldest"` // as_of
}

// BilledEvent is a billed event, down to the frames that were served.
type BilledEvent struct {
	Event        BillingEvent     `json:"event"`
	MeterID      string           `json:"meter_id"`
	EventName    string           `json:"event_name"`
	ClaimedBy    int64            `json:"claimed_by"`  // the intent that claims the usage
	ReplacedBy   *int64           `json:"replaced_by"` // the intent that stands for this one
	Outcomes     []BillingOutcome `json:"outcomes"`
	Usage        []UsageLine      `json:"usage"` // a page
	Next         *NextClaim       `json:"next"`  // nil on the last page
	Verification VerificationSet  `json:"verification"`
}

// BillingOutcome is what became known of an event.
type BillingOutcome struct {
	Seq          int64         `json:"seq"`
	RecordedAt   time.Time     `json:"recorded_at"`
	State        billing.State `json:"state"`
	Cause        billing.Cause `json:"cause"`
	Attempts     int           `json:"attempts"`
	FirstAttempt *time.Time    `json:"first_attempt_at"`
	Status       int           `json:"status"`
	Code         string        `json:"code"`
	RequestID    string        `json:"request_id"`
	Detail       string        `json:"detail"`
}

// NextClaim is where a page of a billed event's usage ends.
type NextClaim struct {
	After         int64  `json:"after"`
	AfterProvider string `json:"after_provider"`
}

// VerificationSet is what verifying several entries again found. A result is passed, failed or not-checkable.
type VerificationSet struct {
	Result  string               `json:"result"` // the worst
	Entries int                  `json:"entries"`
	Results map[string]int       `json:"results"` // entries by result
	Reports []VerificationReport `json:"reports"`
}

package kinds

import (
	"ledgerd/internal/strictjson"
	"ledgerd/ledger"
	"ledgerd/metering/billing"
)

// BillingIntent is what a payment processor is to be told, with the usage lines that it is made of. Only the server appends
// it. The key is the identifier that the processor is given. It names the customer by the processor's id alone, and is never
// erased.
var BillingIntent = Kind{
	Name:     "billing-intent",
	Core:     "the claims add up to the value, and the identifier is its own digest",
	Unjudged: "that the claimed lines are there, and are claimed by nothing else",
	ReadBy:   []Role{Billing, Admin},
	MaxBytes: ledger.MaxContent,
	Tables:   []*Table{&billingIntents, &billingClaims},
	check:    checkBillingIntent,
	project:  projectBillingIntent,
	refers:   referencesOfIntent,
}

var billingIntents = Table{Name: "billing_intents", Columns: []Column{
	{Name: "identifier"}, {Name: "config_revision"}, {Name: "meter_id"}, {Name: "event_name"}, {Name: "customer_key"}, {Name: "stripe_customer"}, {Name: "value_key"},
	{Name: "value"}, {Name: "event_at"}, {Name: "window_start"}, {Name: "window_end"}, {Name: "period_start"}, {Name: "period_end"}, {Name: "claims"}, {Name: "replaces"},
}}

// billingClaims has a row for each usage line that an intent bills. That no two have one in common is a constraint of the table.
var billingClaims = Table{Name: "billing_claims", Columns: []Column{{Name: "usage_seq"}, {Name: "provider_id"}, {Name: "tokens"}}}

// NewBillingIntent makes an intent ready to append.
func NewBillingIntent(i billing.Intent) (*Accepted, error) {
	raw, err := i.JSON()
	if err != nil {
		return nil, err
	}
	return BillingIntent.Accept(Submission{Artifact: raw}, Env{})
}

func checkBillingIntent(s Submission, _ Env) (*Accepted, error) {
	p, err := readIntent(s)
	if err != nil {
		return nil, err
	}
	return plainContext(s, p)
}

func projectBillingIntent(c ledger.Content) (Projection, error) { return readIntent(recorded(c)) }

func readIntent(s Submission) (Projection, error) {
	i, err := parseIntent(s)
	if err != nil {
		return Projection{}, err
	}
	e := i.Event
	var replaces any
	if i.Replaces != 0 {
		replaces = i.Replaces
	}
	intent := Rows{Table: &billingIntents, Values: [][]any{{
		e.Identifier, i.Revision, i.MeterID, e.EventName, e.CustomerKey, e.Customer, e.ValueKey, e.Value, e.Timestamp,
		i.Window.Start, i.Window.End, i.Period.Start, i.Period.End, int32(len(i.Claims)), replaces,
	}}}
	rows := []Rows{intent}
	if len(i.Claims) > 0 {
		claims := Rows{Table: &billingClaims, Values: make([][]any, 0, len(i.Claims))}
		for _, c := range i.Claims {
			claims.Values = append(claims.Values, []any{c.Seq, c.ProviderID, c.Tokens})
		}
		rows = append(rows, claims)
	}
	return Projection{Key: e.Identifier, Rows: rows}, nil
}

func parseIntent(s Submission) (billing.Intent, error) {
	if err := noContext(s); err != nil {
		return billing.Intent{}, err
	}
	d := strictjson.NewDecoder(s.Artifact, strictjson.Closed)
	i := billing.DecodeIntent(d)
	if err := finish(d, s.ArtifactAt); err != nil {
		return i, err
	}
	return i, i.Check()
}

// ReadBillingIntent reads a recorded intent from its entry. ErrStored when it is none.
func ReadBillingIntent(e ledger.Entry) (billing.Intent, error) {
	c, err := ledger.ParseContent(e.Content)
	if err != nil {
		return billing.Intent{}, Unreadable(e.Seq, err)
	}
	i, err := parseIntent(recorded(c))
	return i, Unreadable(e.Seq, err)
}

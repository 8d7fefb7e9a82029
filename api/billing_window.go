package api

import (
	"math/big"
	"strconv"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/metering/billing"
)

// BillingWindowsBody is what was billed to a customer, and what was not and why. Tokens are decimal strings.
type BillingWindowsBody struct {
	CustomerID     string           `json:"customer_id"`
	StripeCustomer *string          `json:"stripe_customer" jsonschema:"null: the configuration does not map the customer"`
	ConfigRevision int64            `json:"config_revision"`
	Windows        []BillingWindow  `json:"windows"`
	Next           *time.Time       `json:"next" jsonschema:"from for the next page; null on the last one"`
	Waiting        []BillingWaiting `json:"waiting" jsonschema:"usage that no intent claims, by window and reason"`
	BeforeStart    BillingSum       `json:"before_start" jsonschema:"used before billing began: never billed"`
	NotCounted     BillingSum       `json:"not_counted" jsonschema:"used since, of providers that the configuration does not count"`
	CreditNotes    []BillingCredit  `json:"credit_notes" jsonschema:"corrections that touch a final invoice"`
}

// BillingWindow is a window and the intents that tell of it: the first, and one for each later difference.
type BillingWindow struct {
	Start     time.Time      `json:"start"`
	End       time.Time      `json:"end" jsonschema:"not included"`
	Claimed   string         `json:"claimed" jsonschema:"tokens of the usage that its intents claim"`
	Confirmed string         `json:"confirmed" jsonschema:"tokens that the payment processor is known to have"`
	Intents   []BillingEvent `json:"intents"`
}

// BillingEvent is an intent in short.
type BillingEvent struct {
	Seq            int64          `json:"seq"`
	Identifier     string         `json:"identifier"`
	State          billing.State  `json:"state" jsonschema:"planned, confirmed, parked, stopped, replaced, or settled where there was nothing to send"`
	Tokens         string         `json:"tokens"`
	Timestamp      time.Time      `json:"timestamp" jsonschema:"when it counts"`
	Window         billing.Period `json:"window" jsonschema:"of the usage"`
	BillingPeriod  billing.Period `json:"billing_period" jsonschema:"of the timestamp"`
	Carried        bool           `json:"carried" jsonschema:"true: it counts in a later billing period than its usage, whose invoice was final"`
	StripeCustomer string         `json:"stripe_customer"`
	ConfigRevision int64          `json:"config_revision"`
	Attempts       int            `json:"attempts"`
	Replaces       *int64         `json:"replaces,omitzero" jsonschema:"the intent that did not count and that this one stands for; it has the claims"`
}

// BillingWaiting is usage of a window that is not billed, for one reason.
type BillingWaiting struct {
	Reason billing.Reason `json:"reason" jsonschema:"window-open, too-old, too-large, exceeds-period or unmapped; due: it is planned next"`
	Window billing.Period `json:"window"`
	Lines  int            `json:"lines"`
	Tokens string         `json:"tokens"`
}

// BillingSum is a number of usage lines and their tokens.
type BillingSum struct {
	Lines  int64  `json:"lines"`
	Tokens string `json:"tokens"`
}

// BillingCredit is a correction that touches a final invoice. What is taken back in a later period must not be credited again.
type BillingCredit struct {
	Correction int64           `json:"correction" jsonschema:"its seq"`
	Corrects   int64           `json:"corrects"`
	ProviderID string          `json:"provider_id"`
	AsOf       time.Time       `json:"as_of"`
	Invoice    billing.Period  `json:"invoice" jsonschema:"the billing period whose invoice is final"`
	Tokens     string          `json:"tokens" jsonschema:"less than 0"`
	TakenBack  *int64          `json:"taken_back" jsonschema:"the intent that took them back in a later period; null: nothing did yet"`
	In         *billing.Period `json:"in,omitzero" jsonschema:"that period"`
}

func (a *API) getBillingWindows(c *call) (reply, error) {
	config, err := a.billingConfig(c)
	if err != nil {
		return reply{}, err
	}
	from, to, err := c.query.span()
	if err != nil {
		return reply{}, err
	}
	limit, err := c.query.number("limit", 50, 1, maxWindows)
	if err != nil {
		return reply{}, err
	}
	body := BillingWindowsBody{CustomerID: c.query["customer_id"], ConfigRevision: config.Revision}
	if _, err := c.query.identifier("customer_id"); err != nil {
		return reply{}, err
	}
	if err := a.windowsOf(c, &body, from, to, int(limit)); err != nil {
		return reply{}, err
	}
	err = a.restOf(c, config, &body, from, to)
	return reply{status: 200, body: body}, err
}

// span reads a period that may be open at both ends.
func (q query) span() (from, to time.Time, err error) {
	f, t, err := q.period()
	if err != nil {
		return from, to, err
	}
	from, to = time.Unix(0, 0).UTC(), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	if f != nil {
		from = *f
	}
	if t != nil {
		to = *t
	}
	return from, to, nil
}

// windowsOf fills in what is billed to the customer's ids at the processor, under any revision.
func (a *API) windowsOf(c *call, body *BillingWindowsBody, from, to time.Time, limit int) error {
	billed, err := a.store.BilledTo(c.ctx(), c.who.Tenant, body.CustomerID)
	if err != nil {
		return err
	}
	list, next, err := a.store.BilledWindows(c.ctx(), c.who.Tenant, billed, from, to, limit)
	if err != nil {
		return err
	}
	body.Next, body.Windows = next, windowBodies(list)
	return nil
}

// windowBodies groups intents, which are in the order of their windows.
func windowBodies(list []billing.Pending) []BillingWindow {
	windows := []BillingWindow{}
	claimed, confirmed := new(big.Int), new(big.Int)
	for i, p := range list {
		w := p.Intent.Window
		if i == 0 || !list[i-1].Intent.Window.Equal(w) {
			windows = append(windows, BillingWindow{Start: w.Start, End: w.End})
			claimed, confirmed = new(big.Int), new(big.Int)
		}
		tokens := big.NewInt(p.Intent.Event.Value)
		if p.Intent.Replaces == 0 {
			claimed.Add(claimed, tokens)
		}
		if p.State == billing.Confirmed {
			confirmed.Add(confirmed, tokens)
		}
		last := &windows[len(windows)-1]
		last.Claimed, last.Confirmed = claimed.String(), confirmed.String()
		last.Intents = append(last.Intents, eventBody(p))
	}
	return windows
}

func eventBody(p billing.Pending) BillingEvent {
	i, e := p.Intent, p.Intent.Event
	b := BillingEvent{
		Seq: p.Seq, Identifier: e.Identifier, State: p.State, Tokens: strconv.FormatInt(e.Value, 10), Timestamp: e.Timestamp, Window: i.Window, BillingPeriod: i.Period,
		Carried: i.Carried(), StripeCustomer: e.Customer, ConfigRevision: i.Revision, Attempts: p.Attempts.Count,
	}
	if i.Replaces != 0 {
		b.Replaces = &i.Replaces
	}
	return b
}

// restOf fills in what is not billed, and what touches a final invoice.
func (a *API) restOf(c *call, config *kinds.BillingConfig, body *BillingWindowsBody, from, to time.Time) error {
	lines, tokens, err := a.store.UsageBefore(c.ctx(), c.who.Tenant, body.CustomerID, config.Config.Start)
	if err != nil {
		return err
	}
	body.BeforeStart = BillingSum{lines, tokens.String()}
	if body.NotCounted, err = a.notCounted(c, config.Config, body.CustomerID, from, to); err != nil {
		return err
	}
	mapping, mapped := config.Config.Mapped(body.CustomerID)
	plan, err := a.planOf(c, config, body.CustomerID, from, to)
	if err != nil {
		return err
	}
	body.Waiting = waitingBodies(config.Config, mapping, append(plan.Waiting, dueLines(plan)...))
	body.CreditNotes = []BillingCredit{}
	if !mapped {
		return nil
	}
	body.StripeCustomer = &mapping.Customer
	back, err := a.store.TakenBack(c.ctx(), c.who.Tenant, body.CustomerID, from, to, maxTakenBack)
	for _, n := range billing.CreditNotes(config.Config, mapping, back, a.now().UTC()) {
		body.CreditNotes = append(body.CreditNotes, creditBody(n))
	}
	return err
}

// notCounted sums up what no plan is made of, since its provider is not billed.
func (a *API) notCounted(c *call, config billing.Config, customer string, from, to time.Time) (BillingSum, error) {
	if config.Providers == nil {
		return BillingSum{Tokens: "0"}, nil
	}
	if from.Before(config.Start) {
		from = config.Start
	}
	lines, tokens, err := a.store.UsageNotCounted(c.ctx(), c.who.Tenant, customer, config.Providers, from, to)
	if err != nil {
		return BillingSum{}, err
	}
	return BillingSum{lines, tokens.String()}, nil
}

// due is the reason of lines that are planned next; the planner has no name for them.
const due billing.Reason = "due"

// dueLines are the lines that a plan claims, as if they waited for the next pass.
func dueLines(p billing.Plan) []billing.Waiting {
	var list []billing.Waiting
	for _, i := range p.Intents {
		for _, claim := range i.Claims {
			list = append(list, billing.Waiting{Line: billing.Line{Seq: claim.Seq, ProviderID: claim.ProviderID, AsOf: i.Window.Start, Tokens: claim.Tokens}, Reason: due})
		}
	}
	return list
}

func waitingBodies(c billing.Config, m billing.Mapping, list []billing.Waiting) []BillingWaiting {
	out := []BillingWaiting{}
	for _, s := range billing.SumWaiting(c, m, list) {
		out = append(out, BillingWaiting{Reason: s.Reason, Window: s.Window, Lines: s.Lines, Tokens: s.Tokens.String()})
	}
	return out
}

func creditBody(n billing.CreditNote) BillingCredit {
	b := BillingCredit{Correction: n.Correction, Corrects: n.Corrects, ProviderID: n.ProviderID, AsOf: n.AsOf, Invoice: n.Invoice, Tokens: strconv.FormatInt(n.Tokens, 10)}
	if n.TakenBack != 0 {
		b.TakenBack, b.In = &n.TakenBack, &n.In
	}
	return b
}

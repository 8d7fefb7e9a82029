package api

import (
	"math/big"
	"strconv"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/metering/billing"
)

// BillingPreviewBody is what would be billed now. Tokens are decimal strings.
type BillingPreviewBody struct {
	CustomerID     string           `json:"customer_id"`
	StripeCustomer *string          `json:"stripe_customer" jsonschema:"null: the configuration does not map the customer"`
	ConfigRevision int64            `json:"config_revision"`
	Period         PeriodBody       `json:"period" jsonschema:"half-open; of as_of"`
	At             time.Time        `json:"at" jsonschema:"the server's clock: what is planned depends on it"`
	Events         []PreviewedEvent `json:"events" jsonschema:"what would be told now"`
	Tokens         string           `json:"tokens" jsonschema:"of all events"`
	Waiting        []BillingWaiting `json:"waiting" jsonschema:"what would not, by window and reason"`
}

// PreviewedEvent is an event that would be told.
type PreviewedEvent struct {
	Identifier    string         `json:"identifier"`
	Tokens        string         `json:"tokens"`
	Timestamp     time.Time      `json:"timestamp"`
	Window        billing.Period `json:"window"`
	BillingPeriod billing.Period `json:"billing_period"`
	Carried       bool           `json:"carried" jsonschema:"true: it would count in a later billing period than its usage, whose invoice is final"`
	Lines         int            `json:"lines"`
}

// BillingUnmappedBody is usage that nobody is billed for.
type BillingUnmappedBody struct {
	ConfigRevision int64             `json:"config_revision"`
	Customers      []BillingUnmapped `json:"customers"`
	Tokens         string            `json:"tokens" jsonschema:"of all such customers"`
	Next           *string           `json:"next" jsonschema:"after for the next page; null on the last one"`
	Erased         BillingSum        `json:"erased" jsonschema:"erased before it could be billed: whose it was is not known any more"`
}

// BillingUnmapped is a customer that nobody is billed for.
type BillingUnmapped struct {
	CustomerID string    `json:"customer_id"`
	Lines      int64     `json:"lines"`
	Tokens     string    `json:"tokens"`
	Oldest     time.Time `json:"oldest" jsonschema:"as_of"`
}

func (a *API) getBillingPreview(c *call) (reply, error) {
	config, err := a.billingConfig(c)
	if err != nil {
		return reply{}, err
	}
	customer, err := c.query.identifier("customer_id")
	if err != nil {
		return reply{}, err
	}
	from, to, err := c.query.period()
	if err != nil {
		return reply{}, err
	}
	plan, err := a.planOf(c, config, customer, *from, *to)
	if err != nil {
		return reply{}, err
	}
	body := BillingPreviewBody{CustomerID: customer, ConfigRevision: config.Revision, Period: PeriodBody{from.UTC(), to.UTC()}, At: a.now().UTC(), Events: []PreviewedEvent{}}
	mapping, mapped := config.Config.Mapped(customer)
	if mapped {
		body.StripeCustomer = &mapping.Customer
	}
	body.Waiting = waitingBodies(config.Config, mapping, plan.Waiting)
	sum := new(big.Int)
	for _, i := range plan.Intents {
		sum.Add(sum, big.NewInt(i.Event.Value))
		body.Events = append(body.Events, PreviewedEvent{i.Event.Identifier, strconv.FormatInt(i.Event.Value, 10), i.Event.Timestamp, i.Window, i.Period, i.Carried(), len(i.Claims)})
	}
	body.Tokens = sum.String()
	return reply{status: 200, body: body}, nil
}

// planOf plans a customer's unclaimed usage of a period as the biller would, and records nothing.
func (a *API) planOf(c *call, config *kinds.BillingConfig, customer string, from, to time.Time) (billing.Plan, error) {
	lines, err := a.store.UnclaimedUsage(c.ctx(), c.who.Tenant, customer, from, to, maxWaitingLines)
	if err != nil {
		return billing.Plan{}, err
	}
	m, mapped := config.Config.Mapped(customer)
	if !mapped {
		var p billing.Plan
		for _, l := range lines {
			p.Waiting = append(p.Waiting, billing.Waiting{Line: l, Reason: billing.Unmapped})
		}
		return p, nil
	}
	head, err := a.store.Head(c.ctx())
	if err != nil {
		return billing.Plan{}, err
	}
	now := a.now().UTC()
	lane := billing.Lane{Tenant: c.who.Tenant, MeterID: config.Config.MeterID, Customer: m.Customer}
	held, err := a.store.HeldIn(c.ctx(), lane, config.Config.OpenPeriods(m, now))
	if err != nil {
		return billing.Plan{}, err
	}
	return billing.Make(billing.Ask{Origin: head.Origin, Revision: config.Revision, Config: config.Config, Mapping: m, Lines: lines, Held: held, Now: now}), nil
}

func (a *API) getBillingUnmapped(c *call) (reply, error) {
	config, err := a.billingConfig(c)
	if err != nil {
		return reply{}, err
	}
	after, err := c.query.identifier("after")
	if err != nil {
		return reply{}, err
	}
	limit, err := c.query.number("limit", 100, 1, maxUnmapped)
	if err != nil {
		return reply{}, err
	}
	list, tokens, err := a.store.Unmapped(c.ctx(), c.who.Tenant, config, after, int(limit))
	if err != nil {
		return reply{}, err
	}
	body := BillingUnmappedBody{ConfigRevision: config.Revision, Customers: []BillingUnmapped{}, Tokens: tokens.String()}
	for _, u := range list {
		body.Customers = append(body.Customers, BillingUnmapped{u.CustomerID, u.Lines, u.Tokens.String(), u.Oldest})
	}
	if len(list) == int(limit) {
		body.Next = &list[len(list)-1].CustomerID
	}
	lines, erased, err := a.store.ErasedUsage(c.ctx(), c.who.Tenant, config.Config.Start)
	if err != nil {
		return reply{}, err
	}
	body.Erased = BillingSum{lines, erased.String()}
	return reply{status: 200, body: body}, nil
}

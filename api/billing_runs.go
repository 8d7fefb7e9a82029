package api

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"ledgerd/internal/kinds"
	"ledgerd/internal/strictjson"
	"ledgerd/metering/billing"
)

// Biller tells the payment processor of usage. Errors are those of package billing and of the store.
type Biller interface {
	// Bill does what can be done now, and ReconcileTenant compares. They begin nothing more once the given time is over.
	Bill(ctx context.Context, tenant string, within time.Duration) (billing.Run, error)
	ReconcileTenant(ctx context.Context, tenant string, within time.Duration) (list []billing.Standing, more bool, err error)
	Settle(ctx context.Context, tenant string, seq int64, counts bool) error
	// Deliver takes a webhook's delivery and returns how many intents it parked.
	Deliver(ctx context.Context, tenant string, body []byte, signature string) (int, error)
}

// billingStateReader tells how billing stands.
type billingStateReader interface {
	BillingStatus(ctx context.Context, tenant string) (billing.Status, error)
	// WaitingIntents lists intents that are parked or stopped, above a seq, in the order of seq.
	WaitingIntents(ctx context.Context, tenant string, after int64, limit int) ([]billing.Waited, error)
}

// BillingStatusBody is how a tenant's billing stands.
type BillingStatusBody struct {
	Running bool `json:"running" jsonschema:"false: billing is switched off on this server"`
	billing.Status
}

// BillingRunBody is what a run did.
type BillingRunBody struct{ billing.Run }

// StandingListBody is what a reconciliation found.
type StandingListBody struct {
	Standings []billing.Standing `json:"standings"`
	More      bool               `json:"more" jsonschema:"true: there are more than could be compared in one answer; the hourly reconciliation compares them all"`
}

// ParkedListBody is one page of intents that wait for a person.
type ParkedListBody struct {
	Intents    []billing.Waited `json:"intents"`
	NextCursor *string          `json:"next_cursor" jsonschema:"null at the end"`
}

// SettleBody says what a person has found out about an intent.
type SettleBody struct {
	Counts bool `json:"counts" jsonschema:"true: Stripe counts the event. false: it does not and never will; the tokens are sent again as another event, with another identifier"`
}

// SettledBody is what became of an intent that a person decided about.
type SettledBody struct {
	Intent int64         `json:"intent" jsonschema:"its seq"`
	State  billing.State `json:"state" jsonschema:"confirmed, or replaced by another that is still to be sent"`
}

// DeliveredBody says what became of a webhook's delivery.
type DeliveredBody struct {
	Parked int `json:"parked" jsonschema:"intents that were parked"`
}

const (
	// runLimit is after how long a run begins nothing more. What was begun may take as long as a call.
	runLimit = 8 * time.Second
	// runDeadline ends a run with whatever it is at. It does not end with the caller: a call that was begun is waited for.
	runDeadline = 50 * time.Second
	// maxDelivery bounds a webhook's body, in bytes. A thin event has less than one KiB.
	maxDelivery = 64 << 10
)

var billers = []kinds.Role{kinds.Billing, kinds.Admin}

func (a *API) billingRunRoutes() []*Route {
	return []*Route{
		{
			Method: "POST", Path: "/v1/billing/runs", Name: "runBilling", Summary: "Bill now what is due",
			Doc: "Plans the windows that are over into intents, and tells Stripe of what is planned. The server does the same by itself every minute; a usage line is billed once however many " +
				"runs there are. It begins nothing more after 8 seconds: run again while `more` is true.",
			Roles: billers, Streams: true, Replies: []Reply{{Status: 200, Doc: "What was done.", Body: BillingRunBody{}}},
			Problems: []string{"billing-off", "log-read-only"}, handle: a.runBilling,
		},
		{
			Method: "GET", Path: "/v1/billing/status", Name: "billingStatus", Summary: "How billing stands",
			Doc:   "What is pending, ambiguous, parked and stopped, whose usage is mapped to nobody, and what the last reconciliations found.",
			Roles: []kinds.Role{kinds.Billing, kinds.Admin, kinds.Auditor}, Replies: []Reply{{Status: 200, Doc: "The state.", Body: BillingStatusBody{}}}, handle: a.getBillingStatus,
		},
		{
			Method: "POST", Path: "/v1/billing/reconciliations", Name: "reconcileBilling", Summary: "Compare the open periods with Stripe now",
			Doc: "Each customer's open billing periods, by what the ledger knows and by Stripe's summaries. The server does the same every hour. Where Stripe has less, the events that are missing are looked for, " +
				"and sent again as others once they have been missing for 24 hours. Where Stripe has more, nothing is done but to say so.",
			Roles: billers, Streams: true, Replies: []Reply{{Status: 200, Doc: "The standings.", Body: StandingListBody{}}},
			Problems: []string{"billing-off", "billing-refused", "processor-unavailable", "log-read-only"}, handle: a.reconcileBilling,
		},
		{
			Method: "GET", Path: "/v1/billing/parked", Name: "listParked", Summary: "List intents that wait for a person",
			Doc:   "Parked: Stripe refused the event for good, or reported that it did not count. Stopped: whether it counts can't be told, and nothing more is sent for its customer.",
			Roles: []kinds.Role{kinds.Billing, kinds.Admin, kinds.Auditor}, Query: []Param{{Name: "cursor", Form: "string", Doc: "next_cursor of the page before."}},
			Replies: []Reply{{Status: 200, Doc: "A page.", Body: ParkedListBody{}}}, handle: a.listParked,
		},
		{
			Method: "POST", Path: "/v1/billing/parked/{seq}/retry", Name: "settleParked", Summary: "Decide about an intent that is parked or stopped",
			Doc:   "Look in Stripe first: an event that counts and is sent again is billed twice. What was decided is recorded as an outcome.",
			Roles: billers, Segments: seqParam("The intent."), Body: SettleBody{}, Replies: []Reply{{Status: 200, Doc: "Recorded.", Body: SettledBody{}}},
			Problems: []string{"not-found", "not-parked", "billing-off", "billing-refused", "log-read-only", "invalid-json", "unknown-member", "missing-member"}, handle: a.settleParked,
		},
		{
			Method: "POST", Path: "/v1/stripe/webhook/{tenant}", Name: "stripeWebhook", Summary: "Take a delivery of Stripe's",
			Doc: "For Stripe alone: the Stripe-Signature by the tenant's webhook secret is checked before anything is read. Events about meter events that did not count are fetched from the configured account, and the " +
				"intents that they name are parked. The same delivery again changes nothing.",
			Public: true, Segments: []Param{{Name: "tenant", Required: true, Form: "string", Doc: "Whose account it is."}},
			Body: map[string]any{}, Replies: []Reply{{Status: 200, Doc: "Taken.", Body: DeliveredBody{}}},
			Problems: []string{"signature-invalid", "billing-off", "billing-refused", "processor-unavailable", "log-read-only", "body-too-large"}, handle: a.takeDelivery,
		},
	}
}

// errBillingOff is the answer of a server that does not bill.
var errBillingOff = &fault{code: "billing-off", detail: "this server was started with billing off, or has nothing to bill with"}

func (a *API) runBilling(c *call) (reply, error) {
	if a.biller == nil {
		return reply{}, errBillingOff
	}
	ctx, cancel := begun(c)
	defer cancel()
	run, err := a.biller.Bill(ctx, c.who.Tenant, runLimit)
	return reply{status: 200, body: BillingRunBody{run}}, err
}

// begun is the context of work that is not left half done because the caller goes away.
func begun(c *call) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.ctx()), runDeadline)
}

func (a *API) getBillingStatus(c *call) (reply, error) {
	s, err := a.store.BillingStatus(c.ctx(), c.who.Tenant)
	return reply{status: 200, body: BillingStatusBody{Running: a.biller != nil, Status: s}}, err
}

func (a *API) reconcileBilling(c *call) (reply, error) {
	if a.biller == nil {
		return reply{}, errBillingOff
	}
	ctx, cancel := begun(c)
	defer cancel()
	list, more, err := a.biller.ReconcileTenant(ctx, c.who.Tenant, runLimit)
	if list == nil {
		list = []billing.Standing{}
	}
	return reply{status: 200, body: StandingListBody{list, more}}, err
}

func (a *API) listParked(c *call) (reply, error) {
	after := int64(-1)
	if text, given := c.query["cursor"]; given {
		n, ok := decimal(text)
		if !ok {
			return reply{}, badCursor()
		}
		after = n
	}
	list, err := a.store.WaitingIntents(c.ctx(), c.who.Tenant, after, maxPage)
	if err != nil {
		return reply{}, err
	}
	page := ParkedListBody{Intents: list}
	if len(list) == maxPage {
		next := strconv.FormatInt(list[len(list)-1].Seq, 10)
		page.NextCursor = &next
	}
	return reply{status: 200, body: page}, nil
}

func (a *API) settleParked(c *call) (reply, error) {
	if a.biller == nil {
		return reply{}, errBillingOff
	}
	seq, err := seqSegment(c)
	if err != nil {
		return reply{}, err
	}
	body, err := readBody(c, wrapperBytes)
	if err != nil {
		return reply{}, err
	}
	var s SettleBody
	d := strictjson.NewDecoder(body, strictjson.Closed)
	d.Object(strictjson.Req("counts", func() { s.Counts = d.Bool() }))
	if err := d.Finish(); err != nil {
		return reply{}, err
	}
	settled := SettledBody{Intent: seq, State: billing.Replaced}
	if s.Counts {
		settled.State = billing.Confirmed
	}
	return reply{status: 200, body: settled}, a.biller.Settle(c.ctx(), c.who.Tenant, seq, s.Counts)
}

func (a *API) takeDelivery(c *call) (reply, error) {
	if a.biller == nil {
		return reply{}, errBillingOff
	}
	body, err := readBody(c, maxDelivery)
	if err != nil {
		return reply{}, err
	}
	tenant := chi.URLParam(c.http, "tenant")
	if c.http.URL.RawPath != "" { // then the router has not unescaped it
		if tenant, err = url.PathUnescape(tenant); err != nil {
			return reply{}, billing.ErrUnsigned
		}
	}
	if kinds.CheckName(tenant) != nil { // no tenant has such an id, and the store takes no such text
		return reply{}, billing.ErrUnsigned
	}
	parked, err := a.biller.Deliver(c.ctx(), tenant, body, c.http.Header.Get("Stripe-Signature"))
	return reply{status: 200, body: DeliveredBody{parked}}, err
}

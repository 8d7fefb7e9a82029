package api

import (
	"slices"
	"time"

	"github.com/go-chi/chi/v5"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/metering"
	"ledgerd/metering/billing"
)

// BillingEventBody is a billed event, down to the frames that were served. Tokens are decimal strings.
type BillingEventBody struct {
	Event        BillingEvent     `json:"event"`
	MeterID      string           `json:"meter_id"`
	EventName    string           `json:"event_name"`
	ClaimedBy    int64            `json:"claimed_by" jsonschema:"the intent that claims the usage: the event's own, or the first of those that it stands for"`
	ReplacedBy   *int64           `json:"replaced_by" jsonschema:"the intent that stands for this one; null for none"`
	Outcomes     []BillingOutcome `json:"outcomes"`
	Usage        []UsageLineBody  `json:"usage" jsonschema:"a page of the claimed lines, by seq and provider: the entries and the frames behind the event"`
	Next         *NextClaim       `json:"next" jsonschema:"after and after_provider for the next page; null on the last one"`
	Verification audit.ReportSet  `json:"verification" jsonschema:"the intent, its outcomes and the usage of this page, each checked again"`
}

// BillingOutcome is what became known of an event.
type BillingOutcome struct {
	Seq          int64         `json:"seq"`
	RecordedAt   time.Time     `json:"recorded_at"`
	State        billing.State `json:"state"`
	Cause        billing.Cause `json:"cause"`
	Attempts     int           `json:"attempts"`
	FirstAttempt *time.Time    `json:"first_attempt_at"`
	Status       int           `json:"status" jsonschema:"of HTTP, 0 for none"`
	Code         string        `json:"code"`
	RequestID    string        `json:"request_id" jsonschema:"the payment processor's name of the call"`
	Detail       string        `json:"detail"`
}

// NextClaim is where a page of claims ends.
type NextClaim struct {
	After         int64  `json:"after"`
	AfterProvider string `json:"after_provider"`
}

func (a *API) billingEventRoute() *Route {
	return &Route{
		Method: "GET", Path: "/v1/billing/events/{identifier}", Name: "billingEvent", Summary: "From a billed event to the frames behind it",
		Doc: "An event as the payment processor knows it, by its identifier: what was sent and what became of it, the usage reports that it is made of with the frames that they served, and each of these entries " +
			"checked again: leaf, commitments, place in the tree, the report's arithmetic, the rows that the answer is made of.",
		Roles: meters, Segments: []Param{{Name: "identifier", Required: true, Form: "string", Doc: "The event's identifier."}},
		Query: []Param{
			{Name: "after", Form: "integer", Doc: "Usage after this seq, with after_provider: the next of the page before."},
			{Name: "after_provider", Form: "string", Doc: "Of that seq, providers after this one."},
			{Name: "limit", Form: "integer", Doc: "Lines of usage per page at most, 1 to 1,000, 100 by default."},
		},
		Replies: []Reply{{Status: 200, Doc: "The event.", Body: BillingEventBody{}}}, Problems: []string{"not-found", "log-read-only"}, handle: a.getBillingEvent,
	}
}

func (a *API) getBillingEvent(c *call) (reply, error) {
	head, err := a.store.Head(c.ctx())
	if err != nil {
		return reply{}, err
	}
	p, err := a.store.IntentNamed(c.ctx(), c.who.Tenant, chi.URLParam(c.http, "identifier"))
	if err != nil {
		return reply{}, err
	}
	body := BillingEventBody{Event: eventBody(p), MeterID: p.Intent.MeterID, EventName: p.Intent.Event.EventName}
	seqs := []int64{p.Seq}
	if err := a.claimedUsage(c, &body, &seqs); err != nil {
		return reply{}, err
	}
	outcomes, err := a.store.Outcomes(c.ctx(), c.who.Tenant, p.Seq)
	if err != nil {
		return reply{}, err
	}
	body.Outcomes = make([]BillingOutcome, 0, len(outcomes))
	for _, o := range outcomes {
		body.Outcomes = append(body.Outcomes, outcomeBody(o))
		seqs = append(seqs, o.Seq)
	}
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	checked, err := a.store.VerifyEntries(c.ctx(), c.who.Tenant, seqs, head, a.verifiers...)
	if err != nil {
		return reply{}, err
	}
	body.Verification = checked.Set(seqs)
	return reply{status: 200, body: body}, nil
}

// claimedUsage fills in a page of the usage that is behind an event, and adds its entries to seqs.
func (a *API) claimedUsage(c *call, body *BillingEventBody, seqs *[]int64) error {
	claimant, next, err := a.store.ClaimantOf(c.ctx(), c.who.Tenant, body.Event.Seq)
	if err != nil {
		return err
	}
	body.ClaimedBy = claimant
	if next != 0 {
		body.ReplacedBy = &next
	}
	after, err := c.query.number("after", -1, 0, 1<<53)
	if err != nil {
		return err
	}
	provider := c.query["after_provider"]
	if kinds.CheckName(provider) != nil {
		return badParam("after_provider", "it is a provider's id, at most 512 bytes")
	}
	limit, err := c.query.number("limit", 100, 1, maxClaims)
	if err != nil {
		return err
	}
	lines, err := a.store.ClaimedLines(c.ctx(), c.who.Tenant, claimant, after, provider, int(limit))
	if err != nil {
		return err
	}
	body.Usage = make([]UsageLineBody, 0, len(lines))
	for _, l := range lines {
		body.Usage = append(body.Usage, usageLine(l))
		*seqs = append(*seqs, l.Seq)
	}
	if *seqs = append(*seqs, claimant); len(lines) == int(limit) {
		body.Next = nextClaim(lines[len(lines)-1])
	}
	return nil
}

func nextClaim(l metering.Line) *NextClaim { return &NextClaim{l.Seq, l.ProviderID} }

func outcomeBody(o kinds.RecordedOutcome) BillingOutcome {
	return BillingOutcome{
		Seq: o.Seq, RecordedAt: o.RecordedAt, State: o.State, Cause: o.Cause, Attempts: o.Attempts, FirstAttempt: o.FirstTry,
		Status: o.Status, Code: o.Code, RequestID: o.RequestID, Detail: o.Detail,
	}
}

package stripe

import (
	"context"
	"errors"
	"time"

	"github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/billing/meter"
	"github.com/stripe/stripe-go/v76/billing/metereventsummary"
	"github.com/stripe/stripe-go/v76/customer"
	"github.com/stripe/stripe-go/v76/subscription"

	"ledgerd/metering/billing"
)

const (
	pageLimit = 100 // the most that Stripe gives
	maxPages  = 100 // of summaries: by the hour, more than a year
)

// Meter reads a meter.
func (c *Client) Meter(ctx context.Context, id string) (billing.Meter, error) {
	if err := safeID("meter", id); err != nil {
		return billing.Meter{}, err
	}
	ctx, x, cancel := c.begin(ctx)
	defer cancel()
	p := &stripe.BillingMeterParams{}
	p.Context = ctx
	got, err := meter.Client{B: c.backend, Key: c.key}.Get(id, p)
	if err == nil && (got.ID != id || got.DefaultAggregation == nil || got.CustomerMapping == nil || got.ValueSettings == nil) {
		err = errors.New("the answer is not the meter that was asked for")
	}
	if err := c.failed("the meter", x, err); err != nil {
		return billing.Meter{}, err
	}
	return billing.Meter{
		ID: got.ID, EventName: got.EventName, Formula: string(got.DefaultAggregation.Formula), Status: string(got.Status),
		EventTimeWindow: string(got.EventTimeWindow), CustomerKey: got.CustomerMapping.EventPayloadKey,
		CustomerMapping: string(got.CustomerMapping.Type), ValueKey: got.ValueSettings.EventPayloadKey,
	}, nil
}

// Summaries reads what a meter holds for a customer, in Stripe's order. No summary means that nothing was counted.
func (c *Client) Summaries(ctx context.Context, q billing.SummaryQuestion) ([]billing.Summary, error) {
	if err := safeID("meter", q.MeterID); err != nil {
		return nil, err
	}
	var all []billing.Summary
	after := ""
	for range maxPages {
		page, err := c.summaryPage(ctx, q, after)
		if err != nil {
			return nil, err
		}
		for _, s := range page.Data {
			all = append(all, billing.Summary{From: time.Unix(s.StartTime, 0).UTC(), To: time.Unix(s.EndTime, 0).UTC(), Value: s.AggregatedValue})
		}
		if !page.HasMore {
			return all, nil
		}
		if len(page.Data) == 0 {
			break
		}
		after = page.Data[len(page.Data)-1].ID
	}
	return nil, &billing.CallError{Call: "asking Stripe for summaries", Reply: billing.Reply{Class: billing.Ambiguous, Detail: "the pages of the answer don't come to an end"}}
}

func (c *Client) summaryPage(ctx context.Context, q billing.SummaryQuestion, after string) (*stripe.BillingMeterEventSummaryList, error) {
	ctx, x, cancel := c.begin(ctx)
	defer cancel()
	p := &stripe.BillingMeterEventSummaryListParams{
		ID: stripe.String(q.MeterID), Customer: stripe.String(q.Customer),
		StartTime: stripe.Int64(q.From.Unix()), EndTime: stripe.Int64(q.To.Unix()),
	}
	p.Context, p.Single, p.Limit = ctx, true, stripe.Int64(pageLimit)
	if q.Group != "" {
		p.ValueGroupingWindow = stripe.String(q.Group)
	}
	if after != "" {
		p.StartingAfter = stripe.String(after)
	}
	it := metereventsummary.Client{B: c.backend, Key: c.key}.List(p)
	return it.BillingMeterEventSummaryList(), c.failed("summaries", x, it.Err())
}

// Customer reads a customer with the subscriptions that have not ended, at most 100.
func (c *Client) Customer(ctx context.Context, id string) (billing.Customer, error) {
	if err := safeID("customer", id); err != nil {
		return billing.Customer{}, err
	}
	callCtx, x, cancel := c.begin(ctx)
	defer cancel()
	p := &stripe.CustomerParams{}
	p.Context = callCtx
	got, err := customer.Client{B: c.backend, Key: c.key}.Get(id, p)
	if err == nil && got.ID != id {
		err = errors.New("the answer is not the customer that was asked for")
	}
	if err := c.failed("the customer", x, err); err != nil {
		return billing.Customer{}, err
	}
	known := billing.Customer{ID: got.ID, Deleted: got.Deleted}
	if known.Deleted {
		return known, nil
	}
	known.Subscriptions, err = c.subscriptions(ctx, id)
	return known, err
}

func (c *Client) subscriptions(ctx context.Context, id string) ([]billing.Subscription, error) {
	ctx, x, cancel := c.begin(ctx)
	defer cancel()
	p := &stripe.SubscriptionListParams{Customer: stripe.String(id)}
	p.Context, p.Single, p.Limit = ctx, true, stripe.Int64(pageLimit)
	it := subscription.Client{B: c.backend, Key: c.key}.List(p)
	if err := c.failed("the customer's subscriptions", x, it.Err()); err != nil {
		return nil, err
	}
	var all []billing.Subscription
	for _, s := range it.SubscriptionList().Data {
		all = append(all, terms(s))
	}
	return all, nil
}

// terms are what a subscription says about billing. The interval is that of an item on a meter.
func terms(s *stripe.Subscription) billing.Subscription {
	b := billing.Subscription{
		ID: s.ID, Status: string(s.Status), Anchor: time.Unix(s.BillingCycleAnchor, 0).UTC(),
		PeriodStart: time.Unix(s.CurrentPeriodStart, 0).UTC(), PeriodEnd: time.Unix(s.CurrentPeriodEnd, 0).UTC(),
	}
	if s.Items == nil {
		return b
	}
	for _, item := range s.Items.Data {
		if item.Price == nil || item.Price.Recurring == nil || item.Price.Recurring.Meter == "" {
			continue
		}
		r := item.Price.Recurring
		b.MeterIDs = append(b.MeterIDs, r.Meter)
		b.Interval, b.IntervalCount = string(r.Interval), int(r.IntervalCount)
	}
	return b
}

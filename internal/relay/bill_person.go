package relay

import (
	"context"
	"errors"
	"fmt"

	"ledgerd/metering/billing"
)

// Settle closes an intent that is parked or stopped by what a person has found out. counts: the processor has it after all.
// Otherwise it does not and never will, and another intent with another identifier stands for it from now on.
func (b *Biller) Settle(ctx context.Context, tenant string, seq int64, counts bool) error {
	p, err := b.o.Books.Intent(ctx, tenant, seq)
	if err != nil {
		return err
	}
	if p.State != billing.Parked && p.State != billing.Stopped {
		return billing.ErrNotParked
	}
	if counts {
		err := b.o.Books.RecordOutcomes(ctx, tenant, []billing.Closing{{Outcome: p.Outcome(billing.Confirmed, billing.ByPerson, billing.Reply{})}})
		if err != nil {
			return err
		}
		return b.settled(ctx, tenant, seq, billing.Confirmed)
	}
	t, err := b.o.Books.BillingTerms(ctx, tenant)
	if err != nil {
		return err
	}
	if t == nil {
		return fmt.Errorf("%w: the tenant has no billing configuration", billing.ErrRefused)
	}
	if _, mapped := t.Config.Of(p.Intent.Event.Customer); !mapped {
		return fmt.Errorf("%w: no customer of the configuration is billed to this intent's any more", billing.ErrRefused)
	}
	if _, err := b.replace(ctx, t, p, billing.ByPerson); err != nil {
		return err
	}
	return b.settled(ctx, tenant, seq, billing.Replaced)
}

// settled says why an intent did not come to the state that a person wanted; nil when it did.
func (b *Biller) settled(ctx context.Context, tenant string, seq int64, want billing.State) error {
	p, err := b.o.Books.Intent(ctx, tenant, seq)
	switch {
	case err != nil || p.State == want:
		return err
	case p.State == billing.Parked || p.State == billing.Stopped:
		return fmt.Errorf("%w: it takes back more than the open billing period is known to hold; try again once that holds it", billing.ErrRefused)
	}
	return billing.ErrNotParked // somebody else has decided meanwhile
}

// Reported parks the intents of events that the processor says did not count. It has samples only; what they miss is found by
// reconciliation. The same report again changes nothing.
func (b *Biller) Reported(ctx context.Context, tenant string, r billing.ErrorReport) (parked int, err error) {
	for _, s := range r.Samples {
		p, err := b.o.Books.IntentNamed(ctx, tenant, s.Identifier)
		if errors.Is(err, billing.ErrNoIntent) {
			continue // another system may send to the same meter
		}
		if err != nil {
			return parked, err
		}
		if !billing.CanFollow(p.State, billing.Parked) || p.State == billing.Confirmed && p.Cause == billing.ByPerson {
			continue // somebody has looked since; Stripe delivers a report for days
		}
		reply := billing.Reply{Code: s.Code, RequestID: r.EventID, Detail: s.Detail}
		if err := b.o.Books.RecordOutcomes(ctx, tenant, []billing.Closing{{Outcome: p.Outcome(billing.Parked, billing.ByReport, reply)}}); err != nil {
			return parked, err
		}
		parked++
		b.o.Logger.Error("an event did not count although the payment processor had taken it; it is parked, see ledgerd bill park list", "tenant", tenant, "intent", p.Seq, "code", s.Code)
	}
	b.o.Logger.Warn("the payment processor reports events that did not count", "tenant", tenant, "events", r.Count, "samples", len(r.Samples), "parked", parked)
	return parked, nil
}

package relay

import (
	"context"
	"errors"

	"ledgerd/metering/billing"
)

const (
	planLines = 20_000 // of one customer, read at once
	planPages = 50     // of a customer in one pass
)

// plan records what is due of each mapped customer. One process plans a tenant at a time; it would do no harm if two did,
// since a line can be claimed once, but waste their work.
func (b *Biller) plan(ctx context.Context, t *terms) (billing.Run, error) {
	var run billing.Run
	whole := billing.Lane{Tenant: t.Tenant}
	held, err := b.o.Books.HoldLane(ctx, whole, t.holder, laneLease)
	if err != nil || !held {
		run.More = !held
		return run, err
	}
	defer b.release(ctx, whole, t.holder)
	now := b.o.Now()
	customers, err := b.o.Books.DueCustomers(ctx, t.Tenant, t.Config.PlannedFrom(now), now.Add(-t.Config.Settle))
	if err != nil {
		return run, err
	}
	for _, id := range customers {
		m, mapped := t.Config.Mapped(id)
		if !mapped {
			continue // it waits, and is listed and counted
		}
		if t.over() {
			run.More = true
			break
		}
		if held, err := b.o.Books.HoldLane(ctx, whole, t.holder, laneLease); err != nil || !held {
			return run, err
		}
		n, more, err := b.planCustomer(ctx, t, m)
		run.Planned += n
		run.More = run.More || more
		if err != nil {
			return run, err
		}
	}
	return run, nil
}

// planCustomer plans page by page; what the period holds is asked anew for each, since it may have changed.
func (b *Biller) planCustomer(ctx context.Context, t *terms, m billing.Mapping) (planned int, more bool, err error) {
	now := b.o.Now()
	lane := billing.Lane{Tenant: t.Tenant, MeterID: t.Config.MeterID, Customer: m.Customer}
	var after *billing.Line
	for range planPages {
		lines, err := b.o.Books.DueUsage(ctx, t.Tenant, m.CustomerID, t.Config.PlannedFrom(now), now.Add(-t.Config.Settle), after, planLines)
		if err != nil || len(lines) == 0 {
			return planned, false, err
		}
		held, err := b.o.Books.HeldIn(ctx, lane, t.Config.OpenPeriods(m, now))
		if err != nil {
			return planned, false, err
		}
		p := billing.Make(billing.Ask{Origin: t.Origin, Revision: t.Revision, Config: t.Config, Mapping: m, Lines: lines, Held: held, Now: now})
		n, err := b.o.Books.RecordIntents(ctx, t.Tenant, p.Intents)
		planned += n
		if errors.Is(err, billing.ErrClaimed) {
			return planned, true, nil // somebody else plans the same; look again at what is left
		}
		if err != nil {
			return planned, false, err
		}
		if len(lines) < planLines {
			return planned, false, nil
		}
		after = &lines[len(lines)-1]
	}
	return planned, true, nil
}

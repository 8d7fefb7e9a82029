package relay

import (
	"context"
	"errors"
	"sync"
	"time"

	"ledgerd/metering/billing"
)

const (
	// laneLease is how long a process that has died keeps others from a lane. It is longer than any call.
	laneLease = 2 * time.Minute
	lanePage  = 200 // intents
	// laneBatch is how many calls are stamped by one commit, and their outcomes recorded by one.
	laneBatch = 50
	// laneLimit bounds the intents of one lane in one pass, so that a customer with very many does not keep the others waiting.
	laneLimit = 2000
	// silentLanes is how many lanes in a row may get no answer until the rest are left for the next pass.
	silentLanes = 8
)

// lanes tells the processor of what is planned, a few customers at once and one call at a time for each.
func (b *Biller) lanes(ctx context.Context, t *terms) (billing.Run, error) {
	var run billing.Run
	list, err := b.o.Books.OpenLanes(ctx, t.Tenant)
	if err != nil {
		return run, err
	}
	var (
		mu    sync.Mutex
		group sync.WaitGroup
		all   error
	)
	slots := make(chan struct{}, b.o.Lanes)
	silent := 0 // lanes in a row that got no answer at all: the account is away, and waiting for each of them would take hours
	for _, l := range list {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		mu.Lock()
		end := ctx.Err() != nil || t.over()
		run.More = run.More || end
		end = end || silent >= silentLanes
		mu.Unlock()
		if end {
			break
		}
		group.Go(func() {
			defer func() { <-slots }()
			one, err := b.lane(ctx, t, l)
			mu.Lock()
			defer mu.Unlock()
			run.Add(one)
			silent++
			if one.Unresolved == 0 || one.Confirmed+one.Parked > 0 {
				silent = 0
			}
			all = errors.Join(all, err)
		})
	}
	group.Wait()
	return run, errors.Join(all, ctx.Err())
}

// lane does what can be done now about one customer's events.
func (b *Biller) lane(ctx context.Context, t *terms, l billing.Lane) (billing.Run, error) {
	run := billing.Run{}
	if b.paused(l) {
		return run, nil
	}
	held, err := b.o.Books.HoldLane(ctx, l, t.holder, laneLease)
	if err != nil || !held {
		run.More = !held
		return run, err
	}
	defer b.release(ctx, l, t.holder)
	if stopped, err := b.o.Books.LaneStopped(ctx, l); err != nil || stopped {
		return run, err
	}
	if refusal, err := b.checkCustomer(ctx, t, l); err != nil || refusal != nil {
		if refusal != nil {
			run.Refusals = append(run.Refusals, *refusal)
		}
		return run, err
	}
	w := &laneWork{b: b, t: t, lane: l, run: &run, blocked: map[int64]bool{}}
	return run, w.all(ctx)
}

func (b *Biller) paused(l billing.Lane) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	until, ok := b.pauses[l]
	if ok && !b.o.Now().Before(until) {
		delete(b.pauses, l)
		ok = false
	}
	return ok
}

func (b *Biller) pause(l billing.Lane, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pauses[l] = until
}

// release lets another process have the lane at once. It is given a moment although ctx has ended.
func (b *Biller) release(ctx context.Context, l billing.Lane, holder string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := b.o.Books.ReleaseLane(ctx, l, holder); err != nil {
		b.o.Logger.Debug("giving a lane back", "error", err) // it ends by itself
	}
}

// customerKey names what was checked of a customer: under a revision, so that a new one is checked again.
type customerKey struct {
	lane     billing.Lane
	revision int64
}

// customerCheck is what was found, and how long it is believed.
type customerCheck struct {
	fault string
	until time.Time
}

const (
	believeRight = time.Hour
	believeWrong = time.Minute
	maxChecks    = 20_000 // kept
)

// checkCustomer refuses a lane whose customer is gone, is mapped no more, or is billed in other periods than configured.
func (b *Biller) checkCustomer(ctx context.Context, t *terms, l billing.Lane) (*billing.Refusal, error) {
	m, mapped := t.Config.Of(l.Customer)
	if !mapped || l.MeterID != t.Config.MeterID {
		return &billing.Refusal{Reason: "events were planned for a customer or meter that the configuration does not have any more: " + l.Customer + " on " + l.MeterID}, nil
	}
	key := customerKey{l, t.Revision}
	b.mu.Lock()
	known, ok := b.customers[key]
	b.mu.Unlock()
	if !ok || !b.o.Now().Before(known.until) {
		if !b.pace.wait(ctx) {
			return nil, ctx.Err()
		}
		known = b.askCustomer(ctx, t, m)
		b.mu.Lock()
		if len(b.customers) >= maxChecks {
			clear(b.customers)
		}
		b.customers[key] = known
		b.mu.Unlock()
	}
	if known.fault != "" {
		return &billing.Refusal{CustomerID: m.CustomerID, Reason: known.fault}, nil
	}
	return nil, nil
}

func (b *Biller) askCustomer(ctx context.Context, t *terms, m billing.Mapping) customerCheck {
	now := b.o.Now()
	c, err := t.processor.Customer(ctx, m.Customer)
	if err != nil {
		return customerCheck{"the customer could not be checked: " + err.Error(), now.Add(believeWrong)}
	}
	if fault := billing.CheckCustomer(t.Config, m, c, now); fault != "" {
		return customerCheck{fault, now.Add(believeWrong)}
	}
	return customerCheck{"", now.Add(believeRight)}
}

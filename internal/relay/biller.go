package relay

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ledgerd/metering/billing"
)

// Processor is the account of one tenant at a payment processor. An error of a question is a *billing.CallError where the
// processor was asked.
type Processor interface {
	CreateMeterEvent(ctx context.Context, e billing.MeterEvent) billing.Reply
	Meter(ctx context.Context, id string) (billing.Meter, error)
	Customer(ctx context.Context, id string) (billing.Customer, error)
	Summaries(ctx context.Context, q billing.SummaryQuestion) ([]billing.Summary, error)
}

// BillerOptions are a Biller's parts; those without a comment are required.
type BillerOptions struct {
	Books     Books
	Account   func(tenant string, c billing.Config) (Processor, error) // an error says why the account can't be used, without secrets
	Logger    *slog.Logger
	Now       func() time.Time // nil for the machine's clock
	Every     time.Duration    // between passes; 0 for defaultEvery
	Reconcile time.Duration    // between reconciliations; 0 for defaultReconcile
	PerSecond int              // calls to the processor; 0 for defaultPerSecond
	Lanes     int              // customers that are told of at once; 0 for defaultLanes
}

const (
	defaultEvery     = time.Minute
	defaultReconcile = time.Hour
	defaultPerSecond = 50 // Stripe takes 1,000, and 25 in a sandbox answers 429 beyond
	defaultLanes     = 4
)

// Biller is the loop that bills: it plans usage into intents, tells the processor of them and finds out what became of
// each. Any number may run on one ledger at once.
type Biller struct {
	o      BillerOptions
	pace   *pace
	status atomic.Pointer[billing.Gauges]

	mu        sync.Mutex
	due       map[string]time.Time // tenant → when it is to be reconciled
	customers map[customerKey]customerCheck
	pauses    map[billing.Lane]time.Time // a lane that was told to come back later
}

// NewBiller makes a biller, which does nothing until it is called.
func NewBiller(o BillerOptions) *Biller {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Every == 0 {
		o.Every = defaultEvery
	}
	if o.Reconcile == 0 {
		o.Reconcile = defaultReconcile
	}
	if o.PerSecond == 0 {
		o.PerSecond = defaultPerSecond
	}
	if o.Lanes == 0 {
		o.Lanes = defaultLanes
	}
	b := &Biller{o: o, pace: newPace(o.PerSecond), due: map[string]time.Time{}, customers: map[customerKey]customerCheck{}, pauses: map[billing.Lane]time.Time{}}
	b.status.Store(&billing.Gauges{})
	return b
}

// Status is how billing stood when the loop last looked.
func (b *Biller) Status() billing.Gauges { return *b.status.Load() }

// Run bills until ctx ends. Neither an error nor a processor that is away ends it.
func (b *Biller) Run(ctx context.Context) {
	var wait backoff
	for ctx.Err() == nil {
		err := b.pass(ctx)
		b.look(ctx)
		if err != nil && ctx.Err() == nil {
			pause := wait.next()
			b.o.Logger.Warn("billing", "error", err, "retry_in", pause)
			sleep(ctx, pause)
			continue
		}
		wait.reset()
		sleep(ctx, b.o.Every)
	}
}

func (b *Biller) look(ctx context.Context) {
	g, err := b.o.Books.BillingGauges(ctx)
	if err == nil { // the store's absence is noticed by everything else
		b.status.Store(&g)
	}
}

// tenantsAtOnce bounds the tenants that are billed side by side, so that an account that hangs does not hold up the others.
const tenantsAtOnce = 4

// pass bills each tenant as far as it can be done now. A tenant that fails does not hold up the others.
func (b *Biller) pass(ctx context.Context) error {
	tenants, err := b.o.Books.BillingTenants(ctx)
	if err != nil {
		return err
	}
	var (
		mu    sync.Mutex
		all   error
		group sync.WaitGroup
		slots = make(chan struct{}, tenantsAtOnce)
	)
	for _, tenant := range tenants {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if err := b.passTenant(ctx, tenant); err != nil {
				mu.Lock()
				defer mu.Unlock()
				all = errors.Join(all, fmt.Errorf("tenant %q: %w", tenant, err))
			}
		})
	}
	group.Wait()
	return all
}

func (b *Biller) passTenant(ctx context.Context, tenant string) error {
	for ctx.Err() == nil {
		run, err := b.Bill(ctx, tenant, 0)
		b.report(tenant, run)
		if err != nil {
			return err
		}
		if !run.Progress() {
			break
		}
	}
	if ctx.Err() != nil || !b.isDue(tenant) {
		return ctx.Err()
	}
	_, _, err := b.ReconcileTenant(ctx, tenant, 0)
	if errors.Is(err, billing.ErrRefused) {
		return nil // it was reported by Bill, and is tried again when its turn comes
	}
	return err
}

// isDue says whether the tenant is to be reconciled, and takes the turn. A reconciliation that fails waits for the next: what it
// would find has time.
func (b *Biller) isDue(tenant string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.o.Now()
	if now.Before(b.due[tenant]) {
		return false
	}
	b.due[tenant] = now.Add(b.o.Reconcile)
	return true
}

func (b *Biller) report(tenant string, run billing.Run) {
	for _, r := range run.Refusals {
		b.o.Logger.Error("nothing is sent to the payment processor", "tenant", tenant, "customer", r.CustomerID, "reason", r.Reason)
	}
	if run.Planned+run.Attempts > 0 {
		b.o.Logger.Info("billed", "tenant", tenant, "planned", run.Planned, "attempts", run.Attempts, "confirmed", run.Confirmed, "parked", run.Parked, "unresolved", run.Unresolved)
	}
}

// terms are what one pass over a tenant works under.
type terms struct {
	billing.Terms
	processor Processor
	holder    string    // names this pass among all of all processes
	until     time.Time // by this process's clock, when nothing more is begun; zero for never
}

// over says whether nothing more is to be begun.
func (t *terms) over() bool { return !t.until.IsZero() && time.Now().After(t.until) }

// terms reads the configuration and checks the account and its meter. A refusal says why nothing can be sent; nil and no refusal
// when the tenant is not billed.
func (b *Biller) terms(ctx context.Context, tenant string, within time.Duration) (*terms, *billing.Refusal, error) {
	t, err := b.o.Books.BillingTerms(ctx, tenant)
	if err != nil || t == nil {
		return nil, nil, err
	}
	if !b.pace.wait(ctx) {
		return nil, nil, ctx.Err()
	}
	p, fault := b.openAccount(ctx, tenant, t.Config)
	if fault != "" {
		return nil, &billing.Refusal{Reason: fault}, nil
	}
	until := time.Time{}
	if within > 0 {
		until = time.Now().Add(within)
	}
	return &terms{Terms: *t, processor: p, holder: rand.Text(), until: until}, nil, nil
}

// restored is why nothing is sent after a restore: intents that were recorded after the backup are lost, and their usage would be
// billed a second time.
const restored = "the log was opened anew after a restore, and what was billed after the backup is not on record. Compare with Stripe (ledgerd bill reconcile), " +
	"then set the billing configuration again with a start after what Stripe has"

// openAccount opens the account and checks its meter. A fault says why nothing may be sent.
func (b *Biller) openAccount(ctx context.Context, tenant string, c billing.Config) (p Processor, fault string) {
	p, err := b.o.Account(tenant, c)
	if err != nil {
		return nil, err.Error()
	}
	m, err := p.Meter(ctx, c.MeterID)
	if err != nil {
		return nil, "the meter could not be checked: " + err.Error()
	}
	return p, billing.CheckMeter(c, m)
}

// Bill does what can be done now about a tenant's usage: it plans what is due, and then tells the processor. Called again, or
// by several at once, it does nothing twice. It begins nothing more once the given time is over; 0 for no limit but ctx.
func (b *Biller) Bill(ctx context.Context, tenant string, within time.Duration) (billing.Run, error) {
	run := billing.Run{Refusals: []billing.Refusal{}}
	t, refusal, err := b.terms(ctx, tenant, within)
	if refusal != nil {
		run.Refusals = append(run.Refusals, *refusal)
	}
	if err != nil || t == nil {
		return run, err
	}
	if t.Restored {
		run.Refusals = append(run.Refusals, billing.Refusal{Reason: restored})
		return run, nil
	}
	planned, err := b.plan(ctx, t)
	run.Add(planned)
	if err != nil {
		return run, err
	}
	told, err := b.lanes(ctx, t)
	run.Add(told)
	return run, err
}

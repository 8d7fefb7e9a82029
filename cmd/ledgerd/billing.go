package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerd/internal/postgres"
	"ledgerd/internal/relay"
	"ledgerd/internal/stripe"
	"ledgerd/metering/billing"
)

// billingFlags say whether and how a server bills.
type billingFlags struct {
	Billing        string        `enum:"on,off" default:"on" env:"LEDGERD_BILLING" help:"Whether Stripe is told of usage: on or off. Off stops everything that is sent, at once and for all tenants; usage goes on being recorded. A tenant without a billing configuration is never billed."`
	BillingSecrets string        `env:"LEDGERD_BILLING_SECRETS" placeholder:"DIR" type:"path" help:"Folder with the secrets that billing configurations name, in files TENANT/NAME that only the service can read. Without it they are in variables LEDGERD_SECRET_TENANT__NAME."`
	BillingEvery   time.Duration `default:"1m" env:"LEDGERD_BILLING_EVERY" help:"Pause between two looks at what is due, 1s to 1h."`
	BillingRate    int           `default:"50" env:"LEDGERD_BILLING_RATE" help:"Calls to Stripe in a second, 1 to 500. Stripe takes 1000 of an account, and 25 in a sandbox."`
	StripeURL      string        `env:"LEDGERD_STRIPE_URL" placeholder:"URL" help:"Where Stripe answers. Default: https://api.stripe.com. Plain http on loopback only."`
}

// Validate checks what kong can't.
func (f billingFlags) Validate() error {
	if f.BillingRate < 1 || f.BillingRate > 500 {
		return errors.New("--billing-rate is 1 to 500")
	}
	if f.BillingEvery < time.Second || f.BillingEvery > time.Hour {
		return errors.New("--billing-every is 1s to 1h")
	}
	return nil
}

const billingOff = "off"

// billingService is the biller with the accounts that it works on, as the API takes it.
type billingService struct {
	*relay.Biller
	books    *postgres.Books
	accounts *accounts

	log        *slog.Logger
	mu         sync.Mutex
	hooks      map[string]hook // by tenant
	complained time.Time
}

// newBilling makes the biller of a server, nil when billing is off.
func newBilling(o serverOptions, store *postgres.Store, appender *postgres.Appender) *billingService {
	f := o.Billing
	if f.Billing == billingOff {
		o.Log.Warn("billing is off: usage is recorded, and Stripe is told of nothing")
		return nil
	}
	books := postgres.NewBooks(store, appender)
	a := &accounts{url: f.StripeURL, secrets: secretStore{folder: f.BillingSecrets, env: os.Getenv}, clients: map[string]account{}}
	b := relay.NewBiller(relay.BillerOptions{
		Books: books, Logger: o.Log, Now: o.BillingClock, PerSecond: f.BillingRate, Every: f.BillingEvery,
		Account: func(tenant string, c billing.Config) (relay.Processor, error) { return a.open(tenant, c) },
	})
	return &billingService{Biller: b, books: books, accounts: a, hooks: map[string]hook{}, log: o.Log}
}

// Deliver takes a webhook's delivery: its signature is checked by the tenant's secret first. What it is about is fetched from
// the tenant's account, and from nowhere that it might name.
func (s *billingService) Deliver(ctx context.Context, tenant string, body []byte, signature string) (int, error) {
	c, err := s.hooked(ctx, tenant)
	if err != nil {
		return 0, err
	}
	if c == nil || c.WebhookSecret == "" {
		return 0, billing.ErrUnsigned // a stranger learns nothing about which tenants there are
	}
	secrets, err := s.accounts.secrets.lookup(tenant, c.WebhookSecret)
	if err != nil {
		s.complain(tenant, err)
		return 0, billing.ErrUnsigned
	}
	notice, err := stripe.OpenWebhook(body, signature, secrets)
	if err != nil || !notice.About() {
		return 0, err
	}
	account, err := s.accounts.open(tenant, *c)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", billing.ErrRefused, err)
	}
	report, err := account.ErrorReport(ctx, notice.ID)
	if err != nil {
		return 0, err
	}
	return s.Reported(ctx, tenant, report)
}

// hookFreshness is how long a configuration is believed for deliveries, so that whoever sends unsigned ones does not make the store
// read it each time.
const (
	hookFreshness = 5 * time.Second
	maxHooks      = 1000 // tenants
)

// hook is a configuration as it was read at a time, nil for none.
type hook struct {
	config *billing.Config
	read   time.Time
}

// hooked is the tenant's configuration in force, or that of a moment ago; nil when it has none.
func (s *billingService) hooked(ctx context.Context, tenant string) (*billing.Config, error) {
	s.mu.Lock()
	known, ok := s.hooks[tenant]
	s.mu.Unlock()
	if ok && time.Since(known.read) < hookFreshness {
		return known.config, nil
	}
	t, err := s.books.BillingTerms(ctx, tenant)
	if err != nil {
		return nil, err
	}
	h := hook{read: time.Now()}
	if t != nil {
		h.config = &t.Config
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.hooks) >= maxHooks {
		clear(s.hooks)
	}
	s.hooks[tenant] = h
	return h.config, nil
}

// complain logs that deliveries can't be checked, once a minute at most: anybody can send them.
func (s *billingService) complain(tenant string, err error) {
	s.mu.Lock()
	again := time.Since(s.complained) < time.Minute
	if !again {
		s.complained = time.Now()
	}
	s.mu.Unlock()
	if !again {
		s.log.Error("a delivery of Stripe's could not be checked", "tenant", tenant, "error", err)
	}
}

// accounts opens the Stripe account of a tenant. A client is kept until its key is exchanged.
type accounts struct {
	url     string
	secrets secretStore

	mu      sync.Mutex
	clients map[string]account // by tenant
}

type account struct {
	key    string
	client *stripe.Client
}

func (a *accounts) open(tenant string, c billing.Config) (*stripe.Client, error) {
	keys, err := a.secrets.lookup(tenant, c.SecretKey)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	known, ok := a.clients[tenant]
	if ok && known.key == keys[0] {
		return known.client, nil
	}
	client, err := stripe.New(stripe.Options{Key: keys[0], URL: a.url})
	if err != nil {
		return nil, err
	}
	if ok {
		known.client.Close()
	}
	a.clients[tenant] = account{keys[0], client}
	return client, nil
}

// billingMetrics shows how billing stands over all tenants. The numbers are as old as the loop's last pass, a minute at most
// where nothing is due.
func billingMetrics(registry *prometheus.Registry, b *relay.Biller) {
	gauge := func(name, help string, value func(billing.Gauges) float64) {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "ledgerd", Subsystem: "billing", Name: name, Help: help},
			func() float64 { return value(b.Status()) }))
	}
	gauge("pending_intents", "Intents that are planned and not known to count at Stripe.", func(g billing.Gauges) float64 { return float64(g.Pending) })
	gauge("ambiguous_intents", "Pending intents that were attempted without a known outcome.", func(g billing.Gauges) float64 { return float64(g.Ambiguous) })
	gauge("oldest_pending_seconds", "Age of the oldest pending intent.", func(g billing.Gauges) float64 { return g.OldestPending.Seconds() })
	gauge("parked_intents", "Intents that Stripe refused for good, or reported not to count; a person must look.", func(g billing.Gauges) float64 { return float64(g.Parked) })
	gauge("stopped_intents", "Intents of which it can't be told whether they count; each stops its customer.", func(g billing.Gauges) float64 { return float64(g.Stopped) })
	gauge("unmapped_tokens", "Tokens of unbilled usage of customers that no billing configuration maps.", func(g billing.Gauges) float64 { return float64(g.UnmappedTokens) })
	gauge("drift_tokens", "Sum of the differences between Stripe's totals and the ledger's at the last reconciliations, without sign.", func(g billing.Gauges) float64 { return float64(g.DriftTokens) })
	gauge("disagreements", "Billing periods in which Stripe has more or less than the ledger knows to be confirmed.", func(g billing.Gauges) float64 { return float64(g.Disagreements) })
}

package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"

	"ledgerd/internal/devstack/stripefake"
	"ledgerd/internal/kinds"
)

// What the Stripe fake of `ledgerd dev` has, and the billing configuration names.
const (
	devMeter         = "mtr_demo"
	devEventName     = "context_tokens"
	devPayer         = "cus_demo"
	devKeyName       = "stripe-key"
	devWebhookName   = "stripe-webhook"
	stripeFakeFile   = "stripe.jsonl"
	devSecretsFolder = "secrets"
	devBillingRate   = 500
)

// devStripe is the fake with its URL and the secrets of its account.
type devStripe struct {
	*stripefake.Fake
	url     string
	webhook string // its secret
}

// startStripe starts the fake on a free port of loopback, with a meter and a customer. What it has counted outlives it.
func startStripe(ctx context.Context, dir string, now time.Time) (*devStripe, error) {
	folder := filepath.Join(dir, devSecretsFolder, tenantFolder(devTenant))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	secrets := map[string]string{devKeyName: "sk_test_", devWebhookName: "whsec_"}
	for name, prefix := range secrets {
		secret, err := keptSecret(filepath.Join(folder, name), func() (string, error) { return prefix + rand.Text(), nil })
		if err != nil {
			return nil, err
		}
		secrets[name] = secret
	}
	fake, err := stripefake.New(stripefake.Options{Key: secrets[devKeyName], File: filepath.Join(dir, stripeFakeFile)})
	if err != nil {
		return nil, err
	}
	s := &devStripe{Fake: fake, webhook: secrets[devWebhookName]}
	if s.url, err = fake.Start(ctx, "127.0.0.1:0"); err != nil {
		return nil, err
	}
	if fake.HasMeter(devMeter) {
		return s, nil
	}
	if err := fake.SetMeter(stripefake.Meter{ID: devMeter, EventName: devEventName}); err != nil {
		return nil, err
	}
	return s, fake.SetCustomer(stripefake.Customer{ID: devPayer, Subscriptions: []stripefake.Subscription{{ID: "sub_demo", Anchor: monthOf(now), MeterID: devMeter}}})
}

// monthOf is the month's first instant.
func monthOf(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// configureBilling gives the tenant of `ledgerd dev` a billing configuration, unless it has one.
func configureBilling(ctx context.Context, s *server, now time.Time) error {
	have, err := s.store.BillingConfig(ctx, devTenant)
	if err != nil || have != nil {
		return err
	}
	begin := monthOf(now).Format(time.RFC3339)
	raw, err := json.Marshal(map[string]any{
		"secret_key": devKeyName, "webhook_secret": devWebhookName, "meter": map[string]string{"id": devMeter, "event_name": devEventName},
		"window": "hour", "start": begin, "settle_seconds": 60,
		"customers": []map[string]string{{"customer_id": demoCustomer, "stripe_customer": devPayer, "billing_anchor": begin}},
	})
	if err != nil {
		return err
	}
	a, err := kinds.BillingConfigKind.Accept(kinds.Submission{Artifact: raw}, kinds.Env{Now: now})
	if err != nil {
		return fmt.Errorf("the billing configuration of `ledgerd dev`: %w", err)
	}
	_, err = s.appender.Append(ctx, kinds.Poster{Tenant: devTenant, Role: kinds.Admin, TokenID: "dev"}, a)
	return err
}

package billing_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"ledgerd/internal/strictjson"
	"ledgerd/metering/billing"
)

const configText = `{"secret_key":"main","webhook_secret":"hook-1","meter":{"id":"mtr_1","event_name":"context_tokens"},"window":"hour",
	"start":"2026-11-01T00:00:00Z","settle_seconds":600,"invoice_grace_seconds":3600,"providers":["wiki","north-llm"],
	"customers":[{"customer_id":"zeta","stripe_customer":"cus_z","billing_anchor":"2026-11-30T12:34:56Z"},
	             {"customer_id":"acme","stripe_customer":"cus_a","billing_anchor":"2026-11-01T00:00:00Z"}]}`

func config(tb testing.TB) billing.Config {
	tb.Helper()
	c, err := billing.ParseConfig([]byte(configText))
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestParseConfig(t *testing.T) {
	t.Parallel()
	c := config(t)
	acme, ok := c.Mapped("acme")
	if !ok || acme.Customer != "cus_a" || !acme.BillingAnchor.Equal(at("2026-11-01T00:00:00Z")) {
		t.Errorf("acme is mapped to %+v, %v", acme, ok)
	}
	if back, ok := c.Of("cus_z"); !ok || back.CustomerID != "zeta" {
		t.Errorf("cus_z is %+v, %v", back, ok)
	}
	_, mapped := c.Mapped("nobody")
	_, known := c.Of("cus_x")
	if mapped || known {
		t.Error("it knows customers that it does not list")
	}
	if !slices.Equal(c.Providers, []string{"north-llm", "wiki"}) || !c.Counts("wiki") || c.Counts("other") {
		t.Errorf("counted are %v", c.Providers)
	}
	if c.CustomerKey != "stripe_customer_id" || c.ValueKey != "value" || c.Settle != 10*time.Minute || c.InvoiceGrace != time.Hour {
		t.Errorf("%+v", c)
	}
	least, err := billing.ParseConfig([]byte(`{"secret_key":"a","meter":{"id":"m","event_name":"e"},"window":"day","start":"2026-11-01T00:00:00Z","customers":[]}`))
	if err != nil || !least.Counts("any") || least.Settle != billing.DefaultSettle || least.InvoiceGrace != billing.DefaultInvoiceGrace {
		t.Errorf("%+v, %v", least, err)
	}
	if none, err := billing.ParseConfig([]byte(strings.Replace(configText, `["wiki","north-llm"]`, `[]`, 1))); err != nil || none.Counts("wiki") {
		t.Errorf("an empty list of providers counts: %v", err)
	}
}

func TestConfigIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		old, by string
		pointer string
		rule    strictjson.Rule
	}{
		{`"main"`, `"sk_live_abc"`, "/secret_key", strictjson.RuleValue},
		{`"main"`, `"rk_test_abc"`, "/secret_key", strictjson.RuleValue},
		{`"hook-1"`, `"whsec_abc"`, "/webhook_secret", strictjson.RuleValue},
		{`"main"`, `"Main"`, "/secret_key", strictjson.RuleValue},
		{`"main"`, `"../main"`, "/secret_key", strictjson.RuleValue},
		{`"main"`, `""`, "/secret_key", strictjson.RuleValue},
		{`"main"`, `"` + strings.Repeat("a", 65) + `"`, "/secret_key", strictjson.RuleValue},
		{`"main",`, `"main","mode":1,`, "", strictjson.RuleUnknown},
		{`"secret_key":"main",`, ``, "", strictjson.RuleMissing},
		{`"mtr_1"`, `"sk_live_abc"`, "/meter/id", strictjson.RuleValue},
		{`"cus_z"`, `"rk_live_abc"`, "/customers/0/stripe_customer", strictjson.RuleValue},
		{`"mtr_1"`, `"m tr"`, "/meter/id", strictjson.RuleValue},
		{`"context_tokens"`, `"` + strings.Repeat("e", 101) + `"`, "/meter/event_name", strictjson.RuleValue},
		{`"context_tokens"`, `"e","customer_key":"k","value_key":"k"`, "/meter", strictjson.RuleValue},
		{`"hour"`, `"month"`, "/window", strictjson.RuleValue},
		{`"2026-11-01T00:00:00Z","settle`, `"2026-11-01T00:00:30Z","settle`, "/start", strictjson.RuleValue},
		{`"2026-11-01T00:00:00Z","settle`, `"2026-11-01","settle`, "/start", strictjson.RuleValue},
		{`600`, `86401`, "/settle_seconds", strictjson.RuleRange},
		{`3600`, `604801`, "/invoice_grace_seconds", strictjson.RuleRange},
		{`3600`, `-1`, "/invoice_grace_seconds", strictjson.RuleInteger},
		{`"wiki",`, `"north-llm",`, "/providers", strictjson.RuleValue},
		{`"zeta"`, `"acme"`, "/customers/1", strictjson.RuleValue},
		{`"zeta"`, `""`, "/customers/0", strictjson.RuleValue},
		{`"cus_z"`, `"cus_a"`, "/customers/1", strictjson.RuleValue},
		{`"2026-11-30T12:34:56Z"`, `"2026-11-30T12:34:56.5Z"`, "/customers/0/billing_anchor", strictjson.RuleValue},
		{`"2026-11-30T12:34:56Z"`, `"1969-11-30T12:34:56Z"`, "/customers/0/billing_anchor", strictjson.RuleValue},
	} {
		_, err := billing.ParseConfig([]byte(strings.Replace(configText, c.old, c.by, 1)))
		var e *strictjson.Error
		if !errors.As(err, &e) || e.Pointer != c.pointer || e.Rule != c.rule {
			t.Errorf("%s for %s: %v, want %s at %s", c.by, c.old, err, c.rule, c.pointer)
		}
		if err != nil && strings.Contains(err.Error(), "abc") {
			t.Errorf("the error repeats a secret: %v", err)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(configText))
	f.Fuzz(func(t *testing.T, src []byte) {
		c, err := billing.ParseConfig(src)
		if err != nil {
			return
		}
		for _, m := range c.Customers {
			if got, ok := c.Mapped(m.CustomerID); !ok || got != m {
				t.Fatalf("%+v is not found by its id", m)
			}
			if w := c.WindowAt(m.BillingAnchor, c.Start); !w.Contains(c.Start) {
				t.Fatalf("the window at %v is %v", c.Start, w)
			}
		}
	})
}

package billing

import (
	"slices"
	"strings"
	"time"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
)

// Bounds and defaults of a configuration.
const (
	MaxCustomers        = 10_000
	MaxProviders        = 1_000
	MaxSettle           = 24 * time.Hour
	MaxInvoiceGrace     = 7 * 24 * time.Hour
	DefaultSettle       = 10 * time.Minute
	DefaultInvoiceGrace = time.Hour
	maxName             = 255 // bytes of a processor's id or key
)

// Config says how a tenant's usage is billed. It is a revision of its own, never edited: what was planned under an earlier
// one stays as it is.
type Config struct {
	SecretKey     string // names the account's secret key; the secret itself is the operator's, and is in no entry
	WebhookSecret string // names the secret of the account's webhook, "" for none
	MeterID       string
	EventName     string
	CustomerKey   string // the meter's payload key of the customer
	ValueKey      string // the meter's payload key of the value
	Window        Length
	Start         time.Time // usage before is never billed; UTC, a whole minute
	Settle        time.Duration
	InvoiceGrace  time.Duration // from a period's end until its invoice is final: as the account has it
	Providers     []string      // that count, sorted; nil for all
	Customers     []Mapping     // sorted by CustomerID
}

// Mapping is whom a customer's usage is billed to.
type Mapping struct {
	CustomerID    string
	Customer      string    // the processor's id; no other customer has it
	BillingAnchor time.Time // of the subscription, UTC
}

// Counts says whether tokens of the provider are billed.
func (c Config) Counts(provider string) bool {
	if c.Providers == nil {
		return true
	}
	_, found := slices.BinarySearch(c.Providers, provider)
	return found
}

// Mapped finds whom a customer is billed to.
func (c Config) Mapped(id string) (Mapping, bool) {
	i, found := slices.BinarySearchFunc(c.Customers, id, func(m Mapping, id string) int { return strings.Compare(m.CustomerID, id) })
	if !found {
		return Mapping{}, false
	}
	return c.Customers[i], true
}

// Of finds the mapping whose customer has the processor's id.
func (c Config) Of(processorID string) (Mapping, bool) {
	i := slices.IndexFunc(c.Customers, func(m Mapping) bool { return m.Customer == processorID })
	if i < 0 {
		return Mapping{}, false
	}
	return c.Customers[i], true
}

// ParseConfig reads a configuration that is the whole document. An error is a *strictjson.Error.
//
//	{"secret_key":"main","webhook_secret":"hook"?,
//	 "meter":{"id":"mtr_…","event_name":"context_tokens","customer_key":"stripe_customer_id"?,"value_key":"value"?},
//	 "window":"hour","start":"2026-12-01T00:00:00Z","settle_seconds":600?,"invoice_grace_seconds":3600?,"providers":["north-llm"]?,
//	 "customers":[{"customer_id":"acme","stripe_customer":"cus_…","billing_anchor":"2026-12-01T00:00:00Z"}]}
func ParseConfig(src []byte) (Config, error) {
	return strictjson.Parse(src, strictjson.Closed, DecodeConfig)
}

// DecodeConfig reads a configuration where d stands. After an error of d the result means nothing.
func DecodeConfig(d *strictjson.Decoder) Config {
	c := Config{Settle: DefaultSettle, InvoiceGrace: DefaultInvoiceGrace, CustomerKey: "stripe_customer_id", ValueKey: "value"}
	d.Object(
		strictjson.Req("secret_key", func() { c.SecretKey = decodeReference(d) }),
		strictjson.Opt("webhook_secret", func() { c.WebhookSecret = decodeReference(d) }),
		strictjson.Req("meter", func() { decodeMeter(d, &c) }),
		strictjson.Req("window", func() {
			if c.Window = Length(d.String()); c.Window != Hour && c.Window != Day {
				d.Fail(strictjson.RuleValue, "a window is hour or day")
			}
		}),
		strictjson.Req("start", func() { c.Start = decodeMinute(d) }),
		strictjson.Opt("settle_seconds", func() { c.Settle = decodeSeconds(d, MaxSettle, "the settle time is at most 86400 seconds") }),
		strictjson.Opt("invoice_grace_seconds", func() {
			c.InvoiceGrace = decodeSeconds(d, MaxInvoiceGrace, "the invoice grace is at most 604800 seconds")
		}),
		strictjson.Opt("providers", func() { c.Providers = decodeProviders(d) }),
		strictjson.Req("customers", func() { c.Customers = decodeCustomers(d) }),
	)
	return c
}

func decodeMeter(d *strictjson.Decoder, c *Config) {
	d.Object(
		strictjson.Req("id", func() { c.MeterID = decodeName(d, maxName) }),
		strictjson.Req("event_name", func() { c.EventName = decodeName(d, MaxEventName) }),
		strictjson.Opt("customer_key", func() { c.CustomerKey = decodeName(d, MaxEventName) }),
		strictjson.Opt("value_key", func() { c.ValueKey = decodeName(d, MaxEventName) }),
	)
	if c.CustomerKey == c.ValueKey {
		d.Fail(strictjson.RuleValue, "customer_key and value_key are two keys")
	}
}

// decodeReference reads the name of a secret, and refuses what looks like the secret itself: it would stay in the log for good.
func decodeReference(d *strictjson.Decoder) string {
	s := d.String()
	if isSecret(s) {
		d.Fail(strictjson.RuleValue, "this is the name of a secret that the operator has set, never the secret itself")
	}
	if !IsReference(s) {
		d.Fail(strictjson.RuleValue, "a secret's name has 1 to 64 of a-z, 0-9, - and _, and begins with a letter")
	}
	return s
}

// isSecret says whether s looks like a key or secret of the processor's.
func isSecret(s string) bool {
	return slices.ContainsFunc([]string{"sk_", "rk_", "pk_", "whsec_"}, func(prefix string) bool { return strings.HasPrefix(s, prefix) })
}

// IsReference says whether s can be the name of a secret: 1 to 64 of a-z, 0-9, - and _, a letter first.
func IsReference(s string) bool {
	if len(s) < 1 || len(s) > 64 || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// decodeName reads an id or key of the processor's: visible ASCII, so that it is sent as it is written.
func decodeName(d *strictjson.Decoder, limit int) string {
	s := d.String()
	if isSecret(s) {
		d.Fail(strictjson.RuleValue, "a secret has no place in a configuration, which stays in the log")
	}
	if !d.Failed() && (s == "" || len(s) > limit || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })) {
		d.Fail(strictjson.RuleValue, "a name of the payment processor has 1 to 255 visible ASCII characters, an event name or payload key 1 to 100")
	}
	return s
}

func decodeInstant(d *strictjson.Decoder) time.Time {
	t, ok := frames.ParseInstant(d.String())
	if !d.Failed() && (!ok || t.Year() < 1970 || t.Nanosecond() != 0) {
		d.Fail(strictjson.RuleValue, "an instant such as 2026-12-01T00:00:00Z is required, in whole seconds of UTC from 1970 on")
	}
	return t
}

func decodeMinute(d *strictjson.Decoder) time.Time {
	t := decodeInstant(d)
	if !d.Failed() && t.Second() != 0 {
		d.Fail(strictjson.RuleValue, "a whole minute is required")
	}
	return t
}

func decodeSeconds(d *strictjson.Decoder, limit time.Duration, detail string) time.Duration {
	n := time.Duration(d.Uint32()) * time.Second
	if n > limit {
		d.Fail(strictjson.RuleRange, detail)
	}
	return n
}

// decodeProviders gives an empty list, which counts nothing, another meaning than an absent one, which counts all.
func decodeProviders(d *strictjson.Decoder) []string {
	list := []string{}
	d.Array(func(i int) {
		if i >= MaxProviders {
			d.Fail(strictjson.RuleRange, "at most 1000 providers are listed")
		}
		list = append(list, d.String())
	})
	slices.Sort(list)
	if !d.Failed() && len(slices.Compact(slices.Clone(list))) != len(list) {
		d.Fail(strictjson.RuleValue, "a provider is listed twice")
	}
	return list
}

func decodeCustomers(d *strictjson.Decoder) []Mapping {
	var list []Mapping
	ids, billed := map[string]bool{}, map[string]bool{}
	d.Array(func(i int) {
		var c Mapping
		if i >= MaxCustomers {
			d.Fail(strictjson.RuleRange, "at most 10000 customers are listed")
		}
		d.Object(
			strictjson.Req("customer_id", func() { c.CustomerID = d.String() }),
			strictjson.Req("stripe_customer", func() { c.Customer = decodeName(d, maxName) }),
			strictjson.Req("billing_anchor", func() { c.BillingAnchor = decodeInstant(d) }),
		)
		switch {
		case d.Failed():
		case c.CustomerID == "":
			d.Fail(strictjson.RuleValue, "a customer_id is not empty")
		case ids[c.CustomerID]:
			d.Fail(strictjson.RuleValue, "a customer is listed twice")
		case billed[c.Customer]:
			d.Fail(strictjson.RuleValue, "a Stripe customer stands for one customer only: events of two could not be told apart")
		}
		ids[c.CustomerID], billed[c.Customer] = true, true
		list = append(list, c)
	})
	slices.SortFunc(list, func(a, b Mapping) int { return strings.Compare(a.CustomerID, b.CustomerID) })
	return list
}

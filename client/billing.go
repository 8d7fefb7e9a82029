package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"ledgerd/metering"
)

// BillingConfig says how a tenant's usage is billed. Secrets are named, and never in it.
type BillingConfig struct {
	SecretKey     string            `json:"secret_key"` // names what the operator has set
	WebhookSecret string            `json:"webhook_secret,omitzero"`
	Meter         BillingMeter      `json:"meter"`
	Window        string            `json:"window"`                         // hour or day, of UTC
	Start         time.Time         `json:"start"`                          // usage before is never billed; a whole minute
	Settle        *uint32           `json:"settle_seconds,omitzero"`        // nil for 600
	Grace         *uint32           `json:"invoice_grace_seconds,omitzero"` // as the account has it; nil for 3600
	Providers     []string          `json:"providers,omitzero"`             // that count; nil for all
	Customers     []BillingCustomer `json:"customers"`
}

// BillingMeter is the account's meter.
type BillingMeter struct {
	ID          string `json:"id"`
	EventName   string `json:"event_name"`
	CustomerKey string `json:"customer_key,omitzero"` // "" for stripe_customer_id
	ValueKey    string `json:"value_key,omitzero"`    // "" for value
}

// BillingCustomer is whom a customer is billed to.
type BillingCustomer struct {
	CustomerID     string    `json:"customer_id"`
	StripeCustomer string    `json:"stripe_customer"`
	BillingAnchor  time.Time `json:"billing_anchor"` // of the subscription
}

// BillingConfigInForce is the newest revision of a tenant's billing configuration.
type BillingConfigInForce struct {
	Seq        int64         `json:"seq"`
	Revision   int64         `json:"revision"`
	RecordedAt time.Time     `json:"recorded_at"`
	Config     BillingConfig `json:"config"`
}

// Correction takes a usage report back, named by Seq or by RequestID, and may put another in its place.
type Correction struct {
	Seq         *int64                `json:"seq,omitzero"` // of the report, or of a correction that has a replacement
	RequestID   *string               `json:"request_id,omitzero"`
	Reason      string                `json:"reason"`
	Replacement *metering.UsageReport `json:"replacement,omitzero"` // of the same as_of
}

// PutBillingConfig sets how usage is billed, for an admin's token. It becomes the next revision; the one in force already is a
// replay. The entry's key is the revision.
func (c *Client) PutBillingConfig(ctx context.Context, b BillingConfig) (Recorded, error) {
	return c.record(ctx, request{doing: "setting the billing configuration", method: http.MethodPut, path: "/v1/billing/config"}, b)
}

// BillingConfig reads the configuration in force, for an admin's, billing or auditor's token. A tenant without one is a *Problem
// with status 404.
func (c *Client) BillingConfig(ctx context.Context) (BillingConfigInForce, error) {
	var b BillingConfigInForce
	_, err := c.call(ctx, request{doing: "reading the billing configuration", method: http.MethodGet, path: "/v1/billing/config"}, &b)
	return b, err
}

// PostCorrection records a correction, for a billing or admin's token. The same again is a replay; another one of the same report is
// a conflict.
func (c *Client) PostCorrection(ctx context.Context, r Correction) (Recorded, error) {
	return c.record(ctx, request{doing: "posting a correction", method: http.MethodPost, path: "/v1/corrections"}, r)
}

// BillingWindows tells what was billed to a customer, window by window, what waits and why. Zero times bound nothing; Next of an
// answer is the from of the next page.
func (c *Client) BillingWindows(ctx context.Context, customerID string, from, to time.Time) (BillingWindows, error) {
	q := url.Values{"customer_id": {customerID}}
	setTime(q, "from", from)
	setTime(q, "to", to)
	var b BillingWindows
	_, err := c.call(ctx, request{doing: "reading billed windows", method: http.MethodGet, path: "/v1/billing/windows", query: q}, &b)
	return b, err
}

// BillingPreview tells what would be billed to a customer now, of the usage of a period, and records nothing.
func (c *Client) BillingPreview(ctx context.Context, customerID string, from, to time.Time) (BillingPreview, error) {
	q := url.Values{"customer_id": {customerID}}
	setTime(q, "from", from)
	setTime(q, "to", to)
	var b BillingPreview
	_, err := c.call(ctx, request{doing: "previewing what is billed", method: http.MethodGet, path: "/v1/billing/preview", query: q}, &b)
	return b, err
}

// BillingUnmapped lists customers after the given one whose usage nobody is billed for.
func (c *Client) BillingUnmapped(ctx context.Context, after string) (BillingUnmapped, error) {
	q := url.Values{}
	if after != "" {
		q.Set("after", after)
	}
	var b BillingUnmapped
	_, err := c.call(ctx, request{doing: "listing what nobody is billed for", method: http.MethodGet, path: "/v1/billing/unmapped", query: q}, &b)
	return b, err
}

// BilledEvent walks from an event, by its identifier, to the frames behind it, every entry verified again. after is Next of the
// page before, nil for the first.
func (c *Client) BilledEvent(ctx context.Context, identifier string, after *NextClaim) (BilledEvent, error) {
	q := url.Values{}
	if after != nil {
		q.Set("after", strconv.FormatInt(after.After, 10))
		q.Set("after_provider", after.AfterProvider)
	}
	var b BilledEvent
	_, err := c.call(ctx, request{doing: "reading a billed event", method: http.MethodGet, path: "/v1/billing/events/" + url.PathEscape(identifier), query: q}, &b)
	return b, err
}

func setTime(q url.Values, name string, t time.Time) {
	if !t.IsZero() {
		q.Set(name, t.UTC().Format(time.RFC3339Nano))
	}
}

package stripe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/billing/meterevent"

	"ledgerd/metering/billing"
)

// DefaultURL is where Stripe answers.
const DefaultURL = "https://api.stripe.com"

// DefaultTimeout bounds a call from the first byte to the last.
const DefaultTimeout = 20 * time.Second

const maxKey = 255 // bytes of a secret key, as Stripe promises

// Options say which account is spoken to, and where.
type Options struct {
	Key       string            // the account's secret or restricted key
	URL       string            // of the API, "" for DefaultURL; http only on loopback
	Timeout   time.Duration     // of each call, 0 for DefaultTimeout
	Transport http.RoundTripper // "" for one of this client's own
}

// Client speaks to one account. It is safe for concurrent use.
type Client struct {
	backend stripe.Backend
	key     string
	timeout time.Duration
	close   func()
}

// New makes a client and calls nobody. An error never holds the key.
func New(o Options) (*Client, error) {
	base, err := baseURL(o.URL)
	if err != nil {
		return nil, err
	}
	if o.Key == "" || len(o.Key) > maxKey || strings.ContainsFunc(o.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the Stripe key is empty, too long, or holds what no key holds (its text is not shown)")
	}
	inner, closeIdle := o.Transport, func() {}
	if inner == nil {
		own := newTransport()
		inner, closeIdle = own, own.CloseIdleConnections
	}
	c := &Client{key: o.Key, timeout: o.Timeout, close: closeIdle}
	if c.timeout <= 0 {
		c.timeout = DefaultTimeout
	}
	c.backend = stripe.GetBackendWithConfig(stripe.APIBackend, &stripe.BackendConfig{
		EnableTelemetry: stripe.Bool(false),
		HTTPClient: &http.Client{
			Transport:     transport{inner},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		LeveledLogger:     &stripe.LeveledLogger{Level: stripe.LevelNull},
		MaxNetworkRetries: stripe.Int64(0),
		URL:               stripe.String(base),
	})
	return c, nil
}

// Close lets idle connections go. Calls under way are not disturbed.
func (c *Client) Close() { c.close() }

// baseURL demands an encrypted way to whatever is not this machine: the key is in every request.
func baseURL(given string) (string, error) {
	if given == "" {
		return DefaultURL, nil
	}
	u, err := url.Parse(given)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return "", errors.New("the Stripe URL must be of the form https://host")
	}
	ip := net.ParseIP(u.Hostname())
	loopback := u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback())
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback) {
		return "", errors.New("the Stripe URL must be https, or http on loopback: every request carries the key")
	}
	return u.Scheme + "://" + u.Host, nil
}

// CreateMeterEvent sends an event once. The identifier is the idempotency key, too, so the same call within a day gets the first
// answer again. A context that ends while the call is under way makes it ambiguous.
func (c *Client) CreateMeterEvent(ctx context.Context, e billing.MeterEvent) billing.Reply {
	ctx, x, cancel := c.begin(ctx)
	defer cancel()
	p := &stripe.BillingMeterEventParams{
		EventName:  stripe.String(e.EventName),
		Identifier: stripe.String(e.Identifier),
		Payload:    map[string]string{e.CustomerKey: e.Customer, e.ValueKey: strconv.FormatInt(e.Value, 10)},
		Timestamp:  stripe.Int64(e.Timestamp.Unix()),
	}
	p.Context = ctx
	p.SetIdempotencyKey(e.Identifier)
	got, err := meterevent.Client{B: c.backend, Key: c.key}.New(p)
	if err == nil && (got.Object != "billing.meter_event" || got.Identifier != e.Identifier) {
		err = errors.New("the answer is not the event that was sent")
	}
	r := c.reply(x, err)
	if r.Class == billing.Rejected && (r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden) {
		r.Class = billing.Busy // the key is refused, not the event: with another key it is taken as it stands
	}
	return r
}

// begin starts a call with a deadline of its own, and notes what the transport sees of the answer.
func (c *Client) begin(ctx context.Context) (context.Context, *exchange, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	x := &exchange{}
	return context.WithValue(ctx, exchangeKey{}, x), x, cancel
}

// failed makes an error of what came instead of an answer, nil when there is one.
func (c *Client) failed(call string, x *exchange, err error) error {
	r := c.reply(x, err)
	if r.Class == billing.Delivered {
		return nil
	}
	return &billing.CallError{Call: "asking Stripe for " + call, Reply: r}
}

// safeID refuses what could be read as more of a path than an id.
func safeID(what, id string) error {
	bad := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}
	if id == "" || len(id) > maxKey || strings.ContainsFunc(id, bad) {
		return fmt.Errorf("a %s id of Stripe's is 1 to %d letters, digits, _ and -", what, maxKey)
	}
	return nil
}

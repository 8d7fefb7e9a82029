package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"

	"ledgerd/metering/billing"
)

// BillingStatus is how the tenant's billing stands.
type BillingStatus struct {
	Running bool `json:"running"` // false: billing is switched off on the server
	billing.Status
}

// RunBilling bills now what is due, for a billing or admin token, as the server does by itself every minute. Call it again while
// the run's More is true. However often it is called, a usage line is billed once.
func (c *Client) RunBilling(ctx context.Context) (billing.Run, error) {
	var r billing.Run
	_, err := c.call(ctx, request{doing: "running billing", method: http.MethodPost, path: "/v1/billing/runs", effect: idempotent}, &r)
	return r, err
}

// BillingStatus tells how billing stands, for a billing, admin or auditor's token.
func (c *Client) BillingStatus(ctx context.Context) (BillingStatus, error) {
	var s BillingStatus
	_, err := c.call(ctx, request{doing: "reading the state of billing", method: http.MethodGet, path: "/v1/billing/status"}, &s)
	return s, err
}

// ReconcileBilling compares the customers' open billing periods with Stripe, for a billing or admin token. more: there are more
// than one answer holds; the server compares them all every hour.
func (c *Client) ReconcileBilling(ctx context.Context) (list []billing.Standing, more bool, err error) {
	var a struct {
		Standings []billing.Standing `json:"standings"`
		More      bool               `json:"more"`
	}
	_, err = c.call(ctx, request{doing: "reconciling billing", method: http.MethodPost, path: "/v1/billing/reconciliations", effect: idempotent}, &a)
	return a.Standings, a.More, err
}

// ParkedIntents lists the intents that wait for a person, in the order of the log, for a billing, admin or auditor's token. An
// error ends the list.
func (c *Client) ParkedIntents(ctx context.Context) iter.Seq2[billing.Waited, error] {
	return func(yield func(billing.Waited, error) bool) {
		r := request{doing: "listing parked intents", method: http.MethodGet, path: "/v1/billing/parked"}
		for {
			var page struct {
				Intents    []billing.Waited `json:"intents"`
				NextCursor *string          `json:"next_cursor"`
			}
			if _, err := c.call(ctx, r, &page); err != nil {
				yield(billing.Waited{}, err)
				return
			}
			for _, i := range page.Intents {
				if !yield(i, nil) {
					return
				}
			}
			if page.NextCursor == nil {
				return
			}
			r.query = url.Values{"cursor": {*page.NextCursor}}
		}
	}
}

// SettleIntent decides about an intent that is parked or stopped, for a billing or admin token. counts: Stripe counts the event.
// Otherwise it does not and never will, and the tokens are sent again as another event; if it does count after all, that bills
// them twice. It is sent once only: after an *OutcomeUnknownError look through ParkedIntents.
func (c *Client) SettleIntent(ctx context.Context, seq int64, counts bool) error {
	body, err := json.Marshal(map[string]bool{"counts": counts})
	if err != nil {
		return err
	}
	_, err = c.call(ctx, request{
		doing: "deciding about an intent", method: http.MethodPost, path: "/v1/billing/parked/" + strconv.FormatInt(seq, 10) + "/retry", body: body, effect: once,
	}, nil)
	return err
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"ledgerd/client"
	"ledgerd/metering/billing"
)

// billSession bills the session to the Stripe fake, and walks from the billed event back to the frames.
func (d *demo) billSession(ctx context.Context) error {
	if d.stripe == "" {
		fmt.Fprintf(d.out, "\nNothing is billed: this ledgerd runs without the Stripe fake of `ledgerd dev`.\n")
		return nil
	}
	status, err := d.billing.BillingStatus(ctx)
	if err != nil {
		return err
	}
	if !status.Running {
		fmt.Fprintf(d.out, "\nNothing is billed: this ledgerd was started with --billing off.\n")
		return nil
	}
	fmt.Fprintf(d.out, "\nBilling tells Stripe, here the fake at %s\n\n", d.stripe)
	if err := d.endWindow(ctx); err != nil {
		return err
	}
	if err := d.runBilling(ctx); err != nil {
		return err
	}
	event, err := d.newestEvent(ctx)
	if err != nil {
		return err
	}
	return d.walkBack(ctx, event)
}

// endWindow moves the clock of the fake, which billing goes by, to where the session's hour is over and planned.
func (d *demo) endWindow(ctx context.Context) error {
	over := d.to.UTC().Truncate(time.Hour).Add(time.Hour + 2*time.Minute)
	var clock struct {
		Now time.Time `json:"now"`
	}
	if err := d.fake(ctx, http.MethodGet, "/_clock", nil, &clock); err != nil {
		return err
	}
	if !clock.Now.Before(over) {
		d.did("clock", "billing's clock is at %s; the session's hour is over by it", clock.Now.Format(time.RFC3339))
		return nil
	}
	d.did("clock", "set ahead to %s, when the session's hour is over", over.Format(time.RFC3339))
	return d.fake(ctx, http.MethodPut, "/_clock", map[string]time.Time{"now": over}, &clock)
}

// fake asks the Stripe fake what Stripe has no call for.
func (d *demo) fake(ctx context.Context, method, path string, body, into any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, d.stripe+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("asking the Stripe fake: %w", err)
	}
	defer res.Body.Close()
	if raw, err = io.ReadAll(io.LimitReader(res.Body, 1<<20)); err != nil {
		return fmt.Errorf("asking the Stripe fake: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("asking the Stripe fake: status %d", res.StatusCode)
	}
	return json.Unmarshal(raw, into)
}

func (d *demo) runBilling(ctx context.Context) error {
	var all billing.Run
	for range maxRuns {
		run, err := d.billing.RunBilling(ctx)
		if err != nil {
			return err
		}
		all.Add(run)
		if !run.Progress() {
			break
		}
	}
	if len(all.Refusals) > 0 {
		return errors.New("billing is refused: " + refusalText(all.Refusals[0]))
	}
	d.did("run", "%d intents recorded, %d calls to Stripe, %d events confirmed", all.Planned, all.Attempts, all.Confirmed)
	standings, _, err := d.billing.ReconcileBilling(ctx)
	for _, s := range standings {
		if s.CustomerID == demoCustomer {
			d.did("reconcile", "period from %s: the ledger has %d tokens confirmed, Stripe has %d: %s", dateOf(s.Period.Start.Format(time.RFC3339)), s.Balance.Confirmed, s.Total, s.Agreement)
		}
	}
	return err
}

// newestEvent is the newest event that tells of the session's window.
func (d *demo) newestEvent(ctx context.Context) (client.BillingEvent, error) {
	w, err := d.billing.BillingWindows(ctx, demoCustomer, d.from.UTC().Truncate(time.Hour), time.Time{})
	var newest client.BillingEvent
	for _, window := range w.Windows {
		for _, i := range window.Intents {
			if i.Seq >= newest.Seq {
				newest = i
			}
		}
	}
	if err == nil && newest.Identifier == "" {
		err = errors.New("the session was not billed: ledgerd bill status says why")
	}
	return newest, err
}

// walkBack shows what is behind an event, page by page, in a few lines.
func (d *demo) walkBack(ctx context.Context, event client.BillingEvent) error {
	const shown = 4 // usage lines
	fmt.Fprintf(d.out, "\nA customer asks: what is this event on my invoice?\n\n  %s\n  %s tokens at %s, %s, entry %d\n",
		event.Identifier, event.Tokens, event.Timestamp.UTC().Format(time.RFC3339), event.State, event.Seq)
	lines, reports := 0, map[int64]bool{}
	var after *client.NextClaim
	for {
		page, err := d.auditor.BilledEvent(ctx, event.Identifier, after)
		if err != nil {
			return err
		}
		for _, u := range page.Usage {
			reports[u.Seq] = true
			if lines++; lines <= shown {
				fmt.Fprintf(d.out, "    entry %d, %s, %s: %s tokens\n", u.Seq, short(u.RequestID), short(u.ProviderID), u.Tokens)
				fmt.Fprintf(d.out, "      %s\n", framesOf(u))
			}
		}
		if page.Verification.Result != "passed" {
			fmt.Fprintf(d.out, "  verified again: %s, see %s/v1/billing/events/%s\n", page.Verification.Result, d.url, event.Identifier)
		}
		if after = page.Next; after == nil {
			break
		}
	}
	if lines > shown {
		fmt.Fprintf(d.out, "    and %d more lines, of %d reports in all\n", lines-shown, len(reports))
	}
	fmt.Fprintf(d.out, "  each entry behind it was verified again: leaf, inclusion and sums\n")
	return nil
}

// framesOf lists what a line served, as far as a line of text goes.
func framesOf(u client.UsageLine) string {
	var list []string
	for _, f := range u.Frames {
		list = append(list, short(f.FrameID)+" "+f.Tokens)
	}
	text := strings.Join(list, ", ")
	if len(text) > 100 {
		text = text[:97] + "…"
	}
	return text
}

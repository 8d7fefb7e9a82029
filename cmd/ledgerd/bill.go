package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"ledgerd/client"
	"ledgerd/metering/billing"
)

// billCmd looks after billing over the API, with a billing token.
type billCmd struct {
	apiFlags

	Run       billRunCmd       `cmd:"" help:"Bill now what is due. Exits 1 when something is refused, parked, stopped or without a known outcome."`
	Status    billStatusCmd    `cmd:"" help:"Show what is pending, what waits for a person, and how the periods stand. Exits 1 when a person must look."`
	Preview   billPreviewCmd   `cmd:"" help:"Show what would be sent for a customer now, and what waits and why. Nothing is recorded."`
	Reconcile billReconcileCmd `cmd:"" help:"Compare the open billing periods with Stripe. Exits 1 when Stripe has more, or lacks what was confirmed."`
	Park      billParkCmd      `cmd:"" help:"List what waits for a person, and decide about it."`
}

func (c *billCmd) api(p *process) (*client.Client, error) { return c.client(p, "billing") }

type billRunCmd struct{}

// maxRuns bounds the calls of one command: each works for some seconds.
const maxRuns = 10_000

// Run calls until nothing more can be done now, with a line on each call's work.
func (billRunCmd) Run(p *process, parent *billCmd) error {
	api, err := parent.api(p)
	if err != nil {
		return err
	}
	var all billing.Run
	for range maxRuns {
		run, err := api.RunBilling(p.ctx)
		if err != nil {
			return err
		}
		all.Add(run)
		if !run.Progress() {
			all.More, all.Refusals = run.More, run.Refusals
			break
		}
		fmt.Fprintf(p.stderr, "so far: %d intents planned, %d confirmed\n", all.Planned, all.Confirmed)
	}
	fmt.Fprintf(p.stdout, "%d intents planned, %d calls to Stripe: %d confirmed, %d parked, %d stopped, %d replaced, %d without a known outcome\n",
		all.Planned, all.Attempts, all.Confirmed, all.Parked, all.Stopped, all.Replaced, all.Unresolved)
	for _, r := range all.Refusals {
		fmt.Fprintln(p.stdout, refusalText(r))
	}
	if all.More {
		fmt.Fprintln(p.stdout, "another process bills at the moment; ledgerd bill status shows how far it is")
	}
	if all.Parked+all.Stopped+all.Unresolved+len(all.Refusals) > 0 {
		return exitError(1)
	}
	return nil
}

func refusalText(r billing.Refusal) string {
	if r.CustomerID == "" {
		return "nothing is sent: " + r.Reason
	}
	return fmt.Sprintf("nothing is sent for customer %q: %s", r.CustomerID, r.Reason)
}

type billStatusCmd struct{}

func (billStatusCmd) Run(p *process, parent *billCmd) error {
	api, err := parent.api(p)
	if err != nil {
		return err
	}
	s, err := api.BillingStatus(p.ctx)
	if err != nil {
		return err
	}
	if !s.Running {
		fmt.Fprintln(p.stdout, "billing is switched off on this server (--billing off)")
	}
	if s.Revision == 0 {
		fmt.Fprintln(p.stdout, "there is no billing configuration, so nothing is billed: PUT /v1/billing/config sets one")
		return nil
	}
	fmt.Fprintf(p.stdout, "configuration revision %d\npending    %d intents, %d tokens%s\nambiguous  %d of them\nparked     %d\nstopped    %d\nunmapped   %d tokens of %s\n",
		s.Revision, s.Pending, s.PendingTokens, since(s.OldestPending), s.Ambiguous, s.Parked, s.Stopped, s.UnmappedTokens, customers(s.Unmapped))
	if err := printStandings(p.stdout, s.Standings); err != nil {
		return err
	}
	if s.Parked+s.Stopped > 0 {
		fmt.Fprintln(p.stdout, "some intents wait for a person: ledgerd bill park list")
	}
	if s.Parked+s.Stopped+s.UnmappedTokens > 0 || disagree(s.Standings) {
		return exitError(1)
	}
	return nil
}

func since(t *time.Time) string {
	if t == nil {
		return ""
	}
	return ", the oldest since " + t.UTC().Format(time.RFC3339)
}

func customers(list []billing.UnmappedCustomer) string {
	names := make([]string, 0, len(list))
	for i, u := range list {
		if i == 5 {
			names = append(names, fmt.Sprintf("%d more", len(list)-i))
			break
		}
		names = append(names, fmt.Sprintf("%q", u.CustomerID))
	}
	if len(names) == 0 {
		return "no customer"
	}
	return strings.Join(names, ", ")
}

func disagree(list []billing.Standing) bool {
	for _, s := range list {
		if s.Agreement == billing.Higher || s.Agreement == billing.Lower {
			return true
		}
	}
	return false
}

func printStandings(out io.Writer, list []billing.Standing) error {
	if len(list) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\nCUSTOMER\tPERIOD FROM\tTO\tLEDGER\tSTRIPE\tSTANDING\tCHECKED\n")
	for _, s := range list {
		fmt.Fprintf(w, "%q\t%s\t%s\t%d\t%d\t%s\t%s\n", s.CustomerID, s.Period.Start.UTC().Format(time.RFC3339), s.Period.End.UTC().Format(time.RFC3339),
			s.Balance.Confirmed, s.Total, s.Agreement, s.CheckedAt.UTC().Format(time.RFC3339))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, s := range list {
		if s.Detail != "" {
			fmt.Fprintf(out, "%q: %s\n", s.CustomerID, s.Detail)
		}
	}
	return nil
}

type billPreviewCmd struct {
	Customer string    `arg:"" help:"The customer_id of usage reports."`
	From     time.Time `placeholder:"TIME" help:"First instant of the usage, RFC 3339. Default: 35 days ago."`
	To       time.Time `placeholder:"TIME" help:"End of the usage, not included. Default: now."`
}

// previewDays is as far back as the processor takes usage.
const previewDays = 35

func (c *billPreviewCmd) Run(p *process, parent *billCmd) error {
	api, err := parent.api(p)
	if err != nil {
		return err
	}
	if c.To.IsZero() {
		c.To = time.Now()
	}
	if c.From.IsZero() {
		c.From = c.To.AddDate(0, 0, -previewDays)
	}
	v, err := api.BillingPreview(p.ctx, c.Customer, c.From, c.To)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "WINDOW FROM\tTO\tTOKENS\tLINES\tWHAT\n")
	row := func(of billing.Period, tokens string, lines int, what string) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", of.Start.UTC().Format(time.RFC3339), of.End.UTC().Format(time.RFC3339), tokens, lines, what)
	}
	for _, e := range v.Events {
		what := "sent with the next run"
		if e.Carried {
			what += ", in the period from " + e.BillingPeriod.Start.UTC().Format(time.RFC3339)
		}
		row(e.Window, e.Tokens, e.Lines, what)
	}
	for _, u := range v.Waiting {
		row(u.Window, u.Tokens, u.Lines, "waits: "+string(u.Reason))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "%s tokens in %d events\n", v.Tokens, len(v.Events))
	return err
}

type billReconcileCmd struct{}

func (billReconcileCmd) Run(p *process, parent *billCmd) error {
	api, err := parent.api(p)
	if err != nil {
		return err
	}
	list, more, err := api.ReconcileBilling(p.ctx)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(p.stdout, "no customer has been billed in an open period")
		return nil
	}
	if err := printStandings(p.stdout, list); err != nil {
		return err
	}
	if more {
		fmt.Fprintln(p.stdout, "there are more customers than one answer holds; the server compares them all every hour, see ledgerd bill status")
	}
	if disagree(list) {
		return exitError(1)
	}
	return nil
}

type billParkCmd struct {
	List  billParkListCmd  `cmd:"" help:"List intents that are parked or stopped, with the reasons. Exits 1 when there are some."`
	Retry billParkRetryCmd `cmd:"" help:"Send an intent's tokens again as another event, or say that it counts after all. Look in Stripe first."`
}

type billParkListCmd struct{}

func (billParkListCmd) Run(p *process, parent *billCmd) error {
	api, err := parent.api(p)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	header := "INTENT\tSTATE\tCAUSE\tSINCE\tCUSTOMER\tTOKENS\tTIMESTAMP\tIDENTIFIER\tDETAIL\n"
	for i, err := range api.ParkedIntents(p.ctx) {
		if err != nil {
			return errors.Join(w.Flush(), err)
		}
		fmt.Fprint(w, header)
		header = ""
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", i.Seq, i.State, i.Cause, i.Since.UTC().Format(time.RFC3339), i.StripeCustomer, i.Value,
			i.Timestamp.UTC().Format(time.RFC3339), i.Identifier, strings.TrimSpace(i.Code+" "+i.Detail))
	}
	if header != "" {
		_, err := fmt.Fprintln(p.stdout, "nothing waits for a person")
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return exitError(1)
}

type billParkRetryCmd struct {
	Intent int64 `arg:"" help:"The intent's seq, as listed."`
	Counts bool  `help:"Stripe counts the event after all: record that, and send nothing."`
}

func (c *billParkRetryCmd) Run(p *process, parent *billCmd) error {
	api, err := parent.api(p)
	if err != nil {
		return err
	}
	if err := api.SettleIntent(p.ctx, c.Intent, c.Counts); err != nil {
		return err
	}
	text := "intent %d is replaced; its tokens are sent as another event with the next run\n"
	if c.Counts {
		text = "intent %d is recorded as confirmed\n"
	}
	_, err = fmt.Fprintf(p.stdout, text, c.Intent)
	return err
}

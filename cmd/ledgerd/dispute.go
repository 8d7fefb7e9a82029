package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"ledgerd/client"
)

// disputeCmd disputes charges and egresses over the API, with an auditor's or billing token.
type disputeCmd struct {
	apiFlags

	Raise    disputeRaiseCmd    `cmd:"" help:"Dispute a customer's usage in a period, a billing event, a request or a receipt, and wait for the decision. Exits 0 when it is explained, 1 when not."`
	Show     disputeShowCmd     `cmd:"" help:"Show a dispute: how far it is, or its decision. Exits 0 when it is explained, 1 when not."`
	Reverify disputeReverifyCmd `cmd:"" help:"Decide a dispute again, and record what changed since. Exits 1 when something did."`
	Evidence disputeEvidenceCmd `cmd:"" help:"Download a dispute with all that proves it, for 'ledgerd verify evidence'."`
}

func (c *disputeCmd) api(p *process) (*client.Client, error) {
	return c.client(p, "auditor or billing")
}

type disputeRaiseCmd struct {
	Customer string     `xor:"what" required:"" help:"Customer whose usage is disputed, with --from and --to."`
	Event    string     `xor:"what" required:"" name:"billing-event" help:"Identifier under which the payment processor knows the event."`
	Request  string     `xor:"what" required:"" help:"Id of a request."`
	Receipt  string     `xor:"what" required:"" help:"Id of a receipt."`
	From     *time.Time `help:"First instant of the customer's usage, such as 2026-11-01T00:00:00Z."`
	To       *time.Time `help:"End of the period, not included."`
	Reason   string     `required:"" help:"Why, for the auditors to come."`
	Key      string     `help:"Idempotency key: the same dispute raised again under it finds itself."`
}

func (c *disputeRaiseCmd) Run(p *process, parent *disputeCmd) error {
	api, err := parent.api(p)
	if err != nil {
		return err
	}
	q := client.DisputeQuestion{CustomerID: c.Customer, From: c.From, To: c.To, BillingEvent: c.Event, RequestID: c.Request, ReceiptID: c.Receipt}
	d, err := api.RaiseDispute(p.ctx, q, c.Reason, c.Key)
	if err != nil {
		return err
	}
	return waitForDispute(p, api, d)
}

// disputePause is how long to wait before a dispute that is worked on is asked for again.
const disputePause = time.Second

// waitForDispute shows progress until a dispute is decided.
func waitForDispute(p *process, api *client.Client, d client.Dispute) error {
	for d.Decision == nil && d.State != "failed" {
		if d.Progress != nil && d.Progress.Total > 0 {
			fmt.Fprintf(p.stderr, "%s: %d of %d entries verified\n", d.DisputeID, d.Progress.Done, d.Progress.Total)
		}
		select {
		case <-time.After(disputePause):
		case <-p.ctx.Done():
			return fmt.Errorf("dispute %s is worked on by the server; ledgerd dispute show %s tells how far it is: %w", d.DisputeID, d.DisputeID, p.ctx.Err())
		}
		whole, err := api.Dispute(p.ctx, d.DisputeID, "", 1)
		if err != nil {
			return err
		}
		d = whole.Dispute
	}
	return showDispute(p.stdout, d)
}

// showDispute prints a decision. Anything but an explained dispute is exit status 1.
func showDispute(out io.Writer, d client.Dispute) error {
	if d.Decision == nil {
		if d.State == "failed" {
			return fmt.Errorf("dispute %s failed (%s): raise it again, over less", d.DisputeID, d.Problem)
		}
		fmt.Fprintf(out, "%s: %s\n", d.DisputeID, d.State)
		return exitError(1)
	}
	a := d.Decision
	fmt.Fprintf(out, "%s: %s, entry %d, over %d reports and %d billing events, in the tree of size %d\n\n", d.DisputeID, a.Result, *d.Seq, len(a.Entries.Reports), len(a.Entries.Intents), a.Against.TreeSize)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "level\tentries\ttokens\t")
	for _, l := range a.Levels {
		fmt.Fprintf(w, "%s\t%d\t%s\t\n", l.Level, l.Entries, l.Tokens)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, x := range a.Differences {
		fmt.Fprintf(out, "\n%s exceed %s by %s tokens", x.Level, x.Before, x.Tokens)
	}
	fmt.Fprintln(out)
	for _, list := range []struct {
		name     string
		findings []client.DisputeFinding
	}{{"broken", a.Failures}, {"open", a.Open}} {
		for _, f := range list.findings {
			fmt.Fprintf(out, "%s: %s, %d times: %s; entries %v\n", list.name, f.Rule, f.Times, f.Text, f.Seqs)
		}
	}
	if a.Result != client.DisputeExplained {
		return exitError(1)
	}
	return nil
}

type disputeShowCmd struct {
	ID string `arg:"" help:"The dispute's id."`
}

func (c *disputeShowCmd) Run(p *process, parent *disputeCmd) error {
	api, err := parent.api(p)
	if err != nil {
		return err
	}
	d, err := api.Dispute(p.ctx, c.ID, "", 1)
	if err != nil {
		return err
	}
	return showDispute(p.stdout, d.Dispute)
}

type disputeReverifyCmd struct {
	ID string `arg:"" help:"The dispute's id."`
}

func (c *disputeReverifyCmd) Run(p *process, parent *disputeCmd) error {
	api, err := parent.api(p)
	if err != nil {
		return err
	}
	r, err := api.ReverifyDispute(p.ctx, c.ID)
	switch {
	case err != nil:
		return err
	case r == nil:
		fmt.Fprintf(p.stdout, "the server works on it; ledgerd dispute show %s tells how far it is\n", c.ID)
		return nil
	case len(r.Found.Changed) == 0:
		fmt.Fprintf(p.stdout, "%s: %s, as it was recorded (entry %d)\n", c.ID, r.Found.Result, r.Seq)
		return nil
	}
	fmt.Fprintf(p.stdout, "%s: %s now (entry %d); changed since it was recorded:\n", c.ID, r.Found.Result, r.Seq)
	for _, what := range r.Found.Changed {
		fmt.Fprintln(p.stdout, " ", what)
	}
	return exitError(1)
}

type disputeEvidenceCmd struct {
	ID  string `arg:"" help:"The dispute's id."`
	Out string `required:"" placeholder:"FILE" type:"path" help:"Where to write the file, which must not exist."`
}

func (c *disputeEvidenceCmd) Run(p *process, parent *disputeCmd) error {
	api, err := parent.api(p)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(c.Out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := api.DisputeEvidence(p.ctx, c.ID, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(c.Out)) // a part is no evidence file
	}
	_, err = fmt.Fprintf(p.stdout, "%d bytes in %s; check it anywhere with: ledgerd verify evidence %s --log-key KEY\n", n, c.Out, c.Out)
	return err
}

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"ledgerd/client"
)

// shippingWait is how long the demo waits for ClickHouse to have what was just posted.
const shippingWait = 10 * time.Second

// askUsage shows what the session cost by provider, and which frames are behind the greatest sum.
func (d *demo) askUsage(ctx context.Context) error {
	q := client.UsageQuery{From: d.from, To: d.to, CustomerID: demoCustomer}
	a, err := d.auditor.Usage(ctx, "provider", q)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\nA biller asks: what did this session cost, and which frames cost most?\n\n")
	for _, line := range aligned(func(t io.Writer) {
		fmt.Fprintln(t, "PROVIDER\tREPORTS\tFRAMES\tTOKENS\tENTRIES")
		for _, g := range a.Groups {
			fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%d to %d\n", short(g.Key), g.Reports, g.FramesServed, g.Tokens, g.FirstSeq, g.LastSeq)
		}
		fmt.Fprintf(t, "in all\t%d\t\t%s\tfrom %s\n", a.Totals.Reports, a.Totals.Tokens, a.Source)
	}) {
		fmt.Fprintf(d.out, "  %s\n", line)
	}
	return d.askFrames(ctx, q)
}

// askFrames drills down, where there is a ClickHouse to ask.
func (d *demo) askFrames(ctx context.Context, q client.UsageQuery) error {
	a, err := d.shippedFrames(ctx, q)
	if statusOf(err) == http.StatusServiceUnavailable {
		fmt.Fprintf(d.out, "\n  No frames: ClickHouse is not running; /v1/usage/lines lists them from Postgres.\n")
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(d.out)
	for _, line := range aligned(func(t io.Writer) {
		fmt.Fprintln(t, "FRAME\tOF\tREPORTS\tTOKENS\tENTRIES")
		for _, g := range a.Groups {
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%d to %d\n", short(g.FrameID), short(g.ProviderID), g.Reports, g.Tokens, g.FirstSeq, g.LastSeq)
		}
		fmt.Fprintf(t, "from %s\t\t\t\tof entries below %d\n", a.Source, a.Freshness.Covers)
	}) {
		fmt.Fprintf(d.out, "  %s\n", line)
	}
	return nil
}

// shippedFrames asks until the answer covers everything that is recorded, or shippingWait is over.
func (d *demo) shippedFrames(ctx context.Context, q client.UsageQuery) (client.UsageAnswer, error) {
	wait, cancel := context.WithTimeout(ctx, shippingWait)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		a, err := d.once.UsageTop(ctx, "frame", 5, q)
		if err != nil || a.Freshness.Covers == a.Freshness.TreeSize {
			return a, err
		}
		select {
		case <-tick.C:
		case <-wait.Done():
			return a, ctx.Err()
		}
	}
}

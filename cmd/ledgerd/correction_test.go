package main

import (
	"errors"
	"testing"
	"time"

	"ledgerd/client"
	"ledgerd/frames"
	"ledgerd/internal/devstack/pgtest"
	"ledgerd/internal/kinds"
	"ledgerd/metering"
)

// How usage is billed and corrected, through the real binary and the client for hosts, with nothing sent anywhere; the service is
// killed in between.
func TestCorrectionsThroughTheBinary(t *testing.T) {
	t.Parallel()
	s := newRealService(t, pgtest.NewCluster(t).AdminURL("postgres"))
	s.more = []string{"LEDGERD_BILLING=off"}
	s.start(t)
	as := func(role kinds.Role) *client.Client {
		c, err := client.New(s.URL, s.Tokens[role])
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	ctx := t.Context()
	start := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -3)
	_, err := as(kinds.Admin).PutBillingConfig(ctx, client.BillingConfig{
		SecretKey: "main", Meter: client.BillingMeter{ID: "mtr_1", EventName: "context_tokens"}, Window: "day", Start: start,
		Customers: []client.BillingCustomer{{CustomerID: "acme", StripeCustomer: "cus_acme", BillingAnchor: start}},
	})
	if err != nil {
		t.Fatal(err)
	}
	report := metering.UsageReport{BudgetRequested: 500, BudgetConsumed: 400, AsOf: start.Add(time.Hour).Format(time.RFC3339), Providers: []metering.ProviderUsage{{
		ProviderID: "wiki", FramesServed: 1, TokenCost: 400, ServedFrames: []metering.ServedFrame{{Frame: frames.FrameID{ProviderID: "wiki", FrameID: "page/a"}, TokenCost: 400}},
	}}}
	for _, u := range []client.UsageReport{{RequestID: "r1", TurnID: "t", CustomerID: "acme", Report: report}, {RequestID: "r2", TurnID: "t", CustomerID: "other", Report: report}} {
		if _, err := as(kinds.Host).PostUsageReport(ctx, u); err != nil {
			t.Fatal(err)
		}
	}
	preview := func(want string) {
		t.Helper()
		p, err := as(kinds.Billing).BillingPreview(ctx, "acme", start, start.AddDate(0, 0, 1))
		if err != nil || p.Tokens != want {
			t.Errorf("preview %+v, %v; want %s", p, err, want)
		}
	}
	preview("400")
	s.kill(t)
	s.start(t)
	id := "r1"
	fewer := report
	fewer.BudgetConsumed, fewer.Providers = 0, nil
	correction := client.Correction{RequestID: &id, Reason: "nothing was served", Replacement: &fewer}
	first, err := as(kinds.Billing).PostCorrection(ctx, correction)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := as(kinds.Billing).PostCorrection(ctx, correction); err != nil || again.Seq != first.Seq || !again.Replayed {
		t.Errorf("again: %+v, %v", again, err)
	}
	preview("0")
	w, err := as(kinds.Billing).BillingWindows(ctx, "acme", time.Time{}, time.Time{})
	if err != nil || len(w.Windows) != 0 || len(w.Waiting) != 1 || w.Waiting[0].Lines != 2 || w.Waiting[0].Tokens != "0" {
		t.Errorf("windows %+v, %v", w, err)
	}
	u, err := as(kinds.Billing).BillingUnmapped(ctx, "")
	if err != nil || len(u.Customers) != 1 || u.Customers[0].CustomerID != "other" || u.Tokens != "400" {
		t.Errorf("unmapped %+v, %v", u, err)
	}
	var problem *client.Problem
	if _, err := as(kinds.Auditor).BilledEvent(ctx, "led1_0", nil); !errors.As(err, &problem) || problem.Status != 404 {
		t.Errorf("an unknown event: %v", err)
	}
	s.stop(t)
}

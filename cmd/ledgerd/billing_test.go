package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/client"
	"ledgerd/internal/devstack/stripefake"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/metering"
)

const (
	serviceKey     = "sk_test_of_the_service"
	serviceWebhook = "whsec_of_the_service"
)

// billedService is the real binary on a ledger of its own, and a Stripe fake that it bills to.
type billedService struct {
	*ledgertest.Ledger
	*realService
	fake *stripefake.Fake
}

// newBilled sets everything up as the README says: secrets by reference, a meter, a customer, a configuration.
func newBilled(t *testing.T, more ...string) *billedService {
	t.Helper()
	b := &billedService{Ledger: ledgertest.New(t), realService: &realService{key: filepath.Join(t.TempDir(), "signing.key"), checkpoint: filepath.Join(t.TempDir(), "checkpoint")}}
	b.URL, b.PostgresURL = "http://"+freeAddress(t), b.ServiceURL
	writeFile(t, b.key, b.SignerKey)
	var err error
	if b.Tokens, err = firstTokens(t.Context(), b.Store, ledgertest.Tenant, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	if b.fake, err = stripefake.New(stripefake.Options{Key: serviceKey}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.fake.Close() })
	url, err := b.fake.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	anchor := time.Now().UTC().AddDate(0, 0, -10).Truncate(time.Minute)
	if err := b.fake.SetMeter(stripefake.Meter{ID: "mtr_1", EventName: "tokens"}); err != nil {
		t.Fatal(err)
	}
	if err := b.fake.SetCustomer(stripefake.Customer{ID: "cus_1", Subscriptions: []stripefake.Subscription{{ID: "sub_1", Anchor: anchor, MeterID: "mtr_1"}}}); err != nil {
		t.Fatal(err)
	}
	b.more = append([]string{"LEDGERD_STRIPE_URL=" + url, "LEDGERD_SECRET_ACME__STRIPE_KEY=" + serviceKey, "LEDGERD_SECRET_ACME__STRIPE_HOOK=" + serviceWebhook, "LEDGERD_BILLING_EVERY=1h"}, more...)
	b.start(t)
	t.Cleanup(func() { b.kill(t) })
	b.fake.SetWebhook(b.URL+"/v1/stripe/webhook/acme", serviceWebhook)
	if _, err := b.as(t, kinds.Admin).PutBillingConfig(t.Context(), client.BillingConfig{
		SecretKey: "stripe-key", WebhookSecret: "stripe-hook", Meter: client.BillingMeter{ID: "mtr_1", EventName: "tokens"}, Window: "hour", Start: anchor,
		Customers: []client.BillingCustomer{{CustomerID: "acme", StripeCustomer: "cus_1", BillingAnchor: anchor}},
	}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *billedService) as(t *testing.T, role kinds.Role) *client.Client {
	t.Helper()
	c, err := client.New(b.URL, b.Tokens[role], client.WithMaxAttempts(1))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (b *billedService) kill(t *testing.T) {
	t.Helper()
	_ = b.cmd.Process.Signal(syscall.SIGKILL) // it may have ended
	_ = b.cmd.Wait()
}

// use posts a report of some tokens, hours ago.
func (b *billedService) use(t *testing.T, request string, hoursAgo int, tokens uint32) {
	t.Helper()
	at := time.Now().UTC().Add(-time.Duration(hoursAgo) * time.Hour).Format("2006-01-02T15:04:05.000000Z")
	frame := metering.ServedFrame{TokenCost: tokens}
	frame.Frame.ProviderID, frame.Frame.FrameID = "wiki", "page/1"
	report := metering.UsageReport{BudgetRequested: tokens, BudgetConsumed: uint64(tokens), AsOf: at, Providers: []metering.ProviderUsage{{
		ProviderID: "wiki", FramesServed: 1, TokenCost: uint64(tokens), ServedFrames: []metering.ServedFrame{frame},
	}}}
	if _, err := b.as(t, kinds.Host).PostUsageReport(t.Context(), client.UsageReport{RequestID: request, TurnID: "turn", CustomerID: "acme", Report: report}); err != nil {
		t.Fatal(err)
	}
}

// bill runs a command of `ledgerd bill`.
func (b *billedService) bill(t *testing.T, args ...string) (status int, out string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = run(t.Context(), append([]string{"bill", "--url", b.URL, "--token-file", "-"}, args...), strings.NewReader(b.Tokens[kinds.Billing]), &stdout, &stderr)
	return status, stdout.String() + stderr.String()
}

// says demands a status and a line of a command.
func (b *billedService) says(t *testing.T, want int, line string, args ...string) string {
	t.Helper()
	status, out := b.bill(t, args...)
	if status != want || !regexp.MustCompile(line).MatchString(out) {
		t.Fatalf("ledgerd bill %s: status %d, not %d, or no %q:\n%s", strings.Join(args, " "), status, want, line, out)
	}
	return out
}

// forgetLeases is what two minutes of waiting do: a killed process's leases are over.
func (b *billedService) forgetLeases(t *testing.T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), b.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), `UPDATE work.billing_lanes SET lease_until = '-infinity'`); err != nil {
		t.Fatal(err)
	}
}

// catchUp bills until Stripe counts so many tokens and the ledger knows it. The service does the same by itself when it starts.
func (b *billedService) catchUp(t *testing.T, tokens int64) {
	t.Helper()
	until(t, "everything was billed", func() bool {
		b.bill(t, "run")
		_, out := b.bill(t, "status")
		return b.fake.Total("mtr_1", "cus_1") == tokens && strings.Contains(out, "pending    0 intents")
	})
}

// until polls for what another process does, for 30 seconds at most.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for !done() {
		select {
		case <-poll.C:
		case <-ctx.Done():
			t.Fatalf("it never came that %s", what)
		}
	}
}

// Stripe has recorded an event and the process is killed before it hears of it. The next one sends the same identifier, and
// Stripe counts it once.
func TestKilledBetweenStripeAndTheLedger(t *testing.T) {
	t.Parallel()
	b := newBilled(t)
	b.use(t, "request-1", 3, 40)
	b.use(t, "request-2", 5, 2)
	b.fake.SetFaults(stripefake.Fault{Call: "create", Answer: "hang", Recorded: true, Times: 1})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = b.as(t, kinds.Billing).RunBilling(t.Context()) // its connection is cut
	}()
	until(t, "something was sent", func() bool { return b.fake.Total("mtr_1", "cus_1") > 0 })
	b.kill(t)
	<-ended
	b.start(t)
	b.forgetLeases(t)
	b.catchUp(t, 42)
	if n := len(b.fake.Events("", "")); n != 2 {
		t.Fatalf("%d events", n)
	}
	b.says(t, 0, `"acme" +\S+ +\S+ +42 +42 +agrees`, "reconcile")
	b.says(t, 0, `0 intents planned, 0 calls`, "run")
	b.says(t, 0, `pending +0 intents, 0 tokens`, "status")
}

// A webhook says that an event did not count: it is parked, listed, decided about, and billed.
func TestParkedByAWebhook(t *testing.T) {
	t.Parallel()
	b := newBilled(t)
	b.use(t, "request-1", 3, 40)
	b.says(t, 0, `40 tokens in 1 events`, "preview", "acme")
	b.fake.SetFaults(stripefake.Fault{Call: "create", Uncounted: "meter_event_customer_not_found", Times: 1})
	b.says(t, 0, `1 confirmed`, "run")
	until(t, "something was delivered", func() bool { return len(b.fake.Deliveries()) > 0 })
	if d := b.fake.Deliveries(); d[0].Status != http.StatusOK {
		t.Fatalf("%+v", d)
	}
	if d, err := b.fake.Deliver(t.Context(), b.fake.Reports()[0].ID); err != nil || d.Status != http.StatusOK { // once more
		t.Fatalf("%+v, %v", d, err)
	}
	out := b.says(t, 1, `parked +reported-not-count .* cus_1 +40 .*meter_event_customer_not_found`, "park", "list")
	if strings.Count(out, "reported-not-count") != 1 {
		t.Fatal(out)
	}
	b.says(t, 1, `parked +1`, "status")
	intent := regexp.MustCompile(`(?m)^(\d+) +parked`).FindStringSubmatch(out)[1]
	b.says(t, 0, `is replaced`, "park", "retry", intent)
	b.says(t, 1, `not-parked`, "park", "retry", intent)
	b.says(t, 0, `1 confirmed`, "run")
	if n := b.fake.Total("mtr_1", "cus_1"); n != 40 {
		t.Fatalf("%d tokens", n)
	}
	b.says(t, 0, `nothing waits`, "park", "list")

	// What is not signed by the secret changes nothing, and says nothing about who is billed.
	for _, tenant := range []string{ledgertest.Tenant, "nobody"} {
		body := `{"id":"` + b.fake.Reports()[0].ID + `","type":"v1.billing.meter.error_report_triggered"}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL+"/v1/stripe/webhook/"+tenant, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Stripe-Signature", stripefake.Sign([]byte(body), "whsec_other", time.Now()))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var p client.Problem
		err = json.NewDecoder(res.Body).Decode(&p)
		res.Body.Close()
		if err != nil || p.Code != "signature-invalid" {
			t.Errorf("%s: %+v, %v", tenant, p, err)
		}
	}
}

// The switch stops everything that is sent. Usage goes on being recorded, and is billed once the switch is back.
func TestBillingSwitch(t *testing.T) {
	t.Parallel()
	b := newBilled(t, "LEDGERD_BILLING=off")
	b.use(t, "request-1", 3, 40)
	b.says(t, 1, `billing-off`, "run")
	b.says(t, 0, `switched off`, "status")
	if n := b.fake.Calls("create") + b.fake.Calls("meter"); n != 0 {
		t.Fatalf("%d calls to Stripe", n)
	}
	b.kill(t)
	b.more = b.more[:len(b.more)-1]
	b.start(t)
	b.catchUp(t, 40)

	// A secret that is gone stops billing with a word on where it is looked for, and never with the secret.
	b.kill(t)
	b.more[1] = "LEDGERD_SECRET_ACME__STRIPE_KEY="
	b.start(t)
	b.use(t, "request-2", 3, 2)
	b.says(t, 1, `nothing is sent: the secret "stripe-key" is not set: set LEDGERD_SECRET_ACME__STRIPE_KEY`, "run")
	b.kill(t)
	b.more[1] = "LEDGERD_SECRET_ACME__STRIPE_KEY=sk_test_wrong"
	b.start(t)
	if out := b.says(t, 1, `nothing is sent: the meter could not be checked: .*rejected, HTTP 401`, "run"); strings.Contains(out, "wrong") {
		t.Fatal(out)
	}
}

// `ledgerd dev` bills to its fake, whose events outlive it, and the demo walks from an event to its frames.
func TestDevBillsTheDemo(t *testing.T) {
	t.Parallel()
	dir := devFolder(t)
	dev := startDev(t, dir)
	for range 2 {
		status, out, problems := inProcess(t, "demo", "--data-dir", dir)
		if status != 0 || problems != "" {
			t.Fatalf("status %d: %s\n%s", status, problems, out)
		}
		checkForm(t, out)
		wants(t, out,
			`clock +.*`,
			`run +1 intents recorded, 1 calls to Stripe, 1 events confirmed`,
			`reconcile +period from .*: the ledger has (\d+) tokens confirmed, Stripe has \d+: agrees`,
			`led1_[0-9a-f]{64}`,
			`\d+ tokens at .*, confirmed, entry \d+`,
			`entry \d+, .*: \d+ tokens`,
			`page/\d \d+, page/\d \d+`,
			`each entry behind it was verified again: .*`,
		)
	}
	dev.end(t, syscall.SIGTERM)
	again := startDev(t, dir)
	var totals map[string]map[string]int64
	d := &demo{stripe: again.StripeURL}
	if err := d.fake(t.Context(), http.MethodGet, "/_totals", nil, &totals); err != nil || totals[devMeter][devPayer] == 0 {
		t.Fatalf("%v, %v", totals, err)
	}
	if status, body, err := again.do(t.Context(), http.MethodPost, "/v1/billing/runs", kinds.Billing, ""); err != nil || status != 200 || !bytes.Contains(body, []byte(`"attempts":0`)) {
		t.Fatal(status, string(body), err, fmt.Sprint(totals))
	}
}

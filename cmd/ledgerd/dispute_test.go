package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledgerd/client"
	"ledgerd/internal/devstack/pgtest"
	"ledgerd/internal/devstack/stripefake"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
)

const billedTenant = "default" // of `ledgerd bootstrap`

// anHourOfUsage records what a ledger of three hours ago would hold: whom usage is billed to, what was declared and agreed to, and
// reports of some requests. It is recorded at that time, since consent that is recorded later covers nothing.
func (s *realService) anHourOfUsage(t *testing.T, at time.Time) (tokens int) {
	t.Helper()
	store, err := postgres.Open(t.Context(), s.PostgresURL)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	keys, err := readKeys("", s.key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.MakeLog(t.Context(), keys, at); err != nil {
		t.Fatal(err)
	}
	now := at
	appender := postgres.StartAppender(postgres.AppenderOptions{Store: store, Keys: keys, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }})
	record := func(role kinds.Role, kind *kinds.Kind, artifact, context string) {
		t.Helper()
		a, err := kind.Accept(kinds.Submission{Artifact: []byte(artifact), Context: []byte(context), Key: kind.Name}, kinds.Env{Now: now})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := appender.Append(t.Context(), kinds.Poster{Tenant: billedTenant, Role: role, TokenID: "tok_then"}, a); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
	}
	stamp := func() string { return now.Format("2006-01-02T15:04:05.000000Z") }
	begin := at.Truncate(24 * time.Hour).Format(time.RFC3339)
	record(kinds.Admin, &kinds.BillingConfigKind, `{"secret_key":"stripe","meter":{"id":"mtr_1","event_name":"context_tokens"},"window":"hour","start":"`+begin+
		`","customers":[{"customer_id":"acme","stripe_customer":"cus_acme","billing_anchor":"`+begin+`"}]}`, "{}")
	record(kinds.Host, &kinds.ProviderDeclaration, `{"provider_id":"wiki","provider":{"name":"Wiki","version":"1","data_flow":{"reads":true,"writes":false,"egress":true,"egress_scopes":["third-party-model"]}},`+
		`"declared_at":"`+stamp()+`"}`, "{}")
	record(kinds.Host, &kinds.ConsentReceipt, `{"provider_id":"wiki","scope":"third-party-model","provider_name":"Wiki","provider_version":"1","grantor":{"kind":"human","id":"maria"},"granted_at":"`+stamp()+`"}`, "{}")
	now = now.Add(time.Minute)
	for i := range 3 {
		cost := 100 + i
		tokens += cost
		record(kinds.Host, &kinds.UsageReport, fmt.Sprintf(`{"budget_requested":500,"budget_consumed":%d,"as_of":%q,"providers":[{"provider_id":"wiki","frames_served":1,"frames_rejected":0,"token_cost":%d,`+
			`"served_frames":[{"frame":{"provider_id":"wiki","frame_id":"page/%d","content_digest":"sha256:1"},"token_cost":%d}]}]}`, cost, stamp(), cost, i, cost),
			fmt.Sprintf(`{"request_id":"req-%d","turn_id":"turn","customer_id":"acme"}`, i))
	}
	drain, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := appender.Close(drain); err != nil {
		t.Fatal(err)
	}
	return tokens
}

// stripeFor starts a Stripe of the test's own, and tells the service where it is.
func (s *realService) stripeFor(t *testing.T, anchor time.Time) *stripefake.Fake {
	t.Helper()
	fake, err := stripefake.New(stripefake.Options{Key: "sk_test_e2e"})
	if err != nil {
		t.Fatal(err)
	}
	url, err := fake.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := fake.SetMeter(stripefake.Meter{ID: "mtr_1", EventName: "context_tokens"}); err != nil {
		t.Fatal(err)
	}
	if err := fake.SetCustomer(stripefake.Customer{ID: "cus_acme", Subscriptions: []stripefake.Subscription{{ID: "sub_1", Anchor: anchor, MeterID: "mtr_1"}}}); err != nil {
		t.Fatal(err)
	}
	s.more = append(s.more, "LEDGERD_STRIPE_URL="+url, secretVariable(billedTenant, "stripe")+"=sk_test_e2e")
	return fake
}

// billed has the service bill until Stripe counted all, and nobody bills any more. The service bills by itself, too.
func billed(t *testing.T, biller *client.Client, fake *stripefake.Fake, tokens int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		run, err := biller.RunBilling(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if total := fake.Total("mtr_1", "cus_acme"); total == tokens && !run.More {
			return
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			t.Fatalf("Stripe counted %d of %d tokens: %+v", fake.Total("mtr_1", "cus_acme"), tokens, run)
		}
	}
}

// The whole way through the real binary: usage is billed, the charge is disputed, and the evidence is checked by a stranger who
// has the file and the log's key; a byte changed in any member of it is found and named.
func TestDisputeThroughTheBinary(t *testing.T) {
	t.Parallel()
	s := newRealService(t, pgtest.NewCluster(t).AdminURL("postgres"))
	at := time.Now().UTC().Truncate(time.Hour).Add(-3 * time.Hour)
	tokens := s.anHourOfUsage(t, at)
	fake := s.stripeFor(t, at.Truncate(24*time.Hour))
	s.flags = []string{"--init-checkpoint"} // the usage was recorded by another process
	s.start(t)
	api := func(role kinds.Role) *client.Client {
		c, err := client.New(s.URL, s.Tokens[role])
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	billed(t, api(kinds.Billing), fake, int64(tokens))
	from, to := at, at.Add(time.Hour)
	auditor := api(kinds.Auditor)
	d, err := auditor.RaiseDispute(t.Context(), client.DisputeQuestion{CustomerID: "acme", From: &from, To: &to}, "twice what we expect", "e2e")
	if err != nil || d.Decision == nil || d.Decision.Result != client.DisputeExplained || len(d.Decision.Differences) != 0 || len(d.Decision.Entries.Reports) != 3 {
		t.Fatalf("%+v, %+v, %v", d, d.Decision, err)
	}
	for _, l := range d.Decision.Levels {
		if l.Tokens != fmt.Sprint(tokens) {
			t.Errorf("%+v", l)
		}
	}
	whole, err := auditor.Dispute(t.Context(), d.DisputeID, "", 0)
	if err != nil || len(whole.Reports) != 3 || len(whole.Events) != 1 || whole.Events[0].State != "confirmed" || whole.Reports[0].Providers[0].Consent.Verdict != client.Consented {
		t.Errorf("%+v, %v", whole, err)
	}
	event, err := auditor.RaiseDispute(t.Context(), client.DisputeQuestion{BillingEvent: whole.Events[0].Identifier}, "what is this", "")
	if err != nil || event.Decision.Result != client.DisputeExplained {
		t.Errorf("%+v, %v", event, err)
	}
	s.byCommand(t, whole.Events[0].Identifier)
	s.checkEvidence(t, auditor, d.DisputeID)
	s.reverified(t, api, d.DisputeID, d.Decision.Entries.Reports[0])
	s.stop(t)
}

// byCommand does the same from the command line.
func (s *realService) byCommand(t *testing.T, event string) {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(s.Tokens[kinds.Auditor]), 0o600); err != nil {
		t.Fatal(err)
	}
	dispute := func(want int, args ...string) string {
		t.Helper()
		code, stdout, stderr := command(t.Context(), append([]string{"dispute", "--url", s.URL, "--token-file", token}, args...)...)
		if code != want {
			t.Fatalf("dispute %v: exit %d, want %d\n%s%s", args, code, want, stdout, stderr)
		}
		return stdout
	}
	said := dispute(0, "raise", "--billing-event", event, "--reason", "what is this")
	id, _, _ := strings.Cut(said, ":")
	if !strings.Contains(said, "explained") || !strings.Contains(said, "consented") {
		t.Error(said)
	}
	if again := dispute(0, "show", id); again != said {
		t.Errorf("shown otherwise:\n%s\n%s", said, again)
	}
	if said := dispute(0, "reverify", id); !strings.Contains(said, "as it was recorded") {
		t.Error(said)
	}
	file := filepath.Join(t.TempDir(), "evidence.zip")
	dispute(0, "evidence", id, "--out", file)
	dispute(1, "evidence", id, "--out", file) // it is there
	if code, stdout, stderr := stranger(t, "verify", "evidence", file, "--log-key", s.LogKeys[0]); code != 0 {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	if said := dispute(1, "raise", "--request", "none", "--reason", "never sent"); !strings.Contains(said, "open: nothing-found") {
		t.Error(said)
	}
	dispute(1, "raise", "--customer", "acme", "--from", "2020-01-01T00:00:00Z", "--to", "2020-01-02T00:00:00Z", "--reason", "long ago")
	dispute(2, "raise", "--request", "a", "--receipt", "b", "--reason", "both")
	dispute(1, "show", "dsp_none")
}

// checkEvidence downloads the evidence, has a stranger check it, and mangles it.
func (s *realService) checkEvidence(t *testing.T, auditor *client.Client, id string) {
	t.Helper()
	var file bytes.Buffer
	if _, err := auditor.DisputeEvidence(t.Context(), id, &file); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "dispute.zip")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := stranger(t, "verify", "evidence", path, "--log-key", s.LogKeys[0])
	if code != 0 || !strings.Contains(stdout, "every check passed") || !strings.Contains(stdout, "passed  recorded-verdict") {
		t.Errorf("verify evidence: exit %d\n%s%s", code, stdout, stderr)
	}
	mangledFiles(t, path, s.LogKeys[0])
}

// reverified erases one report, and finds the dispute changed by just that.
func (s *realService) reverified(t *testing.T, api func(kinds.Role) *client.Client, id string, report int64) {
	t.Helper()
	if r, err := api(kinds.Billing).ReverifyDispute(t.Context(), id); err != nil || r == nil || len(r.Found.Changed) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if status, body := s.ask(t, "POST", "/v1/erasures", s.Tokens[kinds.Admin], fmt.Sprintf(`{"reason":"asked","seqs":[%d]}`, report)); status != 201 {
		t.Fatal(body)
	}
	r, err := api(kinds.Billing).ReverifyDispute(t.Context(), id)
	if err != nil || r.Found.Result != client.DisputeInconclusive || strings.Join(r.Found.Changed, " ") != "result rule:erased" {
		t.Errorf("%+v, %v", r, err)
	}
}

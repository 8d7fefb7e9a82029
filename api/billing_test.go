package api_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"ledgerd/api"
	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/metering/billing"
)

// billed is a service whose customer acme/1 is billed.
type billed struct {
	*service
	t     *testing.T
	books *postgres.Books
}

func newBilled(t *testing.T) *billed {
	t.Helper()
	s := newService(t)
	b := &billed{s, t, postgres.NewBooks(s.Store, s.Appender)}
	if got := s.as(t, kinds.Admin, "PUT", "/v1/billing/config", ledgertest.BillingArtifact("acme/1")); got.status != 201 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	return b
}

// used records what a customer used, so long after billing began.
func (b *billed) used(request, customer string, at time.Duration, tokens uint32) {
	b.t.Helper()
	if _, err := b.Appender.Append(b.t.Context(), ledgertest.Host, ledgertest.Usage(b.t, request, customer, ledgertest.BillingStart.Add(at), tokens)); err != nil {
		b.t.Fatal(err)
	}
}

// get reads an answer of 200 as a role.
func (b *billed) get(role kinds.Role, path string, into any) {
	b.t.Helper()
	got := b.as(b.t, role, "GET", path, "")
	if got.status != 200 {
		b.t.Fatalf("%s: %d %s", path, got.status, got.body)
	}
	got.into(b.t, into)
}

// plan records what a preview shows.
func (b *billed) plan() {
	b.t.Helper()
	ctx := b.t.Context()
	terms, err := b.Store.BillingTerms(ctx, ledgertest.Tenant)
	if err != nil {
		b.t.Fatal(err)
	}
	m := terms.Config.Customers[0]
	lines, err := b.Store.UnclaimedUsage(ctx, ledgertest.Tenant, m.CustomerID, terms.Config.Start, time.Now(), 1000)
	if err != nil {
		b.t.Fatal(err)
	}
	lane := billing.Lane{Tenant: ledgertest.Tenant, MeterID: terms.Config.MeterID, Customer: m.Customer}
	held, err := b.Store.HeldIn(ctx, lane, terms.Config.OpenPeriods(m, time.Now()))
	if err != nil {
		b.t.Fatal(err)
	}
	p := billing.Make(billing.Ask{Origin: terms.Origin, Revision: terms.Revision, Config: terms.Config, Mapping: m, Lines: lines, Held: held, Now: time.Now()})
	for _, i := range p.Intents {
		if err := b.books.RecordIntent(ctx, ledgertest.Tenant, i); err != nil {
			b.t.Fatal(err)
		}
	}
	list, err := b.Store.LaneIntents(ctx, lane, -1, 100)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, pending := range list {
		o := pending.Outcome(billing.Confirmed, billing.ByDelivery, billing.Reply{Status: 200, RequestID: "req_1"})
		if err := b.books.RecordOutcomes(ctx, ledgertest.Tenant, []billing.Closing{{Outcome: o}}); err != nil {
			b.t.Fatal(err)
		}
	}
}

var acme = url.QueryEscape("acme/1")

func (b *billed) preview() (p api.BillingPreviewBody) {
	b.t.Helper()
	period := fmt.Sprintf("&from=%s&to=%s", ledgertest.BillingStart.Add(-time.Hour).Format(time.RFC3339), time.Now().UTC().Add(time.Hour).Format(time.RFC3339))
	b.get(kinds.Admin, "/v1/billing/preview?customer_id="+acme+period, &p)
	return p
}

func (b *billed) windows() (w api.BillingWindowsBody) {
	b.t.Helper()
	b.get(kinds.Billing, "/v1/billing/windows?customer_id="+acme, &w)
	return w
}

func TestBillingConfig(t *testing.T) {
	t.Parallel()
	s := newService(t)
	if got := s.as(t, kinds.Billing, "GET", "/v1/billing/config", ""); got.status != 404 {
		t.Errorf("without one: %d %s", got.status, got.body)
	}
	for _, path := range []string{"/v1/billing/windows?customer_id=a", "/v1/billing/unmapped", "/v1/billing/preview?customer_id=a&from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z"} {
		if got := s.as(t, kinds.Auditor, "GET", path, ""); got.status != 404 {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	config := ledgertest.BillingArtifact("a", "b")
	for role, want := range map[kinds.Role]int{kinds.Billing: 403, kinds.Host: 403, kinds.Auditor: 403, kinds.Admin: 201} {
		if got := s.as(t, role, "PUT", "/v1/billing/config", config); got.status != want {
			t.Errorf("%s: %d %s", role, got.status, got.body)
		}
	}
	again := s.as(t, kinds.Admin, "PUT", "/v1/billing/config", config)
	if again.status != 200 || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the same again: %d %s", again.status, again.body)
	}
	secret := s.as(t, kinds.Admin, "PUT", "/v1/billing/config", strings.Replace(config, `"main"`, `"sk_live_x7"`, 1))
	if p := secret.problem(t); p.Status != 400 || p.Code != "invalid-value" || *p.Pointer != "/secret_key" || strings.Contains(string(secret.body), "x7") {
		t.Errorf("a secret: %s", secret.body)
	}
	if got := s.as(t, kinds.Admin, "PUT", "/v1/billing/config", ledgertest.BillingArtifact("a")); got.status != 201 {
		t.Errorf("another: %d %s", got.status, got.body)
	}
	got := s.as(t, kinds.Billing, "GET", "/v1/billing/config", "")
	var body api.BillingConfigBody
	got.into(t, &body)
	if body.Revision != 2 || got.header.Get("ETag") != `"2"` || !strings.Contains(string(body.Config), "cus_a") {
		t.Errorf("%s", got.body)
	}
	line := s.do(t, "POST", "/v1/entries", s.tokens[kinds.Admin], `{"kind":"billing-config","artifact":`+config+`}`, "Content-Type", "application/x-ndjson")
	if !strings.Contains(string(line.body), "posted alone") {
		t.Errorf("in bulk: %d %s", line.status, line.body)
	}
}

// From usage to the preview, to windows, to an event, to its frames; then a correction, which is previewed and billed.
func TestBillingIsWalkedDown(t *testing.T) {
	t.Parallel()
	b := newBilled(t)
	b.used("r1", "acme/1", 10*time.Minute, 403)
	b.used("r2", "acme/1", 70*time.Minute, 7)
	b.used("r3", "acme/1", -10*time.Minute, 5)
	b.used("r4", "other", 10*time.Minute, 11)
	b.used("r5", "acme/1", time.Since(ledgertest.BillingStart), 13)
	p := b.preview()
	if len(p.Events) != 2 || p.Tokens != "410" || len(p.Waiting) != 1 || p.Waiting[0].Reason != billing.WindowOpen || p.Waiting[0].Tokens != "13" || *p.StripeCustomer != "cus_acme/1" {
		t.Errorf("preview: %+v", p)
	}
	if w := b.windows(); len(w.Windows) != 0 || len(w.Waiting) != 3 || w.Waiting[0].Reason != "due" || w.BeforeStart.Tokens != "5" || w.BeforeStart.Lines != 1 {
		t.Errorf("windows before: %+v", w)
	}
	b.plan()
	w := b.windows()
	if len(w.Windows) != 2 || w.Windows[0].Claimed != "403" || w.Windows[0].Confirmed != "403" || len(w.Windows[0].Intents) != 1 || w.Windows[0].Intents[0].Identifier != p.Events[0].Identifier ||
		len(w.Waiting) != 1 || w.Next != nil {
		t.Errorf("windows: %+v", w)
	}
	var page api.BillingWindowsBody
	b.get(kinds.Auditor, "/v1/billing/windows?limit=1&customer_id="+acme, &page)
	if len(page.Windows) != 1 || page.Next == nil || !page.Next.Equal(w.Windows[1].Start) {
		t.Errorf("a page: %+v", page)
	}
	if w.NotCounted.Lines != 0 || w.NotCounted.Tokens != "0" {
		t.Errorf("all providers count, and %+v does not", w.NotCounted)
	}
	b.event(p.Events[0].Identifier)
	var u api.BillingUnmappedBody
	b.get(kinds.Billing, "/v1/billing/unmapped", &u)
	if len(u.Customers) != 1 || u.Customers[0].CustomerID != "other" || u.Tokens != "11" || u.Erased.Lines != 0 {
		t.Errorf("unmapped: %+v", u)
	}
	b.corrected()
}

// What the configuration does not count is said, and not what was billed while it did.
func TestUsageThatDoesNotCountIsListed(t *testing.T) {
	t.Parallel()
	b := newBilled(t)
	b.used("r1", "acme/1", 10*time.Minute, 403)
	b.plan()
	b.used("r2", "acme/1", 20*time.Minute, 7)
	b.used("r3", "acme/1", -20*time.Minute, 5)
	fewer := strings.Replace(ledgertest.BillingArtifact("acme/1"), `"customers"`, `"providers":["other"],"customers"`, 1)
	if got := b.as(t, kinds.Admin, "PUT", "/v1/billing/config", fewer); got.status != 201 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	w := b.windows()
	if len(w.Windows) != 1 || len(w.Waiting) != 0 || w.NotCounted != (api.BillingSum{Lines: 1, Tokens: "7"}) || w.BeforeStart != (api.BillingSum{Lines: 1, Tokens: "5"}) {
		t.Errorf("%+v", w)
	}
}

// event holds the walk from an event to its frames.
func (b *billed) event(identifier string) {
	b.t.Helper()
	var e api.BillingEventBody
	b.get(kinds.Auditor, "/v1/billing/events/"+identifier, &e)
	if e.Event.State != billing.Confirmed || e.Event.Tokens != "403" || e.ClaimedBy != e.Event.Seq || e.ReplacedBy != nil || len(e.Outcomes) != 1 || e.Outcomes[0].RequestID != "req_1" {
		b.t.Errorf("event: %+v", e)
	}
	if len(e.Usage) != 1 || e.Usage[0].RequestID != "r1" || e.Usage[0].Tokens != "403" || e.Usage[0].Frames[0].FrameID != "page/a" || e.Next != nil {
		b.t.Errorf("usage: %+v", e.Usage)
	}
	if e.Verification.Entries != 3 || e.Verification.Results[audit.Failed] != 0 {
		b.t.Errorf("verification: %+v", e.Verification)
	}
	for _, path := range []string{"led1_0", "x"} {
		if got := b.as(b.t, kinds.Auditor, "GET", "/v1/billing/events/"+path, ""); got.status != 404 {
			b.t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if got := b.as(b.t, kinds.Host, "GET", "/v1/billing/events/"+identifier, ""); got.status != 403 {
		b.t.Errorf("a host: %d", got.status)
	}
}

// corrected holds a correction of what was billed.
func (b *billed) corrected() {
	b.t.Helper()
	const correction = `{"request_id":"r1","reason":"counted twice"}`
	for role, want := range map[kinds.Role]int{kinds.Host: 403, kinds.Auditor: 403, kinds.Billing: 201} {
		if got := b.as(b.t, role, "POST", "/v1/corrections", correction); got.status != want {
			b.t.Errorf("%s: %d %s", role, got.status, got.body)
		}
	}
	if got := b.as(b.t, kinds.Billing, "POST", "/v1/corrections", correction); got.status != 200 {
		b.t.Errorf("again: %d %s", got.status, got.body)
	}
	for body, code := range map[string]string{
		`{"request_id":"r1","reason":"other"}`: "conflict", `{"request_id":"nobody","reason":"r"}`: "not-found", `{"seq":0,"reason":"r"}`: "nothing-to-correct",
		`{"reason":"r"}`: "nothing-to-correct", `{"request_id":"r1"}`: "missing-member",
	} {
		if got := b.as(b.t, kinds.Billing, "POST", "/v1/corrections", body); got.problem(b.t).Code != code {
			b.t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
	if p := b.preview(); len(p.Events) != 1 || p.Tokens != "-403" {
		b.t.Errorf("preview of a correction: %+v", p)
	}
	b.plan()
	w := b.windows()
	if len(w.Windows[0].Intents) != 2 || w.Windows[0].Claimed != "0" || w.Windows[0].Confirmed != "0" || len(w.CreditNotes) != 0 {
		b.t.Errorf("windows of a correction: %+v", w)
	}
	var e api.BillingEventBody
	b.get(kinds.Billing, "/v1/billing/events/"+w.Windows[0].Intents[1].Identifier, &e)
	if len(e.Usage) != 1 || e.Usage[0].Tokens != "-403" || e.Usage[0].Corrects == nil || e.Usage[0].Frames[0].Tokens != "-403" {
		b.t.Errorf("the correction's event: %+v", e.Usage)
	}
}

// What is damaged behind an event is found when it is asked for.
func TestBillingEventOfDamagedUsage(t *testing.T) {
	t.Parallel()
	b := newBilled(t)
	b.used("r1", "acme/1", 10*time.Minute, 403)
	b.plan()
	identifier := b.windows().Windows[0].Intents[0].Identifier
	defer b.damaged(t, "usage_lines", "tokens", "404", "true")()
	var e api.BillingEventBody
	b.get(kinds.Auditor, "/v1/billing/events/"+identifier, &e)
	if e.Verification.Result != audit.Failed || e.Verification.Results[audit.Failed] != 1 {
		t.Errorf("%+v", e.Verification)
	}
}

// A page of claims goes on where the one before ended.
func TestBillingEventPages(t *testing.T) {
	t.Parallel()
	b := newBilled(t)
	for i := range 5 {
		b.used(fmt.Sprintf("r%d", i), "acme/1", time.Duration(i)*time.Minute, 10)
	}
	b.plan()
	path := "/v1/billing/events/" + b.windows().Windows[0].Intents[0].Identifier + "?limit=2"
	var seen []string
	for after := ""; ; {
		var e api.BillingEventBody
		b.get(kinds.Auditor, path+after, &e)
		for _, u := range e.Usage {
			seen = append(seen, u.RequestID)
		}
		if e.Next == nil {
			break
		}
		after = fmt.Sprintf("&after=%d&after_provider=%s", e.Next.After, url.QueryEscape(e.Next.AfterProvider))
	}
	if got := strings.Join(seen, " "); got != "r0 r1 r2 r3 r4" {
		t.Errorf("%s", got)
	}
}

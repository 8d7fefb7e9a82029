package api_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerd/api"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/metering/billing"
	"ledgerd/web"
)

// stubBiller answers as the test wants it, and notes what it was asked.
type stubBiller struct {
	err     error
	tenant  string
	settled string
	body    string
}

func (b *stubBiller) Bill(_ context.Context, tenant string, _ time.Duration) (billing.Run, error) {
	b.tenant = tenant
	return billing.Run{Planned: 2, Confirmed: 1, Refusals: []billing.Refusal{}, More: true}, b.err
}

func (b *stubBiller) ReconcileTenant(_ context.Context, tenant string, _ time.Duration) ([]billing.Standing, bool, error) {
	b.tenant = tenant
	return nil, true, b.err
}

func (b *stubBiller) Settle(_ context.Context, tenant string, seq int64, counts bool) error {
	b.tenant, b.settled = tenant, fmt.Sprint(seq, counts)
	return b.err
}

func (b *stubBiller) Deliver(_ context.Context, tenant string, body []byte, signature string) (int, error) {
	b.tenant, b.body = tenant, string(body)
	if signature != "right" {
		return 0, billing.ErrUnsigned
	}
	return 3, b.err
}

// newBilledService is a service that bills by the stub.
func newBilledService(t *testing.T, b *stubBiller) *service {
	t.Helper()
	l := ledgertest.New(t)
	a, err := api.New(api.Options{
		Store: l.Store, Appender: l.Appender, VerifierKeys: []string{l.Keys.VerifierKey}, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Now: time.Now,
		Metrics: prometheus.NewRegistry(), Version: "test", Console: web.Handler(), Biller: b,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(a.Handler())
	t.Cleanup(server.Close)
	s := &service{Ledger: l, api: a, url: server.URL, tokens: map[kinds.Role]string{}}
	for _, role := range kinds.Roles {
		s.tokens[role] = s.token(t, ledgertest.Tenant, role, time.Now(), time.Hour)
	}
	return s
}

func TestBillingByHand(t *testing.T) {
	t.Parallel()
	b := &stubBiller{}
	s := newBilledService(t, b)
	var run api.BillingRunBody
	s.as(t, kinds.Billing, "POST", "/v1/billing/runs", "").into(t, &run)
	if run.Planned != 2 || !run.More || b.tenant != ledgertest.Tenant {
		t.Errorf("%+v", run)
	}
	var standings api.StandingListBody
	s.as(t, kinds.Billing, "POST", "/v1/billing/reconciliations", "").into(t, &standings)
	if standings.Standings == nil || !standings.More {
		t.Errorf("%+v", standings)
	}
	var settled api.SettledBody
	s.as(t, kinds.Admin, "POST", "/v1/billing/parked/7/retry", `{"counts":true}`).into(t, &settled)
	if b.settled != "7 true" || settled.State != billing.Confirmed || settled.Intent != 7 {
		t.Errorf("%s, %+v", b.settled, settled)
	}
	for body, code := range map[string]string{`{}`: "missing-member", `{"counts":1}`: "wrong-type", `{"counts":true,"x":1}`: "unknown-member"} {
		if p := s.as(t, kinds.Admin, "POST", "/v1/billing/parked/7/retry", body).problem(t); p.Code != code {
			t.Errorf("%s: %s", body, p.Code)
		}
	}
	for _, c := range []struct {
		err  error
		code string
	}{
		{billing.ErrNotParked, "not-parked"},
		{billing.ErrNoIntent, "not-found"},
		{fmt.Errorf("%w: no key", billing.ErrRefused), "billing-refused"},
		{&billing.CallError{Call: "asking", Reply: billing.Reply{Class: billing.Ambiguous}}, "processor-unavailable"},
		{errors.New("whatever"), "internal"},
	} {
		b.err = c.err
		if p := s.as(t, kinds.Admin, "POST", "/v1/billing/parked/7/retry", `{"counts":false}`).problem(t); p.Code != c.code {
			t.Errorf("%v: %s", c.err, p.Code)
		}
	}
}

func TestStripeDeliveries(t *testing.T) {
	t.Parallel()
	b := &stubBiller{}
	s := newBilledService(t, b)
	s.AddTenant(t, "a/b")
	for _, c := range []struct {
		path, signature, body string
		status                int
		code, tenant          string
	}{
		{"acme", "right", `{"id":"evt_1"}`, 200, "", "acme"},
		{"a%2Fb", "right", `{"id":"evt_1"}`, 200, "", "a/b"},
		{"%00", "right", `{"id":"evt_1"}`, 400, "signature-invalid", ""},
		{"a%FF", "right", `{"id":"evt_1"}`, 400, "signature-invalid", ""},
		{strings.Repeat("t", 600), "right", `{"id":"evt_1"}`, 400, "signature-invalid", ""},
		{"acme", "wrong", `{"id":"evt_1"}`, 400, "signature-invalid", "acme"},
		{"acme", "", `{}`, 400, "signature-invalid", "acme"},
		{"acme", "right", strings.Repeat("x", 65<<10), 413, "body-too-large", ""},
	} {
		b.tenant = ""
		got := s.do(t, http.MethodPost, "/v1/stripe/webhook/"+c.path, "", c.body, "Stripe-Signature", c.signature)
		if got.status != c.status || b.tenant != c.tenant {
			t.Errorf("%s: %d %s for tenant %q", c.path, got.status, got.body, b.tenant)
		}
		if c.code != "" && got.problem(t).Code != c.code {
			t.Errorf("%s: %s", c.path, got.body)
		}
		if c.status == 200 && b.body != c.body {
			t.Errorf("the signature is over the exact body, and %q arrived", b.body)
		}
	}
}

// Who posts there is not known before the body is, so nothing is decoded.
func TestStripeDeliveriesAreNotDecoded(t *testing.T) {
	t.Parallel()
	b := &stubBiller{}
	s := newBilledService(t, b)
	for _, encoding := range []string{"gzip", "zstd", "br"} {
		got := s.do(t, http.MethodPost, "/v1/stripe/webhook/acme", "", `{"id":"evt_1"}`, "Stripe-Signature", "right", "Content-Encoding", encoding)
		if got.status != 415 || got.problem(t).Code != "unsupported-media-type" || b.tenant != "" {
			t.Errorf("%s: %d %s", encoding, got.status, got.body)
		}
		if got.header.Get("Accept-Encoding") != "identity" {
			t.Errorf("%s: it takes %q", encoding, got.header.Get("Accept-Encoding"))
		}
	}
}

func TestBillingIsOff(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, path := range []string{"/v1/billing/runs", "/v1/billing/reconciliations", "/v1/billing/parked/1/retry"} {
		if p := s.as(t, kinds.Billing, "POST", path, `{"counts":true}`).problem(t); p.Code != "billing-off" {
			t.Errorf("%s: %s", path, p.Code)
		}
	}
	if p := s.do(t, "POST", "/v1/stripe/webhook/acme", "", `{}`).problem(t); p.Code != "billing-off" {
		t.Error(p.Code)
	}
	var status api.BillingStatusBody
	s.as(t, kinds.Auditor, "GET", "/v1/billing/status", "").into(t, &status)
	if status.Running || status.Revision != 0 || status.Unmapped == nil || status.Standings == nil {
		t.Errorf("%+v", status)
	}
}

func TestParkedIntentsAreListed(t *testing.T) {
	t.Parallel()
	s := newService(t)
	config := ledgertest.BillingConfig(t, nil, "customer")
	if _, err := s.Appender.Append(t.Context(), kinds.Poster{Tenant: ledgertest.Tenant, Role: kinds.Admin, TokenID: "tok_admin"}, config); err != nil {
		t.Fatal(err)
	}
	books := postgres.NewBooks(s.Store, s.Appender)
	for n := range 3 {
		i := ledgertest.IntentSample(t, n)
		if _, err := books.RecordIntents(t.Context(), ledgertest.Tenant, []billing.Intent{i}); err != nil {
			t.Fatal(err)
		}
		p, err := s.Store.IntentNamed(t.Context(), ledgertest.Tenant, i.Event.Identifier)
		if err != nil {
			t.Fatal(err)
		}
		reply := billing.Reply{Class: billing.Rejected, Status: 400, Code: "resource_missing", Detail: "No such customer"}
		if n == 2 {
			break // planned: it does not wait for a person
		}
		if err := books.RecordOutcomes(t.Context(), ledgertest.Tenant, []billing.Closing{{Outcome: p.Outcome(billing.Parked, billing.ByRefusal, reply)}}); err != nil {
			t.Fatal(err)
		}
	}
	var page api.ParkedListBody
	s.as(t, kinds.Billing, "GET", "/v1/billing/parked", "").into(t, &page)
	if len(page.Intents) != 2 || page.NextCursor != nil || page.Intents[0].Code != "resource_missing" || page.Intents[0].Cause != billing.ByRefusal {
		t.Fatalf("%+v", page)
	}
	var rest api.ParkedListBody
	s.as(t, kinds.Billing, "GET", fmt.Sprintf("/v1/billing/parked?cursor=%d", page.Intents[0].Seq), "").into(t, &rest)
	if len(rest.Intents) != 1 || rest.Intents[0].Seq != page.Intents[1].Seq {
		t.Fatalf("%+v", rest)
	}
	if p := s.as(t, kinds.Billing, "GET", "/v1/billing/parked?cursor=x", "").problem(t); p.Code != "invalid-parameter" {
		t.Error(p.Code)
	}
	var status api.BillingStatusBody
	s.as(t, kinds.Billing, "GET", "/v1/billing/status", "").into(t, &status)
	if status.Parked != 2 || status.Pending != 1 || status.OldestPending == nil {
		t.Fatalf("%+v", status)
	}
}

package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerd/api"
	"ledgerd/internal/devstack/chtest"
	"ledgerd/internal/devstack/pgtest"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
	"ledgerd/web"
)

func TestMain(m *testing.M) {
	stop := chtest.Setup()
	code := pgtest.Run(m)
	stop()
	os.Exit(code)
}

// service is the API on a real ledger, with a token for each role.
type service struct {
	*ledgertest.Ledger
	api    *api.API
	url    string
	tokens map[kinds.Role]string

	disputes *postgres.Disputes
}

func newService(tb testing.TB) *service {
	tb.Helper()
	return newServiceWith(tb, nil)
}

// newServiceWith is a service with a projection of usage.
func newServiceWith(tb testing.TB, usage api.UsageProjection) *service {
	tb.Helper()
	l := ledgertest.New(tb)
	disputes := disputesOf(l)
	a := newAPIWith(tb, l, l.Store, usage, disputes)
	server := httptest.NewServer(a.Handler())
	tb.Cleanup(server.Close)
	s := &service{Ledger: l, api: a, url: server.URL, tokens: map[kinds.Role]string{}, disputes: disputes}
	for _, role := range kinds.Roles {
		s.tokens[role] = s.token(tb, ledgertest.Tenant, role, time.Now(), time.Hour)
	}
	return s
}

// newAPI is the API on a ledger that is read by way of the given store; usage is nil for none.
func newAPI(tb testing.TB, l *ledgertest.Ledger, store api.Store, usage api.UsageProjection) *api.API {
	tb.Helper()
	return newAPIWith(tb, l, store, usage, disputesOf(l))
}

func disputesOf(l *ledgertest.Ledger) *postgres.Disputes {
	return &postgres.Disputes{Store: l.Store, Append: l.Appender.Append, Verifiers: l.Keys.Verifiers()}
}

func newAPIWith(tb testing.TB, l *ledgertest.Ledger, store api.Store, usage api.UsageProjection, disputes api.Disputes) *api.API {
	tb.Helper()
	vkey, err := ledger.VerifierKey(l.SignerKey)
	if err != nil {
		tb.Fatal(err)
	}
	a, err := api.New(api.Options{
		Store: store, Appender: l.Appender, VerifierKeys: []string{vkey}, Log: slog.New(slog.NewTextHandler(tb.Output(), nil)), Now: time.Now,
		Metrics: prometheus.NewRegistry(), Version: "test", Console: web.Handler(), Usage: usage,
		Disputes: disputes, EvidenceSigners: l.Keys.EvidenceSigners(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// token stores a token of the role, made at the given time.
func (s *service) token(tb testing.TB, tenant string, role kinds.Role, now time.Time, lifetime time.Duration) string {
	tb.Helper()
	if role == kinds.Operator {
		tenant = ""
	}
	token, secret := api.NewToken(tenant, role, "test", now, lifetime)
	if err := s.Store.CreateToken(tb.Context(), token); err != nil {
		tb.Fatal(err)
	}
	return secret
}

// answer is a response, read whole.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) into(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
}

// problem reads an RFC 9457 answer and holds it to its form.
func (a answer) problem(t *testing.T) api.Problem {
	t.Helper()
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("status %d with content type %q: %s", a.status, got, a.body)
	}
	var p api.Problem
	a.into(t, &p)
	if p.Status != a.status || p.Type != "/docs#"+p.Code || p.Title == "" {
		t.Errorf("status %d with problem %+v", a.status, p)
	}
	return p
}

func (s *service) do(t *testing.T, method, path, token, body string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, bytes.TrimSpace(got)}
}

func (s *service) as(t *testing.T, role kinds.Role, method, path, body string, headers ...string) answer {
	t.Helper()
	return s.do(t, method, path, s.tokens[role], body, headers...)
}

package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"ledgerd/api"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

// public is every path that answers without a token, spelt out here so that the table can't open one unseen.
var public = []string{"/healthz", "/readyz", "/openapi.json", "/docs", "/log/checkpoint", "/log/tile/*", "/log/tile/entries/*",
	"/log/{incarnation}/checkpoint", "/log/{incarnation}/tile/*", "/log/{incarnation}/tile/entries/*"}

// signed is every public path that is answered only to what is signed.
var signed = []string{"/v1/stripe/webhook/{tenant}"}

// Every route refuses: no token, one that never was, an expired one, a revoked one (401), and each role that the table
// does not name (403).
func TestEveryRouteRefusesStrangers(t *testing.T) {
	t.Parallel()
	s := newService(t)
	expired := s.token(t, ledgertest.Tenant, kinds.Admin, time.Now().Add(-2*time.Hour), time.Hour)
	revoked := s.token(t, ledgertest.Tenant, kinds.Admin, time.Now(), time.Hour)
	s.revoke(t, revoked)
	s.as(t, kinds.Host, "POST", "/v1/consent-receipts", consent) // so that there is a tile
	for _, r := range s.api.Routes() {
		path := strings.NewReplacer("{seq}", "0", "{id}", "tok_x", "{incarnation}", "0", "entries/*", "entries/000.p/1", "tile/*", "tile/0/000.p/1").Replace(r.Path)
		if slices.Contains(signed, r.Path) {
			if got := s.do(t, r.Method, path, "", "{}"); !r.Public || got.status == http.StatusOK {
				t.Errorf("%s %s unsigned: %d", r.Method, path, got.status)
			}
			continue
		}
		if r.Public != slices.Contains(public, r.Path) {
			t.Errorf("%s %s: public is %v", r.Method, r.Path, r.Public)
		}
		if r.Public {
			if got := s.do(t, r.Method, path, "", ""); got.status != http.StatusOK {
				t.Errorf("%s %s without a token: %d", r.Method, path, got.status)
			}
			continue
		}
		for name, token := range map[string]string{"no token": "", "unknown": "ldg_unknown", "expired": expired, "revoked": revoked} {
			got := s.do(t, r.Method, path, token, "")
			if p := got.problem(t); got.status != http.StatusUnauthorized || p.Detail != "the token is missing, unknown, expired or revoked" {
				t.Errorf("%s %s with %s: %d %q", r.Method, path, name, got.status, p.Detail)
			}
			if got.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s with %s: no WWW-Authenticate", r.Method, path, name)
			}
		}
		for role, token := range s.tokens {
			got := s.do(t, r.Method, path, token, "")
			if allowed := slices.Contains(r.Roles, role); allowed == (got.status == http.StatusForbidden) || got.status == http.StatusUnauthorized {
				t.Errorf("%s %s as %s: %d, and the table allows it: %v", r.Method, path, role, got.status, allowed)
			}
		}
	}
}

func (s *service) revoke(t *testing.T, secret string) {
	t.Helper()
	var list api.TokenListBody
	s.as(t, kinds.Admin, "GET", "/v1/tokens", "").into(t, &list)
	// The token is found by using it: the newest one is the one just made.
	id := list.Tokens[len(list.Tokens)-1].ID
	if got := s.as(t, kinds.Admin, "DELETE", "/v1/tokens/"+id, ""); got.status != http.StatusOK {
		t.Fatalf("revoking: %d %s", got.status, got.body)
	}
	if got := s.do(t, "GET", "/v1/tokens", secret, ""); got.status != http.StatusUnauthorized {
		t.Fatalf("the revoked token still answers %d", got.status)
	}
}

// Another tenant's records do not exist: not by seq, not in a list, not in an answer, not by token id.
func TestTenantsDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	s := newService(t)
	if got := s.as(t, kinds.Host, "POST", "/v1/consent-receipts", consent); got.status != http.StatusCreated {
		t.Fatalf("%d %s", got.status, got.body)
	}
	s.AddTenant(t, "umbrella")
	others := map[kinds.Role]string{}
	for _, role := range kinds.Roles {
		if role != kinds.Operator {
			others[role] = s.token(t, "umbrella", role, time.Now(), time.Hour)
		}
	}
	for role, token := range others {
		if got := s.do(t, "GET", "/v1/entries/0", token, ""); got.status != http.StatusNotFound || got.problem(t).Detail != "" {
			t.Errorf("another tenant's %s reads entry 0: %d %s", role, got.status, got.body)
		}
		var list api.EntryListBody
		s.do(t, "GET", "/v1/entries", token, "").into(t, &list)
		if len(list.Entries) != 0 {
			t.Errorf("another tenant's %s lists %d entries", role, len(list.Entries))
		}
	}
	var mine api.TokenListBody
	s.as(t, kinds.Admin, "GET", "/v1/tokens", "").into(t, &mine)
	for _, token := range mine.Tokens {
		if got := s.do(t, "DELETE", "/v1/tokens/"+token.ID, others[kinds.Admin], ""); got.status != http.StatusNotFound {
			t.Errorf("another tenant's admin revokes a token: %d", got.status)
		}
	}
	var egress api.EgressBody
	s.do(t, "GET", "/v1/audit/egress?from=2000-01-01T00:00:00Z&to=2100-01-01T00:00:00Z", others[kinds.Auditor], "").into(t, &egress)
	if len(egress.Lines) != 0 {
		t.Errorf("another tenant's auditor sees %+v", egress.Lines)
	}
}

// A host sees what its own token posted, and no more.
func TestHostReadsItsOwnOnly(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.as(t, kinds.Host, "POST", "/v1/consent-receipts", consent)
	s.as(t, kinds.Host, "POST", "/v1/usage-reports", usage("r1", time.Now()))
	other := s.token(t, ledgertest.Tenant, kinds.Host, time.Now(), time.Hour)
	for _, c := range []struct {
		who, token string
		seen       []int64
	}{
		{"its host", s.tokens[kinds.Host], []int64{0, 1}},
		{"another host", other, []int64{}},
		{"the auditor", s.tokens[kinds.Auditor], []int64{0, 1}},
		{"billing", s.tokens[kinds.Billing], []int64{1}},
		{"admin", s.tokens[kinds.Admin], []int64{}},
	} {
		var list api.EntryListBody
		s.do(t, "GET", "/v1/entries", c.token, "").into(t, &list)
		seqs := []int64{}
		for _, e := range list.Entries {
			seqs = append(seqs, e.Seq)
		}
		if !slices.Equal(seqs, c.seen) {
			t.Errorf("%s lists %v, want %v", c.who, seqs, c.seen)
		}
		for seq, path := range []string{"/v1/entries/0", "/v1/entries/1"} {
			want := http.StatusNotFound
			if slices.Contains(c.seen, int64(seq)) {
				want = http.StatusOK
			}
			if got := s.do(t, "GET", path, c.token, ""); got.status != want {
				t.Errorf("%s reads %s: %d, want %d", c.who, path, got.status, want)
			}
		}
	}
}

// Whatever the router answers is described, and whatever is described is answered.
func TestOpenAPIDescribesEveryRoute(t *testing.T) {
	t.Parallel()
	s := newService(t)
	var doc struct {
		OpenAPI string `json:"openapi"`
		Paths   map[string]map[string]struct {
			OperationID string                    `json:"operationId"`
			Summary     string                    `json:"summary"`
			Responses   map[string]map[string]any `json:"responses"`
		} `json:"paths"`
	}
	s.do(t, "GET", "/openapi.json", "", "").into(t, &doc)
	if doc.OpenAPI != "3.1.0" {
		t.Errorf("openapi is %q", doc.OpenAPI)
	}
	described := 0
	router, ok := s.api.Handler().(chi.Routes)
	if !ok {
		t.Fatal("the handler can't be walked")
	}
	err := chi.Walk(router, func(method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if path == "/" || path == "/assets/*" {
			return nil // the console's files are no part of the API
		}
		op, ok := doc.Paths[path][strings.ToLower(method)]
		if !ok || op.OperationID == "" || op.Summary == "" || len(op.Responses) < 2 {
			t.Errorf("%s %s is not described: %+v", method, path, op)
		}
		described++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		described -= len(methods)
		for method, op := range methods {
			if !strings.Contains(string(s.do(t, "GET", "/docs", "", "").body), `id="`+op.OperationID+`"`) {
				t.Errorf("%s %s is not on the documentation page", method, path)
			}
		}
	}
	if described != 0 {
		t.Errorf("%d operations are answered and not described, or the reverse", described)
	}
	var schemas struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	s.do(t, "GET", "/openapi.json", "", "").into(t, &schemas)
	for _, name := range []string{"Problem", "RecordedBody", "EntryBody", "EgressBody"} {
		if schemas.Components.Schemas[name] == nil {
			t.Errorf("the schema %s is missing", name)
		}
	}
}

// An operator can let a tenant back in that has no admin any more, and can do no more than that; an admin can't reach out.
func TestOperatorMakesAdminTokens(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.AddTenant(t, "umbrella")
	var made api.TokenBody
	got := s.as(t, kinds.Operator, "POST", "/v1/tokens", `{"tenant":"umbrella","role":"admin","name":"way back in"}`)
	got.into(t, &made)
	if got.status != http.StatusCreated || made.Tenant != "umbrella" || s.do(t, "GET", "/v1/tokens", made.Token, "").status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
	for body, status := range map[string]int{
		`{"tenant":"umbrella","role":"auditor","name":"n"}`: 400, `{"role":"admin","name":"n"}`: 400, `{"tenant":"nobody","role":"admin","name":"n"}`: 404, `{"tenant":"\u0000","role":"admin","name":"n"}`: 404,
	} {
		if got := s.as(t, kinds.Operator, "POST", "/v1/tokens", body); got.status != status {
			t.Errorf("operator: %s: %d, want %d", body, got.status, status)
		}
	}
	if got := s.as(t, kinds.Admin, "POST", "/v1/tokens", `{"tenant":"umbrella","role":"admin","name":"n"}`); got.status != 400 || got.problem(t).Code != "unknown-member" {
		t.Errorf("an admin names a tenant: %d %s", got.status, got.body)
	}
}

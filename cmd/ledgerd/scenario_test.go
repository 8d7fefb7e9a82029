package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ledgerd/client"
	"ledgerd/internal/kinds"
	"ledgerd/receipts"
)

// story tells a provider's past half-year to a running binary.
type story struct {
	t   *testing.T
	dev *instance
	now time.Time
}

func (s story) at(days int) string {
	return s.now.AddDate(0, 0, days).Format(time.RFC3339)
}

func (s story) call(method, path string, role kinds.Role, body string, want int, into any) {
	s.t.Helper()
	status, raw, err := s.dev.do(s.t.Context(), method, path, role, body)
	if err != nil || status != want {
		s.t.Fatalf("%s %s: %d %s %v", method, path, status, raw, err)
	}
	if into != nil {
		if err := json.Unmarshal(raw, into); err != nil {
			s.t.Fatalf("%s %s: %v", method, path, err)
		}
	}
}

const auditedProvider = "acme-cloud-model"

func (s story) grant(version string, from, until int) {
	s.t.Helper()
	s.call("POST", "/v1/consent-receipts", kinds.Host, fmt.Sprintf(`{"provider_id":%q,"scope":"third-party-model","provider_name":"Acme Cloud",`+
		`"provider_version":%q,"grantor":{"kind":"human","id":"ops@oxagen.sh"},"granted_at":%q,"expires_at":%q}`, auditedProvider, version, s.at(from), s.at(until)), 201, nil)
}

func (s story) declare(name, version string, days int) {
	s.t.Helper()
	s.call("POST", "/v1/provider-declarations", kinds.Host, fmt.Sprintf(`{"provider_id":%q,"provider":{"name":%q,"version":%q,"data_flow":{"reads":true,"writes":false,`+
		`"egress":true,"egress_scopes":["third-party-model"]}},"declared_at":%q}`, auditedProvider, name, version, s.at(days)), 201, nil)
}

func (s story) serve(request string, days int) {
	s.t.Helper()
	s.call("POST", "/v1/usage-reports", kinds.Host, fmt.Sprintf(`{"request_id":%q,"turn_id":"t","customer_id":"customer","report":{"budget_requested":100,`+
		`"budget_consumed":40,"as_of":%q,"providers":[{"provider_id":%q,"frames_served":1,"frames_rejected":0,"token_cost":40,"served_frames":[`+
		`{"frame":{"provider_id":%q,"frame_id":"repo/%s","content_digest":"sha256:%064d"},"token_cost":40}]}]}}`,
		request, s.at(days), auditedProvider, auditedProvider, request, 7), 201, nil)
}

func (s story) ask(from, to int) client.EgressAnswer {
	s.t.Helper()
	var a client.EgressAnswer
	s.call("GET", fmt.Sprintf("/v1/audit/egress?from=%s&to=%s&customer_id=customer&verify=true", s.at(from), s.at(to)), kinds.Auditor, "", 200, &a)
	if a.Verification == nil || !a.Verification.Verified {
		s.t.Errorf("verification %+v", a.Verification)
	}
	return a
}

// The worked audit scenario of context-reuse §3 through the real binary: consent is given, frames are served, consent lapses,
// is given again and revoked, the provider renames itself. Half a year later an auditor asks what left, to whom, who agreed
// and when. All of it is recorded today, which the answers say: the scope that was in force reads recorded-after, and a line
// undeclared-provider, until an egress comes after its declaration and its consent on record.
func TestAuditedHalfAYear(t *testing.T) {
	t.Parallel()
	s := story{t, startDev(t, devFolder(t)), time.Now().UTC().Truncate(time.Second).Add(time.Minute)}
	s.declare("Acme Cloud", "1.0", -180)
	s.grant("1.0", -180, -100)
	s.serve("before-expiry", -120)
	s.serve("after-expiry", -90)
	s.grant("1.0", -80, 30)
	s.call("POST", "/v1/consent-revocations", kinds.Admin, fmt.Sprintf(`{"provider_id":%q,"scope":"third-party-model","revoked_by":{"kind":"policy","id":"dpo"},`+
		`"revoked_at":%q,"reason":"contract ended"}`, auditedProvider, s.at(-40)), 201, nil)
	s.serve("after-revocation", -30)
	s.declare("Nova AI", "2.0", -10)
	s.grant("1.0", -5, 90)
	s.serve("after-renaming", 0)

	for name, c := range map[string]struct {
		from, to int
		verdict  client.Verdict
		scope    client.Verdict
		declared string
		flag     string
	}{
		"in force":         {-130, -110, client.Undeclared, client.RecordedAfter, "Acme Cloud", client.FlagDeclaredAfter},
		"lapsed":           {-95, -85, client.Undeclared, client.Expired, "Acme Cloud", client.FlagDeclaredAfter},
		"revoked":          {-35, -25, client.Undeclared, client.Revoked, "Acme Cloud", client.FlagLateRevocation},
		"under a new name": {-1, 1, client.Consented, client.Consented, "Nova AI", client.FlagDrift},
	} {
		a := s.ask(c.from, c.to)
		if len(a.Lines) != 1 || len(a.Lines[0].Scopes) != 1 {
			t.Errorf("%s: %+v", name, a.Lines)
			continue
		}
		l := a.Lines[0]
		if l.Verdict != c.verdict || l.Scopes[0].Verdict != c.scope || l.Declaration.Name != c.declared || !slices.Contains(l.Flags, c.flag) || l.Tokens != "40" || len(l.Frames) != 1 {
			t.Errorf("%s: %+v", name, l)
		}
		g := l.Scopes[0].Grants
		if len(g) != 3 || g[0].Grantor.ID != "ops@oxagen.sh" || g[0].ProviderName != "Acme Cloud" || g[0].GrantedAt != s.at(-180) {
			t.Errorf("%s: who agreed: %+v", name, g)
		}
	}
	all := s.ask(-200, 1)
	if len(all.Lines) != 2 || all.Totals.Tokens != "160" || all.Lines[0].Reports != 3 || all.Lines[0].Verdict != client.Undeclared || all.Lines[0].Scopes[0].Verdict != client.Revoked {
		t.Errorf("the whole half-year: %+v", all)
	}
	s.askConsents()
	s.askGate()
	status, csv, err := s.dev.do(t.Context(), "GET", fmt.Sprintf("/v1/audit/egress?format=csv&from=%s&to=%s", s.at(-200), s.at(1)), kinds.Auditor, "")
	if err != nil || status != 200 || strings.Count(string(csv), "\r\nline,") != 2 || !strings.Contains(string(csv), "\r\ntotal,") {
		t.Errorf("csv: %d %s %v", status, csv, err)
	}
	s.dev.end(t, syscall.SIGTERM)
}

// askConsents asks what a person agreed to, and how that stood over time.
func (s story) askConsents() {
	s.t.Helper()
	for days, want := range map[int]receipts.State{-200: receipts.NotYetGranted, -120: receipts.Live, -90: receipts.Expired, -60: receipts.Live, -20: receipts.Revoked, 0: receipts.Live, 120: receipts.Expired} {
		var body struct {
			Consents []struct {
				State       receipts.State
				Grants      []struct{ Seq int64 }
				Revocations []struct{ Reason string }
			}
		}
		s.call("GET", "/v1/consents?grantor=ops%40oxagen.sh&at="+s.at(days), kinds.Auditor, "", 200, &body)
		if len(body.Consents) != 1 || body.Consents[0].State != want || len(body.Consents[0].Grants) != 3 || body.Consents[0].Revocations[0].Reason != "contract ended" {
			s.t.Errorf("%d days: %+v, want %s", days, body, want)
		}
	}
}

// askGate asks whether a query would have been refused.
func (s story) askGate() {
	s.t.Helper()
	for days, permitted := range map[int]bool{-120: true, -90: false, -20: false, 0: true} {
		var body struct {
			Permitted  bool
			Scopes     []string
			ByPresence struct{ Permitted bool } `json:"by_presence"`
		}
		s.call("POST", "/v1/consents/evaluate", kinds.Host, fmt.Sprintf(`{"provider_id":%q,"provider":{"name":"Acme Cloud","version":"1.0","data_flow":{"egress":true,`+
			`"egress_scopes":["third-party-model"]}},"at":%q}`, auditedProvider, s.at(days)), 200, &body)
		if body.Permitted != permitted || !body.ByPresence.Permitted || (len(body.Scopes) == 1) == permitted {
			s.t.Errorf("%d days: %+v, want %v", days, body, permitted)
		}
	}
}

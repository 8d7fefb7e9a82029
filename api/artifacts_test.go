package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/receipts"
)

// verification is one round with provider p about frame f0 of digest sha256:0, answered with a status.
func verification(at, status, more string) string {
	const frame = `{"provider_id":"p","frame_id":"f0","content_digest":"sha256:0"}`
	outcome := `{"retained":[` + frame + `],"dropped":[]}`
	if status != "valid" {
		outcome = fmt.Sprintf(`{"retained":[],"dropped":[{"frame":%s,"reason":{"kind":%q%s},"warrants_requery":%v}]}`, frame, status, more, status != "gone")
	}
	return fmt.Sprintf(`{"provider_id":"p","verified_at":%q,"capability":{"verify":true},"request":{"frames":[%s]},`+
		`"response":{"verdicts":[{"frame":%s,"status":%q%s}]},"outcome":%s}`, at, frame, frame, status, more, outcome)
}

func TestGraphArtifactsAreRefused(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	good := verification(x.at(0), "valid", "")
	declaration := `{"provider_id":"p","provider":{"name":"N","version":"1","data_flow":FLOW},"declared_at":"2026-01-10T07:00:00Z"}`
	revocation := `{"provider_id":"p","scope":"org-tenant","revoked_by":{"kind":"human","id":"m"},"revoked_at":"2026-01-10T07:00:00Z"}`
	for _, c := range []struct {
		name, path, body string
		status           int
		code, pointer    string
	}{
		{"C5: egress denied", "provider-declarations", strings.Replace(declaration, "FLOW", `{"egress":false,"egress_scopes":["org-tenant"]}`, 1), 422, "artifact-refused", "/provider/data_flow/egress_scopes/0"},
		{"C5: malformed scope", "provider-declarations", strings.Replace(declaration, "FLOW", `{"egress":true,"egress_scopes":["cloud"]}`, 1), 422, "artifact-refused", "/provider/data_flow/egress_scopes/0"},
		{"declared at no time", "provider-declarations", strings.Replace(strings.Replace(declaration, "FLOW", `{}`, 1), "07:00:00Z", "07:00", 1), 422, "artifact-refused", "/declared_at"},
		{"V4 in the request", "frame-verifications", strings.Replace(good, `"request":{`, `"request":{"content":"secret",`, 1), 422, "frame-body", "/request"},
		{"V4 in a verdict", "frame-verifications", strings.Replace(good, `"status"`, `"body":"secret","status"`, 1), 422, "frame-body", "/response/verdicts/0"},
		{"content by another name in the request", "frame-verifications", strings.Replace(good, `"request":{`, `"request":{"chunk":"secret",`, 1), 422, "frame-body", "/request"},
		{"content by another name in a held frame", "frame-verifications", strings.Replace(good, `"frames":[{`, `"frames":[{"data":"secret",`, 1), 422, "frame-body", "/request/frames/0"},
		{"content by another name in a verdict", "frame-verifications", strings.Replace(good, `"status"`, `"snippet":"secret","status"`, 1), 422, "frame-body", "/response/verdicts/0"},
		{"content by another name in the outcome", "frame-verifications", strings.Replace(good, `"retained":[{`, `"retained":[{"data":"secret",`, 1), 400, "unknown-member", "/outcome/retained/0"},
		{"a boolean consent of no time", "consent-records", `{"provider_id":"p","data_flow":{"egress":true},"granted_scope":"titles"}`, 422, "artifact-refused", "/granted_at"},
		{"a false outcome", "frame-verifications", strings.Replace(good, `"status":"valid"`, `"status":"gone"`, 1), 422, "artifact-refused", "/outcome/retained/0"},
		{"an unknown member", "frame-verifications", strings.Replace(good, `{"provider_id"`, `{"secret":1,"provider_id"`, 1), 400, "unknown-member", ""},
		{"a malformed scope", "consent-revocations", strings.Replace(revocation, "org-tenant", "cloud", 1), 422, "artifact-refused", "/scope"},
		{"by nobody", "consent-revocations", strings.Replace(revocation, `"m"`, `""`, 1), 422, "artifact-refused", "/revoked_by/id"},
		{"by a robot", "consent-revocations", strings.Replace(revocation, "human", "robot", 1), 400, "invalid-value", "/revoked_by/kind"},
		{"long reason", "consent-revocations", strings.Replace(revocation, `"scope"`, `"reason":"`+strings.Repeat("x", 600)+`","scope"`, 1), 422, "identifier-too-long", "/reason"},
		{"no scope", "consent-records", `{"provider_id":"p","data_flow":{}}`, 400, "missing-member", ""},
	} {
		got := x.s.as(t, kinds.Host, "POST", "/v1/"+c.path, c.body)
		p := got.problem(t)
		if got.status != c.status || p.Code != c.code || p.Pointer == nil || *p.Pointer != c.pointer || strings.Contains(string(got.body), "secret") {
			t.Errorf("%s: %d %s", c.name, got.status, got.body)
		}
	}
	if n := x.s.Count(t, "ledger.entries"); n != 0 {
		t.Errorf("refused artifacts left %d entries", n)
	}
	x.post(kinds.Host, "/v1/frame-verifications", good)
	again := x.s.as(t, kinds.Host, "POST", "/v1/frame-verifications", good)
	if again.status != http.StatusOK || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("again: %d %s", again.status, again.body)
	}
}

// A boolean consent of no time is recorded under a key, and given again under another after it was revoked.
func TestUndatedConsentGivenAgain(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	const record = `{"provider_id":"p","data_flow":{"egress":true},"granted_scope":"titles"}`
	for i, key := range []string{"first", "second"} {
		if got := x.s.as(t, kinds.Host, "POST", "/v1/consent-records", record, "Idempotency-Key", key); got.status != http.StatusCreated {
			t.Fatalf("%s: %d %s", key, got.status, got.body)
		}
		if list := x.consents("?provider_id=p"); len(list) != 1 || list[0].State != receipts.Live || len(list[0].Records) != i+1 {
			t.Errorf("after the %s: %+v", key, list)
		}
		x.revoke("p", "null", x.at(float64(i)-2))
		if list := x.consents("?provider_id=p"); list[0].State != receipts.Revoked || list[0].EndedAt == nil {
			t.Errorf("after the %s was revoked: %+v", key, list)
		}
	}
}

// A declaration of a day to come is kept, and found.
func TestDeclaredAhead(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	for days, found := range map[float64]bool{-1: false, 400: true} {
		got := x.s.as(t, kinds.Host, "POST", "/v1/provider-declarations", fmt.Sprintf(`{"provider_id":"p","provider":{"name":"N","version":"1","data_flow":{}},"declared_at":%q}`, x.at(days)))
		if got.status != http.StatusCreated || strings.Contains(string(got.body), `"declared-ahead"`) != found {
			t.Errorf("%v days: %d %s", days, got.status, got.body)
		}
	}
}

// The stateless verifier is as lenient as the reference, and stores nothing.
func TestVerifyArtifacts(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	const report = `{"budget_requested":1,"budget_consumed":18446744073709551615,"as_of":"whenever","providers":[]}`
	for _, c := range []struct {
		name, kind, body, verdict, stage string
		finding                          string
	}{
		{"as the reference would", "usage-report", strings.Replace(report, "18446744073709551615", "0", 1), "accept", "", "as-of-not-f4"},
		{"does not add up", "usage-report", report, "reject", "check", "over-budget"},
		{"no JSON", "usage-report", `{`, "reject", "parse", ""},
		{"a missing member", "consent-receipt", `{}`, "reject", "parse", ""},
		{"C5", "data-flow", `{"egress_scopes":["org-tenant"]}`, "reject", "check", ""},
		{"a body", "frame-verification", strings.Replace(verification(x.at(0), "valid", ""), `"request":{`, `"request":{"content":"secret",`, 1), "accept", "", "v4-body"},
		{"a verdict", "frame-verdict", `{"frame":{"provider_id":"p","frame_id":"f"},"status":"valid"}`, "accept", "", "unverifiable-frame"},
		{"a revocation of boolean consent", "consent-revocation", `{"provider_id":"p","scope":null,"revoked_by":{"kind":"human","id":"m"},"revoked_at":"2026-01-10T07:00:00Z"}`, "accept", "", ""},
	} {
		got := x.s.as(t, kinds.Auditor, "POST", "/v1/verify/"+c.kind, c.body)
		var v audit.ArtifactVerdict
		got.into(t, &v)
		found := c.finding == ""
		for _, f := range v.Findings {
			found = found || string(f.Code) == c.finding
		}
		if got.status != http.StatusOK || v.Kind != c.kind || v.Verdict != c.verdict || v.Stage != c.stage || !found || (v.Verdict == "reject") != (v.Problem != "") {
			t.Errorf("%s: %d %s", c.name, got.status, got.body)
		}
	}
	if n := x.s.Count(t, "ledger.entries"); n != 0 {
		t.Errorf("verifying left %d entries", n)
	}
}

// The bulk route takes every kind, and names the place of an error inside an artifact.
func TestGraphArtifactsInBulk(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	lines := []string{
		`{"kind":"frame-verification","artifact":` + verification(x.at(0), "valid", "") + `}`,
		`{"kind":"consent-revocation","artifact":{"provider_id":"p","scope":null,"revoked_by":{"kind":"human","id":"m"},"revoked_at":"2026-01-10T07:00:00Z"}}`,
		`{"kind":"provider-declaration","artifact":{"provider_id":"p","provider":{"name":"N","version":1},"declared_at":"2026-01-10T07:00:00Z"}}`,
	}
	got := x.s.as(t, kinds.Host, "POST", "/v1/entries", strings.Join(lines, "\n"), "Content-Type", "application/x-ndjson")
	results := strings.Split(string(got.body), "\n")
	if len(results) != 3 || !strings.Contains(results[0], `"status":201`) || !strings.Contains(results[1], `"status":201`) ||
		!strings.Contains(results[2], `"/artifact/provider/version"`) {
		t.Errorf("%d %s", got.status, got.body)
	}
}

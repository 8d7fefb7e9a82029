package api_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledgerd/api"
	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

// scenario is one provider's history, told through the API at one moment.
type scenario struct {
	t   *testing.T
	s   *service
	now time.Time // whole seconds, a minute ahead: what is recorded in the test was known by then
}

func newScenario(t *testing.T) *scenario {
	t.Helper()
	return &scenario{t: t, s: newService(t), now: time.Now().UTC().Truncate(time.Second).Add(time.Minute)}
}

// at is an instant, days from now.
func (x *scenario) at(days float64) string {
	return x.now.Add(time.Duration(days * 24 * float64(time.Hour))).Format(time.RFC3339)
}

func (x *scenario) post(role kinds.Role, path, body string) int64 {
	x.t.Helper()
	got := x.s.as(x.t, role, "POST", path, body)
	if got.status != http.StatusCreated {
		x.t.Fatalf("%s %s: %d %s", path, body, got.status, got.body)
	}
	var r api.RecordedBody
	got.into(x.t, &r)
	return r.Seq
}

func (x *scenario) grant(provider, scope, version, granted, expires string) int64 {
	x.t.Helper()
	end := "null"
	if expires != "" {
		end = `"` + expires + `"`
	}
	return x.post(kinds.Host, "/v1/consent-receipts", fmt.Sprintf(`{"provider_id":%q,"scope":%q,"provider_name":"North","provider_version":%q,`+
		`"grantor":{"kind":"human","id":"maria"},"granted_at":%q,"expires_at":%s}`, provider, scope, version, granted, end))
}

func (x *scenario) revoke(provider, scope, at string) int64 {
	x.t.Helper()
	return x.post(kinds.Admin, "/v1/consent-revocations", fmt.Sprintf(`{"provider_id":%q,"scope":%s,"revoked_by":{"kind":"policy","id":"dpo"},"revoked_at":%q,"reason":"contract ended"}`, provider, scope, at))
}

func (x *scenario) declare(provider, version, at, flow string) int64 {
	x.t.Helper()
	return x.post(kinds.Host, "/v1/provider-declarations", fmt.Sprintf(`{"provider_id":%q,"provider":{"name":"North","version":%q,"data_flow":%s},"declared_at":%q}`, provider, version, flow, at))
}

// serve reports n frames of a provider.
func (x *scenario) serve(provider, request, at string, n int) int64 {
	x.t.Helper()
	var frames []string
	for i := range n {
		frames = append(frames, fmt.Sprintf(`{"frame":{"provider_id":%q,"frame_id":"f%d","content_digest":"sha256:%d"},"token_cost":10}`, provider, i, i))
	}
	return x.post(kinds.Host, "/v1/usage-reports", usageOf(request, fmt.Sprintf(`{"budget_requested":1000,"budget_consumed":%d,"as_of":%q,"providers":[`+
		`{"provider_id":%q,"frames_served":%d,"frames_rejected":0,"token_cost":%d,"served_frames":[%s]}]}`, 10*n, at, provider, n, 10*n, strings.Join(frames, ","))))
}

func (x *scenario) ask(more string) api.EgressBody {
	x.t.Helper()
	var body api.EgressBody
	got := x.s.as(x.t, kinds.Auditor, "GET", "/v1/audit/egress?from="+x.at(-399)+"&to="+x.at(1)+more, "")
	if got.status != http.StatusOK {
		x.t.Fatalf("%s: %d %s", more, got.status, got.body)
	}
	got.into(x.t, &body)
	return body
}

const (
	model   = `{"reads":true,"writes":false,"egress":true,"egress_scopes":["third-party-model"]}`
	boolean = `{"reads":true,"writes":false,"egress":true}`
	local   = `{"reads":true,"writes":false,"egress":false}`
)

// Every verdict has its history.
func TestEgressVerdicts(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	const scope = "third-party-model"
	for _, c := range []struct {
		name    string
		history func(p string)
		at      float64 // days from now at which the content left
		frames  int
		want    audit.Verdict
		flags   []string
	}{
		{"consented", func(p string) { x.declare(p, "1", x.at(-9), model); x.grant(p, scope, "1", x.at(-9), "") }, 0, 1, audit.Consented, nil},
		{"unconsented", func(p string) { x.declare(p, "1", x.at(-9), model) }, 0, 1, audit.Unconsented, []string{audit.FlagNoConsent}},
		{"expired", func(p string) { x.declare(p, "1", x.at(-9), model); x.grant(p, scope, "1", x.at(-9), x.at(-1)) }, 0, 1, audit.Expired, nil},
		{"revoked", func(p string) {
			x.declare(p, "1", x.at(-9), model)
			x.grant(p, scope, "1", x.at(-9), "")
			x.revoke(p, `"third-party-model"`, x.at(-1))
		}, 0, 1, audit.Revoked, nil},
		{"granted-after", func(p string) { x.declare(p, "1", x.at(-9), model); x.grant(p, scope, "1", x.at(1), "") }, 0, 1, audit.GrantedAfter, nil},
		{"recorded-after", func(p string) { x.declare(p, "1", x.at(-9), model) }, 0, 1, audit.RecordedAfter, nil},
		{"undeclared-provider", func(string) {}, 0, 1, audit.Undeclared, []string{audit.FlagUndeclared, audit.FlagNoConsent}},
		{"legacy-consented", func(p string) {
			x.declare(p, "1", x.at(-9), boolean)
			x.post(kinds.Host, "/v1/consent-records", fmt.Sprintf(`{"provider_id":%q,"data_flow":{"egress":true},"granted_scope":"titles","granted_at":%q}`, p, x.at(-9)))
		}, 0, 1, audit.LegacyConsented, nil},
		{"legacy revoked", func(p string) {
			x.declare(p, "1", x.at(-9), boolean)
			x.post(kinds.Host, "/v1/consent-records", fmt.Sprintf(`{"provider_id":%q,"data_flow":{"egress":true},"granted_scope":"titles","granted_at":%q}`, p, x.at(-9)))
			x.revoke(p, "null", x.at(-1))
		}, 0, 1, audit.Revoked, nil},
		{"local-only", func(p string) { x.declare(p, "1", x.at(-9), local) }, 0, 1, audit.LocalOnly, nil},
		{"reach-unknown", func(p string) { x.declare(p, "1", x.at(-9), model) }, 0, 0, audit.ReachUnknown, []string{audit.FlagNoConsent, audit.FlagReachUnknown}},
		{"a covered query that served nothing", func(p string) { x.declare(p, "1", x.at(-9), model); x.grant(p, scope, "1", x.at(-9), "") }, 0, 0, audit.Consented, []string{audit.FlagReachUnknown}},
		{"renamed", func(p string) { x.declare(p, "2", x.at(-9), model); x.grant(p, scope, "1", x.at(-9), "") }, 0, 1, audit.Consented, []string{audit.FlagDrift}},
		{"a boolean consent opens no scope", func(p string) {
			x.declare(p, "1", x.at(-9), model)
			x.post(kinds.Host, "/v1/consent-records", fmt.Sprintf(`{"provider_id":%q,"data_flow":{"egress":true},"granted_scope":"titles","granted_at":%q}`, p, x.at(-9)))
		}, 0, 1, audit.Unconsented, nil},
	} {
		provider := strings.ReplaceAll(c.name, " ", "-")
		c.history(provider)
		x.serve(provider, "req-"+provider, x.at(c.at), c.frames)
		if c.want == audit.RecordedAfter {
			x.grant(provider, scope, "1", x.at(-9), "")
		}
		body := x.ask("&provider_id=" + provider + "&verify=true")
		if len(body.Lines) != 1 || len(body.Lines[0].Scopes) != 1 {
			t.Errorf("%s: %+v", c.name, body.Lines)
			continue
		}
		l := body.Lines[0]
		if l.Verdict != c.want || l.Scopes[0].Verdict != c.want || l.Scopes[0].Verdicts[c.want] != 1 || !slices.Equal(l.Flags, append([]string{}, c.flags...)) {
			t.Errorf("%s: verdict %s, scope %+v, flags %v", c.name, l.Verdict, l.Scopes[0], l.Flags)
		}
		if !body.Verification.Verified || !l.Verification.Verified || l.Verification.Entries != len(l.Behind()) {
			t.Errorf("%s: %+v %+v", c.name, body.Verification, l.Verification)
		}
	}
	all := x.ask("")
	served := 0
	for _, l := range all.Lines {
		served += l.Reports
	}
	if all.Totals.Reports != 14 || served != 14 || all.Totals.Tokens != "120" || all.Totals.FramesServed != "12" {
		t.Errorf("totals %+v over %d reports", all.Totals, served)
	}
}

// One line per declaration in force; a revocation that was recorded late says so; an earlier tree answers as it did.
func TestEgressOverTime(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	x.declare("p", "1", x.at(-100), model)
	x.declare("p", "2", x.at(-50), `{"egress":true,"egress_scopes":["third-party-model","org-tenant"]}`)
	x.grant("p", "third-party-model", "1", x.at(-100), "")
	x.serve("p", "r1", x.at(-70), 2)
	x.serve("p", "r2", x.at(-30), 1)
	before := x.ask("")
	x.revoke("p", `"third-party-model"`, x.at(-40))
	after := x.ask("&verify=true")
	if len(before.Lines) != 2 || before.Lines[0].Declaration.Version != "1" || before.Lines[1].Declaration.Version != "2" {
		t.Fatalf("lines %+v", before.Lines)
	}
	if l := before.Lines[1]; l.Verdict != audit.Unconsented || !slices.Equal(l.Flags, []string{audit.FlagUndeclared, audit.FlagDeclaredAfter, audit.FlagDrift}) {
		t.Errorf("declared after the fact: %+v", l)
	}
	if s := before.Lines[1].Scopes; len(s) != 2 || s[0].Scope != "org-tenant" || s[0].Verdict != audit.Unconsented || s[1].Verdict != audit.RecordedAfter {
		t.Errorf("scopes under the second declaration: %+v", s)
	}
	if l := after.Lines[1]; l.Scopes[1].Verdict != audit.Revoked || !slices.Contains(l.Flags, audit.FlagLateRevocation) || len(l.Scopes[1].Revocations) != 1 {
		t.Errorf("after the revocation: %+v", l)
	}
	if !after.Verification.Verified {
		t.Errorf("verification %+v", after.Verification)
	}
	again := x.ask(fmt.Sprintf("&size=%d", before.TreeSize))
	if fmt.Sprintf("%+v", again.Totals) != fmt.Sprintf("%+v", before.Totals) || again.Lines[1].Scopes[1].Verdict != audit.RecordedAfter {
		t.Errorf("as of size %d: %+v, before %+v", before.TreeSize, again, before)
	}
}

// A declaration that is dated before an egress and recorded after it takes back no finding: what was known counts too, and
// both are shown.
func TestEgressDeclaredAfter(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	first := x.declare("p", "1", x.at(-9), model)
	x.serve("p", "r1", x.at(0), 1)
	x.serve("q", "r2", x.at(0), 1)
	later := x.declare("p", "1", x.at(-5), local)
	x.declare("q", "1", x.at(-5), local)
	lines := x.ask("&verify=true").Lines
	if len(lines) != 2 {
		t.Fatalf("%+v", lines)
	}
	p, q := lines[0], lines[1]
	if p.Verdict != audit.Unconsented || p.Declaration.Seq != later || p.KnownDeclaration == nil || p.KnownDeclaration.Seq != first || !slices.Contains(p.Flags, audit.FlagDeclaredAfter) {
		t.Errorf("declared otherwise later: %+v", p)
	}
	if q.Verdict != audit.Undeclared || q.KnownDeclaration != nil || !slices.Contains(q.Flags, audit.FlagDeclaredAfter) {
		t.Errorf("declared only later: %+v", q)
	}
	if !slices.Contains(p.Behind(), first) || !p.Verification.Verified {
		t.Errorf("behind the line: %v, %+v", p.Behind(), p.Verification)
	}
	var found api.FindingListBody
	x.s.as(t, kinds.Auditor, "GET", "/v1/findings?kind=unconsented-egress&from="+x.at(-1)+"&to="+x.at(1), "").into(t, &found)
	if len(found.Findings) != 2 || found.Findings[0].Verdict != audit.Unconsented || found.Findings[1].Verdict != audit.Undeclared {
		t.Errorf("found: %+v", found.Findings)
	}
}

// What is erased is counted, so that its absence does not say that nothing was there.
func TestEgressCountsWhatWasErased(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	served := x.serve("p", "r1", x.at(0), 2)
	x.serve("q", "r2", x.at(0), 1)
	if body := x.ask("&frame_id=f1"); len(body.Lines) != 1 || body.Erased != (audit.Erased{}) {
		t.Fatalf("before: %+v", body)
	}
	bundle, err := x.s.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Sample(t, &kinds.ReceiptBundle, 1))
	if err != nil {
		t.Fatal(err)
	}
	x.post(kinds.Admin, "/v1/erasures", fmt.Sprintf(`{"seqs":[%d,%d],"reason":"asked for"}`, served, bundle.Seq))
	body := x.ask("&frame_id=f1&verify=true")
	if len(body.Lines) != 0 || body.Erased != (audit.Erased{Reports: 1, Exchanges: 1}) {
		t.Errorf("after: %+v", body)
	}
	if body := x.ask(""); body.Totals.FramesServed != "3" || body.Erased.Reports != 1 || !slices.Contains(body.Lines[0].Flags, audit.FlagErased) {
		t.Errorf("all: %+v", body)
	}
}

// To whom: the receipts of exchanges that share a request stand in the line, with what they do not prove.
func TestEgressExchanges(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	if _, err := x.s.Appender.Append(t.Context(), ledgertest.Host, ledgertest.SamplePolicy(t)); err != nil { // which the bundle was judged under
		t.Fatal(err)
	}
	bundle, err := x.s.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Sample(t, &kinds.ReceiptBundle, 1)) // of request req-1
	if err != nil {
		t.Fatal(err)
	}
	x.serve("p", "req-1", x.at(0), 1)
	x.serve("q", "req-2", x.at(0), 1)
	body := x.ask("&verify=true")
	if len(body.Lines) != 2 || len(body.Lines[0].Exchanges) != 1 || len(body.Lines[1].Exchanges) != 0 {
		t.Fatalf("%+v", body.Lines)
	}
	e := body.Lines[0].Exchanges[0]
	if e.EndpointHost != "api.openai.com" || e.ModelID != "openai/some-model" || e.Status != "valid" || len(e.Disclosures) < 8 || e.Seqs[0] != bundle.Seq {
		t.Errorf("%+v", e)
	}
	if !body.Verification.Verified || body.Verification.Entries != 3 {
		t.Errorf("%+v", body.Verification)
	}
}

// A table says all that the answer does: what it covers and does not show, who took consent back, what a receipt does not
// prove, and a receipt's status apart from the verdicts on consent.
func TestEgressTableDropsNothing(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	if _, err := x.s.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Sample(t, &kinds.ReceiptBundle, 1)); err != nil { // of request req-1
		t.Fatal(err)
	}
	first := x.declare("p", "1", x.at(-9), model)
	x.grant("p", "third-party-model", "1", x.at(-9), "")
	revoked := x.revoke("p", `"third-party-model"`, x.at(-1))
	x.serve("p", "req-1", x.at(0), 1)
	x.declare("p", "2", x.at(-2), model)
	body := x.ask("")
	table := x.s.as(t, kinds.Auditor, "GET", "/v1/audit/egress?format=csv&from="+x.at(-399)+"&to="+x.at(1), "")
	records, err := csv.NewReader(strings.NewReader(string(table.body))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]map[string]string{}
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, cell := range record {
			row[records[0][i]] = cell
		}
		rows[row["row"]] = append(rows[row["row"]], row)
	}
	for kind, n := range map[string]int{"head": 1, "note": len(body.Notes), "line": 1, "scope": 1, "revocation": 1, "frame": 1, "exchange": 1, "total": 1} {
		if len(rows[kind]) != n {
			t.Fatalf("%d rows about a %s, want %d:\n%s", len(rows[kind]), kind, n, table.body)
		}
	}
	if h := rows["head"][0]; h["tree_size"] != strconv.FormatInt(body.TreeSize, 10) || h["period_from"] != x.at(-399) || h["period_to"] != x.at(1) || h["erased_reports"] != "0" {
		t.Errorf("head %v", h)
	}
	if r := rows["revocation"][0]; r["revoked_by_kind"] != "policy" || r["revoked_by_id"] != "dpo" || r["revoked_at"] != x.at(-1) || r["reason"] != "contract ended" || r["seqs"] != strconv.FormatInt(revoked, 10) || r["recorded_at"] == "" {
		t.Errorf("revocation %v", r)
	}
	if e := rows["exchange"][0]; e["receipt_status"] != "valid" || e["verdict"] != "" || !strings.Contains(e["disclosures"], "validity-scope") || e["retention_class"] == "" || e["witness_mode"] == "" {
		t.Errorf("exchange %v", e)
	}
	if l := rows["line"][0]; l["declared_version"] != "2" || l["known_declared_version"] != "1" || body.Lines[0].KnownDeclaration.Seq != first {
		t.Errorf("line %v", l)
	}
}

// Periods are half-open, and offsets mean instants.
func TestEgressPeriods(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	x.serve("p", "r1", x.at(-1), 1)
	east := func(days float64) string {
		return strings.ReplaceAll(x.now.Add(time.Duration(days*24)*time.Hour).In(time.FixedZone("", 2*3600)).Format(time.RFC3339), "+", "%2B")
	}
	for _, c := range []struct {
		from, to string
		reports  int
	}{{x.at(-1), x.at(0), 1}, {x.at(-2), x.at(-1), 0}, {east(-1), east(0), 1}, {east(-2), east(-1), 0}} {
		var body api.EgressBody
		x.s.as(t, kinds.Auditor, "GET", "/v1/audit/egress?from="+c.from+"&to="+c.to, "").into(t, &body)
		if body.Totals.Reports != c.reports || body.Period.From.Location() != time.UTC || !strings.HasSuffix(body.Period.From.Format(time.RFC3339), "Z") {
			t.Errorf("%s to %s: %+v %v", c.from, c.to, body.Totals, body.Period)
		}
	}
	if got := x.s.as(t, kinds.Auditor, "GET", "/v1/audit/egress?from="+x.at(0)+"&to="+x.at(0), ""); got.status != http.StatusBadRequest {
		t.Errorf("an empty period: %d", got.status)
	}
}

func TestEgressFilters(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	x.declare("p", "1", x.at(-9), model)
	x.grant("p", "third-party-model", "1", x.at(-9), "")
	x.serve("p", "r1", x.at(0), 3)
	x.serve("q", "r2", x.at(0), 2)
	for filter, want := range map[string]string{
		"&provider_id=p": "30", "&customer_id=c1": "50", "&customer_id=nobody": "0", "&grantor=maria": "30", "&grantor=nobody": "0",
		"&grantor=maria&grantor_kind=human": "30", "&grantor=maria&grantor_kind=policy": "0", "&grantor_kind=human": "30", "&grantor=maria&scope=org-tenant": "0",
		"&scope=third-party-model": "30", "&scope=org-tenant": "0", "&frame_id=f2": "10", "&frame_id=f1": "20", "&content_digest=sha256:0": "20",
		"&frame_id=f1&content_digest=sha256:0": "0", "&frame_id=f1&provider_id=q": "10",
	} {
		body := x.ask(filter)
		if body.Totals.Tokens != want {
			t.Errorf("%s: %+v", filter, body.Totals)
		}
		for _, l := range body.Lines {
			if strings.Contains(filter, "frame_id=f2") && (len(l.Frames) != 1 || l.FramesServed != "1") {
				t.Errorf("%s: the line shows other frames: %+v", filter, l)
			}
		}
	}
	for _, bad := range []string{"&size=99", "&size=-1", "&verify=yes", "&grantor_kind=robot", "&format=xml", "&frame_id="} {
		if got := x.s.as(t, kinds.Auditor, "GET", "/v1/audit/egress?from="+x.at(-9)+"&to="+x.at(1)+bad, ""); got.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", bad, got.status, got.body)
		}
	}
}

// The three forms say the same, and a stranger's name is no formula.
func TestEgressForms(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	const evil = `=HYPERLINK("http://x","y")`
	x.grant(evil, "third-party-model", "1", x.at(-9), "")
	x.grant(evil, "x:"+" @cmd", "1", x.at(-9), x.at(9))
	x.serve(evil, "r1", x.at(0), 2)
	x.serve("q", "r2", x.at(0), 1)
	path := "/v1/audit/egress?verify=true&from=" + x.at(-9) + "&to=" + x.at(1)
	whole := x.s.as(t, kinds.Auditor, "GET", path, "")
	var body api.EgressBody
	whole.into(t, &body)

	lines := strings.Split(string(x.s.as(t, kinds.Auditor, "GET", path, "", "Accept", "application/x-ndjson").body), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], `{"head":`) || !strings.HasPrefix(lines[3], `{"totals":`) {
		t.Errorf("lines: %q", lines)
	}
	var line struct{ Line audit.EgressLine }
	if err := json.Unmarshal([]byte(lines[1]), &line); err != nil || line.Line.Tokens != body.Lines[0].Tokens {
		t.Errorf("the first line: %v %+v", err, line)
	}

	table := x.s.as(t, kinds.Auditor, "GET", path, "", "Accept", "text/csv, application/json;q=0.5")
	if got := table.header.Get("Content-Type"); !strings.HasPrefix(got, "text/csv") {
		t.Errorf("content type %q", got)
	}
	rows, err := csv.NewReader(strings.NewReader(string(table.body))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	tokens := slices.Index(rows[0], "tokens")
	sum := 0
	for _, row := range rows[1:] {
		for _, cell := range row {
			if trimmed := strings.TrimSpace(cell); trimmed != "" && strings.ContainsAny(trimmed[:1], "=+-@") {
				t.Errorf("a cell that a spreadsheet computes: %q", cell)
			}
		}
		n := 0 // a scope's row has none
		if row[tokens] != "" {
			if n, err = strconv.Atoi(row[tokens]); err != nil {
				t.Error(err)
			}
		}
		if row[0] == "line" {
			sum += n
		}
		if row[0] == "total" && n != sum {
			t.Errorf("the lines add up to %d, the total says %d", sum, n)
		}
	}
	if sum != 30 {
		t.Errorf("the lines add up to %d", sum)
	}
	if doc := x.s.do(t, "GET", "/openapi.json", "", ""); !strings.Contains(string(doc.body), `"text/csv"`) || !strings.Contains(string(doc.body), `"application/x-ndjson"`) {
		t.Error("the forms are not described")
	}
	if got := x.s.as(t, kinds.Auditor, "GET", path+"&format=json", "", "Accept", "text/csv"); string(got.body) != string(whole.body) {
		t.Errorf("format goes before Accept: %s", got.body)
	}
}

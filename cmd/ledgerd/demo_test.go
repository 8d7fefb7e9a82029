package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerd/api"
	"ledgerd/client"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/metering"
	"ledgerd/web"
)

// served is the API on a real ledger, and a data folder whose dev.json leads there.
type served struct {
	*ledgertest.Ledger
	connectionFile
	dir string
}

func serveLedger(t *testing.T) *served {
	t.Helper()
	s := &served{Ledger: ledgertest.New(t), dir: t.TempDir()}
	a, err := api.New(api.Options{
		Store: s.Store, Appender: s.Appender, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Now: time.Now,
		Metrics: prometheus.NewRegistry(), Version: "test", Console: web.Handler(),
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(a.Handler())
	t.Cleanup(server.Close)
	s.URL = server.URL
	if s.Tokens, err = firstTokens(t.Context(), s.Store, ledgertest.Tenant, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := writeConnection(s.dir, s.connectionFile); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *served) as(t *testing.T, role kinds.Role) *client.Client {
	t.Helper()
	c, err := client.New(s.URL, s.Tokens[role])
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// inProcess runs a command line in this process.
func inProcess(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, problems bytes.Buffer
	status = run(t.Context(), args, strings.NewReader(""), &out, &problems)
	return status, out.String(), problems.String()
}

func (s *served) demo(t *testing.T, args ...string) string {
	t.Helper()
	status, out, problems := inProcess(t, append([]string{"demo", "--data-dir", s.dir}, args...)...)
	if status != 0 || problems != "" {
		t.Fatalf("status %d: %s\n%s", status, problems, out)
	}
	return out
}

// wants demands lines, by regular expressions.
func wants(t *testing.T, out string, lines ...string) {
	t.Helper()
	missing := false
	for _, line := range lines {
		if !regexp.MustCompile(`(?m)^\s*` + line + `$`).MatchString(out) {
			t.Errorf("there is no line %s", line)
			missing = true
		}
	}
	if missing {
		t.Log(out)
	}
}

func TestDemoAnswersTheAuditorsQuestion(t *testing.T) {
	t.Parallel()
	s := serveLedger(t)
	out := s.demo(t)
	wants(t, out,
		`trust policy    revision 1 pins 4 public test keys, good for a demo only \(entry 0\)`,
		`consents        6, by people and policies: entries 1-6`,
		`declarations    6, of all providers but web-scraper: entries 7-12`,
		`usage reports   20 turns over 7 providers: entries 13-32`,
		`refused         a report that .*: usage-inconsistent at /budget_consumed`,
		`late consent    partner-crm: dated 2025-05-05, but recorded only now, after the session: entry 33`,
		`receipts        3 bundles signed by the demo with a public test key`,
		`verified: 3 valid, 0 by keys that nobody pinned: entries 34-36`,

		`north-llm +20 reports +40 frames +\d+ tokens +to [0-9:.]+ +entries 13-32`,
		`org-tenant +consented 20/20 +policy eu-tenants-v3 +2025-01-12 +no end +20.. *.*`,
		`third-party-model +consented 20/20 +human maria@acme.example .* 1`,
		`third-party-index +consented 10/10 +human jonas@acme.example +2025-02-03 +2036-01-01 .* 3`,
		`third-party-index +expired 2/2 .* 6`,
		`third-party-index +recorded-after 2/2 +human sam@acme.example +2025-05-05 .* 33`,
		`- +undeclared 2/2 +nobody .*`,
		`weather-mcp +3 reports +0 frames +0 tokens .*`,
		`wiki-mcp +5 reports +8 frames .*`,
		`flags: reach-unknown`, `flags: undeclared-provider, no-recorded-consent`,
		`- web-scraper: nobody is on record as having agreed to anything`,
		`- partner-crm, third-party-index: the consent was recorded only after content had left \(2 of 2 reports\)`,
	)
	checkForm(t, out)
	s.checkRaw(t, out)
	if n := s.Count(t, "ledger.entries"); n != 37 {
		t.Errorf("%d entries, want 37: the refused report must leave none", n)
	}

	again := s.demo(t)
	wants(t, again,
		`trust policy    revision 1 is in force and left as it is \(entry 0\)`,
		`consents        6, .*: recorded by an earlier run, entries 1-6`,
		`usage reports   .*: entries 37-56`,
		`late consent    partner-crm: recorded by an earlier run, entry 33; too late for that run, in time for this one`,
		`third-party-index +consented 2/2 +human sam@acme.example .* 33`,
		`north-llm +20 reports +40 frames .*`,
	)
	if n := s.Count(t, "ledger.entries"); n != 60 {
		t.Errorf("%d entries after the second run, want 60", n)
	}
}

// checkForm holds the text to what a terminal shows well.
func checkForm(t *testing.T, out string) {
	t.Helper()
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(line) - 1; n > 120 && !strings.Contains(line, "http") && !strings.Contains(line, "curl") {
			t.Errorf("%d columns: %s", n, line)
		}
		if strings.ContainsAny(line, "\x1b\t") || strings.HasSuffix(line, " \n") {
			t.Errorf("an escape, a tab or a space at the end: %q", line)
		}
	}
}

// checkRaw asks again with what the demo says, and holds the sums that it printed to the answer.
func (s *served) checkRaw(t *testing.T, out string) {
	t.Helper()
	url := regexp.MustCompile(`'(http[^']*)'`).FindStringSubmatch(out)
	if url == nil || !strings.Contains(out, connectionPath(s.dir)) || strings.Contains(out, s.Tokens[kinds.Auditor]) {
		t.Fatalf("no request to repeat, or one with a token in it:\n%s", out)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url[1], nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Tokens[kinds.Auditor])
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var a struct {
		Lines  []json.RawMessage
		Totals client.EgressTotals
	}
	if err := json.Unmarshal(raw, &a); err != nil || len(a.Lines) != len(demoProviders) {
		t.Errorf("%d: %s", res.StatusCode, raw)
	}
	wants(t, out, `in all +`+a.Totals.FramesServed+` frames +`+a.Totals.Tokens+` tokens`)
}

func TestDemoPostsACorpus(t *testing.T) {
	t.Parallel()
	s := serveLedger(t)
	good, broken := bundleOf(t, "one"), strings.Replace(bundleOf(t, "two"), "openai/demo-model", "openai/other-model", 1)
	corpus := filepath.Join(t.TempDir(), "vectors.json")
	writeFile(t, corpus, `{"schema_version":"1.0.0","valid_vectors":[{"id":"a","bundle":`+good+`},{"id":"b","bundle":`+broken+`}],"invalid_vectors":[]}`)
	wants(t, s.demo(t, "--bundles", corpus),
		`receipts        2 bundles of `+regexp.QuoteMeta(corpus),
		`verified: 1 valid, 0 by keys that nobody pinned: entry 34`,
		`1 refused; the first: posting a receipt bundle: 422 receipt-invalid: .*`,
	)
	wants(t, s.demo(t, "--bundles", corpus), `verified: 1 valid, .*: recorded by an earlier run, entry 34`)
	for name, text := range map[string]string{"not JSON": `{`, "no vectors": `{"valid_vectors":[]}`} {
		writeFile(t, corpus, text)
		if status, _, problems := inProcess(t, "demo", "--data-dir", s.dir, "--bundles", corpus); status != 1 || !strings.Contains(problems, corpus) {
			t.Errorf("%s: status %d, %s", name, status, problems)
		}
	}
	if status, _, problems := inProcess(t, "demo", "--data-dir", s.dir, "--bundles", corpus+".missing"); status != 1 || !strings.Contains(problems, "no such file") {
		t.Errorf("a missing corpus: status %d, %s", status, problems)
	}
}

func bundleOf(t *testing.T, request string) string {
	t.Helper()
	key, public, err := testKey(testKeys[0].seed)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := signBundle(request, time.Now(), key, public)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A tenant that has a policy of its own must not come to trust keys whose secrets are public.
func TestDemoLeavesATrustPolicyAlone(t *testing.T) {
	t.Parallel()
	s := serveLedger(t)
	if _, err := s.as(t, kinds.Admin).PutTrustPolicy(t.Context(), client.TrustPolicy{Pins: []client.Pin{}}); err != nil {
		t.Fatal(err)
	}
	wants(t, s.demo(t), `trust policy    revision 1 is in force and left as it is \(entry 0\)`, `verified: 0 valid, 3 by keys that nobody pinned: .*`)
	p, err := s.as(t, kinds.Auditor).TrustPolicy(t.Context())
	if err != nil || p.Revision != 1 || len(p.Policy.Pins) != 0 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestDemoSaysWhenNothingRuns(t *testing.T) {
	t.Parallel()
	empty, stale := t.TempDir(), t.TempDir()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	if err := writeConnection(stale, connectionFile{URL: closed.URL}); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		empty:                         "no ledgerd runs on the data folder " + empty + ": start one with `make run`",
		filepath.Join(empty, "never"): "no ledgerd runs on the data folder",
		stale:                         "the ledgerd that wrote " + connectionPath(stale) + " does not answer, start it again",
	} {
		status, out, problems := inProcess(t, "demo", "--data-dir", dir)
		if status != 1 || !strings.HasPrefix(problems, "ledgerd: "+want) || strings.Count(problems, "\n") != 1 || out != "" {
			t.Errorf("status %d, %q, %q", status, problems, out)
		}
	}
}

// Every turn adds up, has no finding, and differs from that of another run by its ids and time only.
func TestDemoTurns(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 12, 0, 0, 1000, time.UTC)
	served, asked := map[string]uint32{}, map[string]int{}
	for n := 1; n <= demoTurns; n++ {
		u := (&demo{session: "s"}).turn(n, at)
		if err := metering.Check(u.Report); err != nil {
			t.Errorf("turn %d: %v", n, err)
		}
		if f := metering.Findings(u.Report); len(f) != 0 || u.Report.AsOf != "2026-11-30T12:00:00.000001Z" {
			t.Errorf("turn %d at %s has findings %v", n, u.Report.AsOf, f)
		}
		for _, p := range u.Report.Providers {
			served[p.ProviderID] += p.FramesServed
			asked[p.ProviderID]++
			if rejected := p.ProviderID == wikiMCP && n == rejectedTurn; rejected != (p.FramesRejected > 0) {
				t.Errorf("turn %d: %s rejected %d", n, p.ProviderID, p.FramesRejected)
			}
		}
	}
	for _, p := range demoProviders {
		if asked[p.id] < 2 || (served[p.id] == 0) != (p.id == weatherMCP) {
			t.Errorf("%s is asked %d times and serves %d frames", p.id, asked[p.id], served[p.id])
		}
	}
	for _, c := range demoDeclarations() {
		if f := c.Findings(); c.Check() != nil || len(f) != 0 || c.ProviderID == webScraper {
			t.Errorf("%s: %v %v", c.ProviderID, c.Check(), f)
		}
	}
	for _, c := range append(demoConsents(), lateConsent()) {
		if f := c.Findings(); c.Check() != nil || len(f) != 0 || c.ProviderID == webScraper {
			t.Errorf("%s: %v %v", c.ProviderID, c.Check(), f)
		}
	}
}

func TestEntries(t *testing.T) {
	t.Parallel()
	for want, seqs := range map[string][]int64{
		"entry 7": {7}, "entries 1-3": {1, 2, 3}, "entries 1, 3": {3, 1, 1}, "entries 0-1, 3-5, 9": {0, 1, 3, 4, 5, 9},
		"7 entries, 1, 3, 5, 7 to 13": {1, 3, 5, 7, 9, 11, 13},
	} {
		before := slices.Clone(seqs)
		if got := entries(seqs); got != want || !slices.Equal(before, seqs) {
			t.Errorf("%v is %q, want %q", seqs, got, want)
		}
	}
}

func TestShellQuote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"/var/lib/ledgerd/dev.json": "/var/lib/ledgerd/dev.json", "/a b/$x": `'/a b/$x'`, "it's": `'it'\''s'`} {
		if got := shellQuote(in); got != want {
			t.Errorf("%q is quoted as %s, want %s", in, got, want)
		}
	}
}

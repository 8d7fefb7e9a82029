package api_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"ledgerd/internal/audit"
	"ledgerd/internal/audit/evidence"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

// recordAll records a sample of every kind that can be, and erases one report.
func (s *service) recordAll(t *testing.T) {
	t.Helper()
	s.record(t, ledgertest.SamplePolicy(t))
	for i, k := range ledgertest.Harmless() {
		if k.OfLog || strings.HasPrefix(k.Name, "context-") || k.Refers() && k != &kinds.ReceiptBundle && k != &kinds.Conflict {
			continue // a sample that names entries which nobody recorded
		}
		s.record(t, ledgertest.Sample(t, k, i+1))
	}
	s.recordTurn(t, ledgertest.NewTurn(t, 1))
	s.erase(t)
}

// erase destroys the content of entry 1.
func (s *service) erase(t *testing.T) {
	t.Helper()
	a, err := kinds.Erasure.Accept(kinds.Submission{Artifact: []byte(`{"reason":"asked","seqs":[1]}`), Key: "erasure"}, kinds.Env{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	s.record(t, a)
}

// record appends what was accepted.
func (s *service) record(t *testing.T, a *kinds.Accepted) {
	t.Helper()
	if _, err := s.Appender.Append(t.Context(), ledgertest.Host, a); err != nil {
		t.Fatal(err)
	}
}

// recordSome records a policy, reports of which the first is erased, a bundle, a turn and the erasure.
func (s *service) recordSome(t *testing.T) {
	t.Helper()
	s.record(t, ledgertest.SamplePolicy(t))
	for i, k := range []*kinds.Kind{&kinds.UsageReport, &kinds.ReceiptBundle, &kinds.ConsentReceipt} {
		s.record(t, ledgertest.Sample(t, k, i+1))
	}
	s.recordTurn(t, ledgertest.NewTurn(t, 1))
	s.erase(t)
}

// vkey is the log's verifier key.
func (s *service) vkey(t *testing.T) string {
	t.Helper()
	key, err := ledger.VerifierKey(s.SignerKey)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// evidence downloads a file.
func (s *service) evidence(t *testing.T, role kinds.Role, query string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/v1/evidence"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.tokens[role])
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "application/zip" {
		t.Fatalf("%s: %d %v %.300s", query, res.StatusCode, err, raw)
	}
	return raw
}

// report checks a file as a stranger would.
func (s *service) report(t *testing.T, file []byte) evidence.Report {
	t.Helper()
	r, err := evidence.Verify(t.Context(), bytes.NewReader(file), int64(len(file)), evidence.Options{Keys: []string{s.vkey(t)}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// verify is report that fails the test if the file does not pass.
func (s *service) verify(t *testing.T, file []byte) evidence.Report {
	t.Helper()
	r := s.report(t, file)
	if r.Failed() {
		t.Fatalf("%+v\n%+v", r.Checks, r.Remarks)
	}
	return r
}

func TestEvidenceOfEverything(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.recordAll(t)
	file := s.evidence(t, kinds.Auditor, "")
	r := s.verify(t, file)
	if r.Entries != r.Manifest.TreeSize || r.Manifest.Matched != r.Entries || r.Manifest.Tenant != ledgertest.Tenant {
		t.Errorf("%d entries, %+v", r.Entries, r.Manifest)
	}
	for _, name := range []string{"signature", "members", "manifest", "checkpoint", "leaf", "meta", "content", "inclusion", "kind", "recorded-verdict", "erasure", "reference", "order", "summary"} {
		if c := r.Check(name); c.Result != audit.Passed {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if c := r.Check("kind"); c.NotCheckable != 1 || len(r.Remarks) != 1 || *r.Remarks[0].Seq != 1 {
		t.Errorf("the erased one: %+v, %+v", c, r.Remarks)
	}
	if again := s.evidence(t, kinds.Auditor, ""); !bytes.Equal(again, file) {
		t.Error("the same question gives another file")
	}
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.File {
		m, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, m); err != nil { // the checksums
			t.Errorf("%s: %v", f.Name, err)
		}
		m.Close()
	}
}

// What is asked for is what is in it, and what that names comes along.
func TestEvidenceSelects(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.recordSome(t)
	period := fmt.Sprintf("from=%s&to=%s", url.QueryEscape(time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)), url.QueryEscape(time.Now().Add(time.Hour).UTC().Format(time.RFC3339)))
	for query, want := range map[string]struct{ matched, entries int64 }{
		"?seq=0,2":                                           {2, 2},
		"?kind=receipt-bundle":                               {1, 2}, // and its policy
		"?kind=context-assembly":                             {3, 8}, // and profile, snapshot, plans
		"?kind=usage-report":                                 {1, 2}, // erased, and the erasure
		"?kind=usage-report&key=none":                        {0, 0},
		"?request_id=req-1&" + period:                        {1, 2},
		"?customer_id=customer&" + period:                    {0, 0}, // whose reports were erased
		"?provider_id=north-llm&" + period:                   {1, 2},
		"?from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z": {0, 0},
	} {
		r := s.verify(t, s.evidence(t, kinds.Auditor, query))
		if r.Manifest.Matched != want.matched || r.Manifest.Entries != want.entries {
			t.Errorf("%s: %d matched, %d in all, want %+v", query, r.Manifest.Matched, r.Manifest.Entries, want)
		}
	}
	r := s.verify(t, s.evidence(t, kinds.Billing, ""))
	if c := r.Check("erasure"); r.Manifest.Matched != 1 || r.Manifest.Entries != 1 || c.Result != audit.NotCheckable {
		t.Errorf("billing got %d of %d entries, %+v", r.Manifest.Matched, r.Manifest.Entries, c)
	}
}

func TestEvidenceHead(t *testing.T) {
	t.Parallel()
	s := newService(t)
	if got := s.as(t, kinds.Auditor, "HEAD", "/v1/evidence", ""); got.status != 200 || got.header.Get("Content-Type") != "application/zip" || len(got.body) > 0 {
		t.Errorf("%d, %v, %d bytes", got.status, got.header, len(got.body))
	}
}

func TestEvidenceRefuses(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.recordAll(t)
	for query, want := range map[string]struct {
		status int
		code   string
	}{
		"?seq=x":                      {400, "invalid-parameter"},
		"?seq=01":                     {400, "invalid-parameter"},
		"?seq=1,":                     {400, "invalid-parameter"},
		"?seq=1&kind=usage-report":    {400, "invalid-parameter"},
		"?kind=none":                  {400, "invalid-parameter"},
		"?customer_id=a":              {400, "invalid-parameter"},
		"?customer_id=a&kind=erasure": {400, "invalid-parameter"},
		"?since=999999":               {400, "invalid-parameter"},
		"?seq=" + strings.Repeat("1,", 1000) + "1": {400, "invalid-parameter"},
		"?seq=0,999999": {404, "not-found"},
	} {
		if p := s.as(t, kinds.Auditor, "GET", "/v1/evidence"+query, "").problem(t); p.Status != want.status || p.Code != want.code {
			t.Errorf("%.40s: %+v", query, p)
		}
	}
	if p := s.as(t, kinds.Billing, "GET", "/v1/evidence?seq=0", "").problem(t); p.Status != 404 {
		t.Errorf("billing asks for a trust policy: %+v", p)
	}
	if p := s.as(t, kinds.Host, "GET", "/v1/evidence", "").problem(t); p.Status != 403 {
		t.Errorf("a host: %+v", p)
	}
	s.AddTenant(t, "other")
	other := s.token(t, "other", kinds.Auditor, time.Now(), time.Hour)
	if p := s.do(t, "GET", "/v1/evidence?seq=0", other, "").problem(t); p.Status != 404 {
		t.Errorf("another tenant's auditor: %+v", p)
	}
}

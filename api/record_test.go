package api_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerd/api"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

const consent = `{"provider_id":"north-llm","scope":"third-party-model","provider_name":"North LLM gateway","provider_version":"4.2.0",` +
	`"grantor":{"kind":"human","id":"maria@north.example"},"granted_at":"2026-01-10T08:00:00Z","expires_at":"2126-01-10T08:00:00Z"}`

// usage is a consistent report over two providers, one of which served nothing.
func usage(requestID string, asOf time.Time) string {
	return usageOf(requestID, report(asOf, 311, 92, 403))
}

func report(asOf time.Time, a, b, total int) string {
	return fmt.Sprintf(`{"budget_requested":2000,"budget_consumed":%d,"as_of":%q,"providers":[{"provider_id":"north-llm","frames_served":2,`+
		`"frames_rejected":0,"token_cost":%d,"served_frames":[{"frame":{"provider_id":"north-llm","frame_id":"page/a","content_digest":"sha256:%064d"},"token_cost":%d},`+
		`{"frame":{"provider_id":"north-llm","frame_id":"page/b"},"token_cost":%d}]},{"provider_id":"idle","frames_served":0,"frames_rejected":1,"token_cost":0}]}`,
		total, asOf.UTC().Format("2006-01-02T15:04:05Z"), a+b, 1, a, b)
}

func usageOf(requestID, report string) string {
	return fmt.Sprintf(`{"request_id":%q,"turn_id":"t1","customer_id":"c1","report":%s}`, requestID, report)
}

func TestPostAndReadBack(t *testing.T) {
	t.Parallel()
	s := newService(t)
	got := s.as(t, kinds.Host, "POST", "/v1/usage-reports", usage("req/1", time.Now()))
	var rec api.RecordedBody
	got.into(t, &rec)
	if got.status != http.StatusCreated || rec.Seq != 0 || rec.Kind != "usage-report" || rec.Key != "req/1" || len(rec.Findings) != 1 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	var e api.EntryBody
	s.as(t, kinds.Auditor, "GET", "/v1/entries/0", "").into(t, &e)
	checkEntryBody(t, e, rec)

	again := s.as(t, kinds.Host, "POST", "/v1/usage-reports", usage("req/1", time.Now().Truncate(time.Second)))
	if again.status == http.StatusCreated {
		t.Errorf("a second entry under one request_id: %s", again.body)
	}
	var list api.EntryListBody
	s.as(t, kinds.Auditor, "GET", "/v1/entries?key=req%2F1", "").into(t, &list)
	if len(list.Entries) != 1 || list.Entries[0].Seq != 0 {
		t.Errorf("by key: %+v", list)
	}
}

// checkEntryBody recomputes the leaf from the API form alone, as a stranger would.
func checkEntryBody(t *testing.T, e api.EntryBody, rec api.RecordedBody) {
	t.Helper()
	raw := func(s string) []byte {
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	content, meta, envelope := raw(*e.ContentBytes), raw(e.Meta), raw(e.Envelope)
	env, err := ledger.ParseEnvelope(envelope)
	if err != nil {
		t.Fatal(err)
	}
	leaf := ledger.LeafHash(envelope)
	switch {
	case base64.StdEncoding.EncodeToString(leaf[:]) != e.LeafHash || e.LeafHash != rec.LeafHash:
		t.Error("the leaf hash is not the envelope's")
	case env.Content != ledger.CommitContent(ledger.Salt(raw(*e.ContentSalt)), content):
		t.Error("the content commitment is not the content's")
	case env.Meta != ledger.CommitMeta(ledger.Salt(raw(e.MetaSalt)), meta):
		t.Error("the meta commitment is not the meta's")
	case !bytes.Equal(e.Content, content):
		t.Errorf("content and content_bytes differ:\n%s\n%s", e.Content, content)
	case !env.RecordedAt.Equal(e.RecordedAt):
		t.Error("recorded_at is not the envelope's")
	}
}

func TestReplayAndConflict(t *testing.T) {
	t.Parallel()
	s := newService(t)
	first := s.as(t, kinds.Host, "POST", "/v1/consent-receipts", consent, "Idempotency-Key", "grant/1")
	again := s.as(t, kinds.Host, "POST", "/v1/consent-receipts", " "+consent+"\n", "Idempotency-Key", "grant/1")
	if first.status != 201 || again.status != 200 || again.header.Get("Idempotent-Replayed") != "true" || !bytes.Equal(first.body, again.body) {
		t.Errorf("first %d %s, again %d %s", first.status, first.body, again.status, again.body)
	}
	other := s.as(t, kinds.Host, "POST", "/v1/consent-receipts", strings.Replace(consent, "4.2.0", "4.2.1", 1), "Idempotency-Key", "grant/1")
	if p := other.problem(t); other.status != 409 || p.Seq == nil || *p.Seq != 0 {
		t.Errorf("another content: %d %s", other.status, other.body)
	}
}

func TestFiftyPostsOneEntry(t *testing.T) {
	t.Parallel()
	s := newService(t)
	asOf := time.Now()
	bodies := []string{usageOf("r", report(asOf, 1, 2, 3)), usageOf("r", report(asOf, 2, 2, 4))}
	var wg sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for i := range 50 {
		wg.Go(func() {
			got := s.as(t, kinds.Host, "POST", "/v1/usage-reports", bodies[i%2])
			mu.Lock()
			defer mu.Unlock()
			statuses[got.status]++
		})
	}
	wg.Wait()
	if statuses[201] != 1 || statuses[200] != 24 || statuses[409] != 25 {
		t.Errorf("statuses %v, want one 201, 24 times 200, 25 times 409", statuses)
	}
	if n := s.Count(t, "ledger.entries"); n != 1 {
		t.Errorf("%d entries", n)
	}
}

// Bad input gets a clear error that names place and rule, changes nothing, and echoes nothing.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newService(t)
	now := time.Now()
	good := usage("r1", now)
	long := strings.Repeat("x", 3000)
	for _, c := range []struct {
		name, path, body string
		status           int
		code, pointer    string
	}{
		{"not JSON", "/v1/usage-reports", `{"request_id":`, 400, "invalid-json", "/request_id"},
		{"empty", "/v1/usage-reports", ` `, 400, "invalid-json", ""},
		{"array", "/v1/usage-reports", `[]`, 400, "wrong-type", ""},
		{"trailing", "/v1/usage-reports", good + `{}`, 400, "trailing-data", ""},
		{"unknown in the wrapper", "/v1/usage-reports", strings.Replace(good, `{"request_id"`, `{"tenant":"evil","request_id"`, 1), 400, "unknown-member", ""},
		{"wrong case", "/v1/usage-reports", strings.Replace(good, "turn_id", "Turn_ID", 1), 400, "unknown-member", ""},
		{"duplicate in the wrapper", "/v1/usage-reports", strings.Replace(good, `{"request_id"`, `{"request_id":"a","request_id"`, 1), 400, "duplicate-member", ""},
		{"duplicate in a row", "/v1/usage-reports", strings.Replace(good, `"frames_served":2`, `"frames_served":2,"frames_served":2`, 1), 400, "duplicate-member", "/report/providers/0"},
		{"duplicate of an unknown name", "/v1/usage-reports", strings.Replace(good, `"frames_served":2`, `"frames_served":2,"evil":{"x":1,"x":2}`, 1), 400, "duplicate-member", "/report/providers/0"},
		{"missing", "/v1/usage-reports", strings.Replace(good, `"frames_rejected":0,`, ``, 1), 400, "missing-member", "/report/providers/0"},
		{"null", "/v1/usage-reports", strings.Replace(good, `"frames_served":2`, `"frames_served":null`, 1), 400, "null-not-allowed", "/report/providers/0/frames_served"},
		{"float", "/v1/usage-reports", strings.Replace(good, `"frames_served":2`, `"frames_served":2.0`, 1), 400, "not-an-integer", "/report/providers/0/frames_served"},
		{"over u32", "/v1/usage-reports", strings.Replace(good, `"frames_served":2`, `"frames_served":4294967296`, 1), 400, "out-of-range", "/report/providers/0/frames_served"},
		{"lone surrogate", "/v1/usage-reports", strings.Replace(good, `"t1"`, `"\ud800"`, 1), 400, "invalid-json", "/turn_id"},
		{"invalid UTF-8", "/v1/usage-reports", strings.Replace(good, `"t1"`, "\"\xff\"", 1), 400, "invalid-json", "/turn_id"},
		{"too deep", "/v1/usage-reports", strings.Replace(good, `"frames_served":2`, `"frames_served":2,"evil":`+strings.Repeat("[", 200)+strings.Repeat("]", 200), 1), 400, "too-deep", "/report/providers/0"},
		{"beyond 2^53", "/v1/usage-reports", strings.Replace(good, `"budget_consumed":403`, `"budget_consumed":9007199254740992`, 1), 422, "number-not-representable", "/report/budget_consumed"},
		{"beyond 2^53 in an unknown member", "/v1/usage-reports", strings.Replace(good, `"frames_served":2`, `"frames_served":2,"evil":-1e300`, 1), 422, "number-not-representable", "/report/providers/0"},
		{"NUL", "/v1/usage-reports", strings.Replace(good, `"t1"`, `"\u0000"`, 1), 422, "identifier-malformed", "/turn_id"},
		{"3,000 bytes", "/v1/usage-reports", strings.Replace(good, `"c1"`, `"`+long+`"`, 1), 422, "identifier-too-long", "/customer_id"},
		{"long key", "/v1/usage-reports", strings.Replace(good, `"r1"`, `"`+long[:257]+`"`, 1), 422, "identifier-too-long", "/request_id"},
		{"empty key", "/v1/usage-reports", strings.Replace(good, `"r1"`, `""`, 1), 422, "identifier-malformed", "/request_id"},
		{"long frame id", "/v1/usage-reports", strings.Replace(good, `page/b`, long, 1), 422, "identifier-too-long", "/report/providers/0/served_frames/1/frame/frame_id"},
		{"inconsistent total", "/v1/usage-reports", usageOf("r1", report(now, 311, 92, 404)), 422, "usage-inconsistent", "/report/budget_consumed"},
		{"inconsistent row", "/v1/usage-reports", strings.Replace(good, `"frames_served":2`, `"frames_served":3`, 1), 422, "usage-inconsistent", "/report/providers/0/frames_served"},
		{"year 0000", "/v1/usage-reports", strings.Replace(good, now.UTC().Format("2006-01-02"), "0000-01-01", 1), 422, "as-of-not-acceptable", "/report/as_of"},
		{"in the future", "/v1/usage-reports", usage("r1", now.Add(10*time.Minute)), 422, "as-of-not-acceptable", "/report/as_of"},
		{"two years ago", "/v1/usage-reports", usage("r1", now.AddDate(-2, 0, 0)), 422, "as-of-not-acceptable", "/report/as_of"},
		{"malformed scope", "/v1/consent-receipts", strings.Replace(consent, "third-party-model", "THIRD-PARTY-MODEL", 1), 422, "artifact-refused", "/scope"},
		{"unknown grantor", "/v1/consent-receipts", strings.Replace(consent, "human", "robot", 1), 400, "invalid-value", "/grantor/kind"},
		{"consent in year 0000", "/v1/consent-receipts", strings.Replace(consent, "2026", "0000", 1), 422, "instant-out-of-range", "/granted_at"},
		{"no bundle", "/v1/receipt-bundles", `{}`, 422, "receipt-invalid", ""},
		{"bundle twice", "/v1/receipt-bundles", `{"profile":1,"profile":2}`, 400, "duplicate-member", ""},
		{"bundle is an array", "/v1/receipt-bundles", `[]`, 400, "wrong-type", ""},
		{"unknown parameter", "/v1/receipt-bundles?evil=1", `{}`, 400, "invalid-parameter", "-"},
	} {
		got := s.as(t, kinds.Host, "POST", c.path, c.body)
		p := got.problem(t)
		pointer := "-"
		if p.Pointer != nil {
			pointer = *p.Pointer
		}
		if got.status != c.status || p.Code != c.code || pointer != c.pointer {
			t.Errorf("%s: %d %s at %q, want %d %s at %q (%s)", c.name, got.status, p.Code, pointer, c.status, c.code, c.pointer, p.Detail)
		}
		if bytes.Contains(got.body, []byte("evil")) || bytes.Contains(got.body, []byte("xxx")) {
			t.Errorf("%s: the answer echoes the request: %s", c.name, got.body)
		}
	}
	if n := s.Count(t, "ledger.entries"); n != 0 {
		t.Errorf("refused requests left %d entries", n)
	}
	if got := s.as(t, kinds.Host, "POST", "/v1/usage-reports", good); got.status != 201 {
		t.Errorf("a good report after all that: %d %s", got.status, got.body)
	}
}

func TestRefusedTransport(t *testing.T) {
	t.Parallel()
	s := newService(t)
	huge := usageOf("r", `{"x":"`+strings.Repeat("y", 2<<20)+`"}`)
	for _, c := range []struct {
		name, path, body string
		headers          []string
		status           int
		code             string
	}{
		{"too large", "/v1/usage-reports", huge, nil, 413, "body-too-large"},
		{"bundle over its profile's limit", "/v1/receipt-bundles", `{"x":"` + strings.Repeat("y", 270_000) + `"}`, nil, 413, "body-too-large"},
		{"other type", "/v1/usage-reports", "{}", []string{"Content-Type", "text/plain"}, 415, "unsupported-media-type"},
		{"other charset", "/v1/usage-reports", "{}", []string{"Content-Type", "application/json; charset=latin1"}, 415, "unsupported-media-type"},
		{"not gzip", "/v1/usage-reports", "{}", []string{"Content-Encoding", "gzip"}, 400, "invalid-encoding"},
		{"not zstd", "/v1/usage-reports", "{}", []string{"Content-Encoding", "zstd"}, 400, "invalid-encoding"},
		{"other encoding", "/v1/usage-reports", "{}", []string{"Content-Encoding", "br"}, 415, "unsupported-media-type"},
		{"encoded twice", "/v1/usage-reports", "{}", []string{"Content-Encoding", "gzip, gzip"}, 415, "unsupported-media-type"},
		{"long key", "/v1/consent-receipts", consent, []string{"Idempotency-Key", strings.Repeat("k", 257)}, 400, "invalid-parameter"},
	} {
		got := s.as(t, kinds.Host, "POST", c.path, c.body, c.headers...)
		if p := got.problem(t); got.status != c.status || p.Code != c.code {
			t.Errorf("%s: %d %s, want %d %s", c.name, got.status, p.Code, c.status, c.code)
		}
	}
	if got := s.as(t, kinds.Host, "PATCH", "/v1/usage-reports", ""); got.status != 405 || got.problem(t).Code != "method-not-allowed" || got.header.Get("Allow") == "" {
		t.Errorf("PATCH: %d, Allow %q", got.status, got.header.Get("Allow"))
	}
	if got := s.as(t, kinds.Host, "GET", "/v1/nothing", ""); got.status != 404 || got.problem(t).Code != "not-found" {
		t.Errorf("unknown path: %d", got.status)
	}
}

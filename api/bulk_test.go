package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ledgerd/api"
	"ledgerd/internal/kinds"
)

const ndjson = "application/x-ndjson"

// bulk posts lines as one role and reads the results.
func (s *service) bulk(t *testing.T, role kinds.Role, query, body string, headers ...string) []api.BulkResultBody {
	t.Helper()
	got := s.as(t, role, "POST", "/v1/entries"+query, body, append([]string{"Content-Type", ndjson}, headers...)...)
	if got.status != http.StatusOK || got.header.Get("Content-Type") != ndjson {
		t.Fatalf("%d %s: %s", got.status, got.header.Get("Content-Type"), got.body)
	}
	return results(t, got.body)
}

// results reads an answer and holds every line of it to its form.
func results(t *testing.T, body []byte) []api.BulkResultBody {
	t.Helper()
	var list []api.BulkResultBody
	for text := range bytes.Lines(body) {
		var r api.BulkResultBody
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		switch {
		case (r.Seq == nil) == (r.Error == nil), r.Replayed != (r.Status == http.StatusOK):
			t.Errorf("a result that contradicts itself: %s", text)
		case r.Error != nil && (r.Error.Status != r.Status || r.Error.Type != "/docs#"+r.Error.Code || r.Error.Title == ""):
			t.Errorf("a malformed problem: %s", text)
		}
		list = append(list, r)
	}
	return list
}

func statuses(list []api.BulkResultBody) string {
	var b strings.Builder
	for _, r := range list {
		fmt.Fprintf(&b, "%d:%d", r.Line, r.Status)
		if r.Seq != nil {
			fmt.Fprintf(&b, "@%d", *r.Seq)
		}
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}

func consentLine(key, version string) string {
	return `{"kind":"consent-receipt","idempotency_key":"` + key + `","artifact":` + strings.Replace(consent, "4.2.0", version, 1) + `}`
}

func usageLine(requestID, report string) string {
	return fmt.Sprintf(`{"kind":"usage-report","context":{"request_id":%q,"turn_id":"t1","customer_id":"c1"},"artifact":%s}`, requestID, report)
}

// Results are in the order of lines, and each is the one of a single post.
func TestBulkMixedResults(t *testing.T) {
	t.Parallel()
	s := newService(t)
	now := time.Now()
	body := strings.Join([]string{
		consentLine("a", "1"),
		usageLine("r1", report(now, 1, 2, 3)),
		"",
		"   \t\r",
		`{"kind":`,
		usageLine("r2", report(now, 1, 2, 4)),
		consentLine("a", "1"),
		consentLine("a", "2") + "\r",
		usageLine("r3", report(now, 1, 2, 3)), // without a newline
	}, "\n")
	got := s.bulk(t, kinds.Host, "", body)
	if want := "1:201@0 2:201@1 5:400 6:422 7:200@0 8:409 9:201@2"; statuses(got) != want {
		t.Fatalf("%s\nwant %s", statuses(got), want)
	}
	if p := got[5].Error; p.Code != "conflict" || p.Seq == nil || *p.Seq != 0 {
		t.Errorf("conflict: %+v", p)
	}
	again := s.bulk(t, kinds.Host, "?mode=continue", body)
	if want := "1:200@0 2:200@1 5:400 6:422 7:200@0 8:409 9:200@2"; statuses(again) != want {
		t.Errorf("again: %s\nwant %s", statuses(again), want)
	}
	var e api.EntryBody
	s.as(t, kinds.Auditor, "GET", "/v1/entries/1", "").into(t, &e)
	single := s.as(t, kinds.Host, "POST", "/v1/usage-reports", usageOf("r1", report(now, 1, 2, 3)))
	if single.status != http.StatusOK || e.Key != "r1" || e.Kind != "usage-report" {
		t.Errorf("a single post of line 2: %d %s; the entry: %+v", single.status, single.body, e)
	}
	if got := s.bulk(t, kinds.Host, "", "\n\n  \n"); len(got) != 0 {
		t.Errorf("blank lines only: %+v", got)
	}
}

// More lines than a window and several batches hold: all in order, all dense.
func TestBulkManyLines(t *testing.T) {
	t.Parallel()
	s := newService(t)
	var body strings.Builder
	const n = 10_000
	for i := range n {
		if i%10 == 9 {
			body.WriteString("{}\n")
			continue
		}
		body.WriteString(consentLine(fmt.Sprintf("k%d", i), "1") + "\n")
	}
	got := s.bulk(t, kinds.Host, "", body.String())
	if len(got) != n {
		t.Fatalf("%d results", len(got))
	}
	next := int64(0)
	for i, r := range got {
		switch {
		case r.Line != int64(i+1):
			t.Fatalf("result %d is of line %d", i, r.Line)
		case i%10 == 9:
			if r.Error == nil || r.Error.Code != "missing-member" {
				t.Fatalf("line %d: %+v", r.Line, r)
			}
		case r.Seq == nil || *r.Seq != next:
			t.Fatalf("line %d: %+v, want seq %d", r.Line, r, next)
		default:
			next++
		}
	}
	if count := s.Count(t, "ledger.entries"); int64(count) != next {
		t.Errorf("%d entries, %d acknowledged", count, next)
	}
}

// Every refusal names place and rule, and echoes nothing.
func TestBulkRefusals(t *testing.T) {
	t.Parallel()
	s := newService(t)
	now := time.Now()
	good := usageLine("r", report(now, 1, 2, 3))
	replace := func(old, with string) string { return strings.Replace(good, old, with, 1) }
	cases := []struct {
		name, line    string
		status        int
		code, pointer string
	}{
		{"not JSON", `evil`, 400, "invalid-json", ""},
		{"array", `["evil"]`, 400, "wrong-type", ""},
		{"two values", good + good, 400, "trailing-data", ""},
		{"unknown member", replace(`{"kind"`, `{"evil":1,"kind"`), 400, "unknown-member", ""},
		{"wrong case", replace(`"artifact"`, `"Artifact"`), 400, "unknown-member", ""},
		{"twice", replace(`{"kind"`, `{"kind":"usage-report","kind"`), 400, "duplicate-member", ""},
		{"no kind", replace(`"kind":"usage-report",`, ``), 400, "missing-member", ""},
		{"kind is a number", replace(`"usage-report"`, `7`), 400, "wrong-type", "/kind"},
		{"no such kind", replace("usage-report", "evil"), 400, "invalid-value", "/kind"},
		{"another role's kind", `{"kind":"trust-policy","artifact":{"evil":1}}`, 403, "forbidden", "/kind"},
		{"no artifact", `{"kind":"usage-report","context":{}}`, 400, "missing-member", ""},
		{"artifact is null", `{"kind":"consent-receipt","artifact":null}`, 400, "null-not-allowed", "/artifact"},
		{"no context", `{"kind":"usage-report","artifact":` + report(now, 1, 2, 3) + `}`, 400, "missing-member", "/context"},
		{"context is null", replace(`"context":{`, `"context":null,"x":{`), 400, "unknown-member", ""},
		{"context of a kind that has none", `{"kind":"consent-receipt","context":{"evil":1},"artifact":` + consent + `}`, 400, "unknown-member", "/context"},
		{"NUL in the context", replace(`"t1"`, `"\u0000"`), 422, "identifier-malformed", "/context/turn_id"},
		{"long request_id", replace(`"r"`, `"`+strings.Repeat("x", 257)+`"`), 422, "identifier-too-long", "/context/request_id"},
		{"missing in the artifact", replace(`"frames_rejected":0,`, ``), 400, "missing-member", "/artifact/providers/0"},
		{"twice in the artifact", replace(`"frames_served":2`, `"frames_served":2,"evil":{"x":1,"x":2}`), 400, "duplicate-member", "/artifact/providers/0"},
		{"invalid UTF-8 in the artifact", replace(`"page/a"`, "\"evil\xff\""), 400, "invalid-json", "/artifact/providers/0/served_frames/0/frame/frame_id"},
		{"float", replace(`"frames_served":2`, `"frames_served":2.0`), 400, "not-an-integer", "/artifact/providers/0/frames_served"},
		{"too deep", replace(`"frames_served":2`, `"frames_served":2,"evil":`+strings.Repeat("[", 200)+strings.Repeat("]", 200)), 400, "too-deep", "/artifact/providers/0"},
		{"beyond 2^53", replace(`"budget_consumed":3`, `"budget_consumed":9007199254740992`), 422, "number-not-representable", "/artifact/budget_consumed"},
		{"inconsistent", usageLine("r", report(now, 1, 2, 4)), 422, "usage-inconsistent", "/artifact/budget_consumed"},
		{"in the future", usageLine("r", report(now.Add(time.Hour), 1, 2, 3)), 422, "as-of-not-acceptable", "/artifact/as_of"},
		{"malformed scope", strings.Replace(consentLine("k", "1"), "third-party-model", "EVIL", 1), 422, "artifact-refused", "/artifact/scope"},
		{"no bundle", `{"kind":"receipt-bundle","artifact":{}}`, 422, "receipt-invalid", "/artifact"},
		{"bundle twice", `{"kind":"receipt-bundle","artifact":{"profile":1,"profile":2}}`, 400, "duplicate-member", "/artifact"},
		{"empty key", consentLine("", "1"), 422, "identifier-malformed", "/idempotency_key"},
		{"long key", consentLine(strings.Repeat("x", 257), "1"), 422, "identifier-too-long", "/idempotency_key"},
		{"key is null", strings.Replace(consentLine("k", "1"), `"k"`, `null`, 1), 400, "null-not-allowed", "/idempotency_key"},
		{"over its kind's limit", `{"kind":"receipt-bundle","artifact":{"x":"` + strings.Repeat("y", 270_000) + `"}}`, 413, "body-too-large", "-"},
		{"over any kind's limit", `{"kind":"usage-report","artifact":"` + strings.Repeat("y", 3<<20) + `"}`, 413, "body-too-large", "-"},
	}
	var body strings.Builder
	for _, c := range cases {
		body.WriteString(c.line + "\n")
	}
	got := s.bulk(t, kinds.Host, "", body.String()+good)
	if len(got) != len(cases)+1 {
		t.Fatalf("%d results of %d lines", len(got), len(cases)+1)
	}
	for i, c := range cases {
		p := got[i].Error
		if p == nil {
			t.Errorf("%s: %+v", c.name, got[i])
			continue
		}
		pointer := "-"
		if p.Pointer != nil {
			pointer = *p.Pointer
		}
		if got[i].Status != c.status || p.Code != c.code || pointer != c.pointer {
			t.Errorf("%s: %d %s at %q, want %d %s at %q (%s)", c.name, got[i].Status, p.Code, pointer, c.status, c.code, c.pointer, p.Detail)
		}
		if text := fmt.Sprintf("%+v %v", *p, p.Causes); strings.Contains(strings.ToLower(text), "evil") || strings.Contains(text, "xxx") {
			t.Errorf("%s: the answer echoes the line: %s", c.name, text)
		}
	}
	if last := got[len(cases)]; last.Seq == nil || *last.Seq != 0 || s.Count(t, "ledger.entries") != 1 {
		t.Errorf("a good line after all that: %+v", last)
	}
}

// A role posts its own kinds only; one that posts none is refused whole.
func TestBulkRoles(t *testing.T) {
	t.Parallel()
	s := newService(t)
	lines := consentLine("k", "1") + "\n" + `{"kind":"trust-policy","artifact":{"pins":[],"max_future_skew_seconds":0}}`
	if got := statuses(s.bulk(t, kinds.Host, "", lines)); got != "1:201@0 2:403" {
		t.Errorf("host: %s", got)
	}
	if got := statuses(s.bulk(t, kinds.Admin, "", lines)); got != "1:403 2:201@1" {
		t.Errorf("admin: %s", got)
	}
	erasure := `{"kind":"erasure","idempotency_key":"e","artifact":{"reason":"r","seqs":[0]}}`
	if got := statuses(s.bulk(t, kinds.Admin, "", erasure)); got != "1:403" {
		t.Errorf("an erasure in bulk: %s", got)
	}
	for _, role := range []kinds.Role{kinds.Auditor, kinds.Operator} {
		got := s.as(t, role, "POST", "/v1/entries", lines, "Content-Type", ndjson)
		if p := got.problem(t); got.status != http.StatusForbidden || p.Code != "forbidden" {
			t.Errorf("%s: %d %s", role, got.status, got.body)
		}
	}
	s.AddTenant(t, "umbrella")
	other := s.token(t, "umbrella", kinds.Host, time.Now(), time.Hour)
	got := s.do(t, "POST", "/v1/entries", other, consentLine("k", "2"), "Content-Type", ndjson)
	if statuses(results(t, got.body)) != "1:201@2" {
		t.Errorf("the same key of another tenant: %s", got.body)
	}
}

func TestBulkRefusedWhole(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, c := range []struct {
		name, query, media, encoding string
		status                       int
		code                         string
	}{
		{"JSON", "", "application/json", "", 415, "unsupported-media-type"},
		{"other charset", "", ndjson + "; charset=latin1", "", 415, "unsupported-media-type"},
		{"other encoding", "", ndjson, "br", 415, "unsupported-media-type"},
		{"not gzip", "", ndjson, "gzip", 400, "invalid-encoding"},
		{"not zstd", "", ndjson, "zstd", 400, "invalid-encoding"},
		{"other mode", "?mode=evil", ndjson, "", 400, "invalid-parameter"},
		{"other parameter", "?evil=1", ndjson, "", 400, "invalid-parameter"},
	} {
		got := s.as(t, kinds.Host, "POST", "/v1/entries"+c.query, consentLine("k", "1"), "Content-Type", c.media, "Content-Encoding", c.encoding)
		if p := got.problem(t); got.status != c.status || p.Code != c.code || bytes.Contains(got.body, []byte("evil")) {
			t.Errorf("%s: %d %s, want %d %s", c.name, got.status, got.body, c.status, c.code)
		}
		if c.status == http.StatusUnsupportedMediaType && got.header.Get("Accept-Encoding") != "gzip, zstd" {
			t.Errorf("%s: Accept-Encoding %q", c.name, got.header.Get("Accept-Encoding"))
		}
	}
	if n := s.Count(t, "ledger.entries"); n != 0 {
		t.Errorf("%d entries", n)
	}
}

package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ledgerd/client"
	"ledgerd/metering"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ url, token string }{
		{"", ""}, {"127.0.0.1:8080", ""}, {"ftp://h", ""}, {"http://", ""}, {"http://u:p@h", ""}, {"http://h?x=1", ""},
		{"http://h#f", ""}, {"http://h", "two words"}, {"http://h", "line\nbreak"}, {"http://h", "\u00e9"},
	} {
		if _, err := client.New(c.url, c.token); err == nil || (c.token != "" && strings.Contains(err.Error(), c.token)) {
			t.Errorf("New(%q, %q): %v", c.url, c.token, err)
		}
	}
}

// What each method sends.
func TestRequests(t *testing.T) {
	t.Parallel()
	f, _, ledger := newFake(t)
	ctx := t.Context()
	usage := client.UsageReport{RequestID: "r/1", TurnID: "t", CustomerID: "c", Report: metering.UsageReport{AsOf: "2026-11-30T12:00:00Z"}}
	from := time.Date(2026, 11, 30, 13, 0, 0, 1000, time.FixedZone("", 3600))
	for _, c := range []struct {
		call func() error
		want attempt
	}{
		{func() error { _, err := ledger.PostUsageReport(ctx, usage); return err }, attempt{"POST", "/v1/usage-reports", "",
			`{"request_id":"r/1","turn_id":"t","customer_id":"c","report":{"budget_requested":0,"budget_consumed":0,"as_of":"2026-11-30T12:00:00Z"}}`, ""}},
		{func() error { _, err := ledger.PostConsentReceipt(ctx, consent, "grant/1"); return err }, attempt{"POST", "/v1/consent-receipts", "grant/1",
			`{"provider_id":"north-llm","scope":"third-party-model","provider_name":"North LLM","provider_version":"4","grantor":{"kind":"human","id":"maria@north.example"},"granted_at":"2026-01-10T08:00:00Z"}`, ""}},
		{func() error { _, err := ledger.PostReceiptBundle(ctx, []byte(`{"profile":"p"}`), "r/1"); return err }, attempt{"POST", "/v1/receipt-bundles?request_id=r%2F1", "", `{"profile":"p"}`, ""}},
		{func() error { _, err := ledger.PostReceiptBundle(ctx, []byte(`{}`), ""); return err }, attempt{"POST", "/v1/receipt-bundles", "", `{}`, ""}},
		{func() error {
			_, err := ledger.PutTrustPolicy(ctx, client.TrustPolicy{Pins: []client.Pin{{"ref", "why", "who"}}})
			return err
		}, attempt{"PUT", "/v1/trust-policy", "", `{"pins":[{"key_ref":"ref","comment":"why","vouched_by":"who"}],"max_future_skew_seconds":0}`, ""}},
		{func() error { _, err := ledger.TrustPolicy(ctx); return err }, attempt{"GET", "/v1/trust-policy", "", "", ""}},
		{func() error { _, err := ledger.ReceiptBundle(ctx, 12); return err }, attempt{"GET", "/v1/receipt-bundles/12", "", "", ""}},
		{func() error { _, err := ledger.Entry(ctx, 12); return err }, attempt{"GET", "/v1/entries/12", "", "", ""}},
		{func() error {
			_, err := ledger.Egress(ctx, client.EgressQuery{From: from, To: from.Add(time.Hour), ProviderID: "a b", CustomerID: "c&d"})
			return err
		}, attempt{"GET", "/v1/audit/egress?customer_id=c%26d&from=2026-11-30T12%3A00%3A00.000001Z&provider_id=a+b&to=2026-11-30T13%3A00%3A00.000001Z", "", "", ""}},
		{func() error {
			_, err := ledger.Usage(ctx, "day", client.UsageQuery{From: from, To: from.Add(time.Hour)})
			return err
		},
			attempt{"GET", "/v1/usage?from=2026-11-30T12%3A00%3A00.000001Z&group_by=day&to=2026-11-30T13%3A00%3A00.000001Z", "", "", ""}},
		{func() error {
			_, err := ledger.Usage(ctx, "customer", client.UsageQuery{From: from, To: from, CustomerID: "c&d", ProviderID: "p", RequestID: "r", TurnID: "t", FrameID: "f/1",
				TimeZone: "Europe/Berlin", Source: "clickhouse", Verify: true})
			return err
		}, attempt{"GET", "/v1/usage?customer_id=c%26d&frame_id=f%2F1&from=2026-11-30T12%3A00%3A00.000001Z&group_by=customer&provider_id=p&request_id=r&source=clickhouse" +
			"&to=2026-11-30T12%3A00%3A00.000001Z&turn_id=t&tz=Europe%2FBerlin&verify=true", "", "", ""}},
		{func() error {
			_, err := ledger.UsageTop(ctx, "frame", 5, client.UsageQuery{From: from, To: from})
			return err
		},
			attempt{"GET", "/v1/usage/top?by=frame&from=2026-11-30T12%3A00%3A00.000001Z&limit=5&to=2026-11-30T12%3A00%3A00.000001Z", "", "", ""}},
		{func() error {
			_, err := ledger.UsageLines(ctx, client.UsageQuery{From: from, To: from, TurnID: "t", TimeZone: "UTC", Source: "postgres", Verify: true}, -1, 100)
			return err
		}, attempt{"GET", "/v1/usage/lines?from=2026-11-30T12%3A00%3A00.000001Z&limit=100&to=2026-11-30T12%3A00%3A00.000001Z&turn_id=t", "", "", ""}},
		{func() error {
			_, err := ledger.UsageLines(ctx, client.UsageQuery{From: from, To: from}, 0, 1)
			return err
		},
			attempt{"GET", "/v1/usage/lines?after=0&from=2026-11-30T12%3A00%3A00.000001Z&limit=1&to=2026-11-30T12%3A00%3A00.000001Z", "", "", ""}},
		{func() error { _, err := ledger.CreateToken(ctx, client.NewToken{Role: "host", Name: "n"}); return err }, attempt{"POST", "/v1/tokens", "", `{"role":"host","name":"n"}`, ""}},
		{func() error {
			_, err := ledger.CreateToken(ctx, client.NewToken{Role: "host", Name: "n", ExpiresAt: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)})
			return err
		}, attempt{"POST", "/v1/tokens", "", `{"role":"host","name":"n","expires_at":"2027-01-01T00:00:00Z"}`, ""}},
		{func() error { _, err := ledger.RevokeToken(ctx, "tok_/x"); return err }, attempt{"DELETE", "/v1/tokens/tok_%2Fx", "", "", ""}},
		{func() error { _, err := ledger.PostContextProfile(ctx, []byte(`{"a":1}`)); return err }, attempt{"POST", "/v1/context-profiles", "", `{"a":1}`, ""}},
		{func() error { _, err := ledger.PostContextSnapshot(ctx, []byte(`{"a":2}`)); return err }, attempt{"POST", "/v1/context-snapshots", "", `{"a":2}`, ""}},
		{func() error { _, err := ledger.PostContextPlan(ctx, []byte(`{"a":3}`)); return err }, attempt{"POST", "/v1/context-plans", "", `{"a":3}`, ""}},
		{func() error { _, err := ledger.PostContextAssembly(ctx, []byte(`{"a":4}`)); return err }, attempt{"POST", "/v1/context-assemblies", "", `{"a":4}`, ""}},
		{func() error {
			_, err := ledger.PostContextCompaction(ctx, client.Compaction{TurnID: "t", Snapshot: client.SnapshotName{ID: "s", Digest: "d"}, Compaction: []byte(`{"a":5}`)})
			return err
		}, attempt{"POST", "/v1/context-compactions", "", `{"turn_id":"t","snapshot":{"snapshot_id":"s","snapshot_digest":"d"},"compaction":{"a":5}}`, ""}},
		{func() error {
			_, err := ledger.PostContextRecovery(ctx, client.Recovery{RecoveryID: "r", TurnID: "t", Snapshot: client.SnapshotName{ID: "s", Digest: "d"}, Recovery: []byte(`{"a":6}`)})
			return err
		}, attempt{"POST", "/v1/context-recoveries", "", `{"recovery_id":"r","turn_id":"t","snapshot":{"snapshot_id":"s","snapshot_digest":"d"},"recovery":{"a":6}}`, ""}},
		{func() error { _, err := ledger.Turn(ctx, "t/1"); return err }, attempt{"GET", "/v1/turns/t%2F1", "", "", ""}},
		{func() error { _, err := ledger.VerifyContextEntry(ctx, "context-recovery", 12); return err }, attempt{"GET", "/v1/context-recoveries/12/verification", "", "", ""}},
		{func() error {
			_, err := ledger.VerifyContextAssembly(ctx, client.ContextCheck{Record: []byte(`{}`), Payloads: []client.Presented{{1, 2, "p"}}})
			return err
		}, attempt{"POST", "/v1/verify/context-assembly", "", `{"record":{},"payloads":[{"position":1,"ordinal":2,"payload":"p"}]}`, ""}},
		{func() error { return ledger.Ready(ctx) }, attempt{"GET", "/readyz", "", "", ""}},
	} {
		f.forget()
		if err := c.call(); err != nil {
			t.Errorf("%s %s: %v", c.want.method, c.want.path, err)
		}
		c.want.auth = "Bearer " + secret
		if got := f.attempts(); got[len(got)-1] != c.want {
			t.Errorf("sent\n %+v, want\n %+v", got[len(got)-1], c.want)
		}
	}
}

// What can't be asked is said before anything is sent, and what is no conflict is not read as one.
func TestContextQuestionsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	f, _, ledger := newFake(t)
	if _, err := ledger.VerifyContextEntry(t.Context(), "context-plan", 1); err == nil || len(f.attempts()) != 0 {
		t.Errorf("a plan is not judged: %v", err)
	}
	if _, err := ledger.Conflict(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "no conflict") {
		t.Errorf("an entry of another kind: %v", err)
	}
}

func TestRecorded(t *testing.T) {
	t.Parallel()
	_, _, ledger := newFake(t)
	got, err := ledger.PostConsentReceipt(t.Context(), consent, "k")
	want := client.Recorded{Kind: "consent-receipt", Key: "k", RecordedAt: time.Date(2026, 11, 30, 15, 20, 48, 123456000, time.UTC), Findings: got.Findings}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestKeysAreCheckedBeforeSending(t *testing.T) {
	t.Parallel()
	f, _, ledger := newFake(t)
	for _, key := range []string{strings.Repeat("k", 257), "line\nbreak", "\xff", "\u0085"} {
		if _, err := ledger.PostConsentReceipt(t.Context(), consent, key); err == nil {
			t.Errorf("the key %q was accepted", key)
		}
	}
	broken := consent
	broken.ProviderID = "\xff"
	if _, err := ledger.PostConsentReceipt(t.Context(), broken, "k"); err == nil {
		t.Error("invalid UTF-8 was sent")
	}
	if len(f.attempts()) != 0 {
		t.Errorf("%d requests were sent", len(f.attempts()))
	}
}

func TestProblem(t *testing.T) {
	t.Parallel()
	_, _, ledger := newFake(t, "422 artifact-refused", "403")
	_, err := ledger.PostConsentReceipt(t.Context(), consent, "k")
	seq := int64(7)
	want := client.Problem{
		Status: 422, Code: "artifact-refused", Title: "T", Detail: "D", Pointer: "/scope", Seq: &seq,
		Causes: []client.Cause{{Rule: "R", Pointer: "/p", Detail: "d"}},
	}
	if got := problem(err); !reflect.DeepEqual(*got, want) {
		t.Errorf("%+v", got)
	}
	if text := "posting a consent receipt: 422 artifact-refused at /scope: D (entry 7)"; err.Error() != text {
		t.Errorf("%q, want %q", err, text)
	}
	_, err = ledger.PostConsentReceipt(t.Context(), consent, "k")
	if text := "posting a consent receipt: 403 forbidden"; err == nil || err.Error() != text {
		t.Errorf("%q, want %q", err, text)
	}
}

// An answer that is too large or no answer of a ledgerd is an error, not a value and not a retry.
func TestUnreadableAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, media, body, want string
		status                  int
	}{
		{"too large", "application/json", `{"kind":"` + strings.Repeat("x", 4096) + `"}`, "more than 1024 bytes", 200},
		{"a page", "text/html", "<p>Log in first</p>", "is this a ledgerd?", 200},
		{"malformed", "application/json", `{"seq":`, "reading the answer", 200},
		{"other types", "application/json", `{"seq":"one"}`, "reading the answer", 200},
		{"a problem that is too large", "application/problem+json", `{"code":"` + strings.Repeat("x", 4096) + `"}`, "400 bad request", 400},
		{"a problem that is none", "application/problem+json", `[]`, "400 bad request", 400},
		{"a problem with another status", "application/problem+json", `{"status":200,"code":"c","title":"T"}`, "400 c: T", 400},
	} {
		calls := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			calls++
			w.Header().Set("Content-Type", c.media)
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		}))
		ledger := newClient(t, server.URL+"/", &clock{}, client.WithMaxAnswer(1024))
		_, err := ledger.Entry(t.Context(), 1)
		if err == nil || !strings.Contains(err.Error(), c.want) || calls != 1 {
			t.Errorf("%s: %v after %d calls", c.name, err, calls)
		}
		server.Close()
	}
}

// Making a token twice makes two, so it is never repeated.
func TestCreateTokenIsSentOnce(t *testing.T) {
	t.Parallel()
	for _, failing := range []fault{lostFirst, lostAfter, "503 unavailable", "429"} {
		f, _, ledger := newFake(t, failing)
		_, err := ledger.CreateToken(t.Context(), client.NewToken{Role: "host", Name: "n"})
		if err == nil || len(f.attempts()) != 1 {
			t.Errorf("%s: %v after %d attempts", failing, err, len(f.attempts()))
		}
		if u := unknownOutcome(err); (u == nil) != (failing == "429") || (u != nil && (!u.Once || !strings.Contains(err.Error(), "look before repeating"))) {
			t.Errorf("%s: %v", failing, err)
		}
	}
}

func TestTokensFollowsPages(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Query().Get("cursor") {
		case "":
			fmt.Fprint(w, `{"tokens":[{"id":"a"},{"id":"b"}],"next_cursor":"1.b"}`)
		case "1.b":
			fmt.Fprint(w, `{"tokens":[{"id":"c"}],"next_cursor":null}`)
		}
	}))
	t.Cleanup(server.Close)
	ledger := newClient(t, server.URL, &clock{})
	var ids []string
	for token, err := range ledger.Tokens(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, token.ID)
	}
	if !slices.Equal(ids, []string{"a", "b", "c"}) {
		t.Errorf("%v", ids)
	}
	for _, err := range ledger.Tokens(t.Context()) {
		if err != nil {
			t.Error(err)
		}
		break // a reader may stop early
	}
	_, _, failing := newFake(t, "401 unauthorized")
	for token, err := range failing.Tokens(t.Context()) {
		if err == nil {
			t.Errorf("%+v", token)
		}
	}
}

func TestReadyAsksOnce(t *testing.T) {
	t.Parallel()
	f, _, ledger := newFake(t, "503 unavailable")
	if err := ledger.Ready(t.Context()); problem(err).Status != 503 || unknownOutcome(err) != nil || len(f.attempts()) != 1 {
		t.Errorf("%v after %d attempts", err, len(f.attempts()))
	}
	if err := ledger.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"ledgerd/api"
	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
)

// consentedUsage records a provider that was agreed to and n reports of customer c1.
func (x *scenario) consentedUsage(n int) (seqs []int64) {
	x.t.Helper()
	x.declare("p", "1", x.at(-9), model)
	x.grant("p", "third-party-model", "1", x.at(-8), "")
	for i := range n {
		seqs = append(seqs, x.serve("p", fmt.Sprint("req-", i), x.at(0), 2))
	}
	return seqs
}

func (x *scenario) dispute(t *testing.T, body string, headers ...string) (api.DisputeStateBody, answer) {
	t.Helper()
	got := x.s.as(t, kinds.Auditor, "POST", "/v1/disputes", body, headers...)
	var b api.DisputeStateBody
	if got.status < 300 {
		got.into(t, &b)
	}
	return b, got
}

func (x *scenario) readDispute(t *testing.T, role kinds.Role, id, query string) api.DisputeBody {
	t.Helper()
	got := x.s.as(t, role, "GET", "/v1/disputes/"+id+query, "")
	if got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	var b api.DisputeBody
	got.into(t, &b)
	return b
}

func TestDisputeOverTheAPI(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	seqs := x.consentedUsage(5)
	b, got := x.dispute(t, `{"request_id":"req-1","reason":"I never asked"}`)
	if got.status != http.StatusCreated || b.State != kinds.DisputeRecorded || b.Seq == nil || b.Decision.Result != kinds.DisputeExplained || got.header.Get("Location") != "/v1/disputes/"+b.DisputeID {
		t.Fatalf("%d %s", got.status, got.body)
	}
	whole := x.readDispute(t, kinds.Billing, b.DisputeID, "")
	if len(whole.Reports) != 1 || whole.Reports[0].Seq != seqs[1] || whole.NextCursor != nil || whole.RaisedBy.Role != "auditor" {
		t.Fatalf("%+v", whole)
	}
	r := whole.Reports[0]
	if r.Verification == nil || r.Verification.Result != audit.Passed || len(r.Providers) != 1 || len(r.Providers[0].Frames) != 2 || r.Providers[0].Frames[1].Tokens != "10" ||
		r.Providers[0].Consent.Verdict != audit.Consented || r.RequestID != "req-1" {
		t.Errorf("%+v", r)
	}
	period := fmt.Sprintf(`{"customer_id":"c1","from":%q,"to":%q,"reason":"too much"}`, x.at(-1), x.at(1))
	b, got = x.dispute(t, period, "Idempotency-Key", "month")
	if got.status != http.StatusCreated || b.Decision.Result != kinds.DisputeInconclusive || b.Decision.Open[0].Rule != string(audit.OpenUnbilled) || !slices.Equal(b.Decision.Entries.Reports, seqs) {
		t.Fatalf("%d %s", got.status, got.body)
	}
	again, got := x.dispute(t, period, "Idempotency-Key", "month")
	if got.status != http.StatusOK || again.DisputeID != b.DisputeID || got.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("again: %d %s", got.status, got.body)
	}
	if _, got = x.dispute(t, strings.Replace(period, "too much", "else", 1), "Idempotency-Key", "month"); got.status != http.StatusConflict {
		t.Errorf("another under the same key: %d %s", got.status, got.body)
	}
	x.pages(t, b.DisputeID, seqs)
}

// pages walks through a dispute's reports.
func (x *scenario) pages(t *testing.T, id string, want []int64) {
	t.Helper()
	var seen []int64
	cursor := ""
	for range want {
		page := x.readDispute(t, kinds.Auditor, id, "?limit=2"+cursor)
		for _, r := range page.Reports {
			seen = append(seen, r.Seq)
		}
		if page.NextCursor == nil {
			break
		}
		cursor = "&cursor=" + *page.NextCursor
	}
	if !slices.Equal(seen, want) {
		t.Errorf("pages have %v, want %v", seen, want)
	}
}

func TestDisputeIsReverifiedOverTheAPI(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	seqs := x.consentedUsage(2)
	b, _ := x.dispute(t, `{"request_id":"req-1","reason":"why"}`)
	x.post(kinds.Admin, "/v1/erasures", fmt.Sprintf(`{"reason":"asked","seqs":[%d]}`, seqs[1]))
	got := x.s.as(t, kinds.Billing, "POST", "/v1/disputes/"+b.DisputeID+"/reverify", "")
	var r api.ReverificationBody
	got.into(t, &r)
	if got.status != http.StatusCreated || r.Found.Result != kinds.DisputeInconclusive || !slices.Contains(r.Found.Changed, "result") || r.Found.OfSeq != *b.Seq {
		t.Fatalf("%d %s", got.status, got.body)
	}
	whole := x.readDispute(t, kinds.Auditor, b.DisputeID, "")
	if len(whole.Reverifications) != 1 || whole.Reverifications[0].Seq != r.Seq || whole.Decision.Result != kinds.DisputeExplained || len(whole.Reports[0].Providers[0].Frames) != 0 {
		t.Errorf("%+v", whole)
	}
	var list api.DisputeListBody
	x.s.as(t, kinds.Auditor, "GET", "/v1/disputes?result=explained", "").into(t, &list)
	if len(list.Disputes) != 1 || list.Disputes[0].DisputeID != b.DisputeID || *list.Disputes[0].RequestID != "req-1" {
		t.Errorf("%+v", list)
	}
	x.post(kinds.Admin, "/v1/erasures", fmt.Sprintf(`{"reason":"asked","seqs":[%d]}`, *b.Seq))
	for _, path := range []string{"", "/evidence"} {
		if got := x.s.as(t, kinds.Auditor, "GET", "/v1/disputes/"+b.DisputeID+path, ""); got.status != http.StatusGone {
			t.Errorf("%s of an erased dispute: %d %s", path, got.status, got.body)
		}
	}
}

// What is recorded at once is proven when that is asked for: a dispute, the same again, and what was found later.
func TestDisputesAreProven(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	x.consentedUsage(3)
	ask := func(path, body string) (b struct {
		DisputeID string         `json:"dispute_id"`
		Seq       *int64         `json:"seq"`
		Proof     *api.ProofBody `json:"proof"`
	}, status int) {
		t.Helper()
		got := x.s.as(t, kinds.Auditor, "POST", path, body, "Idempotency-Key", "one")
		got.into(t, &b)
		return b, got.status
	}
	one := `{"request_id":"req-1","reason":"why"}`
	if b, status := ask("/v1/disputes", one); status != http.StatusCreated || b.Proof != nil {
		t.Errorf("not asked for: %d, %+v", status, b)
	}
	dispute, status := ask("/v1/disputes?proof=true", one)
	if status != http.StatusOK || dispute.Proof == nil || dispute.Proof.Seq != *dispute.Seq {
		t.Fatalf("again: %d, %+v", status, dispute)
	}
	x.s.fits(t, *dispute.Proof)
	found, status := ask("/v1/disputes/"+dispute.DisputeID+"/reverify?proof=true", "")
	if status != http.StatusCreated || found.Proof == nil || found.Proof.Seq != *found.Seq || *found.Seq == *dispute.Seq {
		t.Fatalf("decided again: %d, %+v", status, found)
	}
	x.s.fits(t, *found.Proof)
	if got := x.s.as(t, kinds.Auditor, "POST", "/v1/disputes?proof=1", one); got.status != http.StatusBadRequest {
		t.Errorf("neither true nor false: %d %s", got.status, got.body)
	}
	x.s.disputes.AtOnce = 1
	period := fmt.Sprintf(`{"customer_id":"c1","from":%q,"to":%q,"reason":"too much"}`, x.at(-1), x.at(1))
	got := x.s.as(t, kinds.Auditor, "POST", "/v1/disputes?proof=true", period)
	var queued api.DisputeStateBody
	if got.into(t, &queued); got.status != http.StatusAccepted || queued.Proof != nil {
		t.Errorf("queued: %d %s", got.status, got.body)
	}
}

// One that is larger than a request waits for is queued, worked on by whoever is there, and found by its location.
func TestLargeDisputeIsAJob(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	seqs := x.consentedUsage(4)
	x.s.disputes.AtOnce = 2
	body := fmt.Sprintf(`{"customer_id":"c1","from":%q,"to":%q,"reason":"too much"}`, x.at(-1), x.at(1))
	b, got := x.dispute(t, body)
	if got.status != http.StatusAccepted || b.State != kinds.DisputeQueued || b.Seq != nil || b.Decision != nil || b.Progress == nil {
		t.Fatalf("%d %s", got.status, got.body)
	}
	location := got.header.Get("Location")
	if whole := x.readDispute(t, kinds.Auditor, b.DisputeID, ""); whole.State != kinds.DisputeQueued || location != "/v1/disputes/"+b.DisputeID {
		t.Errorf("%+v at %s", whole, location)
	}
	work := func(want bool) {
		t.Helper()
		if worked, err := x.s.disputes.Work(t.Context(), "w"); err != nil || worked != want {
			t.Fatalf("%v, %v", worked, err)
		}
	}
	work(true)
	work(false)
	whole := x.readDispute(t, kinds.Auditor, b.DisputeID, "")
	if whole.State != kinds.DisputeRecorded || whole.Progress != nil || !slices.Equal(whole.Decision.Entries.Reports, seqs) || whole.RaisedBy.Role != "auditor" {
		t.Errorf("%+v", whole)
	}
	if got := x.s.as(t, kinds.Auditor, "POST", "/v1/disputes/"+b.DisputeID+"/reverify", ""); got.status != http.StatusAccepted {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if whole = x.readDispute(t, kinds.Auditor, b.DisputeID, ""); whole.State != kinds.DisputeRecorded || whole.Progress == nil || !whole.Progress.Reverifying {
		t.Errorf("%+v", whole.Progress)
	}
	work(true)
	if whole = x.readDispute(t, kinds.Auditor, b.DisputeID, ""); len(whole.Reverifications) != 1 || whole.Progress != nil {
		t.Errorf("%+v", whole)
	}
}

func TestDisputeRefusals(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	for body, want := range map[string]string{
		`{"reason":"x"}`: "dispute-unclear",
		`{"request_id":"a","receipt_id":"b","reason":"x"}`:                                           "dispute-unclear",
		`{"customer_id":"a","reason":"x"}`:                                                           "dispute-unclear",
		`{"request_id":"a","from":"2026-01-01T00:00:00Z","reason":"x"}`:                              "dispute-unclear",
		`{"customer_id":"a","from":"2026-02-01T00:00:00Z","to":"2026-01-01T00:00:00Z","reason":"x"}`: "dispute-unclear",
		`{"request_id":"a"}`:                                             "missing-member",
		`{"request_id":"a","reason":""}`:                                 "identifier-malformed",
		`{"request_id":"a","reason":"x","more":1}`:                       "unknown-member",
		`{"request_id":"a\u0000","reason":"x"}`:                          "identifier-malformed",
		`{"customer_id":"a","from":"x","to":"y","reason":"x"}`:           "invalid-value",
		`{"request_id":"` + strings.Repeat("a", 513) + `","reason":"x"}`: "identifier-too-long",
	} {
		if _, got := x.dispute(t, body); got.problem(t).Code != want {
			t.Errorf("%s: %s, want %s", body, got.body, want)
		}
	}
	for _, path := range []string{"/v1/disputes/none", "/v1/disputes/none/evidence", "/v1/disputes/%00", "/v1/disputes/none%0a/evidence"} {
		if got := x.s.as(t, kinds.Auditor, "GET", path, ""); got.status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if got := x.s.as(t, kinds.Auditor, "POST", "/v1/disputes/none/reverify", ""); got.status != http.StatusNotFound {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := x.s.as(t, kinds.Auditor, "POST", "/v1/entries", `{"kind":"dispute","artifact":{}}`, "Content-Type", "application/x-ndjson"); got.status != http.StatusForbidden {
		t.Errorf("a dispute is posted: %d %s", got.status, got.body)
	}
	if got := x.s.as(t, kinds.Host, "POST", "/v1/disputes", `{"request_id":"a","reason":"x"}`); got.status != http.StatusForbidden {
		t.Errorf("a host: %d", got.status)
	}
}

// The evidence of a dispute is one file that has the whole chain, and verifies without the server.
func TestDisputeEvidence(t *testing.T) {
	t.Parallel()
	x := newScenario(t)
	seqs := x.consentedUsage(2)
	b, _ := x.dispute(t, `{"request_id":"req-1","reason":"why"}`)
	got := x.s.as(t, kinds.Auditor, "GET", "/v1/disputes/"+b.DisputeID+"/evidence", "")
	if got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	r := x.s.verify(t, got.body)
	if r.Failed() || r.Manifest.Matched != 1 || r.Manifest.Entries != int64(1+len(b.Decision.Entries.All())) {
		raw, _ := json.Marshal(r)
		t.Errorf("%s of %v", raw, seqs)
	}
}

package api_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"ledgerd/api"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

func TestErasePreviewEraseAndRead(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.as(t, kinds.Host, "POST", "/v1/usage-reports", usage("r0", time.Now())) // 0, customer c1
	s.as(t, kinds.Host, "POST", "/v1/consent-receipts", consent)              // 1, grantor maria
	s.as(t, kinds.Host, "POST", "/v1/usage-reports", usage("r2", time.Now())) // 2
	s.postBundle(t, bundle(t, "b", "request", signingKey("k"), nil))          // 3, of request req/1

	const ask = `{"reason":"the customer asked","filter":{"customer_id":"c1"}}`
	var preview api.ErasurePreviewBody
	got := s.as(t, kinds.Admin, "POST", "/v1/erasures?preview=true", ask)
	got.into(t, &preview)
	if got.status != 202 || !slices.Equal(preview.Seqs, []int64{0, 2}) || preview.Kinds["usage-report"] != 2 {
		t.Fatalf("preview: %d %s", got.status, got.body)
	}
	if n := s.Count(t, "ledger.entries"); n != 4 {
		t.Fatalf("a preview recorded something: %d entries", n)
	}
	var before api.EntryBody
	s.as(t, kinds.Auditor, "GET", "/v1/entries/2", "").into(t, &before)

	got = s.as(t, kinds.Admin, "POST", "/v1/erasures?proof=true", ask)
	var rec api.RecordedBody
	got.into(t, &rec)
	if got.status != 201 || rec.Seq != 4 || rec.Kind != "erasure" || rec.Proof == nil {
		t.Fatalf("erase: %d %s", got.status, got.body)
	}
	read := s.as(t, kinds.Auditor, "GET", "/v1/entries/2", "")
	p := read.problem(t)
	envelope, err := base64.StdEncoding.DecodeString(p.Leaf)
	if err != nil || read.status != 410 || p.Code != "erased" || *p.Seq != 2 || *p.Erasure != 4 || p.Leaf != before.Envelope {
		t.Errorf("reading it: %d %s", read.status, read.body)
	}
	if _, err := ledger.ParseEnvelope(envelope); err != nil {
		t.Error(err)
	}
	if again := s.as(t, kinds.Host, "POST", "/v1/usage-reports", usage("r2", time.Now())); again.status != 410 || *again.problem(t).Erasure != 4 {
		t.Errorf("posting it again: %d %s", again.status, again.body)
	}
	var list api.EntryListBody
	s.as(t, kinds.Auditor, "GET", "/v1/entries", "").into(t, &list)
	if len(list.Entries) != 5 || *list.Entries[0].ErasedBy != 4 || list.Entries[0].ContentBytes != nil || list.Entries[1].ErasedBy != nil {
		t.Errorf("listed: %+v", list.Entries)
	}
	if got := s.as(t, kinds.Admin, "POST", "/v1/erasures", ask); got.status != 422 || got.problem(t).Code != "nothing-to-erase" {
		t.Errorf("the same filter again: %d %s", got.status, got.body)
	}
	// The erasure's own entry says which entries and why, and nothing of the person.
	var e api.EntryBody
	s.as(t, kinds.Admin, "GET", "/v1/entries/4", "").into(t, &e)
	var content struct{ Artifact kinds.ErasureArtifact }
	if err := json.Unmarshal(e.Content, &content); err != nil || !slices.Equal(content.Artifact.Seqs, []int64{0, 2}) {
		t.Errorf("the erasure: %s", e.Content)
	}
}

func TestEraseByGrantorAndSeqs(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.as(t, kinds.Host, "POST", "/v1/consent-receipts", consent)
	s.pin(t, signingKey("k"))
	for _, c := range []struct {
		body, code string
		status     int
	}{
		{`{"reason":"x","seqs":[0],"filter":{"customer_id":"c"}}`, "nothing-to-erase", 422}, {`{"reason":"x"}`, "nothing-to-erase", 422},
		{`{"reason":"x","filter":{}}`, "invalid-value", 400}, {`{"reason":"x","seqs":[0,99]}`, "not-found", 404}, {`{"reason":"x","seqs":[1]}`, "not-erasable", 422},
		{`{"reason":"","seqs":[0]}`, "identifier-malformed", 422}, {`{"seqs":[0]}`, "missing-member", 400},
		{`{"reason":"x","seqs":[9223372036854775808]}`, "number-not-representable", 422}, {`{"reason":"x","seqs":[1,0]}`, "invalid-value", 400}, {`{"reason":"x","seqs":[0,0]}`, "invalid-value", 400}, {`{"reason":"x","filter":{"grantor_id":"nobody"}}`, "nothing-to-erase", 422},
	} {
		if got := s.as(t, kinds.Admin, "POST", "/v1/erasures", c.body); got.status != c.status || got.problem(t).Code != c.code {
			t.Errorf("%s: %d %s", c.body, got.status, got.body)
		}
	}
	got := s.as(t, kinds.Admin, "POST", "/v1/erasures", `{"reason":"x","filter":{"grantor_id":"maria@north.example","provider_id":"north-llm"}}`)
	if got.status != 201 {
		t.Fatalf("by grantor: %d %s", got.status, got.body)
	}
	again := s.as(t, kinds.Admin, "POST", "/v1/erasures", `{"reason":"x","seqs":[0]}`)
	if again.status != 200 || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the same by seqs: %d %s", again.status, again.body)
	}
}

// A request that was sent again under its key is answered as the first time, though its filter finds nothing any more; and a
// report that reached no provider is found by its customer too.
func TestEraseAgainUnderItsKey(t *testing.T) {
	t.Parallel()
	s := newService(t)
	bare := `{"budget_requested":1,"budget_consumed":0,"as_of":"` + time.Now().UTC().Format(time.RFC3339) + `"}`
	s.as(t, kinds.Host, "POST", "/v1/usage-reports", usageOf("bare", bare))
	const ask = `{"reason":"asked","filter":{"customer_id":"c1"}}`
	first := s.as(t, kinds.Admin, "POST", "/v1/erasures", ask, "Idempotency-Key", "e1")
	again := s.as(t, kinds.Admin, "POST", "/v1/erasures", ask, "Idempotency-Key", "e1")
	if first.status != 201 || again.status != 200 || again.header.Get("Idempotent-Replayed") != "true" || !bytes.Equal(first.body, again.body) {
		t.Errorf("first %d %s, again %d %s", first.status, first.body, again.status, again.body)
	}
	if got := s.as(t, kinds.Admin, "POST", "/v1/erasures", `{"reason":"other","filter":{"customer_id":"c1"}}`, "Idempotency-Key", "e1"); got.status != 409 {
		t.Errorf("the key with another reason: %d %s", got.status, got.body)
	}
}

// Entries that are named are erased alone. The preview says what they lead to, and nothing else would find afterwards.
func TestErasePreviewSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.as(t, kinds.Host, "POST", "/v1/usage-reports", usage("req/1", time.Now())) // 0
	s.postBundle(t, bundle(t, "b", "request", signingKey("k"), nil))             // 1, of request req/1
	for ask, left := range map[string][]int64{`"seqs":[0]`: {1}, `"seqs":[0,1]`: {}, `"filter":{"customer_id":"c1"}`: {}} {
		got := s.as(t, kinds.Admin, "POST", "/v1/erasures?preview=true", `{"reason":"x",`+ask+`}`)
		var preview api.ErasurePreviewBody
		if got.into(t, &preview); got.status != 202 || !slices.Equal(preview.Left, left) || preview.Left == nil {
			t.Errorf("%s: %d %s", ask, got.status, got.body)
		}
	}
}

package api_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"ledgerd/api"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/receipts/air"
)

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func signingKey(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func keyRef(key ed25519.PrivateKey) string { return air.KeyRef(key.Public().(ed25519.PublicKey)) }

// bundle is a provider-signed bundle of one exchange; change may alter it before it is encoded.
func bundle(t *testing.T, id, request string, key ed25519.PrivateKey, change func(*air.Bundle)) string {
	t.Helper()
	receipt := air.Receipt{
		ReceiptID: id, RequestDigest: digest(request), ResponseDigest: digest("response"), Endpoint: "https://api.openai.com/v1/responses",
		ModelID: "openai/some-model", RetentionClass: "undeclared", Timestamp: "2026-09-04T12:00:00Z",
		TrustStatement: air.TrustStatement{TerminatingParty: "provider", WitnessMode: air.ProviderSigns, NotaryTrustModel: air.ModelNone},
	}
	signature, err := air.SignProvider(receipt, key)
	if err != nil {
		t.Fatal(err)
	}
	b := air.Bundle{
		Profile: air.ProfileV1, Receipt: receipt, Proofs: air.Proofs{ProviderSignature: signature},
		RetentionEvidence: air.RetentionEvidence{
			Provider: "openai", SourceURL: "https://developers.openai.com/api/docs/guides/your-data",
			RetrievedOn: "2026-09-04", SourceSHA256: digest("page"), DeclaredClass: "undeclared",
		},
		VerificationKeys: []air.VerificationKey{air.NewVerificationKey(key.Public().(ed25519.PublicKey), air.RoleProvider, "openai")},
	}
	if change != nil {
		change(&b)
	}
	raw, err := b.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func policyOf(keys ...ed25519.PrivateKey) string {
	pins := []string{}
	for _, k := range keys {
		pins = append(pins, fmt.Sprintf(`{"key_ref":%q,"comment":"test","vouched_by":"the test"}`, keyRef(k)))
	}
	return `{"pins":[` + strings.Join(pins, ",") + `],"max_future_skew_seconds":0}`
}

func (s *service) pin(t *testing.T, keys ...ed25519.PrivateKey) (seq int64) {
	t.Helper()
	got := s.as(t, kinds.Admin, "PUT", "/v1/trust-policy", policyOf(keys...))
	if got.status != 201 {
		t.Fatalf("setting the policy: %d %s", got.status, got.body)
	}
	var r api.RecordedBody
	got.into(t, &r)
	return r.Seq
}

func (s *service) postBundle(t *testing.T, body string) (api.RecordedBody, answer) {
	t.Helper()
	got := s.as(t, kinds.Host, "POST", "/v1/receipt-bundles?request_id=req%2F1", body)
	var r api.RecordedBody
	if got.status < 300 {
		got.into(t, &r)
	}
	return r, got
}

func TestTrustPolicyIsRevisedNeverEdited(t *testing.T) {
	t.Parallel()
	s := newService(t)
	if got := s.as(t, kinds.Auditor, "GET", "/v1/trust-policy", ""); got.status != 404 {
		t.Errorf("before any: %d", got.status)
	}
	a, b := signingKey("a"), signingKey("b")
	s.pin(t, a)
	if got := s.as(t, kinds.Admin, "PUT", "/v1/trust-policy", policyOf(a)); got.status != 200 || got.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the same again: %d %s", got.status, got.body)
	}
	second := s.pin(t, a, b)
	var p api.TrustPolicyBody
	s.as(t, kinds.Auditor, "GET", "/v1/trust-policy", "").into(t, &p)
	if p.Revision != 2 || p.Seq != second {
		t.Errorf("in force: %+v", p)
	}
	var list api.EntryListBody
	s.as(t, kinds.Admin, "GET", "/v1/entries?kind=trust-policy", "").into(t, &list)
	if len(list.Entries) != 2 || list.Entries[0].Key != "1" || list.Entries[1].Key != "2" {
		t.Errorf("history: %+v", list.Entries)
	}
	for _, bad := range []string{
		`{"pins":[{"key_ref":"x","comment":"","vouched_by":"v"}],"max_future_skew_seconds":0}`,
		`{"pins":[],"max_future_skew_seconds":86401}`, `{"pins":[],"max_future_skew_seconds":0,"issuer_operator":"no spaces"}`,
	} {
		if got := s.as(t, kinds.Admin, "PUT", "/v1/trust-policy", bad); got.status != 422 || got.problem(t).Code != "trust-policy-refused" {
			t.Errorf("%s: %d %s", bad, got.status, got.body)
		}
	}
}

func TestBundleIsVerifiedWhenReceived(t *testing.T) {
	t.Parallel()
	s := newService(t)
	key := signingKey("provider")
	rec, got := s.postBundle(t, bundle(t, "r1", "request", key, nil))
	if got.status != 201 || !strings.HasPrefix(rec.Key, "r1@sha256:") {
		t.Fatalf("without a policy: %d %s", got.status, got.body)
	}
	if v := rec.Verdict; v == nil || v.Status != air.Indeterminate || v.OK || len(v.Indeterminate) == 0 || len(v.Disclosures) == 0 {
		t.Errorf("the answer does not say that the bundle is not valid: %s", got.body)
	}
	var b api.BundleBody
	s.as(t, kinds.Host, "GET", fmt.Sprintf("/v1/receipt-bundles/%d", rec.Seq), "").into(t, &b)
	if b.Verdict.Status != air.Indeterminate || b.PolicySeq != nil || len(b.Disclosures) == 0 || len(b.Verdict.Disclosures) == 0 || *b.RequestID != "req/1" {
		t.Errorf("without a policy: %+v", b)
	}

	policySeq := s.pin(t, key)
	rec, got = s.postBundle(t, bundle(t, "r2", "request", key, nil))
	s.as(t, kinds.Auditor, "GET", fmt.Sprintf("/v1/receipt-bundles/%d", rec.Seq), "").into(t, &b)
	if got.status != 201 || b.Verdict.Status != air.Valid || b.PolicySeq == nil || *b.PolicySeq != policySeq {
		t.Errorf("with a policy: %d %+v", got.status, b)
	}

	tampered := strings.Replace(bundle(t, "r3", "request", key, nil), digest("response"), digest("another"), 1)
	_, got = s.postBundle(t, tampered)
	p := got.problem(t)
	if got.status != 422 || p.Code != "receipt-invalid" || len(p.Causes) < 2 || p.Causes[0].Rule != "AIR-V1-R060" {
		t.Errorf("an invalid one: %d %s", got.status, got.body)
	}
	if n := s.Count(t, "ledger.receipts"); n != 2 {
		t.Errorf("%d bundles are recorded, want 2", n)
	}
}

// A receipt_id that a valid receipt holds refuses another receipt; more proofs of the same receipt are welcome, and an
// indeterminate one reserves nothing.
func TestReceiptIDIsHeldByAValidReceipt(t *testing.T) {
	t.Parallel()
	s := newService(t)
	known, stranger := signingKey("known"), signingKey("stranger")
	s.pin(t, known)
	if _, got := s.postBundle(t, bundle(t, "r", "first", stranger, nil)); got.status != 201 {
		t.Fatalf("indeterminate: %d %s", got.status, got.body)
	}
	first, got := s.postBundle(t, bundle(t, "r", "second", known, nil))
	if got.status != 201 {
		t.Fatalf("valid, after an indeterminate of the same id: %d %s", got.status, got.body)
	}
	more := bundle(t, "r", "second", known, func(b *air.Bundle) {
		d, err := b.Receipt.Digest()
		if err != nil {
			t.Fatal(err)
		}
		b.Proofs.Lineage = &air.Lineage{ReceiptDigest: d, ParentReceiptDigest: digest("parent"), Relation: "response-derived-from"}
	})
	second, got := s.postBundle(t, more)
	if got.status != 201 || second.Seq == first.Seq {
		t.Errorf("more proofs: %d %s", got.status, got.body)
	}
	for name, key := range map[string]ed25519.PrivateKey{"valid": known, "indeterminate": stranger} {
		_, got = s.postBundle(t, bundle(t, "r", "third", key, nil))
		if p := got.problem(t); got.status != 409 || p.Seq == nil || *p.Seq != first.Seq {
			t.Errorf("another receipt, %s: %d %s", name, got.status, got.body)
		}
	}
	if _, got = s.postBundle(t, more); got.status != 200 || got.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the same bundle again: %d", got.status)
	}
	var list api.BundleListBody
	s.as(t, kinds.Auditor, "GET", "/v1/receipt-bundles?receipt_id=r", "").into(t, &list)
	if len(list.Bundles) != 3 {
		t.Errorf("%d bundles of the receipt id", len(list.Bundles))
	}
}

func TestReverifyReproduces(t *testing.T) {
	t.Parallel()
	s := newService(t)
	a, b := signingKey("a"), signingKey("b")
	first := s.pin(t, a)
	recA, _ := s.postBundle(t, bundle(t, "ra", "request", a, nil))
	recB, _ := s.postBundle(t, bundle(t, "rb", "request", b, nil))
	s.pin(t, b)
	for _, c := range []struct {
		seq             int64
		query           string
		stored, current air.Status
	}{
		{recA.Seq, "", air.Valid, air.Indeterminate}, {recB.Seq, "", air.Indeterminate, air.Valid},
		{recA.Seq, fmt.Sprintf("?policy=%d", first), air.Valid, air.Valid}, {recA.Seq, "?policy=none", air.Valid, air.Indeterminate},
		{recB.Seq, "?at=2026-09-04T11:59:59Z", air.Indeterminate, air.Invalid}, // before the exchange
	} {
		var v api.BundleVerificationBody
		got := s.as(t, kinds.Auditor, "GET", fmt.Sprintf("/v1/receipt-bundles/%d/verification%s", c.seq, c.query), "")
		got.into(t, &v)
		if !v.Reproduced || v.Stored.Verdict.Status != c.stored || v.Rerun.Verdict.Status != c.stored || v.Current.Verdict.Status != c.current {
			t.Errorf("%d%s: reproduced %v, stored %s, rerun %s, current %s", c.seq, c.query, v.Reproduced, v.Stored.Verdict.Status, v.Rerun.Verdict.Status, v.Current.Verdict.Status)
		}
		for _, of := range []air.Result{v.Stored.Verdict, v.Rerun.Verdict, v.Current.Verdict} {
			if len(of.Disclosures) == 0 {
				t.Error("a verdict without disclosures")
			}
		}
	}
	for query, status := range map[string]int{"?policy=x": 400, "?policy=999": 404, "?at=yesterday": 400, fmt.Sprintf("?policy=%d", recA.Seq): 404} {
		if got := s.as(t, kinds.Auditor, "GET", fmt.Sprintf("/v1/receipt-bundles/%d/verification%s", recA.Seq, query), ""); got.status != status {
			t.Errorf("%s: %d, want %d", query, got.status, status)
		}
	}
	if got := s.as(t, kinds.Auditor, "GET", fmt.Sprintf("/v1/receipt-bundles/%d", first), ""); got.status != 404 {
		t.Errorf("a policy read as a bundle: %d", got.status)
	}
}

func TestVerifyWithoutRecording(t *testing.T) {
	t.Parallel()
	s := newService(t)
	key := signingKey("k")
	s.pin(t, key)
	good := bundle(t, "r", "request", key, nil)
	for _, c := range []struct {
		name, body string
		status     air.Status
	}{{"valid", good, air.Valid}, {"invalid", strings.Replace(good, "openai/some-model", "google/some-model", 1), air.Invalid}, {"empty object", "{}", air.Invalid}} {
		got := s.as(t, kinds.Host, "POST", "/v1/verify/receipt-bundle", c.body)
		var v api.BundleVerdictBody
		got.into(t, &v)
		if got.status != http.StatusOK || v.Verdict.Status != c.status || len(v.Verdict.Disclosures) == 0 || (v.ReceiptDigest != nil) != (c.status == air.Valid) {
			t.Errorf("%s: %d %s", c.name, got.status, got.body)
		}
	}
	if got := s.as(t, kinds.Host, "POST", "/v1/verify/receipt-bundle", `{"a":1}x`); got.status != 400 || got.problem(t).Code != "trailing-data" {
		t.Errorf("not JSON: %d %s", got.status, got.body)
	}
	if n := s.Count(t, "ledger.receipts"); n != 0 {
		t.Errorf("verifying recorded %d bundles", n)
	}
}

// Did this request leave? By the SHA-256 of its body; and by everything else that a receipt says.
func TestSearchBundles(t *testing.T) {
	t.Parallel()
	s := newService(t)
	key := signingKey("k")
	s.pin(t, key)
	for i := range 5 {
		if _, got := s.postBundle(t, bundle(t, fmt.Sprintf("r%d", i), fmt.Sprintf("request %d", i), key, nil)); got.status != 201 {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	for query, want := range map[string]int{
		"request_digest=" + url.QueryEscape(digest("request 3")): 1, "request_digest=" + url.QueryEscape(digest("never sent")): 0,
		"response_digest=" + url.QueryEscape(digest("response")): 5, "receipt_id=r2": 1, "model=openai%2Fsome-model": 5, "class=undeclared": 5,
		"provider=openai": 5, "provider=google": 0, "status=valid": 5, "status=indeterminate": 0, "endpoint_host=api.openai.com": 5,
		"witness_mode=provider-signature": 5, "request_id=req%2F1": 5, "from=2026-09-04T12:00:00Z&to=2026-09-04T12:00:01Z": 5,
		"from=2026-09-04T14:00:00%2B02:00": 5, "to=2026-09-04T12:00:00Z": 0, "status=valid&receipt_id=r1": 1,
	} {
		var list api.BundleListBody
		s.as(t, kinds.Auditor, "GET", "/v1/receipt-bundles?"+query, "").into(t, &list)
		if len(list.Bundles) != want {
			t.Errorf("%s: %d bundles, want %d", query, len(list.Bundles), want)
		}
		for _, b := range list.Bundles {
			if len(b.Disclosures) == 0 {
				t.Errorf("%s: a bundle without disclosures", query)
			}
		}
	}
	pages, next := 0, ""
	seen := map[int64]bool{}
	for more := true; more; pages++ {
		var list api.BundleListBody
		s.as(t, kinds.Auditor, "GET", "/v1/receipt-bundles?status=valid&limit=2"+next, "").into(t, &list)
		for _, b := range list.Bundles {
			seen[b.Seq] = true
		}
		if more = list.NextCursor != nil; more {
			next = "&cursor=" + *list.NextCursor
		}
	}
	if len(seen) != 5 || pages != 3 {
		t.Errorf("%d bundles over %d pages", len(seen), pages)
	}
	if got := s.as(t, kinds.Auditor, "GET", "/v1/receipt-bundles?status=indeterminate"+next, ""); got.status != 400 || got.problem(t).Param != "cursor" {
		t.Errorf("a cursor of other filters: %d %s", got.status, got.body)
	}
	other := s.token(t, ledgertest.Tenant, kinds.Host, time.Now(), time.Hour)
	var list api.BundleListBody
	s.do(t, "GET", "/v1/receipt-bundles", other, "").into(t, &list)
	if len(list.Bundles) != 0 {
		t.Errorf("another host sees %d bundles", len(list.Bundles))
	}
}

// The stored content is what the API shows: the verdict, its policy and its time are inside what the leaf commits to.
func TestVerdictIsProven(t *testing.T) {
	t.Parallel()
	s := newService(t)
	key := signingKey("k")
	policySeq := s.pin(t, key)
	rec, _ := s.postBundle(t, bundle(t, "r", "request", key, nil))
	var e api.EntryBody
	s.as(t, kinds.Auditor, "GET", fmt.Sprintf("/v1/entries/%d", rec.Seq), "").into(t, &e)
	checkEntryBody(t, e, rec)
	var content struct {
		Context struct {
			RequestID string `json:"request_id"`
		} `json:"context"`
		Receiver kinds.BundleReceiver `json:"receiver"`
	}
	if err := json.Unmarshal(e.Content, &content); err != nil {
		t.Fatal(err)
	}
	if r := content.Receiver; r.Verdict.Status != air.Valid || r.PolicySeq == nil || *r.PolicySeq != policySeq || r.VerifiedAt == "" || content.Context.RequestID != "req/1" {
		t.Errorf("content %s", e.Content)
	}
}

// An erased bundle stays in listings as what its erasure left, and takes nothing else with it.
func TestSearchGoesOnAfterAnErasure(t *testing.T) {
	t.Parallel()
	s := newService(t)
	key := signingKey("k")
	s.pin(t, key)
	gone, _ := s.postBundle(t, bundle(t, "r1", "one", key, nil))
	kept, _ := s.postBundle(t, bundle(t, "r2", "two", key, nil))
	if got := s.as(t, kinds.Admin, "POST", "/v1/erasures", fmt.Sprintf(`{"reason":"asked","seqs":[%d]}`, gone.Seq)); got.status != 201 {
		t.Fatalf("erasing: %d %s", got.status, got.body)
	}
	var list api.BundleListBody
	got := s.as(t, kinds.Auditor, "GET", "/v1/receipt-bundles?model=openai/some-model", "")
	got.into(t, &list)
	if got.status != 200 || len(list.Bundles) != 2 || list.Bundles[0].ErasedBy == nil || list.Bundles[0].Verdict != nil || list.Bundles[1].Seq != kept.Seq || list.Bundles[1].Verdict == nil {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.as(t, kinds.Auditor, "GET", fmt.Sprintf("/v1/receipt-bundles/%d", gone.Seq), ""); got.status != 410 || *got.problem(t).Erasure == 0 {
		t.Errorf("reading it: %d %s", got.status, got.body)
	}
}

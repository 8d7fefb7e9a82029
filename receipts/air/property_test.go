package air

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"
)

// TestBuiltBundlesVerify draws any bundle that the exported helpers can build and sign: it is valid, and pins, order
// and white space are all that may change without changing that.
func TestBuiltBundlesVerify(t *testing.T) {
	policy := must(NewPolicy(pinEverything()))
	identifier := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._:/-]{0,40}`)
	rapid.Check(t, func(t *rapid.T) {
		b := fixture(rapid.SampledFrom(allModes()).Draw(t, "mode"), rapid.SampledFrom([]string{"openai", "anthropic", "google"}).Draw(t, "provider"))
		r := &b.Receipt
		r.ReceiptID = identifier.Draw(t, "id")
		r.ModelID = b.RetentionEvidence.Provider + "/" + identifier.Draw(t, "model")
		r.Endpoint += rapid.StringMatching(`(/[a-zA-Z0-9._~!$&'()*+,;=:@-]{0,10}|%[0-9A-Fa-f]{2}){0,3}`).Draw(t, "path")
		r.Timestamp = time.Unix(rapid.Int64Range(-62167219200, policy.latest()).Draw(t, "time"), 0).UTC().Format(time.RFC3339)
		signAgain(&b)
		src := must(b.JSON())
		v := Verify(src, policy)
		if receipt, ok := v.ProviderReceipt(); !ok || receipt.Claims().ReceiptDigest != must(r.Digest()) {
			t.Fatalf("%s: %s %v", src, v.Status, v.Errors)
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, src, "", "\t"); err != nil {
			t.Fatal(err)
		}
		if again := Verify(indented.Bytes(), policy); again.claims != v.claims {
			t.Fatalf("white space changes the verdict to %s %v", again.Status, again.Errors)
		}
		if without := Verify(src, nil); without.Status != Indeterminate {
			t.Fatalf("without a policy the verdict is %s", without.Status)
		}
	})
}

// signAgain replaces the primary proof of a fixture for its changed receipt.
func signAgain(b *Bundle) {
	switch b.Receipt.TrustStatement.WitnessMode {
	case ProviderSigns:
		b.Proofs.ProviderSignature = must(SignProvider(b.Receipt, providerKey))
	case TEE:
		b.Proofs.TEEQuote = must(SignAppraisal(b.Receipt, *b.Proofs.TEEQuote, appraiserKey))
	default:
		b.Proofs.NotaryQuorum = &NotaryQuorum{must(b.Receipt.Digest()), []NotarySignature{
			must(SignNotary(b.Receipt, "notary-a", notaryKeyA)), must(SignNotary(b.Receipt, "notary-b", notaryKeyB))}}
	}
}

// TestFailuresAdd breaks a bundle in two places at once: every rule that each breaks alone is reported for both.
func TestFailuresAdd(t *testing.T) {
	policy := must(NewPolicy(pinEverything()))
	breaks := map[Rule]edit{
		R003: put("/unexpected", 1), R010: put("/profile", "x"), R050: put(keysPath+"/0/operator", ""), R100: put(evidencePath+"/retrieved_on", ""),
		R101: put(evidencePath+"/source_url", ""), R102: put(evidencePath+"/declared_class", undeclared), R104: put(featuresPath, []any{"x"}),
		R071: put(providerPath+"/algorithm", "x"), R040: put("/proofs/unexpected", nil), R110: put("/proofs/ots", map[string]any{}),
	}
	for a, first := range breaks {
		for b, second := range breaks {
			tree := treeOf(fixture(ProviderSigns, "openai"))
			first(tree)
			second(tree)
			got := rulesOf(Verify(must(json.Marshal(tree)), policy).Errors)
			if !slices.Contains(got, a) || !slices.Contains(got, b) {
				t.Errorf("%s and %s broken, %v reported", a, b, got)
			}
		}
	}
}

// TestCanonicalTwice holds the encoder of hashed bytes equal to an independent implementation of RFC 8785.
func TestCanonicalTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := map[string]any{}
		for range rapid.IntRange(0, 5).Draw(t, "members") {
			value[rapid.String().Draw(t, "name")] = rapid.OneOf(
				rapid.Map(rapid.String(), func(s string) any { return s }),
				rapid.Map(rapid.Int64Range(-maxSafe, maxSafe), func(n int64) any { return n }),
				rapid.Map(rapid.SliceOf(rapid.String()), func(s []string) any { return s }),
			).Draw(t, "value")
		}
		sameCanonical(t, must(json.Marshal(value)))
	})
	for _, raw := range []string{`{"a":-0}`, `{"a":1.0,"b":1e0,"c":20e-1,"d":1E+2}`, `{"\u20ac":"\u000f\n</script>\u007f","\ud83d\ude00":"","\ufb33":1}`} {
		sameCanonical(t, []byte(raw))
	}
}

func sameCanonical(t interface{ Fatalf(string, ...any) }, raw []byte) {
	got, err := appendCanonical(nil, raw)
	want, err2 := jcs.Transform(raw)
	if err != nil || err2 != nil || !bytes.Equal(got, want) {
		t.Fatalf("%s: %s %v, want %s %v", raw, got, err, want, err2)
	}
}

// TestReceiptDigestTwice holds the receipt digests of the corpus equal to those over the second encoder's bytes.
func TestReceiptDigestTwice(t *testing.T) {
	for _, v := range committed(t).Valid {
		if v.Bundle == nil {
			continue
		}
		second, err := jcs.Transform(must(json.Marshal(v.Bundle["receipt"])))
		if err != nil {
			t.Fatal(err)
		}
		sum := appendHash([]byte(digestPrefix), append([]byte(receiptDomain), second...))
		if string(sum) != v.Digest {
			t.Errorf("%s: digest %s, second encoder %s", v.ID, v.Digest, sum)
		}
	}
}

package air

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/gowebpki/jcs"
)

// FuzzVerify holds for any bytes that Verify returns a whole verdict, the same one twice and whatever the caller does
// to the bytes later, and that what it finds valid has the receipt digest that the second RFC 8785 encoder gives.
func FuzzVerify(f *testing.F) {
	for i, v := range committed(f).all() {
		if b := v.bytes(); len(b) < 8192 && i%5 == 0 {
			f.Add(b, must(json.Marshal(v.Policy)))
		}
	}
	f.Fuzz(func(t *testing.T, bundle, policy []byte) {
		given := bytes.Clone(bundle)
		r := VerifyJSON(given, policy)
		checkResult(t, "fuzz", r)
		shown := must(json.Marshal(r))
		clear(given)
		if again := must(json.Marshal(VerifyJSON(bundle, policy))); !bytes.Equal(shown, again) {
			t.Fatalf("two verdicts: %s and %s", shown, again)
		}
		if r.Unreadable() != (len(r.Errors) == 1 && (r.Errors[0].Rule == R001 || r.Errors[0].Rule == R002)) && r.Errors[len(r.Errors)-1].Rule != R120 {
			t.Fatalf("unreadable beside other errors: %v", r.Errors)
		}
		if receipt, ok := r.ProviderReceipt(); ok {
			var b struct{ Receipt json.RawMessage }
			if err := json.Unmarshal(bundle, &b); err != nil {
				t.Fatalf("a valid bundle does not parse: %v", err)
			}
			second, err := jcs.Transform(b.Receipt)
			if err != nil || string(appendHash([]byte(digestPrefix), append([]byte(receiptDomain), second...))) != receipt.Claims().ReceiptDigest {
				t.Fatalf("second encoder differs: %v", err)
			}
		}
	})
}

// FuzzParsePolicy holds that an accepted policy reads back as itself and a refused one says where.
func FuzzParsePolicy(f *testing.F) {
	for _, s := range policySamples() {
		if v := s.vector(); v.Policy != nil {
			f.Add(must(json.Marshal(v.Policy)))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := ParsePolicy(src)
		if (p == nil) == (err == nil) {
			t.Fatalf("policy %v, error %v", p, err)
		}
		if err != nil {
			return
		}
		first := must(json.Marshal(p))
		if second := must(json.Marshal(must(ParsePolicy(first)))); !bytes.Equal(first, second) {
			t.Fatalf("%s reads back as %s", first, second)
		}
	})
}

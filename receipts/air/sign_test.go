package air

import (
	"errors"
	"testing"
)

// TestSignRefuses holds that nothing is signed which Verify would refuse, and that a short key is an error, not a panic.
func TestSignRefuses(t *testing.T) {
	quote := *fixture(TEE, "openai").Proofs.TEEQuote
	for name, change := range map[string]func(*Receipt){
		"digest":    func(r *Receipt) { r.RequestDigest = "sha256:\n" },
		"endpoint":  func(r *Receipt) { r.Endpoint += "?q" },
		"timestamp": func(r *Receipt) { r.Timestamp = "now" },
		"class":     func(r *Receipt) { r.RetentionClass = "other\nline" },
		"quorum":    func(r *Receipt) { r.TrustStatement.Quorum.K = 1 },
		"model":     func(r *Receipt) { r.TrustStatement.NotaryTrustModel = "" },
	} {
		r := fixture(ProviderSigns, "openai").Receipt
		change(&r)
		_, err := SignProvider(r, providerKey)
		_, err2 := SignNotary(r, "notary-a", notaryKeyA)
		_, err3 := SignAppraisal(r, quote, appraiserKey)
		_, err4 := r.Digest()
		for _, err := range []error{err, err2, err3, err4} {
			if !errors.Is(err, ErrUnsignable) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	r := fixture(MPCTLS, "openai").Receipt
	if _, err := SignNotary(r, "notary-a", notaryKeyB); !errors.Is(err, ErrUnsignable) {
		t.Errorf("another notary's key: %v", err)
	}
	if _, err := SignNotary(r, "notary-c", notaryKeyA); !errors.Is(err, ErrUnsignable) {
		t.Errorf("undeclared notary: %v", err)
	}
	if _, err := SignProvider(r, providerKey[:32]); !errors.Is(err, ErrUnsignable) {
		t.Errorf("short key: %v", err)
	}
	quote.QuoteFormat = "sgx"
	if _, err := SignAppraisal(r, quote, appraiserKey); !errors.Is(err, ErrUnsignable) {
		t.Errorf("quote format: %v", err)
	}
}

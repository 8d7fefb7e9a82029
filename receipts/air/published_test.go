package air

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// publishedCorpus is where the published vectors stand beside a checkout that has them.
const publishedCorpus = "../../../shared/conformance/air-v1/vectors.json"

// published is the form of the published corpus, which our own corpus keeps.
type published struct {
	Valid   []publishedVector `json:"valid_vectors"`
	Invalid []publishedVector `json:"invalid_vectors"`
}

type publishedVector struct {
	ID     string          `json:"id"`
	Digest string          `json:"expected_receipt_digest"`
	Rule   Rule            `json:"expected_rule"`
	Policy json.RawMessage `json:"verification_policy"`
	Bundle json.RawMessage `json:"bundle"`
}

// TestPublishedCorpus accepts every published valid vector with its digest, and rejects every invalid one for its rule.
// A checkout without the published file has nothing to add here: our own corpus covers every rule.
func TestPublishedCorpus(t *testing.T) {
	files, err := filepath.Glob(publishedCorpus)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var p published
		if err := json.Unmarshal(b, &p); err != nil {
			t.Fatal(err)
		}
		for _, v := range p.Valid {
			r := VerifyJSON(v.Bundle, v.Policy)
			receipt, ok := r.ProviderReceipt()
			if !r.OK || !ok || receipt.Claims().ReceiptDigest != v.Digest {
				t.Errorf("%s: %s %v, digest %s", v.ID, r.Status, r.Errors, receipt.Claims().ReceiptDigest)
			}
		}
		for _, v := range p.Invalid {
			r := VerifyJSON(v.Bundle, v.Policy)
			if r.Status != Invalid || r.OK || !slices.Contains(rulesOf(r.Errors), v.Rule) {
				t.Errorf("%s: want %s, got %s %v", v.ID, v.Rule, r.Status, r.Errors)
			}
		}
		if len(p.Valid) != 12 || len(p.Invalid) != 12 {
			t.Errorf("%s holds %d valid and %d invalid vectors, want 12 and 12 (seed §9)", file, len(p.Valid), len(p.Invalid))
		}
	}
}

func rulesOf(findings []Finding) (rules []Rule) {
	for _, f := range findings {
		rules = append(rules, f.Rule)
	}
	return rules
}

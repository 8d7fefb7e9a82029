package air

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/corpus.json from the generator")

const corpusFile = "testdata/corpus.json"

// sample is one line of the generator's tables: a fixture, what is changed in it, and the exact verdict.
type sample struct {
	id       string
	mode     WitnessMode // provider-signature when empty
	provider string      // openai when empty
	signed   []edit      // made before signing, so that every proof is good for the changed receipt
	edits    []edit      // made after signing
	policy   []edit      // made in the fixture policy
	absent   bool        // no policy at all
	raw      string      // these bytes instead of a bundle
	pad      int         // white space is added up to this many bytes
	rules    []Rule      // the errors, exactly
	missing  []Rule      // the indeterminate findings, exactly
	evidence *Evidence   // checked when set
}

// vector is one entry of the corpus. It keeps the form of the published corpus and adds what that can't say.
type vector struct {
	ID       string         `json:"id"`
	Digest   string         `json:"expected_receipt_digest,omitempty"`
	Rule     Rule           `json:"expected_rule,omitempty"`
	Rules    []Rule         `json:"expected_rules,omitempty"`
	Missing  []Rule         `json:"expected_indeterminate,omitempty"`
	Evidence *Evidence      `json:"expected_evidence,omitempty"`
	Policy   map[string]any `json:"verification_policy"` // null: absent
	Bundle   map[string]any `json:"bundle,omitempty"`
	Bytes    []byte         `json:"bundle_base64,omitempty"` // instead of bundle, for what no JSON object can be
	Pad      int            `json:"pad_to_bytes,omitempty"`
}

func (s sample) vector() vector {
	v := vector{ID: s.id, Rules: s.rules, Missing: s.missing, Evidence: s.evidence, Pad: s.pad}
	if !s.absent {
		v.Policy = treeOf(fixturePolicy())
		for _, e := range s.policy {
			e(v.Policy)
		}
	}
	if s.raw != "" {
		v.Bytes = []byte(s.raw)
	} else {
		v.Bundle = s.bundle()
	}
	if len(s.rules) > 0 {
		v.Rule = s.rules[0]
	} else if r, ok := v.verify().ProviderReceipt(); ok {
		v.Digest = r.Claims().ReceiptDigest
	}
	return v
}

func (s sample) bundle() map[string]any {
	mode, provider := s.mode, s.provider
	if mode == "" {
		mode = ProviderSigns
	}
	if provider == "" {
		provider = "openai"
	}
	tree := treeOf(fixture(mode, provider))
	for _, e := range s.signed {
		e(tree)
	}
	if len(s.signed) > 0 {
		resign(tree)
	}
	for _, e := range s.edits {
		e(tree)
	}
	return tree
}

// bytes are the submitted bytes of the vector.
func (v vector) bytes() []byte {
	b := v.Bytes
	if v.Bundle != nil {
		b = must(json.Marshal(v.Bundle))
	}
	return append(b, bytes.Repeat([]byte{' '}, max(0, v.Pad-len(b)))...)
}

func (v vector) verify() Result {
	policy, err := json.Marshal(v.Policy)
	if err != nil {
		panic(err)
	}
	return VerifyJSON(v.bytes(), policy)
}

// corpus is the committed file. Vectors stand one to a line, so that a change of one is a change of one line.
type corpus struct {
	Valid         []vector `json:"valid_vectors"`
	Invalid       []vector `json:"invalid_vectors"`
	Indeterminate []vector `json:"indeterminate_vectors"`
}

func (c corpus) all() []vector { return slices.Concat(c.Valid, c.Invalid, c.Indeterminate) }

func generate() (c corpus) {
	for _, s := range samples() {
		switch v := s.vector(); {
		case len(s.rules) > 0:
			c.Invalid = append(c.Invalid, v)
		case len(s.missing) > 0:
			c.Indeterminate = append(c.Indeterminate, v)
		default:
			c.Valid = append(c.Valid, v)
		}
	}
	return c
}

func (c corpus) encode() []byte {
	var b bytes.Buffer
	b.WriteString(`{
  "schema_version": "1.0.0",
  "profile": "` + ProfileV1 + `",
  "generated_from": {"generator": "receipts/air: go test -run TestCorpusIsCurrent -update"},
  "cryptography": {
    "canonicalization": "RFC 8785 JSON Canonicalization Scheme restricted to safe integers",
    "digest": "SHA-256",
    "signature": "Ed25519",
    "fixture_key_warning": "Public test keys only (RFC 8032 section 7.1); never use these keys in a deployment."
  }`)
	for _, list := range []struct {
		name    string
		vectors []vector
	}{{"valid_vectors", c.Valid}, {"invalid_vectors", c.Invalid}, {"indeterminate_vectors", c.Indeterminate}} {
		b.WriteString(",\n  \"" + list.name + "\": [")
		for i, v := range list.vectors {
			b.WriteString([]string{"\n    ", ",\n    "}[min(i, 1)])
			b.Write(must(json.Marshal(v)))
		}
		b.WriteString("\n  ]")
	}
	b.WriteString("\n}\n")
	return b.Bytes()
}

func committed(tb testing.TB) (c corpus) {
	tb.Helper()
	b, err := os.ReadFile(corpusFile)
	if err != nil {
		tb.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&c); err != nil {
		tb.Fatal(err)
	}
	return c
}

// TestCorpusIsCurrent holds the committed corpus equal to its generator.
func TestCorpusIsCurrent(t *testing.T) {
	want := generate().encode()
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(corpusFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(corpusFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from its generator; run this test with -update and review the change", corpusFile)
	}
}

// TestCorpus demands the exact verdict on every committed vector.
func TestCorpus(t *testing.T) {
	c := committed(t)
	ids := map[string]bool{}
	for _, v := range c.all() {
		if ids[v.ID] {
			t.Errorf("%s: id used twice", v.ID)
		}
		ids[v.ID] = true
		r := v.verify()
		if got := distinct(rulesOf(r.Errors)); !slices.Equal(got, v.Rules) {
			t.Errorf("%s: errors %v, want rules %v", v.ID, r.Errors, v.Rules)
		}
		if got := distinct(rulesOf(r.Indeterminate)); !slices.Equal(got, v.Missing) {
			t.Errorf("%s: indeterminate %v, want rules %v", v.ID, r.Indeterminate, v.Missing)
		}
		if v.Evidence != nil && r.Evidence != *v.Evidence {
			t.Errorf("%s: evidence %+v, want %+v", v.ID, r.Evidence, *v.Evidence)
		}
		receipt, _ := r.ProviderReceipt()
		if receipt.Claims().ReceiptDigest != v.Digest {
			t.Errorf("%s: digest %q, want %q", v.ID, receipt.Claims().ReceiptDigest, v.Digest)
		}
		checkResult(t, v.ID, r)
	}
	for _, v := range c.Valid {
		if !v.verify().OK {
			t.Errorf("%s is listed as valid", v.ID)
		}
	}
}

func distinct(rules []Rule) []Rule { return slices.Compact(slices.Clone(rules)) }

// checkResult holds what is true of every result.
func checkResult(tb testing.TB, id string, r Result) {
	tb.Helper()
	want := Valid
	switch {
	case len(r.Errors) > 0:
		want = Invalid
	case len(r.Indeterminate) > 0:
		want = Indeterminate
	}
	if r.Status != want || r.OK != (want == Valid) {
		tb.Errorf("%s: status %s, ok %v with errors %v, indeterminate %v", id, r.Status, r.OK, r.Errors, r.Indeterminate)
	}
	if r.Errors == nil || r.Indeterminate == nil {
		tb.Errorf("%s: a list is missing from the result", id)
	}
	for _, d := range alwaysDisclosed() {
		if !slices.Contains(r.Disclosures, d) {
			tb.Errorf("%s: does not disclose %s", id, d.Code)
		}
	}
	for _, list := range [][]Finding{r.Errors, r.Indeterminate} {
		for _, f := range list {
			if f.Message == "" || f.Message != f.Rule.Message() {
				tb.Errorf("%s: message of %v is not the rule's", id, f)
			}
		}
		if !slices.IsSortedFunc(list, func(a, b Finding) int { return strings.Compare(string(a.Rule), string(b.Rule)) }) {
			tb.Errorf("%s: findings are not in rule order: %v", id, list)
		}
	}
	_, verified := r.ProviderReceipt()
	_, unverified := r.UnverifiedReceipt()
	if verified != (r.Status == Valid) || unverified != (r.Status == Indeterminate) {
		tb.Errorf("%s: %s result hands on verified %v, unverified %v", id, r.Status, verified, unverified)
	}
	if r.Evidence.ProductReceipt && (r.Evidence.ClassOut != ZKTLSBound || r.Status != Valid) {
		tb.Errorf("%s: product receipt without a valid zktls-bound class: %+v", id, r.Evidence)
	}
}

package audit

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/internal/strictjson"
	"ledgerd/receipts/air"
)

// AIRVectors is the name of the AI Interaction Receipt corpus in its folder.
const AIRVectors = "vectors.json"

// airVector is one vector. The published form has a digest for a valid one and a rule for an invalid one. Our own corpus
// says more, and then all of it must come out: every broken rule, every missing trust, the evidence decision, a bundle
// whose very bytes matter (base64, or white space added up to a length).
type airVector struct {
	id, digest, rule string
	rules, missing   []string // exact, in rule order; nil when nothing is said of them
	evidence         jsontext.Value
	policy, bundle   []byte
}

// RunAIRCases judges every vector of a published AI Interaction Receipt corpus: fsys holds vectors.json. A valid vector
// must be valid under its own policy and have its expected_receipt_digest; an invalid one must be rejected, naming its
// expected_rule among the rules that it breaks. The error is about the corpus as a whole.
func RunAIRCases(fsys fs.FS) ([]CaseResult, error) {
	src, err := fs.ReadFile(fsys, AIRVectors)
	if err != nil {
		return nil, fmt.Errorf("reading the receipt vectors: %w", err)
	}
	vectors, err := strictjson.Parse(src, strictjson.Open, decodeVectors)
	if err != nil {
		return nil, fmt.Errorf("reading the receipt vectors: %w", err)
	}
	if len(vectors) == 0 {
		return nil, errors.New("reading the receipt vectors: there are none, so a run would prove nothing")
	}
	results := make([]CaseResult, len(vectors))
	for i, v := range vectors {
		results[i] = v.run()
	}
	return results, nil
}

func decodeVectors(d *strictjson.Decoder) (vectors []airVector) {
	list := func(expected string, field func(v *airVector) *string) func() {
		return func() {
			d.Array(func(int) {
				v, said := decodeVector(d, expected, field)
				if said || d.Failed() {
					vectors = append(vectors, v)
					return
				}
				d.Fail(strictjson.RuleMissing, "a vector says what is expected, and has a bundle")
			})
		}
	}
	d.Object(
		strictjson.Req("valid_vectors", list("expected_receipt_digest", func(v *airVector) *string { return &v.digest })),
		strictjson.Req("invalid_vectors", list("expected_rule", func(v *airVector) *string { return &v.rule })),
		strictjson.Opt("indeterminate_vectors", list("", nil)),
	)
	return vectors
}

// decodeVector reads one vector; said is false when it lacks its expectation or its bundle.
func decodeVector(d *strictjson.Decoder, expected string, field func(*airVector) *string) (v airVector, said bool) {
	pad := 0
	members := []strictjson.Member{
		strictjson.Req("id", func() { v.id = d.String() }),
		strictjson.Opt("expected_rules", func() { v.rules = decodeStrings(d) }),
		strictjson.Opt("expected_indeterminate", func() { v.missing = decodeStrings(d) }),
		strictjson.Opt("expected_evidence", func() { v.evidence = d.Raw(d.Skip) }),
		strictjson.Req("verification_policy", func() { v.policy = d.Raw(d.Skip) }),
		strictjson.Opt("bundle", func() { v.bundle = d.Raw(d.Skip) }),
		strictjson.Opt("bundle_base64", func() { v.bundle = decodeBase64(d) }),
		strictjson.Opt("pad_to_bytes", func() { pad = int(d.Uint32()) }),
	}
	if field != nil {
		members = append(members, strictjson.Req(expected, func() { *field(&v) = d.String() }))
	}
	d.Object(members...)
	said = v.bundle != nil && (field != nil || v.missing != nil)
	if missing := pad - len(v.bundle); missing > 0 && pad <= 2*air.MaxBundleBytes {
		v.bundle = append(bytes.Clone(v.bundle), bytes.Repeat([]byte{' '}, missing)...)
	}
	return v, said
}

func decodeStrings(d *strictjson.Decoder) []string {
	list := []string{}
	d.Array(func(int) { list = append(list, d.String()) })
	return list
}

func decodeBase64(d *strictjson.Decoder) []byte {
	raw, err := base64.StdEncoding.DecodeString(d.String())
	if err != nil {
		d.Fail(strictjson.RuleValue, "standard base64 is required")
	}
	return raw
}

func (v airVector) run() CaseResult {
	got := air.VerifyJSON(v.bundle, v.policy)
	r := CaseResult{Name: v.id, Kind: "receipt-bundle", Got: string(got.Status), Detail: brokenRules(got)}
	switch {
	case v.rule != "":
		r.Want = string(air.Invalid) + " by " + v.rule
		r.Pass = got.Status == air.Invalid && slices.Contains(rulesOf(got.Errors), v.rule)
	case v.digest != "":
		r.Want = string(air.Valid) + " " + v.digest
		if receipt, ok := got.ProviderReceipt(); ok {
			r.Got += " " + receipt.Claims().ReceiptDigest
			r.Pass = receipt.Claims().ReceiptDigest == v.digest
		}
	default:
		r.Want = string(air.Indeterminate)
		r.Pass = got.Status == air.Indeterminate
	}
	for _, missed := range v.missed(got) {
		r.Pass = false
		r.Want += ", " + missed
	}
	return r
}

// missed lists what else the vector expects and did not get.
func (v airVector) missed(got air.Result) (list []string) {
	if rules := rulesOf(got.Errors); v.rules != nil && !slices.Equal(rules, v.rules) {
		list = append(list, "broken exactly: "+strings.Join(v.rules, " "))
	}
	if missing := rulesOf(got.Indeterminate); v.missing != nil && !slices.Equal(missing, v.missing) {
		list = append(list, "missing exactly: "+strings.Join(v.missing, " "))
	}
	if v.evidence != nil && !sameEvidence(v.evidence, got.Evidence) {
		list = append(list, "evidence "+string(v.evidence))
	}
	return list
}

func sameEvidence(want jsontext.Value, got air.Evidence) bool {
	var e air.Evidence
	return json.Unmarshal(want, &e) == nil && e == got
}

// rulesOf lists the rules behind findings, each once, in order.
func rulesOf(findings []air.Finding) []string {
	rules := []string{}
	for _, f := range findings {
		if rule := string(f.Rule); len(rules) == 0 || rules[len(rules)-1] != rule {
			rules = append(rules, rule)
		}
	}
	return rules
}

func brokenRules(r air.Result) string {
	var b strings.Builder
	for i, f := range r.Errors {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(string(f.Rule) + " at " + f.Path)
	}
	return b.String()
}

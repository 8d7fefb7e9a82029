package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/internal/strictjson"
	"ledgerd/receipts/air"
)

// AIRVectors is the name of the AI Interaction Receipt corpus in its folder.
const AIRVectors = "vectors.json"

// airVector is one published vector. A valid one has a digest, an invalid one a rule.
type airVector struct {
	id, digest, rule string
	policy, bundle   jsontext.Value
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
	list := func(decode func(v *airVector) strictjson.Member) func() {
		return func() {
			d.Array(func(int) {
				var v airVector
				d.Object(
					strictjson.Req("id", func() { v.id = d.String() }),
					decode(&v),
					strictjson.Req("verification_policy", func() { v.policy = d.Raw(d.Skip) }),
					strictjson.Req("bundle", func() { v.bundle = d.Raw(d.Skip) }),
				)
				vectors = append(vectors, v)
			})
		}
	}
	d.Object(
		strictjson.Req("valid_vectors", list(func(v *airVector) strictjson.Member {
			return strictjson.Req("expected_receipt_digest", func() { v.digest = d.String() })
		})),
		strictjson.Req("invalid_vectors", list(func(v *airVector) strictjson.Member {
			return strictjson.Req("expected_rule", func() { v.rule = d.String() })
		})),
	)
	return vectors
}

func (v airVector) run() CaseResult {
	got := air.VerifyJSON(v.bundle, v.policy)
	r := CaseResult{Name: v.id, Kind: "receipt-bundle", Got: string(got.Status), Detail: brokenRules(got)}
	if v.rule != "" {
		r.Want = string(air.Invalid) + " by " + v.rule
		breaks := func(f air.Finding) bool { return string(f.Rule) == v.rule }
		r.Pass = got.Status == air.Invalid && slices.ContainsFunc(got.Errors, breaks)
		return r
	}
	r.Want = string(air.Valid) + " " + v.digest
	if receipt, ok := got.ProviderReceipt(); ok {
		digest := receipt.Claims().ReceiptDigest
		r.Got += " " + digest
		r.Pass = digest == v.digest
	}
	return r
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

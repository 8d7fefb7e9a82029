package air

import (
	"slices"
	"strings"
	"testing"
)

// TestCorpusCoversRules lists the rules that no vector expects.
func TestCorpusCoversRules(t *testing.T) {
	seen := map[Rule]bool{}
	for _, v := range committed(t).all() {
		for _, r := range slices.Concat(v.Rules, v.Missing) {
			seen[r] = true
		}
		if v.Evidence != nil {
			seen[v.Evidence.Code] = true
		}
	}
	for _, r := range append(Rules(), CodeValid, CodeIssuerOperated, CodeIssuerUnknown) {
		if !seen[r] {
			t.Errorf("no vector for %s", r)
		}
	}
}

// TestCorpusCoversVocabularies lists the rows of the closed vocabularies that no valid vector has, the witness modes
// that no valid vector combines with a provider, and the contradictions that no vector shows.
func TestCorpusCoversVocabularies(t *testing.T) {
	c := committed(t)
	valid, contradicted := map[string]bool{}, map[string]bool{}
	for _, v := range c.Valid {
		if v.Bundle == nil {
			continue
		}
		collect(v.Bundle, valid)
		valid[get(v.Bundle, trustPath+"/witness_mode").(string)+" "+get(v.Bundle, evidencePath+"/provider").(string)] = true
	}
	for _, v := range c.Invalid {
		if v.Rule == R105 {
			collect(v.Bundle, contradicted)
		}
	}
	var want []string
	for _, p := range providers {
		want = append(want, slices.Concat([]string{undeclared}, p.classes, p.features)...)
		for _, f := range p.features {
			if !contradicted[f] || !contradicted[p.zeroData] {
				t.Errorf("no R105 vector for %s with %s", p.zeroData, f)
			}
		}
		for _, m := range allModes() {
			want = append(want, string(m)+" "+p.name)
		}
	}
	want = append(want, strings.Fields(`aws-nitro sev-snp tdx-v4 provider notary tee-verifier log-operator counterparty threshold
		tee none issuer-operated cloudflare google-fe response-derived-from digest-only`)...)
	for _, w := range append(want, ProfileV1, ProfileV11) {
		if !valid[w] {
			t.Errorf("no valid vector for %s", w)
		}
	}
}

// collect gathers the strings of a JSON tree.
func collect(tree any, into map[string]bool) {
	switch tree := tree.(type) {
	case string:
		into[tree] = true
	case []any:
		for _, v := range tree {
			collect(v, into)
		}
	case map[string]any:
		for _, v := range tree {
			collect(v, into)
		}
	}
}

package air

import (
	"slices"
	"strings"
	"testing"
)

// TestDisclosures checks which statements stand in which result (seed §7).
func TestDisclosures(t *testing.T) {
	all := committed(t).all()
	codes := func(id string) (list []string) {
		for _, v := range all {
			if v.ID == id {
				for _, d := range v.verify().Disclosures {
					list = append(list, d.Code)
				}
			}
		}
		return list
	}
	slots := "ots key-transparency lineage disclosure-stance multi-operator-inclusion"
	null := strings.ReplaceAll(slots+" ", " ", "-not-supplied ")
	filled := strings.ReplaceAll(slots+" ", " ", "-not-checked ")
	always := "validity-scope included-keys-are-not-trust-anchors primary-proof-only absence-is-never-favourable " +
		"provider-receipt-is-not-a-session-record features-are-client-supplied unsigned-members replay-not-checked "
	for id, want := range map[string]string{
		"unreadable-cut":           always,
		"bytes-262145":             always,
		"valid-party-provider":     always + "no-notary-trust-model retention-is-a-declaration " + null,
		"valid-auxiliary":          always + "no-notary-trust-model retention-is-a-declaration " + filled,
		"valid-mpc-tls-openai":     always + "issuer-operator-unknown quorum-is-a-count retention-is-a-declaration " + null,
		"v11-other-case":           always + "quorum-is-a-count retention-is-a-declaration " + null,
		"v11-declared":             always + "issuer-operated-notary quorum-is-a-count retention-is-a-declaration " + null,
		"valid-tee-quote-google":   always + "tee-appraisal-is-not-raw-quote-verification retention-undeclared " + null,
		"pins-provider":            always + "trust-not-established no-notary-trust-model retention-is-a-declaration " + null,
		"top-level-without-proofs": always + "no-notary-trust-model retention-is-a-declaration " + null,
	} {
		if got := codes(id); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s discloses\n%v, want\n%v", id, got, strings.Fields(want))
		}
	}
}

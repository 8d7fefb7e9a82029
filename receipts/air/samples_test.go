package air

import "strings"

// samples is the generator's whole table, in the order of the corpus.
func samples() (list []sample) {
	for _, part := range [][]sample{
		vocabularySamples(), boundarySamples(), versionSamples(),
		documentSamples(), receiptSamples(), trustSamples(), proofSamples(), keySamples(),
		providerSamples(), notarySamples(), teeSamples(), retentionSamples(), auxiliarySamples(), policySamples(),
	} {
		list = append(list, part...)
	}
	return list
}

func allModes() []WitnessMode { return []WitnessMode{MPCTLS, ProxyTLS, TEE, ProviderSigns} }

const (
	trustModel   = trustPath + "/notary_trust_model"
	featuresPath = evidencePath + "/service_features"
)

// vocabularySamples has a valid bundle for every witness mode with every provider, and for every row of the closed
// vocabularies, and an invalid one for every contradiction.
func vocabularySamples() (list []sample) {
	for _, mode := range allModes() {
		for _, p := range providers {
			list = append(list, sample{id: "valid-" + string(mode) + "-" + p.name, mode: mode, provider: p.name})
		}
	}
	for _, p := range providers {
		for _, class := range append([]string{undeclared}, p.classes...) {
			list = append(list, sample{id: "valid-class-" + p.name + "-" + class, provider: p.name, signed: declaring(class)})
		}
		for _, f := range p.features {
			list = append(list, sample{id: "valid-feature-" + f, provider: p.name, edits: []edit{put(featuresPath, []any{f})}},
				sample{id: "contradiction-" + f, provider: p.name,
					signed: append(declaring(p.zeroData), put(featuresPath, []any{f})), rules: []Rule{R105}})
		}
	}
	for _, format := range []string{"aws-nitro", "sev-snp", "tdx-v4"} {
		list = append(list, sample{id: "valid-quote-" + format, mode: TEE, signed: []edit{put(teePath+"/quote_format", format)}})
	}
	for _, party := range []string{"cloudflare", "provider", "google-fe"} {
		list = append(list, sample{id: "valid-party-" + party, signed: []edit{put(trustPath+"/terminating_party", party)}})
	}
	for _, model := range []TrustModel{ModelCounterparty, ModelThreshold} {
		list = append(list, sample{id: "valid-model-" + string(model), mode: MPCTLS, signed: []edit{put(trustModel, string(model))}})
	}
	for _, role := range []Role{RoleProvider, RoleNotary, RoleTEEVerifier, RoleLogOperator} {
		list = append(list, sample{id: "valid-unused-key-" + string(role), mode: TEE,
			edits: []edit{push(keysPath, keyEntry(notaryKeyB, role))}})
	}
	return list
}

// declaring sets a retention class in the receipt and in its evidence.
func declaring(class string) []edit {
	return []edit{put(classPath, class), put(evidencePath+"/declared_class", class)}
}

// boundarySamples stand on a bound; where they are invalid, one step over it.
func boundarySamples() []sample {
	long := func(n int) string {
		return "https://api.openai.com/" + strings.Repeat("p", n-len("https://api.openai.com/"))
	}
	late := func(at, verified string, skew int) sample {
		return sample{signed: []edit{put("/receipt/timestamp", at)},
			policy: []edit{put("/verified_at", verified), put("/max_future_skew_seconds", skew)}}
	}
	list := []sample{
		{id: "valid-bytes-262144", pad: 262144},
		{id: "bytes-262145", pad: 262145, rules: []Rule{R002}},
		{id: "valid-endpoint-2048", signed: []edit{put("/receipt/endpoint", long(2048))}},
		{id: "endpoint-2049", signed: []edit{put("/receipt/endpoint", long(2049))}, rules: []Rule{R022}},
		{id: "valid-identifier-256", signed: []edit{put("/receipt/receipt_id", strings.Repeat("i", 256))}},
		{id: "identifier-257", signed: []edit{put("/receipt/receipt_id", strings.Repeat("i", 257))}, rules: []Rule{R023}},
		{id: "valid-quorum-1-of-2", mode: MPCTLS, signed: []edit{put(trustPath+"/quorum/k", 1)}, edits: []edit{firstSignatureOnly}},
		{id: "valid-timestamp-leap-day", signed: []edit{put("/receipt/timestamp", "2024-02-29T23:59:59Z")}},
		{id: "valid-integer-spellings", mode: ProxyTLS, signed: []edit{put(trustPath+"/quorum/k", literal("2.0")), put(trustPath+"/quorum/n", literal("20e-1"))}},
		{id: "valid-host-case", signed: []edit{put("/receipt/endpoint", "https://API.OpenAI.com/v1")}},
		{id: "valid-keys-32", edits: []edit{push(keysPath, manyKeys(31)...)}},
		{id: "keys-33", edits: []edit{push(keysPath, manyKeys(32)...)}, rules: []Rule{R050}},
		{id: "valid-notaries-16", mode: MPCTLS, signed: manyNotaries(16)},
		{id: "notaries-17", mode: MPCTLS, signed: manyNotaries(17), rules: []Rule{R030}},
		{id: "signatures-17", mode: MPCTLS, edits: []edit{push(signaturesPath, manyObjects(15)...)}, rules: []Rule{R082}},
		{id: "valid-entries-16", edits: []edit{auxiliary, put(entriesPath, manyEntries(16))}},
		{id: "entries-17", edits: []edit{auxiliary, put(entriesPath, manyEntries(17))}, rules: []Rule{R111}},
		{id: "features-17", edits: []edit{put(featuresPath, manyObjects(17))}, rules: []Rule{R104}},
		{id: "components-7", edits: []edit{push(providerPath+"/covered_components", componentReceipt)}, rules: []Rule{R071}},
	}
	for _, w := range []struct {
		id, at, verified string
		skew             int
		rules            []Rule
	}{
		{"valid-skew-0", "2026-09-04T12:05:00Z", "2026-09-04T12:05:00Z", 0, nil},
		{"skew-0-exceeded", "2026-09-04T12:05:01Z", "2026-09-04T12:05:00Z", 0, []Rule{R024}},
		{"valid-skew-60", "2026-09-04T12:06:00Z", "2026-09-04T12:05:00Z", 60, nil},
		{"skew-60-exceeded", "2026-09-04T12:06:01Z", "2026-09-04T12:05:00Z", 60, []Rule{R024}},
		{"valid-skew-86400", "2026-09-05T12:05:00Z", "2026-09-04T12:05:00Z", 86400, nil},
		{"skew-86400-exceeded", "2026-09-05T12:05:01Z", "2026-09-04T12:05:00Z", 86400, []Rule{R024}},
	} {
		s := late(w.at, w.verified, w.skew)
		s.id, s.rules = w.id, w.rules
		list = append(list, s)
	}
	return list
}

// versionSamples are the rows of the profile v1.1 table, and what a v1 bundle makes of them.
func versionSamples() []sample {
	v11 := put("/profile", ProfileV11)
	operators := func(name string) []edit {
		return []edit{put(trustModel, "counterparty"), put(trustPath+"/notaries/0/operator", name), put(trustPath+"/notaries/1/operator", name)}
	}
	issuer := []edit{put("/issuer_operator", "syngraphe")}
	capped := &Evidence{Valid, CodeIssuerOperated, ZKTLSBound, GatewaySigned, false}
	kept := &Evidence{Valid, CodeValid, ZKTLSBound, ZKTLSBound, true}
	unknown := &Evidence{Indeterminate, CodeIssuerUnknown, ZKTLSBound, "", false}
	gateway := &Evidence{Valid, CodeValid, GatewaySigned, GatewaySigned, false}
	declared := append(operators("other-operator"), put(trustModel, "issuer-operated"), v11)
	var list []sample
	for _, s := range []sample{
		{id: "exact-match", signed: operators("syngraphe"), policy: issuer, evidence: capped},
		{id: "other-case", signed: operators("Syngraphe"), policy: issuer, evidence: kept},
		{id: "no-policy-value", signed: operators("other-operator"), evidence: unknown, missing: []Rule{CodeIssuerUnknown}},
	} {
		s.mode = MPCTLS
		v1 := s
		v1.id, v1.missing = "v1-"+s.id, nil // the v1 verdict stays what it was; the class does not
		s.id, s.signed = "v11-"+s.id, append([]edit{v11}, s.signed...)
		list = append(list, s, v1)
	}
	one := []edit{put(trustModel, "counterparty"), put(trustPath+"/notaries/1/operator", "syngraphe"), v11}
	return append(list,
		sample{id: "v11-one-of-two-operators", mode: ProxyTLS, signed: one, policy: issuer, evidence: capped},
		sample{id: "v11-declared", mode: MPCTLS, signed: declared, policy: issuer, evidence: capped},
		sample{id: "v11-declared-no-policy-value", mode: ProxyTLS, signed: declared, evidence: capped},
		sample{id: "v1-receipt-under-v11", evidence: gateway},
		sample{id: "v11-provider-signature", signed: []edit{v11}, evidence: gateway},
		sample{id: "v11-tee-quote", mode: TEE, signed: []edit{v11}, evidence: gateway},
		sample{id: "v1-issuer-operated", mode: MPCTLS, signed: declared[:len(declared)-1], rules: []Rule{R030},
			evidence: &Evidence{Verdict: Invalid, ClassIn: ZKTLSBound}},
		sample{id: "v11-issuer-operated-without-notaries", signed: []edit{v11, put(trustModel, "issuer-operated")}, rules: []Rule{R031}},
		sample{id: "v11-pins-missing", mode: MPCTLS, signed: []edit{v11}, policy: append(issuer, put("/trusted_key_refs", []any{})),
			missing: []Rule{R053}, evidence: &Evidence{Verdict: Indeterminate, ClassIn: ZKTLSBound}},
		sample{id: "v11-pins-and-policy-value-missing", mode: MPCTLS, signed: []edit{v11}, policy: []edit{put("/trusted_key_refs", []any{})},
			missing: []Rule{R053, CodeIssuerUnknown}, evidence: unknown},
	)
}

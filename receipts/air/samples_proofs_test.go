package air

import "slices"

// providerSamples break R071, and R053 of a provider.
func providerSamples() []sample {
	covered := func(list ...any) edit { return put(providerPath+"/covered_components", list) }
	c := components()
	bad := sample{id: "provider", rules: []Rule{R071}}
	made := func(id, member string, values ...any) []sample {
		s := bad
		s.id = id
		return eachEdit(s, providerPath+member, values...)
	}
	return slices.Concat([]sample{
		{id: "provider-corrupt", edits: []edit{corrupt(providerPath + "/signature")}, rules: bad.rules},
		{id: "provider-spare-bit", edits: []edit{spare(providerPath + "/signature")}, rules: bad.rules},
		{id: "provider-unknown-member", edits: []edit{put(providerPath+"/unexpected", 1)}, rules: bad.rules},
		{id: "provider-components-order", edits: []edit{covered(c[1], c[0], c[2], c[3], c[4], c[5])}, rules: bad.rules},
		{id: "provider-components-fewer", edits: []edit{covered(c[0], c[1], c[2], c[3], c[4])}, rules: bad.rules},
		{id: "provider-components-text", edits: []edit{put(providerPath+"/covered_components", c[0])}, rules: bad.rules},
		{id: "valid-created-exponent", edits: []edit{put(providerPath+"/created", literal("1.7885232e9"))}},
		{id: "pins-provider", policy: []edit{put("/trusted_key_refs", []any{refFor(notaryKeyA)})}, missing: []Rule{R053}},
		{id: "pins-missing-and-error", policy: []edit{put("/trusted_key_refs", []any{})}, edits: []edit{put("/unexpected", 1)},
			rules: []Rule{R003}, missing: []Rule{R053}},
		{id: "pins-in-bundle-do-not-count", policy: []edit{put("/trusted_key_refs", []any{})}, missing: []Rule{R053}},
	},
		made("provider-algorithm", "/algorithm", "ed448", "Ed25519", nil),
		made("provider-created", "/created", 1788523201, "1788523200", literal("1788523200.5"), nil),
		made("provider-key-reference", "/key_ref", "ed25519", 1),
		made("provider-receipt-digest", "/receipt_digest", "sha256:", 1),
		made("provider-signature", "/signature", "", "AAAA", 1),
	)
}

// notarySamples break R081 and R082, and R053 of a quorum.
func notarySamples() []sample {
	const first = signaturesPath + "/0"
	bad := []Rule{R081, R082}
	firstTwice := func(tree map[string]any) {
		list := get(tree, signaturesPath).([]any)
		put(signaturesPath, []any{list[0], list[0]})(tree)
	}
	sameKey := []edit{put(trustPath+"/notaries/1/key_ref", refFor(notaryKeyA)), put(signaturesPath+"/1/key_ref", refFor(notaryKeyA))}
	pins := func(refs ...any) []edit { return []edit{put("/trusted_key_refs", refs)} }
	n := func(id string, rules []Rule, edits ...edit) sample {
		return sample{id: "notary-" + id, mode: MPCTLS, edits: edits, rules: rules}
	}
	return []sample{
		n("none", []Rule{R081}, put(signaturesPath, []any{})),
		n("counted-once", []Rule{R081}, firstTwice),
		n("corrupt", bad, corrupt(first+"/signature")),
		n("spare-bit", bad, spare(first+"/signature")),
		n("undeclared", bad, put(first+"/notary_id", "notary-c")),
		n("id-number", bad, put(first+"/notary_id", 1)),
		n("of-another", bad, put(first+"/notary_id", "notary-b")),
		n("key-of-another", bad, put(first+"/key_ref", refFor(notaryKeyB))),
		n("key-malformed", bad, put(first+"/key_ref", "x")),
		n("algorithm", bad, put(first+"/algorithm", "none")),
		n("unknown-member", bad, put(first+"/unexpected", 1)),
		n("text", bad, put(first, "text")),
		n("signatures-null", []Rule{R082}, put(signaturesPath, nil)),
		n("digest-malformed", []Rule{R082}, put(quorumPath+"/receipt_digest", "x")),
		{id: "notary-extra-corrupt", mode: ProxyTLS, signed: []edit{put(trustPath+"/quorum/k", 1)},
			edits: []edit{corrupt(first + "/signature")}, rules: []Rule{R082}},
		{id: "valid-notary-repeated", mode: ProxyTLS, signed: []edit{put(trustPath+"/quorum/k", 1)}, edits: []edit{firstTwice}},
		{id: "pins-none-of-quorum", mode: MPCTLS, policy: pins(refFor(providerKey)), missing: []Rule{R053}},
		{id: "pins-one-of-two", mode: ProxyTLS, policy: pins(refFor(notaryKeyA)), missing: []Rule{R053}},
		{id: "valid-pins-k-of-n", mode: ProxyTLS, signed: []edit{put(trustPath+"/quorum/k", 1)}, policy: pins(refFor(notaryKeyB))},
		{id: "pins-one-key-two-names", mode: MPCTLS, signed: sameKey, missing: []Rule{R053}},
	}
}

// teeSamples break R091, and R053 of an appraiser.
func teeSamples() []sample {
	made := func(id, pointer string, values ...any) []sample {
		return eachEdit(sample{id: "tee-" + id, mode: TEE, rules: []Rule{R091}}, pointer, values...)
	}
	return slices.Concat([]sample{
		{id: "tee-corrupt", mode: TEE, edits: []edit{corrupt(appraisalPath + "/signature")}, rules: []Rule{R091}},
		{id: "tee-spare-bit", mode: TEE, edits: []edit{spare(appraisalPath + "/signature")}, rules: []Rule{R091}},
		{id: "tee-unknown-member", mode: TEE, edits: []edit{put(teePath+"/quote", "x")}, rules: []Rule{R091}},
		{id: "tee-appraisal-unknown-member", mode: TEE, edits: []edit{put(appraisalPath+"/unexpected", "x")}, rules: []Rule{R091}},
		{id: "pins-appraiser", mode: TEE, policy: []edit{put("/trusted_key_refs", []any{})}, missing: []Rule{R053}},
	},
		made("format", teePath+"/quote_format", "sgx", "TDX-V4", 1),
		made("quote-digest", teePath+"/quote_digest", "x", digestOf("another quote")),
		made("quote-receipt-digest", teePath+"/receipt_digest", "x"),
		made("appraisal", appraisalPath, nil, "text"),
		made("verifier", appraisalPath+"/verifier_id", "", "another"),
		made("key", appraisalPath+"/key_ref", "x"),
		made("time", appraisalPath+"/appraised_at", "2026-09-04", "2026-09-04T12:00:01Z"),
		made("result", appraisalPath+"/result", "fail", true),
		made("signature", appraisalPath+"/signature", "x"),
	)
}

// retentionSamples break R100 to R106 apart from the contradictions.
func retentionSamples() []sample {
	made := func(id, member string, rules []Rule, values ...any) []sample {
		return eachEdit(sample{id: "retention-" + id, rules: rules}, evidencePath+member, values...)
	}
	r100, r104 := []Rule{R100}, []Rule{R104}
	return slices.Concat([]sample{
		{id: "retention-unknown-member", edits: []edit{put(evidencePath+"/unexpected", 1)}, rules: r100},
		{id: "retention-missing", edits: []edit{drop(evidencePath + "/retrieved_on")}, rules: r100},
		{id: "retention-null", edits: []edit{put(evidencePath, nil)}, rules: r100},
		{id: "class-unknown", signed: declaring("openai-other"), rules: []Rule{R102}},
		{id: "class-of-another-provider", signed: declaring("anthropic-zero-data-retention"), rules: []Rule{R102}},
		{id: "class-not-the-receipts", edits: []edit{put(evidencePath+"/declared_class", undeclared)}, rules: []Rule{R102}},
		{id: "class-number", signed: []edit{put(classPath, 1)}, rules: []Rule{R102}},
		{id: "host-of-another-provider", signed: []edit{put("/receipt/endpoint", "https://api.anthropic.com/v1")}, rules: []Rule{R103}},
		{id: "host-suffix", signed: []edit{put("/receipt/endpoint", "https://api.openai.com.example/v1")}, rules: []Rule{R103}},
		{id: "model-of-another-provider", signed: []edit{put("/receipt/model_id", "google/fixture-model")}, rules: []Rule{R106}},
		{id: "model-without-provider", signed: []edit{put("/receipt/model_id", "openai")}, rules: []Rule{R106}},
	},
		made("provider", "/provider", []Rule{R100, R101}, "other", "OpenAI", "__proto__", 1),
		made("provider-of-another", "/provider", []Rule{R101, R102, R103, R106}, "google"),
		made("source", "/source_url", []Rule{R101}, "https://example.test/", lookupProvider("google").source, 1),
		made("retrieved", "/retrieved_on", r100, "2026-02-30", "2026-9-04", "2026-09-04T00:00:00Z", 1),
		made("sha256", "/source_sha256", r100, "x", 1),
		made("features", "/service_features", r104, "openai-video", []any{"other"}, []any{"google-grounding-maps"}, []any{1},
			[]any{"openai-video", "openai-video"}, []any{"openai-video", "openai-file-storage"}),
	)
}

// auxiliarySamples break R110 and R111.
func auxiliarySamples() []sample {
	made := func(id, pointer string, rule Rule, values ...any) []sample {
		return eachEdit(sample{id: id, edits: []edit{auxiliary}, rules: []Rule{rule}}, "/proofs"+pointer, values...)
	}
	const first = "/multi_operator_inclusion/entries/0"
	return slices.Concat([]sample{
		{id: "valid-auxiliary", edits: []edit{auxiliary}},
		{id: "valid-auxiliary-notarised", mode: MPCTLS, edits: []edit{auxiliary}},
		{id: "entries-1", edits: []edit{auxiliary, put(entriesPath, manyEntries(1))}, rules: []Rule{R111}},
		{id: "entries-0", edits: []edit{auxiliary, put(entriesPath, []any{})}, rules: []Rule{R111}},
		{id: "operators-twice", edits: []edit{auxiliary, push(entriesPath, manyEntries(1)[0], manyEntries(1)[0])}, rules: []Rule{R111}},
	},
		made("ots-slot", "/ots", R110, map[string]any{}, true),
		made("ots-calendar", "/ots/calendar_url", R110, "http://a", "https://", "https://a?b", "https://a#b"),
		made("ots-proof", "/ots/proof_digest", R110, "x"),
		made("ots-digest", "/ots/receipt_digest", R110, "x"),
		made("key-log-unknown", "/key_transparency/unexpected", R110, 1),
		made("key-log-key", "/key_transparency/key_ref", R110, "x"),
		made("key-log-id", "/key_transparency/log_id", R110, ""),
		made("key-log-checkpoint", "/key_transparency/checkpoint_digest", R110, "x"),
		made("key-log-inclusion", "/key_transparency/inclusion_proof_digest", R110, 1),
		made("lineage-parent", "/lineage/parent_receipt_digest", R110, "x"),
		made("lineage-relation", "/lineage/relation", R110, "other"),
		made("stance", "/disclosure_stance/stance", R110, "full"),
		made("stance-statement", "/disclosure_stance/statement_digest", R110, "x"),
		made("inclusion-unknown", "/multi_operator_inclusion/unexpected", R110, 1),
		made("inclusion-log", first+"/log_id", R110, ""),
		made("inclusion-leaf", first+"/leaf_index", R110, -1, 65536, "0", literal("0.5")),
		made("inclusion-checkpoint", first+"/checkpoint_digest", R110, "x"),
		made("inclusion-proof", first+"/inclusion_proof_digest", R110, "x"),
		made("inclusion-operator", first+"/operator", R110, ""),
		made("inclusion-operator-same", first+"/operator", R111, "log-b.example"),
		made("inclusion-entries", "/multi_operator_inclusion/entries", R111, nil),
	)
}

// policySamples break R120.
func policySamples() []sample {
	bad := func(id string, e edit) sample {
		return sample{id: "policy-" + id, policy: []edit{e}, rules: []Rule{R120}}
	}
	return []sample{
		{id: "policy-absent", absent: true, missing: []Rule{R120}, evidence: &Evidence{Verdict: Indeterminate, ClassIn: GatewaySigned}},
		{id: "policy-absent-and-error", absent: true, edits: []edit{put("/unexpected", 1)}, rules: []Rule{R003}, missing: []Rule{R120}},
		bad("unknown-member", put("/unexpected", 1)),
		bad("missing", drop("/verified_at")),
		bad("skew-86401", put("/max_future_skew_seconds", 86401)),
		bad("skew-negative", put("/max_future_skew_seconds", -1)),
		bad("skew-fraction", put("/max_future_skew_seconds", literal("0.5"))),
		bad("skew-text", put("/max_future_skew_seconds", "0")),
		bad("pins-text", put("/trusted_key_refs", "x")),
		bad("pin-malformed", put("/trusted_key_refs", []any{digestOf("x")})),
		bad("time", put("/verified_at", "2026-09-04")),
		bad("issuer-empty", put("/issuer_operator", "")),
		bad("issuer-null", put("/issuer_operator", nil)),
		{id: "policy-malformed-and-error", policy: []edit{drop("/verified_at")}, edits: []edit{put("/unexpected", 1)}, rules: []Rule{R003, R120}},
		{id: "valid-skew-spelling", policy: []edit{put("/max_future_skew_seconds", literal("6e1"))}},
	}
}

package air

import (
	"encoding/json"
	"slices"
	"strings"
)

// documentSamples break R001, R003 and R010.
func documentSamples() []sample {
	valid := string(must(fixture(ProviderSigns, "openai").JSON()))
	raw := func(id, text string) sample { return sample{id: "unreadable-" + id, raw: text, rules: []Rule{R001}} }
	deep := strings.Repeat("[", 40) + strings.Repeat("]", 40)
	return []sample{
		raw("blank", " "),
		raw("null", "null"),
		raw("array", "["+valid+"]"),
		raw("cut", valid[:len(valid)-1]),
		raw("trailing", valid+"{}"),
		raw("duplicate", `{"profile":"x",`+valid[1:]),
		raw("duplicate-nested", strings.Replace(valid, `"receipt_id"`, `"receipt_id":"a","receipt_id"`, 1)),
		raw("duplicate-escaped", strings.Replace(valid, `"receipt_id"`, `"receipt\u005fid":"a","receipt_id"`, 1)),
		raw("utf8", strings.Replace(valid, "air1_", "air1_\xff", 1)),
		raw("surrogate", strings.Replace(valid, "air1_", `air1_\ud800`, 1)),
		raw("byte-order-mark", "\ufeff"+valid),
		raw("depth", `{"x":`+deep+`,`+valid[1:]),
		raw("colon", `{"receipt" {},`+valid[1:]),
		raw("name-number", `{1:2,`+valid[1:]),
		raw("name-number-nested", `{"receipt":{1:2}}`),
		raw("element", `{"verification_keys":[,]}`),
		raw("name-cut", `{"receipt`),
		raw("comma", valid[:len(valid)-1]+",}"),
		{id: "valid-escaped-name", raw: strings.Replace(valid, `"receipt_id"`, `"receipt\u005fid"`, 1)},
		{id: "valid-white-space", raw: " \r\n\t" + strings.ReplaceAll(valid, ",", " ,\n ") + "\n"},
		{id: "top-level-unknown", edits: []edit{put("/unexpected", true)}, rules: []Rule{R003}},
		{id: "top-level-case", edits: []edit{drop("/profile"), put("/Profile", ProfileV1)}, rules: []Rule{R003}},
		{id: "top-level-without-keys", edits: []edit{drop(keysPath)}, rules: []Rule{R003}},
		{id: "top-level-without-proofs", edits: []edit{drop("/proofs")}, rules: []Rule{R003}},
		{id: "top-level-without-receipt", edits: []edit{drop("/receipt")}, rules: []Rule{R003}},
		{id: "top-level-without-evidence", edits: []edit{drop(evidencePath)}, rules: []Rule{R003}},
		{id: "top-level-empty", raw: "{}", rules: []Rule{R003}},
		{id: "profile-unknown", edits: []edit{put("/profile", "syngraphe.ai-interaction-receipt.profile-v2")}, rules: []Rule{R010}},
		{id: "profile-number", edits: []edit{put("/profile", 1)}, rules: []Rule{R010}},
	}
}

// receiptSamples break R020 to R024.
func receiptSamples() []sample {
	return slices.Concat([]sample{
		{id: "receipt-unknown", signed: []edit{put("/receipt/unexpected", true)}, rules: []Rule{R020}},
		{id: "receipt-missing", signed: []edit{drop("/receipt/receipt_id")}, rules: []Rule{R020}},
		{id: "receipt-text", edits: []edit{put("/receipt", "text")}, rules: []Rule{R020}},
		{id: "receipt-fraction", edits: []edit{put(trustPath+"/quorum/k", literal("0.5"))}, rules: []Rule{R020, R030}},
		{id: "receipt-unsafe-integer", edits: []edit{put(trustPath+"/quorum/k", literal("9007199254740992"))}, rules: []Rule{R020, R030}},
		{id: "receipt-infinite", edits: []edit{put("/receipt/receipt_id", literal("1e999"))}, rules: []Rule{R020, R023}},
		{id: "appraisal-later", mode: TEE, signed: []edit{put(appraisalPath+"/appraised_at", "2026-09-04T12:05:01Z")}, rules: []Rule{R092}},
		{id: "valid-appraisal-in-window", mode: TEE, signed: []edit{put(appraisalPath+"/appraised_at", "2026-09-04T12:05:00Z")}},
	},
		eachSigned("request-digest", "/receipt/request_digest", []Rule{R021},
			strings.ToUpper(digestOf("request")), digestOf("request")+"0", strings.TrimPrefix(digestOf("request"), digestPrefix), nil, 1),
		eachSigned("response-digest", "/receipt/response_digest", []Rule{R021}, "", "sha512:"+strings.Repeat("0", 64)),
		eachSigned("endpoint", "/receipt/endpoint", []Rule{R022},
			"http://api.openai.com/v1", "HTTPS://api.openai.com/v1", "https://", "https:///v1", "https://user@api.openai.com/v1",
			"https://api.openai.com:443/v1", "https://api.openai.com:/v1", "https://api.openai.com/v1?", "https://api.openai.com/v1#",
			`https://api.openai.com\@other.example/`, "https://api.openai.com/v 1", "https://api.openai.com/%2", "https://api.openai.com./v1",
			"https://[::1]/v1", "https://api.öpenai.com/v1", 1),
		eachSigned("receipt-id", "/receipt/receipt_id", []Rule{R023}, "", "-x", "a b", "a\u0000", "é", 7, []any{}),
		eachSigned("model-id", "/receipt/model_id", []Rule{R023}, "", "openai/a b"),
		eachSigned("timestamp", "/receipt/timestamp", []Rule{R023},
			"2026-09-04T24:00:00Z", "2026-09-04T12:00:60Z", "2026-09-04T12:60:00Z", "2026-02-29T12:00:00Z", "2026-09-31T12:00:00Z",
			"2026-13-01T12:00:00Z", "2026-00-01T12:00:00Z", "2026-09-04T12:00:00.0Z", "2026-09-04T12:00:00+00:00",
			"2026-09-04 12:00:00Z", "2026-09-04T12:00:00z", "2026-9-04T12:00:00Z", 1788523200),
	)
}

// trustSamples break R030 and R031.
func trustSamples() []sample {
	const first = trustPath + "/notaries/0"
	notarised := func(id string, rules []Rule, edits ...edit) sample {
		return sample{id: id, mode: MPCTLS, signed: edits, rules: rules}
	}
	malformed, inconsistent := []Rule{R030}, []Rule{R031}
	list := []sample{
		{id: "trust-missing", edits: []edit{drop(trustModel)}, rules: malformed},
		{id: "trust-unknown", edits: []edit{put(trustPath+"/unexpected", 1)}, rules: malformed},
		{id: "trust-null", edits: []edit{put(trustPath, nil)}, rules: malformed},
		{id: "trust-party", signed: []edit{put(trustPath+"/terminating_party", "other")}, rules: malformed},
		{id: "trust-mode", signed: []edit{put(trustPath+"/witness_mode", "other")}, rules: malformed},
		{id: "trust-model", signed: []edit{put(trustModel, "other")}, rules: malformed},
		{id: "trust-notaries-null", edits: []edit{put(trustPath+"/notaries", nil)}, rules: malformed},
		{id: "trust-quorum-unknown", edits: []edit{put(trustPath+"/quorum/unexpected", 0)}, rules: malformed},
		{id: "trust-quorum-text", signed: []edit{put(trustPath+"/quorum/k", "0")}, rules: malformed},
		notarised("trust-quorum-negative", malformed, put(trustPath+"/quorum/k", -1)),
		notarised("trust-quorum-65536", malformed, put(trustPath+"/quorum/n", 65536)),
		notarised("trust-notary-id", []Rule{R030, R081, R082}, put(first+"/id", "")),
		notarised("trust-notary-key", []Rule{R030, R081, R082}, put(first+"/key_ref", "ed25519:sha256:00")),
		notarised("trust-notary-operator", malformed, put(first+"/operator", " ")),
		notarised("trust-notary-unknown", malformed, put(first+"/unexpected", " ")),
		notarised("model-none-with-notaries", inconsistent, put(trustModel, "none")),
		notarised("model-tee-with-notaries", inconsistent, put(trustModel, "tee")),
		notarised("quorum-k-0", inconsistent, put(trustPath+"/quorum/k", 0)),
		notarised("quorum-k-above-n", []Rule{R031, R081}, put(trustPath+"/quorum/k", 3)),
		notarised("quorum-n-not-count", inconsistent, put(trustPath+"/quorum/n", 3)),
		notarised("notary-id-twice", []Rule{R031, R081, R082}, put(trustPath+"/notaries/1/id", "notary-a")),
		{id: "notaries-none", mode: ProxyTLS, signed: []edit{put(trustPath+"/notaries", []any{}), put(trustPath+"/quorum", map[string]any{"k": 0, "n": 0})},
			rules: []Rule{R031, R082}},
		{id: "notaries-with-provider", signed: []edit{put(trustPath+"/notaries", []any{treeOf(Notary{"notary-a", refFor(notaryKeyA), "op", "DE"})}),
			put(trustPath+"/quorum/n", 1)}, rules: inconsistent},
		{id: "quorum-with-provider", signed: []edit{put(trustPath+"/quorum", map[string]any{"k": 1, "n": 1})}, rules: inconsistent},
	}
	for _, mode := range []WitnessMode{TEE, ProviderSigns} {
		for _, model := range []TrustModel{ModelCounterparty, ModelThreshold, ModelTEE, ModelNone} {
			if !model.fits(mode) {
				list = append(list, sample{id: "model-" + string(model) + "-with-" + string(mode), mode: mode,
					signed: []edit{put(trustModel, string(model))}, rules: inconsistent})
			}
		}
	}
	for i, j := range []string{"", "D", "de", "DEU", "DE-", "DE-ABCD", "DE-b", "DE_BE"} {
		list = append(list, notarised("jurisdiction-"+string(rune('1'+i)), malformed, put(first+"/jurisdiction", j)))
	}
	return list
}

// proofSamples break R040, R060 and the rules of a missing primary proof.
func proofSamples() []sample {
	other := digestOf("another receipt")
	list := []sample{
		{id: "proofs-unknown", edits: []edit{put("/proofs/unexpected", nil)}, rules: []Rule{R040}},
		{id: "proofs-array", edits: []edit{put("/proofs", []any{})}, rules: []Rule{R040}},
		{id: "proofs-without-primary", edits: []edit{drop(providerPath)}, rules: []Rule{R040, R070}},
		{id: "provider-signature-null", edits: []edit{put(providerPath, nil)}, rules: []Rule{R070}},
		{id: "provider-signature-text", edits: []edit{put(providerPath, "text")}, rules: []Rule{R071}},
		{id: "notary-quorum-null-mpc", mode: MPCTLS, edits: []edit{put(quorumPath, nil)}, rules: []Rule{R080}},
		{id: "notary-quorum-null-proxy", mode: ProxyTLS, edits: []edit{put(quorumPath, nil)}, rules: []Rule{R080}},
		{id: "tee-quote-null", mode: TEE, edits: []edit{put(teePath, nil)}, rules: []Rule{R090}},
		{id: "digest-provider", edits: []edit{put(providerPath+"/receipt_digest", other)}, rules: []Rule{R060}},
		{id: "digest-notaries", mode: MPCTLS, edits: []edit{put(quorumPath+"/receipt_digest", other)}, rules: []Rule{R060}},
		{id: "digest-tee", mode: TEE, edits: []edit{put(teePath+"/receipt_digest", other)}, rules: []Rule{R060}},
		{id: "receipt-changed-notaries", mode: MPCTLS, edits: []edit{put("/receipt/receipt_id", "another")}, rules: []Rule{R060, R081, R082}},
		{id: "receipt-changed-tee", mode: TEE, edits: []edit{put("/receipt/receipt_id", "another")}, rules: []Rule{R060, R091}},
		{id: "receipt-changed-provider", edits: []edit{put("/receipt/receipt_id", "another")}, rules: []Rule{R060, R071}},
		{id: "no-fallback-to-provider", mode: TEE, edits: []edit{put(teePath, nil), providerBeside}, rules: []Rule{R090}},
		{id: "valid-provider-beside-tee", mode: TEE, edits: []edit{providerBeside}},
		{id: "valid-provider-beside-tee-unpinned", mode: TEE, edits: []edit{providerBeside},
			policy: []edit{put("/trusted_key_refs", []any{refFor(appraiserKey)})}},
		{id: "no-fallback-from-unpinned-tee", mode: TEE, edits: []edit{providerBeside},
			policy: []edit{put("/trusted_key_refs", []any{refFor(providerKey)})}, missing: []Rule{R053}},
		{id: "quorum-beside-provider", edits: []edit{quorumBeside}, rules: []Rule{R082}},
		{id: "provider-beside-tee-corrupt", mode: TEE, edits: []edit{providerBeside, corrupt(providerPath + "/signature")}, rules: []Rule{R071}},
	}
	for _, slot := range []string{"ots", "key_transparency", "lineage", "disclosure_stance", "multi_operator_inclusion"} {
		list = append(list,
			sample{id: "proofs-without-" + slot, edits: []edit{drop("/proofs/" + slot)}, rules: []Rule{R040}},
			sample{id: "digest-" + slot, edits: []edit{auxiliary, put("/proofs/"+slot+"/receipt_digest", other)}, rules: []Rule{R060}})
	}
	return list
}

// providerBeside adds a good provider signature and its key to a bundle of another witness mode.
func providerBeside(tree map[string]any) {
	push(keysPath, keyEntry(providerKey, RoleProvider))(tree)
	source := treeOf(fixture(ProviderSigns, "openai"))
	put(providerPath, get(source, providerPath))(tree)
	saved := tree["proofs"].(map[string]any)["tee_quote"]
	resign(tree)
	tree["proofs"].(map[string]any)["tee_quote"] = saved
}

// quorumBeside adds the signature of an undeclared notary to a bundle of another witness mode.
func quorumBeside(tree map[string]any) {
	push(keysPath, keyEntry(notaryKeyA, RoleNotary))(tree)
	digest := must(receiptDigest(string(must(json.Marshal(tree["receipt"])))))
	put(quorumPath, treeOf(NotaryQuorum{digest, []NotarySignature{
		{"notary-a", refFor(notaryKeyA), algorithm, signText(notaryKeyA, notaryMessage(digest))}}}))(tree)
}

// keySamples break R050 to R052.
func keySamples() []sample {
	const first = keysPath + "/0"
	list := []sample{
		{id: "keys-empty", edits: []edit{put(keysPath, []any{})}, rules: []Rule{R050, R052}},
		{id: "keys-object", edits: []edit{put(keysPath, map[string]any{})}, rules: []Rule{R050}},
		{id: "key-unknown-member", edits: []edit{put(first+"/unexpected", 1)}, rules: []Rule{R050}},
		{id: "key-algorithm", edits: []edit{put(first+"/algorithm", "ed448")}, rules: []Rule{R050}},
		{id: "key-role", edits: []edit{put(first+"/role", "other")}, rules: []Rule{R050}},
		{id: "key-operator", edits: []edit{put(first+"/operator", "")}, rules: []Rule{R050}},
		{id: "key-twice", edits: []edit{push(keysPath, keyEntry(providerKey, RoleProvider))}, rules: []Rule{R050}},
		{id: "key-twice-other-role", edits: []edit{push(keysPath, keyEntry(providerKey, RoleNotary))}, rules: []Rule{R050}},
		{id: "key-padded", edits: []edit{put(first+"/public_key", publicText(providerKey)+"=")}, rules: []Rule{R050}},
		{id: "key-line-break", edits: []edit{put(first+"/public_key", publicText(providerKey)[:42]+"\n")}, rules: []Rule{R050}},
		{id: "key-spare-bit", edits: []edit{spare(first + "/public_key")}, rules: []Rule{R050}},
		{id: "key-reference-malformed", edits: []edit{put(first+"/key_ref", "ed25519:"+digestOf("x")[:70])}, rules: []Rule{R050, R052}},
		{id: "key-of-another", edits: []edit{put(first+"/public_key", publicText(notaryKeyA))}, rules: []Rule{R051}},
		{id: "key-reference-of-another", edits: []edit{put(first+"/key_ref", refFor(notaryKeyA))}, rules: []Rule{R051, R052}},
		{id: "key-absent-provider", edits: []edit{put(keysPath, []any{keyEntry(notaryKeyA, RoleNotary)})}, rules: []Rule{R052}},
		{id: "key-role-provider", edits: []edit{put(first+"/role", "notary")}, rules: []Rule{R052}},
		{id: "key-role-notary", mode: MPCTLS, edits: []edit{put(first+"/role", "provider")}, rules: []Rule{R052, R081}},
		{id: "key-role-tee", mode: TEE, edits: []edit{put(first+"/role", "log-operator")}, rules: []Rule{R052}},
	}
	return list
}

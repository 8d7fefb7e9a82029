// Package air verifies and builds AI Interaction Receipts, profile v1 and v1.1.
//
// A receipt is a digest-only record of one AI request and one AI response: who was asked, which model, under which
// declared retention class, when, and how the exchange was witnessed. It never carries the bodies. "Seed" below is the
// profile's text, whose sections the code cites.
//
// # Bundle
//
// A bundle (seed §3) is one JSON object of exactly five members. Every object in it is closed; every member is there.
//
//	{
//	  "profile": "syngraphe.ai-interaction-receipt.profile-v1",
//	  "receipt": {
//	    "receipt_id": "air1_1", "request_digest": "sha256:…", "response_digest": "sha256:…",
//	    "endpoint": "https://api.openai.com/v1/responses", "model_id": "openai/some-model",
//	    "retention_class": "undeclared", "timestamp": "2026-09-04T12:00:00Z",
//	    "trust_statement": {
//	      "terminating_party": "provider", "witness_mode": "provider-signature", "notaries": [],
//	      "quorum": {"k": 0, "n": 0}, "notary_trust_model": "none"
//	    }
//	  },
//	  "proofs": {
//	    "provider_signature": {
//	      "algorithm": "ed25519",
//	      "covered_components": ["syngraphe-request-digest", …], "created": 1788523200,
//	      "key_ref": "ed25519:sha256:…", "receipt_digest": "sha256:…", "signature": "…"
//	    },
//	    "notary_quorum": null, "tee_quote": null, "ots": null, "key_transparency": null,
//	    "lineage": null, "disclosure_stance": null, "multi_operator_inclusion": null
//	  },
//	  "retention_evidence": {
//	    "provider": "openai", "source_url": "https://developers.openai.com/api/docs/guides/your-data",
//	    "retrieved_on": "2026-09-04", "source_sha256": "sha256:…", "declared_class": "undeclared", "service_features": []
//	  },
//	  "verification_keys": [
//	    {"algorithm": "ed25519", "public_key": "…", "key_ref": "ed25519:sha256:…", "role": "provider", "operator": "…"}
//	  ]
//	}
//
// The JSON is strict: UTF-8, no lone surrogates, unique names in their own case, nothing after the value, at most 262,144
// bytes and 32 levels. Integers may be spelled 1, 1.0 or 1e0, as the reference runtime reads them, but must be integers
// within ±(2^53−1) once read as an IEEE double. An over-long list (32 keys; 16 notaries, signatures, features, entries)
// ends the reading there, with that one finding: the bounds come before the work.
//
// # Signed bytes
//
// The receipt digest (seed §5.1) is "sha256:" and the hex SHA-256 of the label "syngraphe.receipt-profile-v1.receipt", a
// zero byte and the RFC 8785 form of the receipt. All proofs bind it:
//
//   - provider-signature: an RFC 9421 signature base. Six lines `"<component>": <value>` with the request digest, response
//     digest, model id, retention class, timestamp and receipt digest, and the line `"@signature-params": ("<component>" …
//     );created=<unix seconds>;keyid="<key_ref>";alg="ed25519";tag="provider-receipt-v1"`; single line feeds between them.
//   - mpc-tls, proxy-tls: each notary signs the label "syngraphe.receipt-profile-v1.notary-signature", a zero byte and the
//     receipt digest as text.
//   - tee-quote: the appraiser signs the label "syngraphe.receipt-profile-v1.tee-appraisal" and a zero byte, and then, each
//     after a zero byte, receipt digest, quote format, quote digest, time, result and verifier id.
//
// Signatures are always checked over the computed digest. A slot that names another one breaks R060 by that alone.
// Keys and signatures are unpadded base64url in their one canonical spelling. A key_ref is "ed25519:sha256:" and the hex
// SHA-256 of the raw key. A key reference may be listed once, whatever its role (R050).
//
// # Verdict
//
// Verify reports every rule that fails (seed §6, type Rule), in rule order, with fixed messages and with paths of known
// names and indexes, and never a value of the bundle. Any error makes a bundle invalid. Where nothing but outside trust is
// missing (R053; R120 for an absent policy), it is indeterminate. The primary proof is the one that the witness mode names,
// and no other stands in for it; a proof beside it is checked all the same. What a broken shape makes meaningless is not
// checked: no digest without a closed receipt and trust statement, no signature over malformed values or by a key that R050
// or R051 refuses, no comparison with an unknown provider. An unknown provider breaks R100 and, having no page, R101. A declared
// notary counts once, however often it signs (R081), and one key under two notary ids is one pin (R053).
//
// A Result carries its disclosures (seed §7). It separates what is unreadable (R001, R002) from what breaks a rule. A valid
// bundle gives a ProviderReceipt, an indeterminate one only an UnverifiedReceipt, an invalid one nothing.
//
// # Members that no proof protects
//
// The profile id, the retention evidence, the operators of the included keys and the auxiliary slots are not signed. Anybody
// can change them and keep a valid bundle; "unsigned-members" discloses it and the mangle test pins it.
//
// # Profile v1.1 and the evidence class
//
// Profile v1.1 adds the trust model issuer-operated (R030 in a v1 bundle) and a receiver decision, type Evidence. The
// profile speaks of the class that a receipt claims, and a bundle has no member for it. Here it follows from the witness
// mode: mpc-tls and proxy-tls claim zktls-bound, since a TLS notary binds the session; provider-signature claims
// gateway-signed, as in the profile's table; and so does tee-quote, since a signed appraisal over a quote digest binds no TLS
// session and the lower class is the safe one. Only an uncapped zktls-bound receipt is a product receipt.
//
//   - The model is issuer-operated, or an operator equals the policy's issuer_operator byte for byte: valid, capped to
//     gateway-signed, IRV1-C001-ISSUER-OPERATED-NOTARY.
//   - Otherwise, if the policy has no issuer_operator and the class is zktls-bound: no class,
//     IRV1-E065-ISSUER-OPERATOR-POLICY-UNAVAILABLE.
//   - Otherwise the class stays, IRV1-VALID.
//
// The decision is made for v1 bundles too, so that zktls-bound is never kept silently. It makes Result.Status indeterminate
// only in a v1.1 bundle: the verdict on a v1 bundle is fixed by its own profile and its published vectors. For an invalid
// bundle, or one that lacks pins or a policy, nothing is decided and the code is empty, unless E065 applies as well.
//
// # Purity
//
// Nothing here reads a clock, a file or a random source, and package variables are never written. The same bytes and policy
// give the same Result for ever.
package air

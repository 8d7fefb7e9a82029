package air

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// The keys of RFC 8032 §7.1, as in the published corpus. Their secrets are public: test keys only.
var (
	providerKey  = rfc8032("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60") // TEST 1
	notaryKeyA   = rfc8032("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb") // TEST 2
	notaryKeyB   = rfc8032("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7") // TEST 3
	appraiserKey = rfc8032("f5e5767cf153319517630f226876b86c8160cc583bc013744c6bf255f5cc0ee5") // TEST 1024
)

func rfc8032(seed string) ed25519.PrivateKey {
	b, err := hex.DecodeString(seed)
	if err != nil {
		panic(err)
	}
	return ed25519.NewKeyFromSeed(b)
}

func public(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

func refFor(key ed25519.PrivateKey) string { return KeyRef(public(key)) }

func keyFor(ref string) ed25519.PrivateKey {
	for _, key := range []ed25519.PrivateKey{providerKey, notaryKeyA, notaryKeyB, appraiserKey} {
		if refFor(key) == ref {
			return key
		}
	}
	return nil
}

// digestOf makes a stable digest for a label.
func digestOf(label string) string {
	sum := sha256.Sum256([]byte("air corpus: " + label))
	return digestPrefix + hex.EncodeToString(sum[:])
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

const fixtureTime = "2026-09-04T12:00:00Z"

// fixture is a valid bundle of the mode and provider, made with the exported helpers alone.
func fixture(mode WitnessMode, providerName string) Bundle {
	p := lookupProvider(providerName)
	b := Bundle{
		Profile: ProfileV1,
		Receipt: Receipt{
			ReceiptID: "air1_" + string(mode), RequestDigest: digestOf("request"), ResponseDigest: digestOf("response"),
			Endpoint: "https://" + p.host + "/v1/exchange", ModelID: p.name + "/fixture-model", RetentionClass: p.classes[0],
			Timestamp: fixtureTime, TrustStatement: TrustStatement{TerminatingParty: "provider", WitnessMode: mode},
		},
		RetentionEvidence: RetentionEvidence{
			Provider: p.name, SourceURL: p.source, RetrievedOn: "2026-09-04", SourceSHA256: digestOf(p.name + " source"),
			DeclaredClass: p.classes[0],
		},
	}
	if p.classes[0] == p.zeroData { // the first class of Google's list
		b.Receipt.RetentionClass, b.RetentionEvidence.DeclaredClass = undeclared, undeclared
	}
	trust := &b.Receipt.TrustStatement
	switch mode {
	case ProviderSigns:
		trust.NotaryTrustModel = ModelNone
		b.VerificationKeys = []VerificationKey{NewVerificationKey(public(providerKey), RoleProvider, "provider.example")}
		b.Proofs.ProviderSignature = must(SignProvider(b.Receipt, providerKey))
	case TEE:
		trust.NotaryTrustModel = ModelTEE
		b.VerificationKeys = []VerificationKey{NewVerificationKey(public(appraiserKey), RoleTEEVerifier, "appraiser.example")}
		b.Proofs.TEEQuote = must(SignAppraisal(b.Receipt, TEEQuote{QuoteFormat: "tdx-v4", QuoteDigest: digestOf("quote"),
			Appraisal: Appraisal{VerifierID: "fixture-appraiser", AppraisedAt: fixtureTime}}, appraiserKey))
	default:
		notarise(&b)
	}
	return b
}

func notarise(b *Bundle) {
	trust := &b.Receipt.TrustStatement
	trust.NotaryTrustModel, trust.Quorum = ModelThreshold, Quorum{2, 2}
	keys := []ed25519.PrivateKey{notaryKeyA, notaryKeyB}
	for i, key := range keys {
		operator := []string{"notary-a.example", "notary-b.example"}[i]
		trust.Notaries = append(trust.Notaries, Notary{ID: notaryIDs[i], KeyRef: refFor(key), Operator: operator, Jurisdiction: []string{"US-NY", "DE"}[i]})
		b.VerificationKeys = append(b.VerificationKeys, NewVerificationKey(public(key), RoleNotary, operator))
	}
	b.Proofs.NotaryQuorum = &NotaryQuorum{ReceiptDigest: must(b.Receipt.Digest())}
	for i, key := range keys {
		b.Proofs.NotaryQuorum.Signatures = append(b.Proofs.NotaryQuorum.Signatures, must(SignNotary(b.Receipt, notaryIDs[i], key)))
	}
}

var notaryIDs = []string{"notary-a", "notary-b"}

// auxiliaries are filled none-yet slots.
func auxiliaries(receiptDigest string) Proofs {
	return Proofs{
		OTS: &OTS{receiptDigest, "https://calendar.example.test/ots", digestOf("ots")},
		KeyTransparency: &KeyTransparency{receiptDigest, refFor(providerKey), "fixture-key-log",
			digestOf("checkpoint"), digestOf("inclusion")},
		Lineage:          &Lineage{receiptDigest, digestOf("parent"), lineageRelation},
		DisclosureStance: &DisclosureStance{receiptDigest, digestOnly, digestOf("statement")},
		MultiOperatorInclusion: &MultiOperatorInclusion{receiptDigest, []InclusionEntry{
			{"log-a.example", "fixture-log-a", 7, digestOf("checkpoint a"), digestOf("inclusion a")},
			{"log-b.example", "fixture-log-b", 65535, digestOf("checkpoint b"), digestOf("inclusion b")},
		}},
	}
}

// edit changes a JSON tree.
type edit func(tree map[string]any)

// put sets the member at a JSON pointer; drop removes it; push appends to the array there.
func put(pointer string, v any) edit {
	return func(tree map[string]any) {
		switch parent, last := parentOf(tree, pointer); parent := parent.(type) {
		case map[string]any:
			parent[last] = v
		case []any:
			parent[must(strconv.Atoi(last))] = v
		}
	}
}

func drop(pointer string) edit {
	return func(tree map[string]any) {
		parent, last := parentOf(tree, pointer)
		delete(parent.(map[string]any), last)
	}
}

func push(pointer string, v ...any) edit {
	return func(tree map[string]any) { put(pointer, append(get(tree, pointer).([]any), v...))(tree) }
}

func get(tree any, pointer string) any {
	for _, step := range strings.Split(pointer, "/")[1:] {
		switch node := tree.(type) {
		case map[string]any:
			tree = node[step]
		case []any:
			tree = node[must(strconv.Atoi(step))]
		}
	}
	return tree
}

func parentOf(tree any, pointer string) (parent any, last string) {
	i := strings.LastIndexByte(pointer, '/')
	return get(tree, pointer[:i]), pointer[i+1:]
}

// treeOf turns a value into a JSON tree that keeps number literals.
func treeOf(v any) map[string]any {
	var raw []byte
	switch v := v.(type) {
	case Bundle:
		raw = must(v.JSON())
	default:
		raw = must(json.Marshal(v))
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var tree map[string]any
	if err := d.Decode(&tree); err != nil {
		panic(err)
	}
	return tree
}

// resign makes every proof of the tree good again for its receipt, whatever else the receipt says: the digest in every
// slot and the signatures of the keys that the proofs name.
func resign(tree map[string]any) {
	digest := must(receiptDigest(string(must(json.Marshal(tree["receipt"])))))
	proofs := tree["proofs"].(map[string]any)
	for _, slot := range proofs {
		if slot, ok := slot.(map[string]any); ok {
			slot["receipt_digest"] = digest
		}
	}
	d := newDecoder(must(json.Marshal(tree)))
	b := decodeBundle(d)
	if slot, ok := proofs["provider_signature"].(map[string]any); ok {
		created, _ := parseTimestamp(b.receipt.time.s)
		slot["created"] = json.Number(fmt.Sprint(created))
		slot["signature"] = signText(keyFor(b.proofs.provider.ref.s), signatureBase(&b.receipt, digest, created, b.proofs.provider.ref.s))
	}
	if slot, ok := proofs["notary_quorum"].(map[string]any); ok {
		for _, s := range slot["signatures"].([]any) {
			s := s.(map[string]any)
			s["signature"] = signText(keyFor(s["key_ref"].(string)), notaryMessage(digest))
		}
	}
	if slot, ok := proofs["tee_quote"].(map[string]any); ok {
		appraisal := slot["appraisal"].(map[string]any)
		appraisal["signature"] = signText(keyFor(appraisal["key_ref"].(string)), appraisalMessage(digest, &b.proofs.tee))
	}
}

// fixturePolicy pins every fixture key and allows no skew.
func fixturePolicy() map[string]any {
	pins := []any{refFor(providerKey), refFor(notaryKeyA), refFor(notaryKeyB), refFor(appraiserKey)}
	return map[string]any{"max_future_skew_seconds": 0, "trusted_key_refs": pins, "verified_at": "2026-09-04T12:05:00Z"}
}

// corrupt changes the first character of a signature.
func corrupt(pointer string) edit {
	return func(tree map[string]any) {
		s := get(tree, pointer).(string)
		first := "A"
		if s[0] == 'A' {
			first = "B"
		}
		put(pointer, first+s[1:])(tree)
	}
}

// spare sets a spare bit of a base64url text, which changes its spelling but not its bytes.
func spare(pointer string) edit {
	return func(tree map[string]any) {
		const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		s := get(tree, pointer).(string)
		last := strings.IndexByte(alphabet, s[len(s)-1])
		put(pointer, s[:len(s)-1]+string(alphabet[last|1]))(tree)
	}
}

func publicText(key ed25519.PrivateKey) string {
	return base64.RawURLEncoding.EncodeToString(public(key))
}

package ledgertest

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/receipts/air"
)

// Sample is an accepted submission of the kind that fills every projection column it can; n makes it differ from others.
// A kind without a sample fails the test, so that a test over all kinds can't leave one out. An erasure's is of entry 0.
func Sample(tb testing.TB, k *kinds.Kind, n int) *kinds.Accepted {
	tb.Helper()
	s, env := kinds.Submission{Key: fmt.Sprintf("sample-%d", n)}, kinds.Env{Now: time.Now()}
	switch k {
	case &kinds.UsageReport:
		s.Artifact, s.Context = usageSample(env.Now, n)
	case &kinds.ConsentReceipt:
		s.Artifact = fmt.Appendf(nil, `{"provider_id":"north-llm","scope":"third-party-model","provider_name":"North","provider_version":"%d",`+
			`"grantor":{"kind":"human","id":"maria@example"},"granted_at":"2026-01-10T08:00:00Z","expires_at":"2126-01-10T08:00:00Z"}`, n)
	case &kinds.ConsentRevocation:
		s.Artifact = fmt.Appendf(nil, `{"provider_id":"north-llm","scope":"third-party-model","revoked_by":{"kind":"human","id":"maria@example"},`+
			`"revoked_at":"2026-03-01T00:00:00Z","reason":"reason %d"}`, n)
	case &kinds.ConsentRecord:
		s.Artifact = fmt.Appendf(nil, `{"provider_id":"north-llm","data_flow":{"reads":true,"egress":true,"egress_scopes":["local-only"]},`+
			`"granted_scope":"note %d","granted_at":"2026-01-10T08:00:00Z"}`, n)
	case &kinds.ProviderDeclaration:
		s.Artifact = fmt.Appendf(nil, `{"provider_id":"north-llm","provider":{"name":"North","version":"%d","data_flow":{"reads":true,`+
			`"writes":false,"egress":true,"egress_scopes":["third-party-model","north:eu"]}},"declared_at":"2026-01-10T07:00:00Z"}`, n)
	case &kinds.FrameVerification:
		s.Artifact = verificationSample(n)
	case &kinds.ReceiptBundle:
		s.Artifact, s.Context = bundleSample(tb, n), fmt.Appendf(nil, `{"request_id":"req-%d"}`, n)
		env.Policy = &kinds.TrustPolicy{Seq: 0, Revision: 1, Fields: air.PolicyFields{TrustedKeyRefs: []string{sampleKeyRef()}}}
	case &kinds.TrustPolicyKind:
		s.Artifact = fmt.Appendf(nil, `{"pins":[],"max_future_skew_seconds":%d}`, n%86400)
		env.Policy = &kinds.TrustPolicy{Revision: int64(n)}
	case &kinds.Erasure:
		s.Artifact = fmt.Appendf(nil, `{"reason":"reason %d","seqs":[0]}`, n)
	case &kinds.Incarnation:
		s.Artifact = fmt.Appendf(nil, `{"incarnation":%d,"previous":{"checkpoint":"","origin":"o","root_hash":"","size":1},"reason":"r","restored":{"root_hash":"","size":0}}`, n)
	case &kinds.Dispute:
		s.Key, s.Artifact = "", disputeSample(n)
	case &kinds.Reverification:
		s.Artifact = fmt.Appendf(nil, `{"of_seq":0,"cause":"dispute","after":null,"result":"upheld","digest":"d%d","failed":[{"check":"content","fault":"content","reason":"r"}],`+
			`"changed":["result"],"against":{"origin":"o","tree_size":1,"root_hash":""},"levels":[{"level":"reports","entries":1,"tokens":"7"}]}`, n)
	case &kinds.Correction, &kinds.BillingConfigKind, &kinds.BillingIntent, &kinds.BillingOutcome:
		return billingSample(tb, k, n)
	default:
		if !contextSample(tb, k, n, &s, &env) {
			tb.Fatalf("ledgertest: kind %s has no sample", k.Name)
		}
	}
	a, err := k.Accept(s, env)
	if err != nil {
		tb.Fatalf("ledgertest: %s: %v", k.Name, err)
	}
	return a
}

// usageSample has two providers: one with frames of its own and of another, with and without digest, and one that served
// nothing.
func usageSample(now time.Time, n int) (artifact, context []byte) {
	const frame = `{"frame":{"provider_id":%q,"frame_id":%q%s},"token_cost":%d}`
	served := fmt.Sprintf(frame, "north-llm", "page/a", `,"content_digest":"sha256:`+strings.Repeat("0", 64)+`"`, n) + "," +
		fmt.Sprintf(frame, "south-llm", "page/b", "", 7)
	artifact = fmt.Appendf(nil, `{"budget_requested":2000,"budget_consumed":%d,"as_of":%q,"providers":[`+
		`{"provider_id":"north-llm","frames_served":2,"frames_rejected":1,"token_cost":%d,"served_frames":[%s]},`+
		`{"provider_id":"idle","frames_served":0,"frames_rejected":1,"token_cost":0}]}`,
		n+7, now.UTC().Format("2006-01-02T15:04:05Z"), n+7, served)
	return artifact, fmt.Appendf(nil, `{"request_id":"req-%d","turn_id":"turn-%d","customer_id":"customer"}`, n, n)
}

// disputeSample asks about a customer's usage; what it found is made up.
func disputeSample(n int) []byte {
	return fmt.Appendf(nil, `{"dispute_id":"dsp_%d","question":{"customer_id":"customer","from":"2026-01-01T00:00:00Z","to":"2026-02-01T00:00:00Z"},"reason":"too much",`+
		`"against":{"origin":"o","tree_size":1,"root_hash":""},"result":"inconclusive","failures":[],"open":[{"rule":"unbilled","times":1,"seqs":[0],"text":"t"}],`+
		`"levels":[{"level":"reports","entries":1,"tokens":"7"}],"differences":[],"entries":{"intents":[],"outcomes":[],"reports":[0],"consents":[],"receipts":[],"configs":[]}}`, n)
}

// verificationSample retains one frame, drops a stale one that has a replacement, and one that can't be asked about.
func verificationSample(n int) []byte {
	const kept = `{"provider_id":"north-llm","frame_id":"page/a","content_digest":"sha256:1"}`
	const stale = `{"provider_id":"north-llm","frame_id":"page/b","content_digest":"sha256:2"}`
	const bare = `{"provider_id":"north-llm","frame_id":"page/c"}`
	replacement := fmt.Sprintf(`"replacement_digest":"sha256:%d"`, n)
	return []byte(`{"provider_id":"north-llm","verified_at":"2026-01-10T08:00:00Z","capability":{"verify":true},` +
		`"request":{"frames":[` + kept + `,` + stale + `,` + bare + `]},` +
		`"response":{"verdicts":[{"frame":` + kept + `,"status":"valid"},{"frame":` + stale + `,"status":"stale",` + replacement + `}]},` +
		`"outcome":{"retained":[` + kept + `],"dropped":[{"frame":` + stale + `,"reason":{"kind":"stale",` + replacement + `},"warrants_requery":true},` +
		`{"frame":` + bare + `,"reason":{"kind":"no_digest"},"warrants_requery":true}]}}`)
}

// sampleKey signs the bundles of samples.
func sampleKey() (ed25519.PrivateKey, ed25519.PublicKey) {
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize)))
	return key, ed25519.PublicKey(key[ed25519.SeedSize:])
}

func sampleKeyRef() string {
	_, public := sampleKey()
	return air.KeyRef(public)
}

// SamplePolicy is the trust policy that samples of receipt bundles name as the one they were judged under, so it must be
// recorded as entry 0.
func SamplePolicy(tb testing.TB) *kinds.Accepted {
	tb.Helper()
	s := kinds.Submission{Artifact: fmt.Appendf(nil, `{"pins":[{"key_ref":%q,"comment":"samples","vouched_by":"tests"}],"max_future_skew_seconds":0}`, sampleKeyRef())}
	a, err := kinds.TrustPolicyKind.Accept(s, kinds.Env{Now: time.Now()})
	if err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
	return a
}

// bundleSample is a valid bundle signed by its provider.
func bundleSample(tb testing.TB, n int) []byte {
	tb.Helper()
	key, public := sampleKey()
	r := air.Receipt{
		ReceiptID: fmt.Sprintf("air1_sample_%d", n), RequestDigest: digest("request", n), ResponseDigest: digest("response", n),
		Endpoint: "https://api.openai.com/v1/responses", ModelID: "openai/some-model", RetentionClass: "undeclared",
		Timestamp:      "2026-01-10T08:00:00Z",
		TrustStatement: air.TrustStatement{TerminatingParty: "provider", WitnessMode: air.ProviderSigns, NotaryTrustModel: air.ModelNone},
	}
	signature, err := air.SignProvider(r, key)
	if err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
	bundle, err := air.Bundle{
		Profile: air.ProfileV1, Receipt: r, Proofs: air.Proofs{ProviderSignature: signature},
		RetentionEvidence: air.RetentionEvidence{
			Provider: "openai", SourceURL: "https://developers.openai.com/api/docs/guides/your-data", RetrievedOn: "2026-01-10",
			SourceSHA256: digest("page", 0), DeclaredClass: "undeclared",
		},
		VerificationKeys: []air.VerificationKey{air.NewVerificationKey(public, air.RoleProvider, "openai")},
	}.JSON()
	if err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
	return bundle
}

func digest(of string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", of, n))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Harmless are the kinds that can be appended in any order: all but erasures, which need what they erase.
func Harmless() []*kinds.Kind {
	return slices.DeleteFunc(kinds.All(), func(k *kinds.Kind) bool { return k.Erases })
}

package air_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log"
	"strings"
	"time"

	"ledgerd/receipts/air"
)

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// A host builds a bundle that its provider signs, and a relying party that pins the provider's key verifies it.
func Example() {
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize))) // a real key comes from a key store
	public := key.Public().(ed25519.PublicKey)

	receipt := air.Receipt{
		ReceiptID: "air1_example", RequestDigest: digest("request"), ResponseDigest: digest("response"),
		Endpoint: "https://api.openai.com/v1/responses", ModelID: "openai/some-model",
		RetentionClass: "undeclared", Timestamp: "2026-09-04T12:00:00Z",
		TrustStatement: air.TrustStatement{
			TerminatingParty: "provider", WitnessMode: air.ProviderSigns, NotaryTrustModel: air.ModelNone,
		},
	}
	signature, err := air.SignProvider(receipt, key)
	if err != nil {
		log.Fatal(err)
	}
	bundle, err := air.Bundle{
		Profile: air.ProfileV1, Receipt: receipt, Proofs: air.Proofs{ProviderSignature: signature},
		RetentionEvidence: air.RetentionEvidence{
			Provider: "openai", SourceURL: "https://developers.openai.com/api/docs/guides/your-data",
			RetrievedOn: "2026-09-04", SourceSHA256: digest("page"), DeclaredClass: "undeclared",
		},
		VerificationKeys: []air.VerificationKey{air.NewVerificationKey(public, air.RoleProvider, "openai")},
	}.JSON()
	if err != nil {
		log.Fatal(err)
	}

	policy, err := air.NewPolicy(air.PolicyFields{
		TrustedKeyRefs: []string{air.KeyRef(public)}, // from the relying party's own configuration
		VerifiedAt:     time.Date(2026, 9, 4, 12, 5, 0, 0, time.UTC),
	})
	if err != nil {
		log.Fatal(err)
	}
	result := air.Verify(bundle, policy)
	if verified, ok := result.ProviderReceipt(); ok {
		fmt.Println(result.Status, verified.Claims().ReceiptID, verified.Claims().EndpointHost, result.Evidence.ClassOut)
	}

	// The same bundle proves nothing to a caller without pins: the included key is no trust anchor.
	result = air.Verify(bundle, nil)
	fmt.Println(result.Status, result.Indeterminate[0].Rule)

	// One changed digest, and both the binding and the signature fail.
	tampered := strings.Replace(string(bundle), digest("response"), digest("another"), 1)
	for _, f := range air.Verify([]byte(tampered), policy).Errors {
		fmt.Println(f.Rule, f.Path)
	}
	// Output:
	// valid air1_example api.openai.com gateway-signed
	// indeterminate AIR-V1-R120
	// AIR-V1-R060 /proofs/provider_signature/receipt_digest
	// AIR-V1-R071 /proofs/provider_signature/signature
}

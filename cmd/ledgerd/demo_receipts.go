package main

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/client"
	"ledgerd/receipts/air"
)

// defaultCorpus is the published corpus beside a clone.
const defaultCorpus = "../shared/conformance/air-v1/vectors.json"

// testKeys are those of RFC 8032 §7.1, with which the published corpus is signed. Their secrets are printed in the RFC:
// they are good for a demonstration and for nothing else.
var testKeys = [...]struct{ name, seed string }{
	{"provider", "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"},     // TEST 1
	{"notary A", "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"},     // TEST 2
	{"notary B", "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7"},     // TEST 3
	{"TEE verifier", "f5e5767cf153319517630f226876b86c8160cc583bc013744c6bf255f5cc0ee5"}, // TEST 1024
}

func testKey(seed string) (ed25519.PrivateKey, ed25519.PublicKey, error) {
	raw, err := hex.DecodeString(seed)
	if err != nil || len(raw) != ed25519.SeedSize {
		return nil, nil, errors.New("a seed is 64 hexadecimal digits")
	}
	key := ed25519.NewKeyFromSeed(raw)
	return key, ed25519.PublicKey(key[ed25519.SeedSize:]), nil
}

func demoPolicy() (client.TrustPolicy, error) {
	var p client.TrustPolicy
	for _, k := range testKeys {
		_, public, err := testKey(k.seed)
		if err != nil {
			return p, err
		}
		p.Pins = append(p.Pins, client.Pin{KeyRef: air.KeyRef(public), Comment: "RFC 8032 public test key: " + k.name, VouchedBy: "ledgerd demo"})
	}
	return p, nil
}

// setPolicy pins the test keys, unless the tenant has a policy: one that a person made must not come to trust them.
func (d *demo) setPolicy(ctx context.Context) error {
	inForce, err := d.admin.TrustPolicy(ctx)
	if err == nil {
		d.did("trust policy", "revision %d is in force and left as it is (entry %d)", inForce.Revision, inForce.Seq)
		return nil
	}
	if statusOf(err) != http.StatusNotFound {
		return err
	}
	p, err := demoPolicy()
	if err != nil {
		return err
	}
	r, err := d.admin.PutTrustPolicy(ctx, p)
	if err != nil {
		return err
	}
	d.did("trust policy", "revision %s pins %d public test keys, good for a demo only (entry %d)", r.Key, len(p.Pins), r.Seq)
	return nil
}

// demoBundle is a bundle to post. Published ones belong to no request of the session.
type demoBundle struct {
	raw       []byte
	requestID string
}

func (d *demo) postReceipts(ctx context.Context) error {
	bundles, source, err := d.readCorpus()
	if errors.Is(err, fs.ErrNotExist) && d.bundles == "" {
		source = "signed by the demo with a public test key"
		bundles, err = d.signBundles(time.Now())
	}
	if err != nil {
		return err
	}
	var done tally
	var refused []error
	verdicts := map[air.Status]int{}
	for _, b := range bundles {
		status, err := d.postBundle(ctx, b, &done)
		switch {
		case err == nil:
			verdicts[status]++
		case statusOf(err) == http.StatusUnprocessableEntity || statusOf(err) == http.StatusConflict:
			refused = append(refused, err) // an answer too: such as a receipt of the future
		default:
			return err
		}
	}
	d.did("receipts", "%d bundles %s", len(bundles), source)
	if len(done.seqs) > 0 {
		d.did("", "verified: %d valid, %d by keys that nobody pinned: %s", verdicts[air.Valid], verdicts[air.Indeterminate], &done)
		d.did("", "what a verdict does not prove: disclosures of GET /v1/receipt-bundles/%d", done.seqs[0])
	}
	if len(refused) > 0 {
		d.did("", "%d refused; the first: %v", len(refused), refused[0])
	}
	return nil
}

// postBundle gives the verdict that the bundle was recorded with.
func (d *demo) postBundle(ctx context.Context, b demoBundle, done *tally) (air.Status, error) {
	r, err := d.host.PostReceiptBundle(ctx, b.raw, b.requestID)
	if err != nil {
		return "", err
	}
	done.add(r)
	stored, err := d.host.ReceiptBundle(ctx, r.Seq)
	return stored.Verdict.Status, err
}

// maxCorpus bounds a corpus file, in bytes.
const maxCorpus = 64 << 20

// readCorpus reads the bundles that a corpus says are valid.
func (d *demo) readCorpus() (bundles []demoBundle, source string, err error) {
	name := d.bundles
	if name == "" {
		name = defaultCorpus
	}
	raw, err := readInput(strings.NewReader(""), name, maxCorpus)
	if err != nil {
		return nil, "", fmt.Errorf("reading bundles: %w", err)
	}
	var corpus struct {
		Valid []struct {
			Bundle jsontext.Value `json:"bundle"`
		} `json:"valid_vectors"`
	}
	if err := json.Unmarshal(raw, &corpus); err != nil {
		return nil, "", fmt.Errorf("reading bundles from %s: %w", name, err)
	}
	if len(corpus.Valid) == 0 {
		return nil, "", fmt.Errorf("%s has no valid_vectors", name)
	}
	for _, v := range corpus.Valid {
		bundles = append(bundles, demoBundle{raw: v.Bundle})
	}
	return bundles, "of " + name, nil
}

// signBundles makes receipts of the session's own requests, as their provider would.
func (d *demo) signBundles(at time.Time) ([]demoBundle, error) {
	key, public, err := testKey(testKeys[0].seed)
	if err != nil {
		return nil, err
	}
	var bundles []demoBundle
	for turn := 1; turn <= 3; turn++ {
		request := fmt.Sprintf("%s/request-%02d", d.session, turn)
		b, err := signBundle(request, at, key, public)
		if err != nil {
			return nil, err
		}
		bundles = append(bundles, demoBundle{b, request})
	}
	return bundles, nil
}

func signBundle(request string, at time.Time, key ed25519.PrivateKey, public ed25519.PublicKey) ([]byte, error) {
	receipt := air.Receipt{
		ReceiptID: "air1_" + strings.ReplaceAll(request, "/", "_"), RequestDigest: demoDigest(request), ResponseDigest: demoDigest("answer to " + request),
		Endpoint: "https://api.openai.com/v1/responses", ModelID: "openai/demo-model", RetentionClass: "undeclared",
		Timestamp:      at.UTC().Format(time.RFC3339),
		TrustStatement: air.TrustStatement{TerminatingParty: "provider", WitnessMode: air.ProviderSigns, NotaryTrustModel: air.ModelNone},
	}
	signature, err := air.SignProvider(receipt, key)
	if err != nil {
		return nil, err
	}
	return air.Bundle{
		Profile: air.ProfileV1, Receipt: receipt, Proofs: air.Proofs{ProviderSignature: signature},
		RetentionEvidence: air.RetentionEvidence{
			Provider: "openai", SourceURL: "https://developers.openai.com/api/docs/guides/your-data",
			RetrievedOn: "2026-09-04", SourceSHA256: demoDigest("the demo retrieved no page"), DeclaredClass: "undeclared",
		},
		VerificationKeys: []air.VerificationKey{air.NewVerificationKey(public, air.RoleProvider, "demo-provider")},
	}.JSON()
}

func demoDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

package air

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
)

// ErrUnsignable is wrapped by the signing functions when what they should sign breaks a rule of the profile, or the key
// is no Ed25519 private key.
var ErrUnsignable = errors.New("not signable under the profile")

// ProviderSignature is the provider_signature slot (seed §5.2).
type ProviderSignature struct {
	Algorithm         string   `json:"algorithm"`
	CoveredComponents []string `json:"covered_components"`
	Created           int64    `json:"created"`
	KeyRef            string   `json:"key_ref"`
	ReceiptDigest     string   `json:"receipt_digest"`
	Signature         string   `json:"signature"`
}

// NotaryQuorum is the notary_quorum slot (seed §5.3).
type NotaryQuorum struct {
	ReceiptDigest string            `json:"receipt_digest"`
	Signatures    []NotarySignature `json:"signatures"`
}

// NotarySignature is one notary's signature over a receipt digest.
type NotarySignature struct {
	NotaryID  string `json:"notary_id"`
	KeyRef    string `json:"key_ref"`
	Algorithm string `json:"algorithm"`
	Signature string `json:"signature"`
}

// TEEQuote is the tee_quote slot (seed §5.4): a signed appraisal of a committed quote, never the quote itself.
type TEEQuote struct {
	ReceiptDigest string    `json:"receipt_digest"`
	QuoteFormat   string    `json:"quote_format"`
	QuoteDigest   string    `json:"quote_digest"`
	Appraisal     Appraisal `json:"appraisal"`
}

// Appraisal is the appraiser's signed statement.
type Appraisal struct {
	VerifierID  string `json:"verifier_id"`
	KeyRef      string `json:"key_ref"`
	AppraisedAt string `json:"appraised_at"`
	Result      string `json:"result"`
	Signature   string `json:"signature"`
}

// Digest is the receipt digest of seed §5.1. It refuses a malformed receipt with ErrUnsignable.
func (r Receipt) Digest() (string, error) {
	c, err := signable(r)
	return c.digest, err
}

// signable decodes and checks a receipt with the verifier's own code, so that nothing is signed that it would refuse.
func signable(r Receipt) (checker, error) {
	raw, err := canonicalJSON(r.explicit())
	if err != nil {
		return checker{}, fmt.Errorf("encoding receipt: %w", err)
	}
	d := newDecoder(raw)
	b := bundle{profile: text{s: ProfileV11}, receipt: d.receipt()}
	c := checker{b: &b, errors: d.found}
	c.exchange()
	c.trust()
	c.want(b.receipt.class, isClass, R102, at(classPath))
	if len(c.errors) > 0 {
		f := inRuleOrder(c.errors)[0]
		return checker{}, fmt.Errorf("receipt breaks %s at %q: %w", f.Rule, f.Path, ErrUnsignable)
	}
	c.digest, err = receiptDigest(b.receipt.raw)
	return c, err
}

// SignProvider signs the exchange as its provider.
func SignProvider(r Receipt, key ed25519.PrivateKey) (*ProviderSignature, error) {
	c, err := signable(r)
	if err != nil {
		return nil, err
	}
	ref, err := refOf(key)
	if err != nil {
		return nil, err
	}
	covered := components()
	return &ProviderSignature{
		Algorithm: algorithm, CoveredComponents: covered[:], Created: c.time, KeyRef: ref, ReceiptDigest: c.digest,
		Signature: signText(key, signatureBase(&c.b.receipt, c.digest, c.time, ref)),
	}, nil
}

// SignNotary signs the receipt as the declared notary of that id. The receipt must declare the key's reference for it.
func SignNotary(r Receipt, notaryID string, key ed25519.PrivateKey) (NotarySignature, error) {
	c, err := signable(r)
	if err != nil {
		return NotarySignature{}, err
	}
	ref, err := refOf(key)
	if err != nil {
		return NotarySignature{}, err
	}
	t := &c.b.receipt.trust
	if n := t.notary(text{s: notaryID, ok: true}); n < 0 || t.notaries[n].ref.s != ref {
		return NotarySignature{}, fmt.Errorf("the receipt does not declare this notary and key: %w", ErrUnsignable)
	}
	return NotarySignature{
		NotaryID: notaryID, KeyRef: ref, Algorithm: algorithm, Signature: signText(key, notaryMessage(c.digest)),
	}, nil
}

// SignAppraisal completes and signs a passed appraisal of q, of which QuoteFormat, QuoteDigest, Appraisal.VerifierID
// and Appraisal.AppraisedAt are to be set; the other members are overwritten.
func SignAppraisal(r Receipt, q TEEQuote, key ed25519.PrivateKey) (*TEEQuote, error) {
	c, err := signable(r)
	if err != nil {
		return nil, err
	}
	if q.Appraisal.KeyRef, err = refOf(key); err != nil {
		return nil, err
	}
	q.ReceiptDigest, q.Appraisal.Result = c.digest, appraisalPass
	_, isTime := parseTimestamp(q.Appraisal.AppraisedAt)
	if !isTime || !isQuoteFormat(q.QuoteFormat) || !isDigest(q.QuoteDigest) || !isIdentifier(q.Appraisal.VerifierID) {
		return nil, fmt.Errorf("quote commitment or appraisal is malformed: %w", ErrUnsignable)
	}
	p := teeProof{format: text{s: q.QuoteFormat}, quoteDigest: text{s: q.QuoteDigest}}
	p.appraisal = teeAppraisal{
		appraisedAt: text{s: q.Appraisal.AppraisedAt}, result: text{s: appraisalPass}, verifier: text{s: q.Appraisal.VerifierID},
	}
	q.Appraisal.Signature = signText(key, appraisalMessage(c.digest, &p))
	return &q, nil
}

func refOf(key ed25519.PrivateKey) (string, error) {
	if len(key) != ed25519.PrivateKeySize { // ed25519 panics on any other length
		return "", fmt.Errorf("key is no Ed25519 private key: %w", ErrUnsignable)
	}
	return KeyRef(ed25519.PublicKey(key[ed25519.PrivateKeySize-ed25519.PublicKeySize:])), nil
}

func signText(key ed25519.PrivateKey, message []byte) string {
	return base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, message))
}

package air

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
)

// Bundle is a bundle that a host builds (seed §3). Neither it nor its parts are verified by being in these types;
// only Verify says anything about a bundle.
type Bundle struct {
	Profile           string            `json:"profile"`
	Receipt           Receipt           `json:"receipt"`
	Proofs            Proofs            `json:"proofs"`
	RetentionEvidence RetentionEvidence `json:"retention_evidence"`
	VerificationKeys  []VerificationKey `json:"verification_keys"`
}

// Receipt is the part of a bundle that the proofs bind.
type Receipt struct {
	ReceiptID      string         `json:"receipt_id"`
	RequestDigest  string         `json:"request_digest"`
	ResponseDigest string         `json:"response_digest"`
	Endpoint       string         `json:"endpoint"`
	ModelID        string         `json:"model_id"`
	RetentionClass string         `json:"retention_class"`
	Timestamp      string         `json:"timestamp"`
	TrustStatement TrustStatement `json:"trust_statement"`
}

// TrustStatement says how the exchange was witnessed (seed §3.1).
type TrustStatement struct {
	TerminatingParty string      `json:"terminating_party"`
	WitnessMode      WitnessMode `json:"witness_mode"`
	Notaries         []Notary    `json:"notaries"`
	Quorum           Quorum      `json:"quorum"`
	NotaryTrustModel TrustModel  `json:"notary_trust_model"`
}

// Notary is one declared notary.
type Notary struct {
	ID           string `json:"id"`
	KeyRef       string `json:"key_ref"`
	Operator     string `json:"operator"`
	Jurisdiction string `json:"jurisdiction"`
}

// Quorum demands K of N declared notaries.
type Quorum struct {
	K int `json:"k"`
	N int `json:"n"`
}

// Proofs are the eight slots; nil is the explicit null. The auxiliary slots take any closed object of their shape.
type Proofs struct {
	ProviderSignature      *ProviderSignature      `json:"provider_signature"`
	NotaryQuorum           *NotaryQuorum           `json:"notary_quorum"`
	TEEQuote               *TEEQuote               `json:"tee_quote"`
	OTS                    *OTS                    `json:"ots"`
	KeyTransparency        *KeyTransparency        `json:"key_transparency"`
	Lineage                *Lineage                `json:"lineage"`
	DisclosureStance       *DisclosureStance       `json:"disclosure_stance"`
	MultiOperatorInclusion *MultiOperatorInclusion `json:"multi_operator_inclusion"`
}

// RetentionEvidence says where the retention class was taken from (seed §4).
type RetentionEvidence struct {
	Provider        string   `json:"provider"`
	SourceURL       string   `json:"source_url"`
	RetrievedOn     string   `json:"retrieved_on"`
	SourceSHA256    string   `json:"source_sha256"`
	DeclaredClass   string   `json:"declared_class"`
	ServiceFeatures []string `json:"service_features"`
}

// VerificationKey is an included key; it is no trust anchor (seed §7.4).
type VerificationKey struct {
	Algorithm string `json:"algorithm"`
	PublicKey string `json:"public_key"`
	KeyRef    string `json:"key_ref"`
	Role      Role   `json:"role"`
	Operator  string `json:"operator"`
}

// NewVerificationKey includes a public key under its own reference.
func NewVerificationKey(key ed25519.PublicKey, role Role, operator string) VerificationKey {
	return VerificationKey{
		Algorithm: algorithm, PublicKey: base64.RawURLEncoding.EncodeToString(key), KeyRef: KeyRef(key),
		Role: role, Operator: operator,
	}
}

// JSON returns the bundle's RFC 8785 bytes. A nil list is written as an empty one; the profile has no null lists.
func (b Bundle) JSON() ([]byte, error) {
	b.Receipt = b.Receipt.explicit()
	if b.RetentionEvidence.ServiceFeatures == nil {
		b.RetentionEvidence.ServiceFeatures = []string{}
	}
	return canonicalJSON(b)
}

func (r Receipt) explicit() Receipt {
	if r.TrustStatement.Notaries == nil {
		r.TrustStatement.Notaries = []Notary{}
	}
	return r
}

func canonicalJSON(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return appendCanonical(nil, raw)
}

package air

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Domain labels; the zero byte ends each (seed §5.1, §5.3, §5.4).
const (
	receiptDomain   = "syngraphe.receipt-profile-v1.receipt\x00"
	notaryDomain    = "syngraphe.receipt-profile-v1.notary-signature\x00"
	appraisalDomain = "syngraphe.receipt-profile-v1.tee-appraisal\x00"
)

// receiptDigest is SHA-256 over the receipt domain and the RFC 8785 form of a receipt, whose numbers are known to be
// safe integers (seed §5.1).
func receiptDigest(raw string) (string, error) {
	b := make([]byte, 0, len(receiptDomain)+len(raw))
	b, err := appendCanonical(append(b, receiptDomain...), raw)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	var text [len(digestPrefix) + 2*sha256.Size]byte
	return string(hex.AppendEncode(append(text[:0], digestPrefix...), sum[:])), nil
}

// appendCanonical appends the RFC 8785 form of a JSON value. It is the only encoder of hashed bytes here.
func appendCanonical[Bytes ~string | ~[]byte](dst []byte, raw Bytes) ([]byte, error) {
	return jsontext.AppendFormat(dst, raw,
		jsontext.CanonicalizeRawInts(true), jsontext.CanonicalizeRawFloats(true), jsontext.ReorderRawObjects(true))
}

// signatureBase is what a provider signs: the RFC 9421 §2.5 signature base over the six components of seed §5.2. Its
// values must be well-formed; none of them can then hold a quote or a line feed.
func signatureBase(r *receipt, digest string, created int64, keyRef string) []byte {
	b := make([]byte, 0, 1024)
	values := [6]string{r.request.s, r.response.s, r.model.s, r.class.s, r.time.s, digest}
	for i, name := range components() {
		b = append(b, '"')
		b = append(b, name...)
		b = append(b, "\": "...)
		b = append(b, values[i]...)
		b = append(b, '\n')
	}
	b = append(b, `"@signature-params": (`...)
	for i, name := range components() {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, '"')
		b = append(b, name...)
		b = append(b, '"')
	}
	b = append(b, ");created="...)
	b = strconv.AppendInt(b, created, 10)
	b = append(b, `;keyid="`...)
	b = append(b, keyRef...)
	return append(b, `";alg="ed25519";tag="provider-receipt-v1"`...)
}

// notaryMessage is what each notary signs (seed §5.3).
func notaryMessage(digest string) []byte { return []byte(notaryDomain + digest) }

// appraisalMessage is what a TEE appraiser signs (seed §5.4). A zero byte stands before each of the six fields, so two
// of them follow the label. No field can hold one.
func appraisalMessage(digest string, p *teeProof) []byte {
	b := make([]byte, 0, 512)
	b = append(b, appraisalDomain...)
	a := &p.appraisal
	for _, field := range [6]string{digest, p.format.s, p.quoteDigest.s, a.appraisedAt.s, a.result.s, a.verifier.s} {
		b = append(b, 0)
		b = append(b, field...)
	}
	return b
}

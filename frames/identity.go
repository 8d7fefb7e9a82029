package frames

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/internal/strictjson"
)

// FrameID is the identity of a frame's exact bytes (context-reuse §1). It is comparable: == is identity, and it can key a
// map. Strings are compared as bytes, without normalisation.
type FrameID struct {
	// ProviderID is the host's routing and consent key of the serving provider.
	ProviderID string `json:"provider_id"`
	// FrameID is the provider's own id of the frame.
	FrameID string `json:"frame_id"`
	// ContentDigest is the provider's digest of the content, if it declared one.
	ContentDigest Digest `json:"content_digest,omitzero"`
}

// Digest is a provider-declared, opaque content digest, or none. None is the zero value and another identity than the
// empty digest.
type Digest struct {
	value   string
	present bool
}

// SomeDigest is a digest that was declared, be it empty.
func SomeDigest(value string) Digest { return Digest{value, true} }

// DigestOf is the digest that p points to, or none for nil.
func DigestOf(p *string) Digest {
	if p == nil {
		return Digest{}
	}
	return SomeDigest(*p)
}

// Value is the digest and whether there is one.
func (d Digest) Value() (string, bool) { return d.value, d.present }

// IsZero says that there is no digest. Encoders ask it for omitzero: the protocol omits an absent digest.
func (d Digest) IsZero() bool { return !d.present }

// IsSHA256 says whether the digest has the one form that SPEC D1 allows: "sha256:" and 64 lower-case hexadecimal digits.
// The protocol's own text calls digests opaque, so another form is a finding and no error.
func (d Digest) IsSHA256() bool {
	hex, ok := strings.CutPrefix(d.value, "sha256:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

// MarshalJSON writes the digest as a string, or null for none.
func (d Digest) MarshalJSON() ([]byte, error) {
	if !d.present {
		return []byte("null"), nil
	}
	return jsontext.AppendQuote(nil, d.value)
}

// UnmarshalJSON reads a string or null. It serves clients that read answers of ours; evidence goes through DecodeFrameID.
func (d *Digest) UnmarshalJSON(raw []byte) error {
	switch jsontext.Value(raw).Kind() {
	case 'n':
		*d = Digest{}
		return nil
	case '"':
		value, err := jsontext.AppendUnquote(nil, raw)
		*d = SomeDigest(string(value))
		return err
	}
	return errors.New("reading a digest: neither a string nor null")
}

// IsVerifiable says whether a provider can be asked about the frame at all: it has a digest (context-reuse D4).
func (id FrameID) IsVerifiable() bool { return id.ContentDigest.present }

// Compare is the canonical composition order (context-reuse §1): provider id, then frame id, then digest, none before
// any; strings by their UTF-8 bytes, as Rust orders them. The result is -1, 0 or +1.
func Compare(a, b FrameID) int {
	return cmp.Or(
		cmp.Compare(a.ProviderID, b.ProviderID),
		cmp.Compare(a.FrameID, b.FrameID),
		compareDigests(a.ContentDigest, b.ContentDigest),
	)
}

func compareDigests(a, b Digest) int {
	switch {
	case a.present == b.present:
		return cmp.Compare(a.value, b.value)
	case b.present:
		return -1
	}
	return +1
}

// Canonical is ids in canonical order, as a new slice. Equal identities stay.
func Canonical(ids []FrameID) []FrameID {
	sorted := slices.Clone(ids)
	slices.SortStableFunc(sorted, Compare)
	return sorted
}

// IsCanonical says whether ids stand in canonical order (context-reuse D2).
func IsCanonical(ids []FrameID) bool { return slices.IsSortedFunc(ids, Compare) }

// DecodeFrameID reads a FrameId where d stands. An absent digest and null are the same; empty strings are accepted, as
// the reference does, and are findings of AddIdentity.
func DecodeFrameID(d *strictjson.Decoder) FrameID {
	var id FrameID
	d.Object(
		strictjson.Req("provider_id", func() { id.ProviderID = d.String() }),
		strictjson.Req("frame_id", func() { id.FrameID = d.String() }),
		strictjson.Opt("content_digest", func() { id.ContentDigest = DigestOf(d.OptString()) }),
	)
	return id
}

// AddIdentity adds the findings of one identity that stands at pointer: empty-id, unverifiable-frame,
// digest-not-sha256.
func (f *Findings) AddIdentity(id FrameID, pointer string) {
	if id.ProviderID == "" {
		f.Add(EmptyID, "", pointer+"/provider_id")
	}
	if id.FrameID == "" {
		f.Add(EmptyID, "", pointer+"/frame_id")
	}
	switch {
	case !id.IsVerifiable():
		f.Add(UnverifiableFrame, DocReuseD4, pointer)
	case !id.ContentDigest.IsSHA256():
		f.Add(DigestNotSHA256, DocSpecD1, pointer+"/content_digest")
	}
}

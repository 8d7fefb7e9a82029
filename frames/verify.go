package frames

import (
	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/internal/strictjson"
)

// Status is a provider's answer about one held frame (context-reuse §4).
type Status string

// The closed set of statuses.
const (
	StatusValid   Status = "valid"   // unchanged
	StatusStale   Status = "stale"   // changed
	StatusGone    Status = "gone"    // no longer there
	StatusUnknown Status = "unknown" // the provider can't say
)

// Verdict is a status and, for StatusStale only, the provider's current digest if it gave one.
type Verdict struct {
	Status            Status `json:"status"`
	ReplacementDigest Digest `json:"replacement_digest,omitzero"`
}

// PermitsReuse says whether the frame may be kept: only on an explicit valid (context-reuse V2).
func (v Verdict) PermitsReuse() bool { return v.Status == StatusValid }

// WarrantsRequery says whether asking for the frame again makes sense: for stale and unknown.
func (v Verdict) WarrantsRequery() bool { return v.Status == StatusStale || v.Status == StatusUnknown }

// FrameVerdict is a verdict on the identity that it echoes in full, so that order means nothing.
type FrameVerdict struct {
	Frame FrameID `json:"frame"`
	Verdict

	stray bool // a replacement digest stood beside another status and was ignored
}

// VerifyRequest is the identities that a host asks about, never bodies (context-reuse V4). The list is written, empty or
// not.
type VerifyRequest struct {
	Frames []FrameID `json:"frames"`

	notes notes
}

// VerifyResponse is the verdicts of one provider. The list is written, empty or not.
type VerifyResponse struct {
	Verdicts []FrameVerdict `json:"verdicts"`

	notes notes
}

// HasBody says whether the document that r was read from carries what looks like a frame's content (context-reuse V4). A
// ledger must not store such a document.
func (r VerifyRequest) HasBody() bool { return len(r.notes.bodies) > 0 }

// HasBody says whether the document that r was read from carries what looks like a frame's content (context-reuse V4). A
// ledger must not store such a document.
func (r VerifyResponse) HasBody() bool { return len(r.notes.bodies) > 0 }

// UnknownAt is where the document that r was read from had members that the protocol does not know, as pointers.
func (r VerifyRequest) UnknownAt() []string { return r.notes.unknownAt }

// UnknownAt is where the document that r was read from had members that the protocol does not know, as pointers.
func (r VerifyResponse) UnknownAt() []string { return r.notes.unknownAt }

// ParseVerifyRequest reads a request that is the whole document. An error is a *strictjson.Error.
func ParseVerifyRequest(src []byte) (VerifyRequest, error) {
	return strictjson.Parse(src, strictjson.Open, DecodeVerifyRequest)
}

// DecodeVerifyRequest reads a request where d stands. Unknown members are accepted in it, whatever d's mode, and become
// findings.
func DecodeVerifyRequest(d *strictjson.Decoder) VerifyRequest {
	r := VerifyRequest{Frames: []FrameID{}}
	r.notes.read(d, func() {
		d.Object(strictjson.Opt("frames", func() {
			d.Array(func(int) { r.Frames = append(r.Frames, DecodeFrameID(d)) })
		}))
	})
	return r
}

// ParseVerifyResponse reads a response that is the whole document; one bad verdict fails it all. An error is a
// *strictjson.Error.
func ParseVerifyResponse(src []byte) (VerifyResponse, error) {
	return strictjson.Parse(src, strictjson.Open, DecodeVerifyResponse)
}

// DecodeVerifyResponse reads a response where d stands. Unknown members are accepted in it, whatever d's mode, and become
// findings.
func DecodeVerifyResponse(d *strictjson.Decoder) VerifyResponse {
	r := VerifyResponse{Verdicts: []FrameVerdict{}}
	r.notes.read(d, func() {
		d.Object(strictjson.Opt("verdicts", func() {
			d.Array(func(int) { r.Verdicts = append(r.Verdicts, DecodeFrameVerdict(d)) })
		}))
	})
	return r
}

// ParseFrameVerdict reads a verdict that is the whole document. An error is a *strictjson.Error.
func ParseFrameVerdict(src []byte) (FrameVerdict, error) {
	return strictjson.Parse(src, strictjson.Open, DecodeFrameVerdict)
}

// DecodeFrameVerdict reads a verdict where d stands, in d's mode: the members of the verdict stand beside frame.
func DecodeFrameVerdict(d *strictjson.Decoder) FrameVerdict {
	var v FrameVerdict
	var replacement jsontext.Value // judged once the status is known, which may stand after it
	d.Object(
		strictjson.Req("frame", func() { v.Frame = DecodeFrameID(d) }),
		strictjson.Req("status", func() { v.Status = decodeStatus(d) }),
		strictjson.Opt("replacement_digest", func() { replacement = d.Raw(d.Skip) }),
	)
	if d.Failed() || replacement == nil || replacement.Kind() == 'n' {
		return v
	}
	if v.Status != StatusStale {
		v.stray = true // of whatever type: the reference ignores and loses it
		return v
	}
	if v.ReplacementDigest.UnmarshalJSON(replacement) != nil {
		d.Fail(strictjson.RuleType, "the replacement digest is a string")
	}
	return v
}

func decodeStatus(d *strictjson.Decoder) Status {
	s := Status(d.String())
	switch s {
	case StatusValid, StatusStale, StatusGone, StatusUnknown:
	default:
		d.Fail(strictjson.RuleValue, "a status is valid, stale, gone or unknown")
	}
	return s
}

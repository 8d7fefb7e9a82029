package frames

import (
	"errors"

	"ledgerd/internal/strictjson"
)

// Verification is our own event: one round of context/verify between a host and one provider (context-reuse §4), as the
// host saw it. The protocol has the two messages and no record of the exchange. It is closed but for the two messages:
//
//	{"provider_id":"wiki","verified_at":"2031-03-04T05:06:07Z","capability":{"verify":true},
//	 "request":{"frames":[FrameId…]},"response":{"verdicts":[…]},"outcome":{"retained":[…],"dropped":[…]}}
//
// The outcome is what the host says it did with the frames; see DecodeOutcome. It is a claim, which Check holds against
// the default-deny partition of the same messages.
type Verification struct {
	// ProviderID is the provider that was, or could have been, asked.
	ProviderID string `json:"provider_id"`
	// VerifiedAt is a protocol timestamp: when the outcome was reached.
	VerifiedAt string `json:"verified_at"`
	// Capability is what the provider's handshake advertised, nil when the host knows no such provider.
	Capability *VerifyCapability `json:"capability"`
	// Request names the frames that the host held. Those without a digest, and all when the capability is missing, are
	// never sent.
	Request VerifyRequest `json:"request"`
	// Response is what was answered, nil when nothing was: the provider was not asked, or failed.
	Response *VerifyResponse `json:"response"`
	// Outcome is the claimed partition of the request's frames.
	Outcome Outcome `json:"outcome"`
}

// VerifyCapability is the part of a provider's capabilities that matters here.
type VerifyCapability struct {
	// Verify says that the provider answers context/verify.
	Verify bool `json:"verify"`
}

// The findings about verifications.
const (
	// AskedWithoutCapability: there is a response although the provider did not advertise verify, so it was asked.
	AskedWithoutCapability Code = "asked-without-capability"
	// ForeignFrame: a held frame is of another provider than the one that is asked; it is dropped as unknown_provider.
	ForeignFrame Code = "foreign-frame"
	// UnaskedVerdict: a verdict about a frame that was not asked about. It is ignored.
	UnaskedVerdict Code = "unasked-verdict"
)

// DocReuseV3 is the capability gate.
const DocReuseV3 = "context-reuse V3"

// ParseVerification reads a verification that is the whole document. An error is a *strictjson.Error.
func ParseVerification(src []byte) (Verification, error) {
	return strictjson.Parse(src, strictjson.Closed, DecodeVerification)
}

// DecodeVerification reads a verification where d stands. The event is ours and closed; in the two messages, which are the
// protocol's, unknown members are accepted.
func DecodeVerification(d *strictjson.Decoder) Verification {
	var v Verification
	d.In(strictjson.Closed, func() {
		d.Object(
			strictjson.Req("provider_id", func() { v.ProviderID = d.String() }),
			strictjson.Req("verified_at", func() { v.VerifiedAt = d.String() }),
			strictjson.Req("capability", func() {
				if !d.Null() {
					v.Capability = decodeCapability(d)
				}
			}),
			strictjson.Req("request", func() { v.Request = DecodeVerifyRequest(d) }),
			strictjson.Req("response", func() {
				if !d.Null() {
					response := DecodeVerifyResponse(d)
					v.Response = &response
				}
			}),
			strictjson.Req("outcome", func() { v.Outcome = DecodeOutcome(d) }),
		)
	})
	return v
}

func decodeCapability(d *strictjson.Decoder) *VerifyCapability {
	c := &VerifyCapability{}
	d.Object(strictjson.Req("verify", func() { c.Verify = d.Bool() }))
	return c
}

// VerificationError refuses a verification that could be read but must not be believed. It holds no value of it.
type VerificationError struct {
	// Pointer is the place, from the verification's root.
	Pointer string
	// Document is the requirement that is broken, document and number; empty for a rule of ours.
	Document string
	// Problem is a fixed text.
	Problem string
}

func (e *VerificationError) Error() string {
	return "checking the verification at " + e.Pointer + ": " + e.Problem
}

// Partition is what the host must have done with the frames.
func (v Verification) Partition() Outcome {
	answers := map[string]Answer{}
	if v.Capability != nil {
		a := Answer{Verify: v.Capability.Verify, Failed: v.Response == nil}
		if v.Response != nil {
			a.Verdicts = v.Response.Verdicts
		}
		answers[v.ProviderID] = a
	}
	return Partition(v.Request.Frames, answers)
}

// HasBody says whether one of the messages carries what looks like a frame's content (context-reuse V4).
func (v Verification) HasBody() bool {
	return v.Request.HasBody() || v.Response != nil && v.Response.HasBody()
}

// Check refuses a verification of no provider, at no instant, or whose claimed outcome is not the default-deny partition
// (context-reuse V2, V3, D4). The error is a *VerificationError. A body is not its matter, see HasBody: a stateless
// verifier reports it, a ledger refuses to store it.
func (v Verification) Check() error {
	if v.ProviderID == "" {
		return &VerificationError{"/provider_id", "", "an empty name names nothing"}
	}
	if !IsInstant(v.VerifiedAt) {
		return &VerificationError{"/verified_at", DocSpecF4, "a protocol timestamp is required"}
	}
	var differs *OutcomeError
	if errors.As(v.Partition().CheckClaim(v.Outcome), &differs) {
		return &VerificationError{"/outcome" + differs.Pointer, DocReuseV2, differs.Err.Error()}
	}
	return nil
}

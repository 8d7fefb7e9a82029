package receipts

import (
	"ledgerd/frames"
	"ledgerd/internal/strictjson"
)

// Revocation is our own event: the protocol knows no revocation of a receipt, although it demands that consent can be
// revoked and that a revocation adds to the record. It ends every earlier grant to the provider for exactly this scope
// from RevokedAt on, and erases none; a later grant opens the scope again.
type Revocation struct {
	ProviderID string `json:"provider_id"`
	// Scope is the scope that is closed. Null is the boolean consent, which has none: see Boolean.
	Scope EgressScope `json:"scope"`
	// RevokedBy is the human or policy that took the consent back. It need not be the grantor.
	RevokedBy Grantor `json:"revoked_by"`
	// RevokedAt is a protocol timestamp.
	RevokedAt string `json:"revoked_at"`
	// Reason is free text, nil if none was given.
	Reason *string `json:"reason,omitempty"`
	// Boolean says that scope was null: the ConsentRecords of the provider are revoked, as the reference's revoke does,
	// and no receipt.
	Boolean bool `json:"-"`
}

// ParseRevocation reads a revocation that is the whole document. An error is a *strictjson.Error.
func ParseRevocation(src []byte) (Revocation, error) {
	return strictjson.Parse(src, strictjson.Closed, DecodeRevocation)
}

// DecodeRevocation reads a revocation where d stands. It is ours, so an unknown member is an error whatever d's mode.
func DecodeRevocation(d *strictjson.Decoder) Revocation {
	var r Revocation
	d.In(strictjson.Closed, func() {
		d.Object(
			strictjson.Req("provider_id", func() { r.ProviderID = d.String() }),
			strictjson.Req("scope", func() {
				if r.Boolean = d.Null(); !r.Boolean {
					r.Scope = EgressScope(d.String())
				}
			}),
			strictjson.Req("revoked_by", func() { r.RevokedBy = decodeGrantor(d) }),
			strictjson.Req("revoked_at", func() { r.RevokedAt = d.String() }),
			strictjson.Opt("reason", func() { r.Reason = d.OptString() }),
		)
	})
	return r
}

// Check refuses a revocation that could not take anything back: without a name, with a malformed scope or at no instant.
// The error is a *CheckError.
func (r Revocation) Check() error {
	switch {
	case r.ProviderID == "":
		return &CheckError{"/provider_id", "", problemEmpty}
	case !r.Boolean && !r.Scope.IsValid():
		return &CheckError{"/scope", docSpecU3, problemScope}
	case r.RevokedBy.ID == "":
		return &CheckError{"/revoked_by/id", "", problemEmpty}
	case !frames.IsInstant(r.RevokedAt):
		return &CheckError{"/revoked_at", frames.DocSpecF4, problemInstant}
	}
	return nil
}

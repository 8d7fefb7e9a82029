package receipts

import (
	"strings"

	"ledgerd/frames"
)

// The findings about consent, beside those of package frames. None of them is a reason of refusal.
const (
	// SchemaDisagrees: the reference's code accepts what its published envelope schema refuses.
	SchemaDisagrees frames.Code = "schema-disagrees"
	// EmptyGrantorID: the receipt does not say who agreed.
	EmptyGrantorID frames.Code = "empty-grantor-id"
	// GrantedAtNotF4: granted_at is no protocol timestamp.
	GrantedAtNotF4 frames.Code = "granted-at-not-f4"
	// ExpiresAtNotF4: expires_at is no protocol timestamp.
	ExpiresAtNotF4 frames.Code = "expires-at-not-f4"
	// ExpiresNotAfterGranted: the grant was never in force.
	ExpiresNotAfterGranted frames.Code = "expires-not-after-granted"
	// FractionalBreaksByteCompare: expires_at has a fraction, which sorts before the whole second by bytes, so
	// IsLiveReference is wrong around it.
	FractionalBreaksByteCompare frames.Code = "fractional-breaks-byte-compare"
	// ByteCompareDiffers: at this moment IsLiveReference and IsLive give different answers.
	ByteCompareDiffers frames.Code = "byte-compare-differs"
	// C5Violation: a declaration's scopes and its egress flag contradict each other, or a scope is malformed.
	C5Violation frames.Code = "c5-violation"
	// EgressWithoutOffMachineScope: egress is declared, and scopes are, but none that leaves the machine.
	EgressWithoutOffMachineScope frames.Code = "egress-without-off-machine-scope"
	// DeclaredAhead: a declaration is dated ahead of the receiver's clock. Only who has one can find it.
	DeclaredAhead frames.Code = "declared-ahead"
	// IdentityDrift: the provider's name or version is not the one that was pinned when consent was given.
	IdentityDrift frames.Code = "identity-drift"
	// ExpiredReceipt, RevokedReceipt, GrantedAfter, UndatedReceipt: the scope has a receipt, which permits by presence, but
	// none was in force at the moment in question: see State.
	ExpiredReceipt frames.Code = "expired-receipt"
	RevokedReceipt frames.Code = "revoked-receipt"
	GrantedAfter   frames.Code = "granted-after"
	UndatedReceipt frames.Code = "undated-receipt"
)

// The requirements that consent refers to, document and number.
const (
	docReuseC5 = "context-reuse C5"
	docReuseC6 = "context-reuse C6"
	docSpecU3  = "SPEC U3"
)

// CheckError refuses an artifact that could be read but must not be believed. It holds no value of the artifact.
type CheckError struct {
	// Pointer is the place, from the artifact's root.
	Pointer string
	// Document is the requirement that is broken, document and number; empty for a rule of ours.
	Document string
	// Problem is a fixed text.
	Problem string
}

func (e *CheckError) Error() string { return "checking " + e.Pointer + ": " + e.Problem }

const (
	problemScope    = "the scope is neither a base word nor namespaced with two non-empty sides"
	problemContrary = "an off-machine scope contradicts egress false"
	problemInstant  = "a protocol timestamp is required"
	problemEmpty    = "an empty name names nothing"
)

func addEmpty(f *frames.Findings, value string, code frames.Code, pointer string) {
	if value == "" {
		f.Add(code, "", pointer)
	}
}

func hasFraction(instant string) bool { return strings.Contains(instant, ".") }

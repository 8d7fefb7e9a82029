package air

import "time"

// Claims is what a receipt says, for projection and display. Whether any of it was verified is said only by the type
// that it came from, ProviderReceipt or UnverifiedReceipt, so keep that beside it.
type Claims struct {
	Profile          string
	ReceiptID        string
	ReceiptDigest    string // sha256:<hex> over the canonical receipt (seed §5.1)
	RequestDigest    string
	ResponseDigest   string
	Endpoint         string
	EndpointHost     string // lower case
	ModelID          string
	Provider         string
	RetentionClass   string // a declaration, never evidence of conduct (seed §7.3)
	Timestamp        time.Time
	WitnessMode      WitnessMode
	TrustModel       TrustModel
	TerminatingParty string
}

// ProviderReceipt is a receipt whose bundle was found Valid: one exchange with its primary witness proof (seed §7.1).
// Only Verify makes one; the zero value claims nothing.
type ProviderReceipt struct{ verified Claims }

// Claims returns what the verified receipt says.
func (r ProviderReceipt) Claims() Claims { return r.verified }

// IsZero reports that the value did not come from a valid bundle.
func (r ProviderReceipt) IsZero() bool { return r.verified.ReceiptDigest == "" }

// UnverifiedReceipt is a receipt whose bundle breaks no rule but lacks outside trust (Indeterminate). It can't be
// converted to a ProviderReceipt: its bundle has to be verified again under a policy that suffices.
type UnverifiedReceipt struct{ unverified Claims }

// Claims returns what the receipt says; nobody trusted by the caller has vouched for it.
func (r UnverifiedReceipt) Claims() Claims { return r.unverified }

// SessionRecordRef names a SessionRecord, the state of a session-scoped channel, keyset or attestation, by its digest.
// It is not a ProviderReceipt and can't become one, and to hold one beside a receipt imports none of the session's
// claims (seed §7.1). The zero value names nothing.
type SessionRecordRef struct{ session string }

// ParseSessionRecordRef accepts a digest of the form sha256:<64 lower-case hex>, and says whether it is one.
func ParseSessionRecordRef(digest string) (SessionRecordRef, bool) {
	if !isDigest(digest) {
		return SessionRecordRef{}, false
	}
	return SessionRecordRef{session: digest}, true
}

// Digest returns the digest that names the session record, "" for the zero value.
func (r SessionRecordRef) Digest() string { return r.session }

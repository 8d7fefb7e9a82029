package receipts

import (
	"time"

	"ledgerd/frames"
)

// IsLiveReference is the reference's ConsentReceipt::is_live: no expiry, or now sorts before expires_at by bytes. The
// strings are not parsed and granted_at is not looked at, so the answer is wrong wherever spellings differ (a fraction, a
// lower-case z, an offset) and before the grant. It is offered to say what a host would have decided.
func (r ConsentReceipt) IsLiveReference(now string) bool {
	return r.ExpiresAt == nil || now < *r.ExpiresAt
}

// IsLive says whether the grant was in force at t by its own instants: granted_at ≤ t < expires_at. Instants outside the
// protocol's profile are read as RFC 3339; one that can't be read is never live, since silence must not permit.
// Revocations are not its matter; see Store.StateAt.
func (r ConsentReceipt) IsLive(t time.Time) bool {
	granted, expires, ok := r.period()
	return ok && !t.Before(granted) && (r.ExpiresAt == nil || t.Before(expires))
}

// period reads both instants; expires is zero without an expiry.
func (r ConsentReceipt) period() (granted, expires time.Time, ok bool) {
	granted, ok = frames.ParseRFC3339(r.GrantedAt)
	if ok && r.ExpiresAt != nil {
		expires, ok = frames.ParseRFC3339(*r.ExpiresAt)
	}
	return granted, expires, ok
}

// Liveness is both answers at one moment.
type Liveness struct {
	// Reference is what the reference's byte comparison says.
	Reference bool
	// Instant is what the instants say.
	Instant bool
}

// LivenessAt asks both questions at now, and finds byte-compare-differs where the answers differ. A now that is no RFC
// 3339 timestamp is at no instant, so nothing is live at it.
func (r ConsentReceipt) LivenessAt(now string) (Liveness, []frames.Finding) {
	t, ok := frames.ParseRFC3339(now)
	live := Liveness{Reference: r.IsLiveReference(now), Instant: ok && r.IsLive(t)}
	var f frames.Findings
	if live.Reference != live.Instant {
		f.Add(ByteCompareDiffers, frames.DocSpecF4, r.decidingMember())
	}
	return live, f.List()
}

func (r ConsentReceipt) decidingMember() string {
	if r.ExpiresAt == nil {
		return "/granted_at"
	}
	return "/expires_at"
}

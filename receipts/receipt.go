package receipts

import (
	"ledgerd/frames"
	"ledgerd/internal/strictjson"
)

// GrantorKind says what agreed.
type GrantorKind string

// The closed set of grantor kinds.
const (
	Human  GrantorKind = "human"
	Policy GrantorKind = "policy"
)

// Grantor is who agreed: a named human or a named policy.
type Grantor struct {
	Kind GrantorKind `json:"kind"`
	// ID names the human or policy. The protocol accepts an empty one, which is a finding.
	ID string `json:"id"`
}

// ConsentReceipt is the durable record of one grant (context-reuse §3): this provider, as it called itself then, may send
// content to this class of destination. It authorizes nothing by having been parsed; see Check and Evaluate.
type ConsentReceipt struct {
	// ProviderID is the host's key of the provider.
	ProviderID string `json:"provider_id"`
	// Scope is the exact egress class that was agreed to.
	Scope EgressScope `json:"scope"`
	// ProviderName and ProviderVersion pin the provider's identity at grant time.
	ProviderName    string  `json:"provider_name"`
	ProviderVersion string  `json:"provider_version"`
	Grantor         Grantor `json:"grantor"`
	// GrantedAt and ExpiresAt are kept as written: they need not be timestamps. Nil means that consent does not lapse.
	GrantedAt string  `json:"granted_at"`
	ExpiresAt *string `json:"expires_at,omitempty"`

	unknownAt []string // where unknown members stood in the document it was read from
}

// ParseConsentReceipt reads a receipt that is the whole document. An error is a *strictjson.Error: the reference would
// not read the document either, or it has a duplicate member.
func ParseConsentReceipt(src []byte) (ConsentReceipt, error) {
	return strictjson.Parse(src, strictjson.Open, DecodeConsentReceipt)
}

// DecodeConsentReceipt reads a receipt where d stands, inside a larger document. Unknown members are accepted in it,
// whatever d's mode, and become findings. After an error of d the result means nothing.
func DecodeConsentReceipt(d *strictjson.Decoder) ConsentReceipt {
	var r ConsentReceipt
	r.unknownAt = d.Artifact(func() {
		d.Object(
			strictjson.Req("provider_id", func() { r.ProviderID = d.String() }),
			strictjson.Req("scope", func() { r.Scope = EgressScope(d.String()) }),
			strictjson.Req("provider_name", func() { r.ProviderName = d.String() }),
			strictjson.Req("provider_version", func() { r.ProviderVersion = d.String() }),
			strictjson.Req("grantor", func() { r.Grantor = decodeGrantor(d) }),
			strictjson.Req("granted_at", func() { r.GrantedAt = d.String() }),
			strictjson.Opt("expires_at", func() { r.ExpiresAt = d.OptString() }),
		)
	})
	return r
}

func decodeGrantor(d *strictjson.Decoder) Grantor {
	var g Grantor
	d.Object(
		strictjson.Req("kind", func() {
			g.Kind = GrantorKind(d.String())
			if !d.Failed() && g.Kind != Human && g.Kind != Policy {
				d.Fail(strictjson.RuleValue, "a grantor is of kind human or policy")
			}
		}),
		strictjson.Req("id", func() { g.ID = d.String() }),
	)
	return g
}

// Check refuses a receipt whose scope is malformed: it names no destination, so nobody can have agreed to it. The error is
// a *CheckError. Everything else that is odd about a receipt is a finding.
func (r ConsentReceipt) Check() error {
	if !r.Scope.IsValid() {
		return &CheckError{"/scope", docSpecU3, problemScope}
	}
	return nil
}

// Findings is what an auditor wants to know about a receipt although the reference accepts it.
func (r ConsentReceipt) Findings() []frames.Finding {
	var f frames.Findings
	f.AddUnknown(r.unknownAt)
	addEmpty(&f, r.ProviderID, frames.EmptyID, "/provider_id")
	if r.Scope.schemaDisagrees() {
		f.Add(SchemaDisagrees, docSpecU3, "/scope")
	}
	addEmpty(&f, r.Grantor.ID, EmptyGrantorID, "/grantor/id")
	r.addTimes(&f)
	return f.List()
}

func (r ConsentReceipt) addTimes(f *frames.Findings) {
	if !frames.IsInstant(r.GrantedAt) {
		f.Add(GrantedAtNotF4, frames.DocSpecF4, "/granted_at")
	}
	if r.ExpiresAt == nil {
		return
	}
	if !frames.IsInstant(*r.ExpiresAt) {
		f.Add(ExpiresAtNotF4, frames.DocSpecF4, "/expires_at")
	} else if hasFraction(*r.ExpiresAt) {
		f.Add(FractionalBreaksByteCompare, frames.DocSpecF4, "/expires_at")
	}
	granted, ok1 := frames.ParseRFC3339(r.GrantedAt)
	expires, ok2 := frames.ParseRFC3339(*r.ExpiresAt)
	if ok1 && ok2 && !expires.After(granted) {
		f.Add(ExpiresNotAfterGranted, "", "/expires_at")
	}
}

package kinds

import (
	"errors"
	"time"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
	"ledgerd/receipts"
)

// ConsentReceipt is the record of one grant of consent (context-reuse §3). It has no natural key: the same grant may be
// given twice.
var ConsentReceipt = Kind{
	Name:     "consent-receipt",
	Core:     "the grant is well-formed, and its scope names a destination (context-reuse §3)",
	PostedBy: []Role{Host},
	MaxBytes: 64 << 10,
	Tables:   []*Table{&consents},
	check:    checkConsentReceipt,
	project:  projected(readConsent, consentRows),
	shape:    func(d *strictjson.Decoder) { receipts.DecodeConsentReceipt(d) },
}

var consents = Table{Name: "consents", Columns: []Column{
	{Name: "provider_id"}, {Name: "scope"}, {Name: "provider_name"}, {Name: "provider_version"},
	{Name: "grantor_kind"}, {Name: "grantor_id", Personal: true}, {Name: "granted_at_text"}, {Name: "granted_at"},
	{Name: "expires_at_text"}, {Name: "expires_at"},
}}

func checkConsentReceipt(s Submission, _ Env) (*Accepted, error) {
	r, err := readConsent(s)
	if err != nil {
		return nil, err
	}
	return accepted(s, r.Findings(), consentRows(r))
}

func readConsent(s Submission) (receipts.ConsentReceipt, error) {
	if err := noContext(s); err != nil {
		return receipts.ConsentReceipt{}, err
	}
	d := strictjson.NewDecoder(s.Artifact, strictjson.Open)
	r := receipts.DecodeConsentReceipt(d)
	if err := finish(d, s.ArtifactAt); err != nil {
		return r, err
	}
	if err := boundConsent(r, s.ArtifactAt); err != nil {
		return r, err
	}
	return r, refused(r.Check(), s.ArtifactAt)
}

func consentRows(r receipts.ConsentReceipt) []Rows {
	return []Rows{{Table: &consents, Values: [][]any{{
		r.ProviderID, string(r.Scope), r.ProviderName, r.ProviderVersion,
		string(r.Grantor.Kind), r.Grantor.ID, r.GrantedAt, instant(&r.GrantedAt), r.ExpiresAt, instant(r.ExpiresAt),
	}}}}
}

func boundConsent(r receipts.ConsentReceipt, base string) error {
	b := bounds{}
	b.id(base+"/provider_id", r.ProviderID)
	b.id(base+"/scope", string(r.Scope))
	b.id(base+"/provider_name", r.ProviderName)
	b.id(base+"/provider_version", r.ProviderVersion)
	b.id(base+"/grantor/id", r.Grantor.ID)
	b.instant(base+"/granted_at", &r.GrantedAt)
	b.instant(base+"/expires_at", r.ExpiresAt)
	return b.err
}

// refused makes a core's refusal a Rejection.
func refused(err error, base string) error {
	var e *receipts.CheckError
	if !errors.As(err, &e) {
		return err
	}
	detail := e.Problem
	if e.Document != "" {
		detail += " (" + e.Document + ")"
	}
	return &Rejection{Code: "artifact-refused", Pointer: base + e.Pointer, Detail: detail}
}

// instant is what a timestamp of an artifact means for questions: nil when it can't be read as one.
func instant(s *string) *time.Time {
	if s == nil {
		return nil
	}
	t, ok := frames.ParseRFC3339(*s)
	if !ok {
		return nil
	}
	return &t
}

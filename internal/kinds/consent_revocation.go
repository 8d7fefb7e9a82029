package kinds

import (
	"ledgerd/frames"
	"ledgerd/internal/strictjson"
	"ledgerd/receipts"
)

// ConsentRevocation takes consent back. The event is ours: the protocol demands that consent can be revoked (C1) and has no
// event for it. It adds to the record and erases nothing. An admin may post it too, since whoever gave the consent may no
// longer run a host.
var ConsentRevocation = Kind{
	Name:     "consent-revocation",
	Core:     "the revocation is well-formed and names a target and an instant",
	PostedBy: []Role{Host, Admin},
	MaxBytes: 64 << 10,
	Tables:   []*Table{&revocations},
	check:    checkRevocation,
	project:  projected(readRevocation, revocationRows),
	shape:    func(d *strictjson.Decoder) { receipts.DecodeRevocation(d) },
}

var revocations = Table{Name: "consent_revocations", Columns: []Column{
	{Name: "provider_id"}, {Name: "scope"}, {Name: "revoked_by_kind"}, {Name: "revoked_by_id", Personal: true},
	{Name: "revoked_at_text"}, {Name: "revoked_at"}, {Name: "reason", Personal: true},
}}

func checkRevocation(s Submission, _ Env) (*Accepted, error) {
	r, err := readRevocation(s)
	if err != nil {
		return nil, err
	}
	return accepted(s, nil, revocationRows(r))
}

func readRevocation(s Submission) (receipts.Revocation, error) {
	if err := noContext(s); err != nil {
		return receipts.Revocation{}, err
	}
	d := strictjson.NewDecoder(s.Artifact, strictjson.Closed)
	r := receipts.DecodeRevocation(d)
	if err := finish(d, s.ArtifactAt); err != nil {
		return r, err
	}
	b := bounds{}
	b.id(s.ArtifactAt+"/provider_id", r.ProviderID)
	b.id(s.ArtifactAt+"/scope", string(r.Scope))
	b.id(s.ArtifactAt+"/revoked_by/id", r.RevokedBy.ID)
	b.instant(s.ArtifactAt+"/revoked_at", &r.RevokedAt)
	if r.Reason != nil {
		b.id(s.ArtifactAt+"/reason", *r.Reason)
	}
	if b.err != nil {
		return r, b.err
	}
	return r, refused(r.Check(), s.ArtifactAt)
}

func revocationRows(r receipts.Revocation) []Rows {
	at, _ := frames.ParseInstant(r.RevokedAt) // Check has read it
	var scope *string                         // null for the boolean consent
	if !r.Boolean {
		text := string(r.Scope)
		scope = &text
	}
	return []Rows{{Table: &revocations, Values: [][]any{{
		r.ProviderID, scope, string(r.RevokedBy.Kind), r.RevokedBy.ID, r.RevokedAt, at, r.Reason,
	}}}}
}

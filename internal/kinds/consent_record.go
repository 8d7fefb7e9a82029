package kinds

import (
	"strconv"

	"ledgerd/internal/strictjson"
	"ledgerd/receipts"
)

// ConsentRecord is the older, boolean consent (context-reuse §3): it unlocks a provider that declares egress without
// scopes, and never a scope. A data flow in it that breaks C5 is a finding, since it is the host's own note. One that states
// no time needs a key: without either, giving consent again after it was revoked would be taken for the first post repeated.
var ConsentRecord = Kind{
	Name:     "consent-record",
	Core:     "the boolean consent is well-formed (context-reuse §3)",
	PostedBy: []Role{Host},
	MaxBytes: 64 << 10,
	Tables:   []*Table{&consentRecords},
	check:    checkConsentRecord,
	project:  projected(readConsentRecord, consentRecordRows),
	shape:    func(d *strictjson.Decoder) { receipts.DecodeConsentRecord(d) },
}

var consentRecords = Table{Name: "consent_records", Columns: []Column{
	{Name: "provider_id"}, {Name: "granted_scope", Personal: true}, {Name: "granted_at_text"}, {Name: "granted_at"},
	{Name: "reads"}, {Name: "writes"}, {Name: "egress"}, {Name: "egress_scopes"},
}}

func checkConsentRecord(s Submission, _ Env) (*Accepted, error) {
	r, err := readConsentRecord(s)
	if err != nil {
		return nil, err
	}
	if r.GrantedAt == nil && s.Key == "" {
		return nil, &Rejection{
			Code: "artifact-refused", Pointer: s.ArtifactAt + "/granted_at",
			Detail: "a boolean consent states when it was given or is posted with an Idempotency-Key, else the same consent given again after a revocation would read as a replay",
		}
	}
	return accepted(s, r.Findings(), consentRecordRows(r))
}

func readConsentRecord(s Submission) (receipts.ConsentRecord, error) {
	if err := noContext(s); err != nil {
		return receipts.ConsentRecord{}, err
	}
	d := strictjson.NewDecoder(s.Artifact, strictjson.Open)
	r := receipts.DecodeConsentRecord(d)
	if err := finish(d, s.ArtifactAt); err != nil {
		return r, err
	}
	b := bounds{}
	b.id(s.ArtifactAt+"/provider_id", r.ProviderID)
	b.id(s.ArtifactAt+"/granted_scope", r.GrantedScope)
	b.instant(s.ArtifactAt+"/granted_at", r.GrantedAt)
	b.dataFlow(s.ArtifactAt+"/data_flow", r.DataFlow)
	return r, b.err
}

func consentRecordRows(r receipts.ConsentRecord) []Rows {
	f := r.DataFlow
	return []Rows{{Table: &consentRecords, Values: [][]any{{
		r.ProviderID, r.GrantedScope, r.GrantedAt, instant(r.GrantedAt), f.Reads, f.Writes, f.Egress, scopeTexts(f),
	}}}}
}

// maxScopes bounds a declaration: each scope is a class of destinations, of which nobody has many.
const maxScopes = 256

func (b *bounds) dataFlow(pointer string, f receipts.DataFlow) {
	if b.err == nil && len(f.EgressScopes) > maxScopes {
		b.err = &Rejection{Code: "artifact-refused", Pointer: pointer + "/egress_scopes", Detail: "a data flow has at most " + strconv.Itoa(maxScopes) + " scopes"}
	}
	for i, s := range f.EgressScopes {
		b.id(pointer+"/egress_scopes/"+strconv.Itoa(i), string(s))
	}
}

// scopeTexts is a data flow's scopes as a column, in declaration order.
func scopeTexts(f receipts.DataFlow) []string {
	texts := make([]string, len(f.EgressScopes))
	for i, s := range f.EgressScopes {
		texts[i] = string(s)
	}
	return texts
}

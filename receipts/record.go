package receipts

import (
	"iter"
	"time"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
)

// ConsentRecord is the older, boolean consent: this provider may be asked although it says that content leaves. It never
// satisfies a scope (context-reuse C6).
type ConsentRecord struct {
	ProviderID string   `json:"provider_id"`
	DataFlow   DataFlow `json:"data_flow"`
	// GrantedScope describes in free text what was agreed to. It is no egress scope.
	GrantedScope string `json:"granted_scope"`
	// GrantedAt is kept as written, nil if the host did not say.
	GrantedAt *string `json:"granted_at,omitempty"`

	unknownAt []string // where unknown members stood in the document it was read from
}

// ParseConsentRecord reads a record that is the whole document. An error is a *strictjson.Error.
func ParseConsentRecord(src []byte) (ConsentRecord, error) {
	return strictjson.Parse(src, strictjson.Open, DecodeConsentRecord)
}

// DecodeConsentRecord reads a record where d stands, inside a larger document. Unknown members are accepted in it,
// whatever d's mode, and become findings.
func DecodeConsentRecord(d *strictjson.Decoder) ConsentRecord {
	var r ConsentRecord
	r.unknownAt = d.Artifact(func() {
		d.Object(
			strictjson.Req("provider_id", func() { r.ProviderID = d.String() }),
			strictjson.Req("data_flow", func() { r.DataFlow = DecodeDataFlow(d) }),
			strictjson.Req("granted_scope", func() { r.GrantedScope = d.String() }),
			strictjson.Opt("granted_at", func() { r.GrantedAt = d.OptString() }),
		)
	})
	return r
}

// Findings is what an auditor wants to know about a record. It has no Check: it is the host's own note, and a data flow
// in it that breaks context-reuse C5 is a finding, where a declaration's is refused.
func (r ConsentRecord) Findings() []frames.Finding {
	var f frames.Findings
	f.AddUnknown(r.unknownAt)
	addEmpty(&f, r.ProviderID, frames.EmptyID, "/provider_id")
	addBreach(&f, r.DataFlow, "/data_flow")
	r.DataFlow.addFindings(&f, "/data_flow")
	if r.GrantedAt != nil && !frames.IsInstant(*r.GrantedAt) {
		f.Add(GrantedAtNotF4, frames.DocSpecF4, "/granted_at")
	}
	return f.List()
}

// RecordsAt is how each boolean consent of a provider stood at t, in the order of recording: Live, NotYetGranted or Revoked.
// A record without a readable time carries no more than its presence, as the reference takes it, so it counts from always
// until a revocation that was recorded after it. The int is the record's place among the provider's.
func (s *ConsentStore) RecordsAt(providerID string, t time.Time) iter.Seq2[int, State] {
	return func(yield func(int, State) bool) {
		h := s.records[providerID]
		if h == nil {
			return
		}
		for i, p := range h.overTime().periods {
			if !yield(i, p.standingAt(t).State) {
				return
			}
		}
	}
}

// RecordStateAt is how the boolean consent of a provider stood at t, by the same rules as StateAt and at the same cost.
func (s *ConsentStore) RecordStateAt(providerID string, t time.Time) Standing {
	h := s.records[providerID]
	if h == nil {
		return never
	}
	return h.overTime().at(t)
}

func (h *recordHistory) overTime() *timeline {
	if l := h.line.Load(); l != nil {
		return l
	}
	l := newTimeline(h.periods(), h.revocations)
	h.line.Store(l)
	return l
}

// hasRecord says whether a boolean consent is there that no revocation was recorded after: the reference's revoke deletes
// the record, whatever the time.
func (s *ConsentStore) hasRecord(providerID string) bool {
	h := s.records[providerID]
	if h == nil || len(h.given) == 0 {
		return false
	}
	last := h.given[len(h.given)-1]
	return len(h.revocations) == 0 || h.revocations[len(h.revocations)-1].recorded < last.recorded
}

func (s *ConsentStore) hasLiveRecord(providerID string, t time.Time) bool {
	return s.RecordStateAt(providerID, t).State == Live
}

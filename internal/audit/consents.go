package audit

import (
	"cmp"
	"slices"
	"time"

	"ledgerd/frames"
	"ledgerd/receipts"
)

// ConsentQuery asks what was agreed to, and how it stands at a moment. Empty strings select all.
type ConsentQuery struct {
	ProviderID string
	Scope      string
	Grantor    string // only what this human or policy agreed to
	At         time.Time
	Size       int64 // entries from this seq on are left out
}

// ConsentState is the history of consent to one provider and scope, and how it stood at a moment.
type ConsentState struct {
	ProviderID string               `json:"provider_id"`
	Scope      receipts.EgressScope `json:"scope" jsonschema:"empty for the boolean consent"`
	State      receipts.State       `json:"state" jsonschema:"live, expired, revoked, granted-after, undated or never-granted"`
	DecidedBy  *int64               `json:"decided_by" jsonschema:"the entry of the consent that decides, null for never-granted"`
	EndedAt    *time.Time           `json:"ended_at" jsonschema:"when that consent ended, for expired and revoked"`
	// RecordedAfter says that what decides was recorded only after the moment asked about: then, nobody could have known.
	RecordedAfter bool               `json:"recorded_after" jsonschema:"the deciding consent was recorded only after the moment asked about"`
	Grants        []ConsentGrant     `json:"grants"`
	Records       []EgressRecord     `json:"records" jsonschema:"boolean consents"`
	Revocations   []EgressRevocation `json:"revocations"`
}

// ConsentGrant is one grant and how it stood by itself.
type ConsentGrant struct {
	EgressGrant
	State receipts.State `json:"state"`
}

// ConsentStates tells the history of every provider and scope that the question selects, ordered by both. A provider and
// scope that are both named and were never agreed to are told as never granted.
func ConsentStates(c Consents, q ConsentQuery) []ConsentState {
	b := newBook(c)
	list := []ConsentState{}
	for t := range b.grants {
		if q.selects(t) && b.grantedBy(t, q.Grantor) {
			list = append(list, b.state(t, q))
		}
	}
	for provider := range b.records {
		if t := (target{provider, ""}); q.selects(t) && q.Grantor == "" {
			list = append(list, b.booleanState(t, q))
		}
	}
	if len(list) == 0 && q.ProviderID != "" && q.Scope != "" && q.Grantor == "" {
		t := target{q.ProviderID, receipts.EgressScope(q.Scope)}
		list = append(list, b.state(t, q)) // with the revocations, if there are any
	}
	slices.SortFunc(list, func(a, b ConsentState) int {
		return cmp.Or(cmp.Compare(a.ProviderID, b.ProviderID), cmp.Compare(a.Scope, b.Scope))
	})
	return list
}

func (q ConsentQuery) selects(t target) bool {
	return (q.ProviderID == "" || t.provider == q.ProviderID) && (q.Scope == "" || string(t.scope) == q.Scope)
}

func (b *book) grantedBy(t target, grantor string) bool {
	return grantor == "" || slices.ContainsFunc(b.grants[t], func(g Grant) bool { return !g.Erased && g.Receipt.Grantor.ID == grantor })
}

// state is the history of one target. Of a named grantor only the own grants are listed; the state is that of all.
func (b *book) state(t target, q ConsentQuery) ConsentState {
	s := newState(t)
	standing := b.store.StateAt(t.provider, t.scope, q.At)
	s.State = standing.State
	if standing.Index >= 0 {
		g := b.Grants[standing.Index]
		s.DecidedBy, s.RecordedAfter = &g.Seq, !recordedBy(g.RecordedAt, q.At)
	}
	if !standing.EndedAt.IsZero() {
		s.EndedAt = &standing.EndedAt
	}
	for each := range b.store.Standings(t.provider, t.scope, q.At) {
		g := b.Grants[each.Index]
		if q.Grantor == "" || !g.Erased && g.Receipt.Grantor.ID == q.Grantor {
			s.Grants = append(s.Grants, ConsentGrant{egressGrant(g), each.State})
		}
	}
	for _, r := range b.revocations[t] {
		s.Revocations = append(s.Revocations, egressRevocation(r))
	}
	return s
}

// booleanState is the history of one provider's boolean consent.
func (b *book) booleanState(t target, q ConsentQuery) ConsentState {
	s := newState(t)
	records := b.records[t.provider]
	for i, state := range b.store.RecordsAt(t.provider, q.At) {
		r := records[i]
		s.Records = append(s.Records, EgressRecord{GrantedAt: r.Record.GrantedAt, RecordedAt: r.RecordedAt, Seq: r.Seq})
		if s.State != receipts.Live && (s.State != receipts.Revoked || state != receipts.NotYetGranted) {
			s.State, s.DecidedBy, s.RecordedAfter = state, &r.Seq, !recordedBy(r.RecordedAt, q.At)
		}
	}
	for _, r := range b.revocations[t] {
		s.Revocations = append(s.Revocations, egressRevocation(r))
	}
	return s
}

func newState(t target) ConsentState {
	return ConsentState{
		ProviderID: t.provider, Scope: t.scope, State: receipts.NeverGranted,
		Grants: []ConsentGrant{}, Records: []EgressRecord{}, Revocations: []EgressRevocation{},
	}
}

// GateDecision is the gate's answer in one mode (context-reuse C6). Error and Scopes are absent when it is permitted.
type GateDecision struct {
	Permitted bool                   `json:"permitted"`
	Error     string                 `json:"error,omitzero" jsonschema:"ConsentScopeRequired or ConsentRequired"`
	Scopes    []receipts.EgressScope `json:"scopes,omitzero" jsonschema:"exactly the scopes that would leave unconsented, in declaration order"`
}

// GateAnswer is the gate's answer at a moment. The decision is the one by time: consent that lapsed, was revoked or had not
// begun does not permit. What the reference's gate without a clock says stands beside it.
type GateAnswer struct {
	GateDecision
	At         time.Time        `json:"at"`
	ByPresence GateDecision     `json:"by_presence" jsonschema:"the reference's gate: is there a receipt at all, in force or not"`
	Consents   []ConsentState   `json:"consents" jsonschema:"how consent to each off-machine scope, or to boolean egress, stood"`
	Findings   []frames.Finding `json:"findings"`
}

// Evaluate asks the gate whether a provider may be queried at a moment.
func Evaluate(c Consents, providerID string, info receipts.ProviderInfo, at time.Time) GateAnswer {
	b := newBook(c)
	a := GateAnswer{
		GateDecision: decided(b.store.EvaluateAt(providerID, info, at)), At: at.UTC(),
		ByPresence: decided(b.store.Evaluate(providerID, info)),
		Consents:   []ConsentState{}, Findings: b.store.FindingsAt(providerID, info, at),
	}
	if a.Findings == nil {
		a.Findings = []frames.Finding{}
	}
	q := ConsentQuery{At: at}
	seen := map[receipts.EgressScope]bool{}
	for _, scope := range info.DataFlow.OffMachine() {
		if !seen[scope] {
			a.Consents = append(a.Consents, b.state(target{providerID, scope}, q))
		}
		seen[scope] = true
	}
	if len(seen) == 0 && info.DataFlow.Egress {
		a.Consents = append(a.Consents, b.booleanState(target{providerID, ""}, q))
	}
	return a
}

func decided(d receipts.Decision) GateDecision {
	switch d.Outcome() {
	case receipts.Permitted:
		return GateDecision{Permitted: true}
	case receipts.NeedsReceipts:
		return GateDecision{Error: "ConsentScopeRequired", Scopes: d.Missing()}
	}
	return GateDecision{Error: "ConsentRequired"}
}

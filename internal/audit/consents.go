package audit

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"ledgerd/frames"
	"ledgerd/receipts"
)

// ConsentQuery asks what was agreed to, and how it stands at a moment. Empty strings select all.
type ConsentQuery struct {
	ProviderID  string
	Scope       string
	Grantor     string // only what this human or policy agreed to
	GrantorKind string // human or policy
	At          time.Time
	Size        int64 // entries from this seq on are left out
}

// ConsentState is the history of consent to one provider and scope, and how it stood at a moment.
type ConsentState struct {
	ProviderID string               `json:"provider_id"`
	Scope      receipts.EgressScope `json:"scope" jsonschema:"empty for the boolean consent"`
	State      receipts.State       `json:"state" jsonschema:"live, expired, revoked, granted-after, undated or never-granted"`
	DecidedBy  *int64               `json:"decided_by" jsonschema:"the entry of the consent that decides, null for never-granted"`
	EndedAt    *time.Time           `json:"ended_at" jsonschema:"when that consent ended, for expired and revoked"`
	// RecordedAfter says that what decides was recorded only after the moment asked about: then, nobody could have known.
	RecordedAfter bool               `json:"recorded_after" jsonschema:"the deciding consent, or every revocation that took it back, was recorded only after the moment asked about"`
	Grants        []ConsentGrant     `json:"grants"`
	Records       []EgressRecord     `json:"records" jsonschema:"boolean consents"`
	Revocations   []EgressRevocation `json:"revocations"`
}

// ConsentGrant is one grant and how it stood by itself.
type ConsentGrant struct {
	EgressGrant
	State receipts.State `json:"state"`
}

// ConsentStates tells the history of every provider and scope that the question selects, ordered by both: of what was agreed
// to, and of what was taken back without ever having been agreed to. A provider and scope that are both named are told of
// in any case.
func ConsentStates(c Consents, q ConsentQuery) []ConsentState {
	b := newBook(c)
	list := []ConsentState{}
	for t := range b.targets(q) {
		if t.scope == "" {
			list = append(list, b.booleanState(t, q))
		} else {
			list = append(list, b.state(t, q))
		}
	}
	slices.SortFunc(list, func(a, b ConsentState) int {
		return cmp.Or(cmp.Compare(a.ProviderID, b.ProviderID), cmp.Compare(a.Scope, b.Scope))
	})
	return list
}

// targets are what a question is about. The boolean consent has no scope.
func (b *book) targets(q ConsentQuery) map[target]bool {
	set := map[target]bool{}
	add := func(t target) {
		if q.selects(t) {
			set[t] = true
		}
	}
	for t, grants := range b.grants {
		if slices.ContainsFunc(grants, q.grants) {
			add(t)
		}
	}
	if q.ofGrantor() {
		return set // a boolean consent names nobody
	}
	for provider := range b.records {
		add(target{provider, ""})
	}
	for t := range b.revocations {
		add(t)
	}
	if q.ProviderID != "" && q.Scope != "" {
		add(target{q.ProviderID, receipts.EgressScope(q.Scope)})
	}
	return set
}

func (q ConsentQuery) selects(t target) bool {
	return (q.ProviderID == "" || t.provider == q.ProviderID) && (q.Scope == "" || string(t.scope) == q.Scope)
}

func (q ConsentQuery) ofGrantor() bool { return q.Grantor != "" || q.GrantorKind != "" }

// grants says whether a grant is by the asked grantor; one whose grantor was erased is nobody's.
func (q ConsentQuery) grants(g Grant) bool {
	who := g.Receipt.Grantor
	return !q.ofGrantor() || !g.Erased && (q.Grantor == "" || who.ID == q.Grantor) && (q.GrantorKind == "" || string(who.Kind) == q.GrantorKind)
}

// state is the history of one target. Of a named grantor only the own grants are listed; the state is that of all.
func (b *book) state(t target, q ConsentQuery) ConsentState {
	s := newState(t)
	standing := b.store.StateAt(t.provider, t.scope, q.At)
	if standing.Index >= 0 {
		g := b.Grants[standing.Index]
		b.decide(&s, standing, q.At, g.Seq, g.RecordedAt)
	}
	for each := range b.store.Standings(t.provider, t.scope, q.At) {
		if g := b.Grants[each.Index]; q.grants(g) {
			s.Grants = append(s.Grants, ConsentGrant{egressGrant(g), each.State})
		}
	}
	b.addRevocations(&s, t)
	return s
}

// booleanState is the history of one provider's boolean consent.
func (b *book) booleanState(t target, q ConsentQuery) ConsentState {
	s := newState(t)
	records := b.records[t.provider]
	standing := b.store.RecordStateAt(t.provider, q.At)
	if standing.Index >= 0 {
		r := records[standing.Index]
		b.decide(&s, standing, q.At, r.Seq, r.RecordedAt)
	}
	for _, r := range records {
		s.Records = append(s.Records, EgressRecord{GrantedAt: r.Record.GrantedAt, RecordedAt: r.RecordedAt, Seq: r.Seq})
	}
	b.addRevocations(&s, t)
	return s
}

// decide puts in how consent stood, and whether that could have been known.
func (b *book) decide(s *ConsentState, standing receipts.Standing, at time.Time, seq int64, recordedAt time.Time) {
	s.State, s.DecidedBy, s.RecordedAfter = standing.State, &seq, !recordedBy(recordedAt, at)
	if !standing.EndedAt.IsZero() {
		s.EndedAt = &standing.EndedAt
	}
	if standing.State == receipts.Revoked {
		s.RecordedAfter = s.RecordedAfter || !recordedBy(b.revoked[standing.FirstRevocation].RecordedAt, at)
	}
}

func (b *book) addRevocations(s *ConsentState, t target) {
	for _, r := range b.revocations[t] {
		s.Revocations = append(s.Revocations, egressRevocation(r))
	}
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
	for i, scope := range info.DataFlow.EgressScopes {
		if scope.IsOffMachine() && !seen[scope] {
			seen[scope] = true
			a.add(b.state(target{providerID, scope}, q), "/data_flow/egress_scopes/"+strconv.Itoa(i))
		}
	}
	if len(seen) == 0 && info.DataFlow.Egress {
		a.add(b.booleanState(target{providerID, ""}, q), "/data_flow/egress")
	}
	return a
}

// RecordedAfterCode is the gate's finding that what decides was recorded only after the moment asked about: the answer holds
// by what the consents and revocations say of themselves, and a host that asked then was told something else.
const RecordedAfterCode frames.Code = "recorded-after"

// add shows how consent stood to what stands at the pointer.
func (a *GateAnswer) add(s ConsentState, at string) {
	a.Consents = append(a.Consents, s)
	if s.RecordedAfter {
		a.Findings = append(a.Findings, frames.Finding{Code: RecordedAfterCode, Pointer: at})
	}
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

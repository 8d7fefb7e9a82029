package receipts

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"ledgerd/frames"
)

// Outcome is what the gate decided.
type Outcome string

// The outcomes. The zero value is none of them and permits nothing.
const (
	Permitted     Outcome = "permitted"
	NeedsReceipts Outcome = "needs_receipts"
	NeedsConsent  Outcome = "needs_consent"
)

// Decision is the gate's answer. Only Evaluate and EvaluateAt make one; the zero value permits nothing.
type Decision struct {
	outcome    Outcome
	providerID string
	flow       DataFlow
	missing    []EgressScope
}

// Outcome is what was decided.
func (d Decision) Outcome() Outcome { return d.outcome }

// Permitted says whether the query may be transmitted.
func (d Decision) Permitted() bool { return d.outcome == Permitted }

// Missing is exactly the scopes that would leave unconsented, in declaration order, duplicates kept.
func (d Decision) Missing() []EgressScope { return slices.Clone(d.missing) }

// ErrUndecided refuses a Decision that the gate did not make.
var ErrUndecided = errors.New("using a consent decision: the gate did not make it")

// Err is nil if the query is permitted, else a *ConsentScopeRequiredError, a *ConsentRequiredError or ErrUndecided.
func (d Decision) Err() error {
	switch d.outcome {
	case Permitted:
		return nil
	case NeedsReceipts:
		return &ConsentScopeRequiredError{d.providerID, d.Missing()}
	case NeedsConsent:
		return &ConsentRequiredError{d.providerID, d.flow}
	}
	return ErrUndecided
}

// ConsentScopeRequiredError refuses a query by context-reuse C6, which demands that the scopes are named.
type ConsentScopeRequiredError struct {
	ProviderID string
	Scopes     []EgressScope
}

func (e *ConsentScopeRequiredError) Error() string {
	return fmt.Sprintf("provider %q declares egress scope(s) %q with no recorded consent receipt; the query was not transmitted", e.ProviderID, e.Scopes)
}

// ConsentRequiredError refuses a query by the older, boolean gate.
type ConsentRequiredError struct {
	ProviderID string
	DataFlow   DataFlow
}

func (e *ConsentRequiredError) Error() string {
	return fmt.Sprintf("provider %q declares egress with no recorded consent; the query was not transmitted", e.ProviderID)
}

// Evaluate is the reference's gate, ConsentStore::evaluate (context-reuse C6): it asks whether a receipt is there, not
// whether it is in force. Off-machine scopes are asked for one by one, whatever egress says and however malformed they
// are; without any, egress is asked for as a whole; else nothing leaves. Records never satisfy scopes, receipts never
// satisfy egress.
func (s *ConsentStore) Evaluate(providerID string, info ProviderInfo) Decision {
	return decide(providerID, info.DataFlow,
		func(scope EgressScope) bool { return s.HasReceipt(providerID, scope) },
		s.hasRecord(providerID))
}

// EvaluateAt is the same gate for a host that enforces time: a receipt that is not in force at t (see StateAt) is absent,
// and so is a boolean consent that was given only later.
func (s *ConsentStore) EvaluateAt(providerID string, info ProviderInfo, t time.Time) Decision {
	return decide(providerID, info.DataFlow,
		func(scope EgressScope) bool { return s.StateAt(providerID, scope, t).State == Live },
		s.hasLiveRecord(providerID, t))
}

func decide(providerID string, flow DataFlow, consented func(EgressScope) bool, recorded bool) Decision {
	d := Decision{outcome: Permitted, providerID: providerID, flow: flow}
	off := flow.OffMachine()
	for _, scope := range off {
		if !consented(scope) {
			d.outcome = NeedsReceipts
			d.missing = append(d.missing, scope)
		}
	}
	if len(off) == 0 && flow.Egress && !recorded {
		d.outcome = NeedsConsent
	}
	return d
}

// FindingsAt is what an auditor wants to know about the gate's question at t although the gate answers it. Pointers are
// from the ProviderInfo.
func (s *ConsentStore) FindingsAt(providerID string, info ProviderInfo, t time.Time) []frames.Finding {
	var f frames.Findings
	addBreach(&f, info.DataFlow, "/data_flow")
	info.DataFlow.addFindings(&f, "/data_flow")
	for i, scope := range info.DataFlow.EgressScopes {
		if !scope.IsOffMachine() {
			continue
		}
		at := "/data_flow" + scopeAt(i)
		if code, odd := s.StateAt(providerID, scope, t).State.finding(); odd {
			f.Add(code, docReuseC6, at)
		}
		if s.Drifted(providerID, scope, info, t) {
			f.Add(IdentityDrift, "", at)
		}
	}
	return f.List()
}

// Drifted says that the provider is no longer the one that was agreed to (the finding identity-drift): there are receipts,
// and none of those in force at t (of all, if none is) pins the name and version that the provider now has.
func (s *ConsentStore) Drifted(providerID string, scope EgressScope, info ProviderInfo, t time.Time) bool {
	h := s.byTarget[target{providerID, scope}]
	if h == nil || len(h.grants) == 0 {
		return false
	}
	same := h.pinnedTo(s.receipts)[pin{info.Name, info.Version}]
	if h.overTime(s.receipts).at(t).State == Live {
		return same == nil || same.at(t).State != Live
	}
	return same == nil
}

// pin is the identity that a grant was given to.
type pin struct{ name, version string }

// pinnedTo makes a timeline of the grants to each identity, once. Only whether one is in force is asked of them.
func (h *history) pinnedTo(receipts []ConsentReceipt) map[pin]*timeline {
	if m := h.pinned.Load(); m != nil {
		return *m
	}
	by := map[pin][]period{}
	for _, p := range h.overTime(receipts).periods {
		r := receipts[p.place]
		by[pin{r.ProviderName, r.ProviderVersion}] = append(by[pin{r.ProviderName, r.ProviderVersion}], p)
	}
	m := make(map[pin]*timeline, len(by))
	for who, periods := range by {
		m[who] = newTimeline(periods, nil)
	}
	h.pinned.Store(&m)
	return m
}

package receipts

import (
	"errors"
	"strconv"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
)

// DataFlow is what a provider declares about where content goes. A scope governs every frame that the provider serves;
// there is none per frame (context-reuse §3).
type DataFlow struct {
	Reads  bool `json:"reads"`
	Writes bool `json:"writes"`
	// Egress says that content leaves the machine.
	Egress bool `json:"egress"`
	// EgressScopes are the classes of destination, in declaration order. Empty is the older, boolean contract.
	EgressScopes []EgressScope `json:"egress_scopes,omitempty"`
}

// ProviderInfo is how a provider introduces itself.
type ProviderInfo struct {
	Name     string   `json:"name"`
	Version  string   `json:"version"`
	DataFlow DataFlow `json:"data_flow"`
}

// ParseDataFlow reads a declaration that is the whole document, with its unknown members as findings. An error is a
// *strictjson.Error.
func ParseDataFlow(src []byte) (DataFlow, []frames.Finding, error) {
	var unknownAt []string
	flow, err := strictjson.Parse(src, strictjson.Open, func(d *strictjson.Decoder) (flow DataFlow) {
		unknownAt = d.Artifact(func() { flow = DecodeDataFlow(d) })
		return flow
	})
	if err != nil {
		return DataFlow{}, nil, err
	}
	var f frames.Findings
	f.AddUnknown(unknownAt)
	flow.addFindings(&f, "")
	return flow, f.List(), nil
}

// DecodeDataFlow reads a DataFlow where d stands, in d's mode. Every member may be absent, none may be null.
func DecodeDataFlow(d *strictjson.Decoder) DataFlow {
	var f DataFlow
	d.Object(
		strictjson.Opt("reads", func() { f.Reads = d.Bool() }),
		strictjson.Opt("writes", func() { f.Writes = d.Bool() }),
		strictjson.Opt("egress", func() { f.Egress = d.Bool() }),
		strictjson.Opt("egress_scopes", func() {
			d.Array(func(int) { f.EgressScopes = append(f.EgressScopes, EgressScope(d.String())) })
		}),
	)
	return f
}

// DecodeProviderInfo reads a ProviderInfo where d stands, in d's mode.
func DecodeProviderInfo(d *strictjson.Decoder) ProviderInfo {
	var p ProviderInfo
	d.Object(
		strictjson.Req("name", func() { p.Name = d.String() }),
		strictjson.Req("version", func() { p.Version = d.String() }),
		strictjson.Req("data_flow", func() { p.DataFlow = DecodeDataFlow(d) }),
	)
	return p
}

// ScopesConsistent is context-reuse C5 as a yes or no; Check says where it breaks.
func (f DataFlow) ScopesConsistent() bool { return f.Check() == nil }

// Check is context-reuse C5, DataFlow::scopes_consistent in the reference: every scope is valid, and none leaves the machine
// while egress is false. The error is a *CheckError with the pointer from the DataFlow.
func (f DataFlow) Check() error {
	for i, s := range f.EgressScopes {
		if !s.IsValid() {
			return &CheckError{scopeAt(i), docReuseC5, problemScope}
		}
	}
	for i, s := range f.EgressScopes {
		if s.IsOffMachine() && !f.Egress {
			return &CheckError{scopeAt(i), docReuseC5, problemContrary}
		}
	}
	return nil
}

// RequiresConsent says whether the provider may only be asked with consent.
func (f DataFlow) RequiresConsent() bool { return f.Egress || len(f.OffMachine()) > 0 }

// OffMachine is the scopes that leave the machine, in declaration order, duplicates and malformed ones kept: a lie about
// egress or a misspelt destination must not open the gate.
func (f DataFlow) OffMachine() []EgressScope {
	var off []EgressScope
	for _, s := range f.EgressScopes {
		if s.IsOffMachine() {
			off = append(off, s)
		}
	}
	return off
}

// addFindings adds what is odd about the declaration but not a breach of context-reuse C5; at is the DataFlow's place.
func (f DataFlow) addFindings(to *frames.Findings, at string) {
	for i, s := range f.EgressScopes {
		if s.schemaDisagrees() {
			to.Add(SchemaDisagrees, docSpecU3, at+scopeAt(i))
		}
	}
	if f.Egress && len(f.EgressScopes) > 0 && len(f.OffMachine()) == 0 {
		to.Add(EgressWithoutOffMachineScope, docReuseC5, at+"/egress_scopes")
	}
}

// addBreach adds a breach of context-reuse C5 where it does not refuse; at is the DataFlow's place.
func addBreach(to *frames.Findings, flow DataFlow, at string) {
	var breach *CheckError
	if errors.As(flow.Check(), &breach) {
		to.Add(C5Violation, docReuseC5, at+breach.Pointer)
	}
}

func scopeAt(i int) string { return "/egress_scopes/" + strconv.Itoa(i) }

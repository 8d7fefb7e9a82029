package receipts

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
)

func TestC5(t *testing.T) {
	for name, tt := range map[string]struct {
		src, pointer string
		findings     []frames.Finding
	}{
		"empty":              {`{}`, "", nil},
		"boolean only":       {`{"reads":true,"writes":false,"egress":true}`, "", nil},
		"local":              {`{"egress":false,"egress_scopes":["local-only"]}`, "", nil},
		"local, but egress":  {`{"egress":true,"egress_scopes":["local-only"]}`, "", []frames.Finding{{Code: EgressWithoutOffMachineScope, Pointer: "/egress_scopes", Document: "context-reuse C5"}}},
		"duplicates":         {`{"egress":true,"egress_scopes":["org-tenant","org-tenant"]}`, "", nil},
		"schema":             {`{"egress":true,"egress_scopes":["a:b","a::b"],"x":1}`, "", []frames.Finding{{Code: frames.UnknownMember, Document: "SPEC U1"}, {Code: SchemaDisagrees, Pointer: "/egress_scopes/1", Document: "SPEC U3"}}},
		"contradiction":      {`{"egress":false,"egress_scopes":["local-only","third-party-index"]}`, "/egress_scopes/1", nil},
		"custom contradicts": {`{"egress_scopes":["northco:eu-vault"]}`, "/egress_scopes/0", nil},
		"not namespaced":     {`{"egress":true,"egress_scopes":["org-tenant","vault"]}`, "/egress_scopes/1", nil},
		"malformed first":    {`{"egress":false,"egress_scopes":["org-tenant","a:"]}`, "/egress_scopes/1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			flow, findings, err := ParseDataFlow([]byte(tt.src))
			if err != nil {
				t.Fatal(err)
			}
			var e *CheckError
			if err := flow.Check(); tt.pointer == "" && err != nil || tt.pointer != "" && (!errors.As(err, &e) || e.Pointer != tt.pointer || e.Document != "context-reuse C5") {
				t.Errorf("Check: %v", err)
			}
			if flow.ScopesConsistent() != (tt.pointer == "") || !slices.Equal(findings, tt.findings) {
				t.Errorf("consistent %v, findings %+v", flow.ScopesConsistent(), findings)
			}
		})
	}
	for _, src := range []string{`{"egress":null}`, `{"egress":1}`, `{"reads":"true"}`, `{"egress_scopes":null}`, `{"egress_scopes":[null]}`, `[true,false,true]`} {
		if _, _, err := ParseDataFlow([]byte(src)); err == nil {
			t.Errorf("%s was accepted", src)
		}
	}
}

// anyFlow draws declarations honest and not.
func anyFlow(t *rapid.T) DataFlow {
	return DataFlow{
		Egress:       rapid.Bool().Draw(t, "egress"),
		EgressScopes: rapid.SliceOfN(rapid.SampledFrom([]EgressScope{LocalOnly, OrgTenant, ThirdPartyModel, "a:b", "a:", ""}), 0, 4).Draw(t, "scopes"),
	}
}

// TestC5IsTheReferencesFormula compares Check with the formula as the reference has it.
func TestC5IsTheReferencesFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyFlow(t)
		valid := !slices.ContainsFunc(f.EgressScopes, func(s EgressScope) bool { return !s.IsValid() })
		off := slices.ContainsFunc(f.EgressScopes, EgressScope.IsOffMachine)
		if f.ScopesConsistent() != (valid && (f.Egress || !off)) || f.RequiresConsent() != (f.Egress || off) {
			t.Fatalf("%+v", f)
		}
	})
}

const declared = `{"provider_id":"north-llm","provider":{"name":"North LLM gateway","version":"4.2.0","data_flow":{"reads":true,"writes":false,"egress":true,"egress_scopes":["third-party-model"]}},"declared_at":"2031-01-10T07:00:00Z"}`

func TestDeclaration(t *testing.T) {
	c, err := ParseDeclaration([]byte(declared))
	if err != nil || c.Check() != nil || c.Findings() != nil {
		t.Fatalf("%+v, %v, %v", c, err, c.Check())
	}
	if out, err := json.Marshal(c); err != nil || string(out) != declared {
		t.Errorf("written back: %s, %v", out, err)
	}
	open, err := ParseDeclaration([]byte(edit(t, declared, `"writes":false`, `"colour":1`)))
	want := []frames.Finding{{Code: frames.UnknownMember, Pointer: "/provider/data_flow", Document: "SPEC U1"}}
	if err != nil || !slices.Equal(open.Findings(), want) {
		t.Errorf("%+v, %v", open.Findings(), err)
	}
	if _, err := ParseDeclaration([]byte(edit(t, declared, `"declared_at"`, `"by":1,"declared_at"`))); err == nil {
		t.Error("the event itself is open")
	}
	for _, tt := range [][3]string{
		{`"north-llm"`, `""`, "/provider_id"},
		{`07:00:00Z`, `07:00:00z`, "/declared_at"},
		{`"egress":true`, `"egress":false`, "/provider/data_flow/egress_scopes/0"},
	} {
		c, err := ParseDeclaration([]byte(edit(t, declared, tt[0], tt[1])))
		if err != nil {
			t.Fatal(err)
		}
		var e *CheckError
		if !errors.As(c.Check(), &e) || e.Pointer != tt[2] {
			t.Errorf("%s: %v", tt[1], c.Check())
		}
	}
}

const revoked = `{"provider_id":"north-llm","scope":"third-party-model","revoked_by":{"kind":"human","id":"maria@north.example"},"revoked_at":"2031-03-01T00:00:00Z","reason":"contract ended"}`

func TestRevocation(t *testing.T) {
	r, err := ParseRevocation([]byte(revoked))
	if err != nil || r.Check() != nil {
		t.Fatalf("%v, %v", err, r.Check())
	}
	if out, err := json.Marshal(r); err != nil || string(out) != revoked {
		t.Errorf("written back: %s, %v", out, err)
	}
	for _, tt := range [][3]string{
		{`"north-llm"`, `""`, "/provider_id"},
		{`"third-party-model"`, `"vault"`, "/scope"},
		{`"maria@north.example"`, `""`, "/revoked_by/id"},
		{`00:00:00Z`, `00:00:00+00:00`, "/revoked_at"},
	} {
		r, err := ParseRevocation([]byte(edit(t, revoked, tt[0], tt[1])))
		if err != nil {
			t.Fatal(err)
		}
		var e *CheckError
		if !errors.As(r.Check(), &e) || e.Pointer != tt[2] {
			t.Errorf("%s: %v", tt[1], r.Check())
		}
		if new(ConsentStore).RecordRevocation(r) == nil {
			t.Errorf("%s was recorded", tt[1])
		}
	}
	_, err = ParseRevocation([]byte(edit(t, revoked, `"kind"`, `"via":1,"kind"`)))
	var e *strictjson.Error
	if !errors.As(err, &e) || e.Rule != strictjson.RuleUnknown || e.Pointer != "/revoked_by" {
		t.Errorf("our own event is open: %v", err)
	}
}

func FuzzParseOwnEvents(f *testing.F) {
	f.Add([]byte(declared))
	f.Add([]byte(revoked))
	f.Add([]byte(`{"provider_id":"p","data_flow":{},"granted_scope":"titles","granted_at":null}`))
	f.Add([]byte(`{"records":{"p":{"provider_id":"p","data_flow":{},"granted_scope":""}},"receipts":[` + worked + `]}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		if c, err := ParseDeclaration(src); err == nil {
			c.Findings()
			out, _ := json.Marshal(c)
			if again, err := ParseDeclaration(out); err != nil || (again.Check() == nil) != (c.Check() == nil) {
				t.Errorf("%s: %v", out, err)
			}
		}
		if r, err := ParseRevocation(src); err == nil && r.Check() == nil && new(ConsentStore).RecordRevocation(r) != nil {
			t.Errorf("%s was not recorded", src)
		}
		if r, err := ParseConsentRecord(src); err == nil {
			r.Findings()
		}
		if s, err := strictjson.Parse(src, strictjson.Open, DecodeConsentStore); err == nil {
			s.Evaluate("p", ProviderInfo{})
		}
	})
}

package kinds

import (
	"time"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
	"ledgerd/receipts"
)

// ProviderDeclaration is how a provider introduced itself at a handshake, and from when on; the event is ours. What left in
// a period is judged by the declaration in force then. One whose scopes contradict its egress flag is refused (C5).
var ProviderDeclaration = Kind{
	Name:     "provider-declaration",
	Core:     "the declared scopes agree with the egress flag (context-reuse C5)",
	Unjudged: "whether declared_at lay ahead of the server's clock when the declaration came",
	PostedBy: []Role{Host},
	MaxBytes: 64 << 10,
	Tables:   []*Table{&declarations},
	check:    checkDeclaration,
	project:  projected(readDeclaration, declarationRows),
	shape:    func(d *strictjson.Decoder) { receipts.DecodeDeclaration(d) },
}

var declarations = Table{Name: "provider_declarations", Columns: []Column{
	{Name: "provider_id"}, {Name: "provider_name"}, {Name: "provider_version"}, {Name: "declared_at_text"}, {Name: "declared_at"},
	{Name: "reads"}, {Name: "writes"}, {Name: "egress"}, {Name: "egress_scopes"},
}}

// maxDeclaredAhead is how far a declaration may be dated ahead of the receiver's clock without a finding: it names a day to
// come, or a clock is wrong.
const maxDeclaredAhead = 5 * time.Minute

func checkDeclaration(s Submission, env Env) (*Accepted, error) {
	c, err := readDeclaration(s)
	if err != nil {
		return nil, err
	}
	findings := c.Findings()
	if at, _ := frames.ParseInstant(c.DeclaredAt); at.After(env.Now.Add(maxDeclaredAhead)) {
		findings = append(findings, frames.Finding{Code: receipts.DeclaredAhead, Pointer: "/declared_at"})
	}
	return accepted(s, findings, declarationRows(c))
}

func readDeclaration(s Submission) (receipts.Declaration, error) {
	if err := noContext(s); err != nil {
		return receipts.Declaration{}, err
	}
	d := strictjson.NewDecoder(s.Artifact, strictjson.Closed)
	c := receipts.DecodeDeclaration(d)
	if err := finish(d, s.ArtifactAt); err != nil {
		return c, err
	}
	b := bounds{}
	b.id(s.ArtifactAt+"/provider_id", c.ProviderID)
	b.id(s.ArtifactAt+"/provider/name", c.Provider.Name)
	b.id(s.ArtifactAt+"/provider/version", c.Provider.Version)
	b.dataFlow(s.ArtifactAt+"/provider/data_flow", c.Provider.DataFlow)
	b.instant(s.ArtifactAt+"/declared_at", &c.DeclaredAt)
	if b.err != nil {
		return c, b.err
	}
	return c, refused(c.Check(), s.ArtifactAt)
}

func declarationRows(c receipts.Declaration) []Rows {
	at, _ := frames.ParseInstant(c.DeclaredAt) // Check has read it
	f := c.Provider.DataFlow
	return []Rows{{Table: &declarations, Values: [][]any{{
		c.ProviderID, c.Provider.Name, c.Provider.Version, c.DeclaredAt, Kept(at), f.Reads, f.Writes, f.Egress, scopeTexts(f),
	}}}}
}

package receipts

import (
	"errors"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
)

// Declaration is our own event: how a provider introduced itself, and from when on. What left in a period is judged by
// the declaration in force then.
type Declaration struct {
	ProviderID string       `json:"provider_id"`
	Provider   ProviderInfo `json:"provider"`
	// DeclaredAt is a protocol timestamp.
	DeclaredAt string `json:"declared_at"`

	unknownAt []string // where Provider had unknown members
}

// ParseDeclaration reads a declaration that is the whole document. An error is a *strictjson.Error.
func ParseDeclaration(src []byte) (Declaration, error) {
	return strictjson.Parse(src, strictjson.Closed, DecodeDeclaration)
}

// DecodeDeclaration reads a declaration where d stands. The event is ours and closed; the provider's own part is the
// protocol's, so unknown members are accepted in it, whatever d's mode.
func DecodeDeclaration(d *strictjson.Decoder) Declaration {
	var c Declaration
	d.In(strictjson.Closed, func() {
		d.Object(
			strictjson.Req("provider_id", func() { c.ProviderID = d.String() }),
			strictjson.Req("provider", func() {
				c.unknownAt = d.Artifact(func() { c.Provider = DecodeProviderInfo(d) })
			}),
			strictjson.Req("declared_at", func() { c.DeclaredAt = d.String() }),
		)
	})
	return c
}

// Check refuses a declaration that breaks context-reuse C5, that names no provider or that stands at no instant. The
// error is a *CheckError.
func (c Declaration) Check() error {
	if c.ProviderID == "" {
		return &CheckError{"/provider_id", "", problemEmpty}
	}
	if !frames.IsInstant(c.DeclaredAt) {
		return &CheckError{"/declared_at", frames.DocSpecF4, problemInstant}
	}
	return below("/provider/data_flow", c.Provider.DataFlow.Check())
}

// below moves a *CheckError to where its artifact stands in a larger one.
func below(at string, err error) error {
	var e *CheckError
	if errors.As(err, &e) {
		return &CheckError{at + e.Pointer, e.Document, e.Problem}
	}
	return err
}

// Findings is what an auditor wants to know about a declaration that Check accepts.
func (c Declaration) Findings() []frames.Finding {
	var f frames.Findings
	for _, at := range c.unknownAt {
		f.Add(frames.UnknownMember, frames.DocSpecU1, "/provider"+at)
	}
	c.Provider.DataFlow.addFindings(&f, "/provider/data_flow")
	return f.List()
}

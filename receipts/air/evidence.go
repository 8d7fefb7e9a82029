package air

import "encoding/json"

// EvidenceClass says what kind of evidence binds a receipt to its exchange (profile v1.1). The zero value is no class
// and marshals as null.
type EvidenceClass string

// The evidence classes; see the package documentation for how a bundle gets one.
const (
	// ZKTLSBound is a TLS-notarised receipt: witness mode mpc-tls or proxy-tls.
	ZKTLSBound EvidenceClass = "zktls-bound"
	// GatewaySigned is every other one, and what ZKTLSBound is capped to.
	GatewaySigned EvidenceClass = "gateway-signed"
)

// MarshalJSON writes the class, or null for none.
func (e EvidenceClass) MarshalJSON() ([]byte, error) {
	if e == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(e))
}

// Evidence is the receiver decision of profile v1.1. It is made for v1 bundles too, since a receiver must never keep
// the class zktls-bound silently; but on a v1 bundle it does not change Result.Status, whose v1 meaning is fixed.
type Evidence struct {
	// Verdict is Valid when ClassOut was established.
	Verdict Status `json:"verdict"`
	// Code is CodeValid, CodeIssuerOperated or CodeIssuerUnknown; "" when the bundle is invalid or lacks outside trust,
	// so that there was nothing to decide.
	Code Rule `json:"code"`
	// ClassIn is what the witness mode claims, none when it is unknown.
	ClassIn EvidenceClass `json:"class_in"`
	// ClassOut is what the receiver may rely on, none unless Verdict is Valid.
	ClassOut EvidenceClass `json:"class_out"`
	// ProductReceipt is true only for an established zktls-bound class.
	ProductReceipt bool `json:"product_receipt"`
}

// classOf derives the claimed class.
func classOf(m WitnessMode) EvidenceClass {
	switch {
	case m == "":
		return ""
	case m.notarised():
		return ZKTLSBound
	}
	return GatewaySigned
}

// evidence decides about a bundle of the given status.
func (c *checker) evidence(status Status) Evidence {
	none := Evidence{Verdict: status, ClassIn: classOf(c.mode)}
	if status == Invalid {
		return none
	}
	operator, known := "", false
	if c.policy != nil {
		operator, known = c.policy.IssuerOperator()
	}
	e := c.cap(none.ClassIn, operator, known)
	if status == Indeterminate && e.Verdict == Valid {
		return none // what is not verified has no class yet
	}
	return e
}

// cap is the rule of profile v1.1. Operators are compared byte for byte: no case folding, no aliases.
func (c *checker) cap(class EvidenceClass, issuer string, known bool) Evidence {
	if class != ZKTLSBound {
		return Evidence{Verdict: Valid, Code: CodeValid, ClassIn: class, ClassOut: class}
	}
	operated := c.model == ModelIssuerOperated
	for i := range c.b.receipt.trust.notaries {
		operated = operated || known && c.b.receipt.trust.notaries[i].operator.s == issuer
	}
	switch {
	case operated:
		return Evidence{Verdict: Valid, Code: CodeIssuerOperated, ClassIn: class, ClassOut: GatewaySigned}
	case !known:
		return Evidence{Verdict: Indeterminate, Code: CodeIssuerUnknown, ClassIn: class}
	}
	return Evidence{Verdict: Valid, Code: CodeValid, ClassIn: class, ClassOut: class, ProductReceipt: true}
}

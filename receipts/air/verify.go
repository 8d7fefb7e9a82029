package air

import (
	"bytes"
	"slices"
	"strings"
	"time"
)

// Verify checks a bundle against every rule of the profile under the caller's policy (seed §5.6, §6). It is a pure
// function: the same bytes and policy give the same Result at any time. It never panics, keeps no reference to bundle,
// and refuses what exceeds a bound before doing any work on it.
//
// A nil policy leaves the verdict indeterminate (R120), a zero Policy is a malformed one. Any broken rule makes the
// bundle invalid, also when trust is missing besides.
func Verify(bundle []byte, policy *Policy) Result {
	switch {
	case policy == nil:
		return verify(bundle, nil, nil, []Finding{finding(R120, "")})
	case !policy.made:
		return verify(bundle, nil, []Finding{finding(R120, "")}, nil)
	}
	return verify(bundle, policy, nil, nil)
}

// VerifyJSON is Verify with the policy as it came from the caller. An empty policy or null is an absent one, and a
// malformed one is reported with the bundle's own errors (R120).
func VerifyJSON(bundle, policy []byte) Result {
	if isAbsent(policy) {
		return Verify(bundle, nil)
	}
	p, faults := parsePolicy(policy)
	if faults != nil {
		return verify(bundle, nil, faults, nil)
	}
	return Verify(bundle, p)
}

func isAbsent(policy []byte) bool {
	s := bytes.Trim(policy, " \t\r\n")
	return len(s) == 0 || string(s) == "null"
}

func verify(src []byte, policy *Policy, errors, missing []Finding) Result {
	if len(src) > MaxBundleBytes {
		return refused(append(errors, finding(R002, "")))
	}
	d := newDecoder(src)
	b := decodeBundle(d)
	if d.stopped {
		return refused(append(errors, d.found...))
	}
	c := checker{b: &b, policy: policy, errors: append(errors, d.found...), missing: missing}
	c.check()
	return c.result()
}

// refused is the verdict on bytes of which nothing is known but the bound or the syntax that they break.
func refused(errors []Finding) Result {
	return Result{
		Status: Invalid, Errors: inRuleOrder(errors), Indeterminate: []Finding{},
		Disclosures: disclose(nil), Evidence: Evidence{Verdict: Invalid},
	}
}

// checker holds what one verification has found out so far.
type checker struct {
	b       *bundle
	policy  *Policy // nil when absent or malformed
	errors  []Finding
	missing []Finding // outside trust

	// Zero while not known, or not well-formed.
	digest   string // of the receipt
	host     string // of the endpoint
	mode     WitnessMode
	model    TrustModel
	provider *provider
	keys     []publicKey
	time     int64 // of the receipt, Unix seconds, when timeOK
	timeOK   bool
	modelOK  bool // the model id is an identifier
	tupleOK  bool // what the provider signs is well-formed
	quorumOK bool // k and n are counts
}

func (c *checker) check() {
	if p := c.b.profile; p.set && p.s != ProfileV1 && p.s != ProfileV11 {
		c.fail(R010, at("/profile"))
	}
	if raw := c.b.receipt.raw; raw != "" {
		digest, err := receiptDigest(raw)
		if err != nil {
			c.fail(R020, at("/receipt"))
		}
		c.digest = digest
	}
	c.exchange()
	c.trust()
	c.retention()
	c.keyring()
	c.providerSignature()
	c.notaryQuorum()
	c.teeQuote()
	c.auxiliary()
	c.multiOperator()
}

func (c *checker) result() Result {
	status := Valid
	switch {
	case len(c.errors) > 0:
		status = Invalid
	case len(c.missing) > 0:
		status = Indeterminate
	}
	evidence := c.evidence(status)
	if status != Invalid && evidence.Code == CodeIssuerUnknown && c.b.profile.s == ProfileV11 {
		status = Indeterminate
		c.missing = append(c.missing, finding(CodeIssuerUnknown, ""))
	}
	r := Result{
		Status: status, OK: status == Valid,
		Errors: inRuleOrder(c.errors), Indeterminate: inRuleOrder(c.missing),
		Disclosures: disclose(c), Evidence: evidence,
	}
	if status != Invalid {
		r.claims = c.claims()
	}
	return r
}

// claims is called only when no rule is broken.
func (c *checker) claims() Claims {
	r := &c.b.receipt
	return Claims{
		Profile: c.b.profile.s, ReceiptID: r.id.s, ReceiptDigest: c.digest,
		RequestDigest: r.request.s, ResponseDigest: r.response.s,
		Endpoint: r.endpoint.s, EndpointHost: c.host, ModelID: r.model.s,
		Provider: c.provider.name, RetentionClass: r.class.s, Timestamp: time.Unix(c.time, 0).UTC(),
		WitnessMode: c.mode, TrustModel: c.model, TerminatingParty: r.trust.party.s,
	}
}

// fail notes a broken rule.
func (c *checker) fail(rule Rule, p place) { c.errors = append(c.errors, finding(rule, p.String())) }

// lack notes missing outside trust.
func (c *checker) lack(rule Rule, path string) { c.missing = append(c.missing, finding(rule, path)) }

// want demands that a text passes a test. An absent member breaks the shape of its object, which is noted already.
func (c *checker) want(t text, accepts func(string) bool, rule Rule, p place) bool {
	if !t.set {
		return false
	}
	if !t.is(accepts) {
		c.fail(rule, p)
		return false
	}
	return true
}

// wantCount demands an integer from 0 to 65535.
func (c *checker) wantCount(n number, rule Rule, p place) bool {
	if !n.set {
		return false
	}
	if !n.upTo(maxCount) {
		c.fail(rule, p)
		return false
	}
	return true
}

// names demands that a slot's receipt digest is well-formed (the slot's own rule) and the computed one (R060).
func (c *checker) names(digest text, rule Rule, slot string) {
	p := place{list: slot, member: "/receipt_digest"}
	if c.want(digest, isDigest, rule, p) && c.digest != "" && digest.s != c.digest {
		c.fail(R060, p)
	}
}

// primaryMissing notes that the proof which the witness mode names is null or absent. A slot of another type has broken
// its own rule already, and where there is no container of slots nothing can be said.
func (c *checker) primaryMissing(primary bool, slot form, rule Rule, path string) {
	if primary && c.b.proofs.form.object && (slot.null || !slot.set) {
		c.fail(rule, at(path))
	}
}

// inRuleOrder sorts by rule and keeps the document's order within one. It makes nil an empty list.
func inRuleOrder(list []Finding) []Finding {
	if list == nil {
		return []Finding{}
	}
	slices.SortStableFunc(list, func(a, b Finding) int { return strings.Compare(string(a.Rule), string(b.Rule)) })
	return list
}

package air

// Rule is the stable code of one verification rule (seed §6).
type Rule string

// The rules of profile v1. The comment is the condition under which the rule fails; Rule.Message has the fixed text.
const (
	R001 Rule = "AIR-V1-R001" // not one strict JSON object
	R002 Rule = "AIR-V1-R002" // longer than MaxBundleBytes
	R003 Rule = "AIR-V1-R003" // top-level closed shape
	R010 Rule = "AIR-V1-R010" // unsupported profile id
	R020 Rule = "AIR-V1-R020" // receipt closed shape or canonical subset
	R021 Rule = "AIR-V1-R021" // request or response digest
	R022 Rule = "AIR-V1-R022" // endpoint
	R023 Rule = "AIR-V1-R023" // receipt id, model id or timestamp
	R024 Rule = "AIR-V1-R024" // receipt later than the caller's window
	R030 Rule = "AIR-V1-R030" // trust statement incomplete or malformed
	R031 Rule = "AIR-V1-R031" // witness, model, notaries and quorum inconsistent
	R040 Rule = "AIR-V1-R040" // proof container not closed or complete
	R050 Rule = "AIR-V1-R050" // verification key list or metadata
	R051 Rule = "AIR-V1-R051" // key reference is not its key's
	R052 Rule = "AIR-V1-R052" // proof key absent or of another role
	R053 Rule = "AIR-V1-R053" // too few caller pins; indeterminate
	R060 Rule = "AIR-V1-R060" // proof names another receipt digest
	R070 Rule = "AIR-V1-R070" // provider mode without provider signature
	R071 Rule = "AIR-V1-R071" // provider signature metadata or signature
	R080 Rule = "AIR-V1-R080" // notary mode without quorum proof
	R081 Rule = "AIR-V1-R081" // fewer than k valid notaries
	R082 Rule = "AIR-V1-R082" // a notary signature or binding
	R090 Rule = "AIR-V1-R090" // TEE mode without appraisal
	R091 Rule = "AIR-V1-R091" // quote commitment or appraisal
	R092 Rule = "AIR-V1-R092" // appraisal later than the caller's window
	R100 Rule = "AIR-V1-R100" // retention evidence shape or snapshot metadata
	R101 Rule = "AIR-V1-R101" // source is not the provider's first-party page
	R102 Rule = "AIR-V1-R102" // retention class unknown, another provider's, or not the receipt's
	R103 Rule = "AIR-V1-R103" // endpoint host is not the provider's
	R104 Rule = "AIR-V1-R104" // service feature list
	R105 Rule = "AIR-V1-R105" // class contradicts a feature
	R106 Rule = "AIR-V1-R106" // model prefix is not the provider's
	R110 Rule = "AIR-V1-R110" // auxiliary slot metadata
	R111 Rule = "AIR-V1-R111" // not structurally multi-operator
	R120 Rule = "AIR-V1-R120" // policy absent (indeterminate) or malformed (error)
)

// The codes of the profile v1.1 receiver decision; see Evidence. Only E065 is ever a finding.
const (
	// CodeValid leaves the evidence class as it is.
	CodeValid Rule = "IRV1-VALID"
	// CodeIssuerOperated caps a TLS-notarised receipt whose notary the issuer operates.
	CodeIssuerOperated Rule = "IRV1-C001-ISSUER-OPERATED-NOTARY"
	// CodeIssuerUnknown says that the policy can't tell whether the issuer operates a notary.
	CodeIssuerUnknown Rule = "IRV1-E065-ISSUER-OPERATOR-POLICY-UNAVAILABLE"
)

// Rules returns every rule of profile v1 in rule order.
func Rules() []Rule {
	return []Rule{
		R001, R002, R003, R010, R020, R021, R022, R023, R024, R030, R031, R040, R050, R051, R052, R053, R060, R070,
		R071, R080, R081, R082, R090, R091, R092, R100, R101, R102, R103, R104, R105, R106, R110, R111, R120,
	}
}

// Message is the fixed text of the rule, "" for an unknown one. It never depends on a bundle.
func (r Rule) Message() string {
	switch r {
	case R001:
		return "bundle is not one strict JSON object: syntax, UTF-8, unique names, nothing after it, bounded nesting"
	case R002:
		return "bundle exceeds 262144 bytes"
	case R003:
		return "top level must have exactly the five members of the profile"
	case R010:
		return "profile id is not supported"
	case R020:
		return "receipt does not have the closed shape, or a number in it is not a safe integer"
	case R021:
		return "request or response digest is malformed"
	case R022:
		return "endpoint is not a bounded https URL without credentials, port, query or fragment"
	case R023:
		return "receipt id, model id or timestamp is malformed"
	case R024:
		return "receipt is later than the caller's verification window"
	case R030:
		return "trust statement is incomplete or malformed"
	case R031:
		return "witness mode, trust model, notaries and quorum are inconsistent"
	case R040:
		return "proofs must have exactly the eight named slots"
	case R050:
		return "verification key list or key metadata is invalid"
	case R051:
		return "key reference does not match the public key"
	case R052:
		return "proof key is absent or has another role"
	case R053:
		return "primary proof lacks enough caller-pinned keys"
	case R060:
		return "proof receipt digest does not match the computed digest"
	}
	return r.proofMessage()
}

func (r Rule) proofMessage() string {
	switch r {
	case R070:
		return "provider-signature mode lacks the provider signature"
	case R071:
		return "provider signature metadata or signature is invalid"
	case R080:
		return "notary witness mode lacks the quorum proof"
	case R081:
		return "notary signatures do not meet the quorum"
	case R082:
		return "a notary signature or its binding is invalid"
	case R090:
		return "tee-quote mode lacks the quote appraisal"
	case R091:
		return "quote commitment or appraisal is invalid"
	case R092:
		return "appraisal is later than the caller's verification window"
	case R100:
		return "retention evidence shape or snapshot metadata is invalid"
	case R101:
		return "source URL is not the provider's first-party page"
	case R102:
		return "retention class is unknown, belongs to another provider, or differs from the receipt"
	case R103:
		return "endpoint host does not belong to the provider"
	case R104:
		return "service features must be known to the provider, unique and sorted"
	case R105:
		return "retention class contradicts a selected service feature"
	case R106:
		return "model prefix does not name the provider"
	case R110:
		return "auxiliary slot metadata is invalid"
	case R111:
		return "multi-operator inclusion needs 2 to 16 entries of distinct operators"
	case R120:
		return "verification policy is absent or malformed"
	case CodeIssuerUnknown:
		return "policy names no issuer operator, so the class of a TLS-notarised receipt is undetermined"
	}
	return ""
}

package air

import "strconv"

// Status is the verdict on a bundle (seed §5.6).
type Status string

// The three verdicts. The zero Status is none of them.
const (
	Valid         Status = "valid"
	Invalid       Status = "invalid"
	Indeterminate Status = "indeterminate"
)

// Finding is one failing rule at one place.
type Finding struct {
	Rule Rule `json:"rule"`
	// Path is a JSON pointer (RFC 6901) of known member names and array indexes, "" for the whole document. It points
	// into the bundle, and for R120 into the policy. For an unknown or duplicate member it is the parent's path.
	Path string `json:"path"`
	// Message is the rule's fixed text.
	Message string `json:"message"`
}

// Result is the verdict on one bundle under one policy. It is plain data and marshals to JSON as it is to be shown.
// Its zero value is no verdict: Status is then "" and OK false.
type Result struct {
	Status Status `json:"status"`
	// OK is true only when Status is Valid.
	OK bool `json:"ok"`
	// Errors has every failing rule in rule order. It is never nil in a Result of Verify.
	Errors []Finding `json:"errors"`
	// Indeterminate has what outside trust is missing, in rule order. It is never nil in a Result of Verify.
	Indeterminate []Finding `json:"indeterminate"`
	// Disclosures says what this result does not prove (seed §7). A surface that shows a Result shows them too.
	Disclosures []Disclosure `json:"disclosures"`
	// Evidence is the profile v1.1 receiver decision.
	Evidence Evidence `json:"evidence"`

	claims Claims
}

// Unreadable says that the bytes could not be read as a bundle at all (R001, R002): a bad request rather than a bundle
// that breaks a rule. Nothing else was examined then.
func (r Result) Unreadable() bool {
	return len(r.Errors) > 0 && (r.Errors[0].Rule == R001 || r.Errors[0].Rule == R002)
}

// ProviderReceipt returns the verified receipt, and false unless the bundle is Valid.
func (r Result) ProviderReceipt() (ProviderReceipt, bool) {
	if r.Status != Valid || r.claims.ReceiptDigest == "" {
		return ProviderReceipt{}, false
	}
	return ProviderReceipt{verified: r.claims}, true
}

// UnverifiedReceipt returns the receipt of an Indeterminate bundle: no rule is broken, but outside trust is missing. It
// is false for any other status; what an invalid bundle says is never handed on.
func (r Result) UnverifiedReceipt() (UnverifiedReceipt, bool) {
	if r.Status != Indeterminate || r.claims.ReceiptDigest == "" {
		return UnverifiedReceipt{}, false
	}
	return UnverifiedReceipt{unverified: r.claims}, true
}

// place is a path that is only put together when it is needed, which on the usual, valid bundle is never.
type place struct {
	list   string // the path of an array or object
	index  int    // of the array's element, counted from 1; 0 when there is none
	member string // the member in it, with its slash, or ""
}

func at(path string) place { return place{list: path} }

func in(list string, index int, member string) place { return place{list, index + 1, member} }

func (p place) String() string {
	if p.index == 0 {
		return p.list + p.member
	}
	return p.list + "/" + strconv.Itoa(p.index-1) + p.member
}

func finding(rule Rule, path string) Finding { return Finding{rule, path, rule.Message()} }

// ReceiptDigest is the computed digest of the receipt, "" for an invalid bundle.
func (r Result) ReceiptDigest() string {
	if r.Status != Valid && r.Status != Indeterminate {
		return ""
	}
	return r.claims.ReceiptDigest
}

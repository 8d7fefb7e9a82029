// Package strictjson decodes JSON whose every byte is evidence.
//
// It is a thin layer over jsontext (go-json-experiment), which already refuses duplicate names, invalid UTF-8, lone
// surrogates and trailing data and never folds case. On top of that a Decoder
//
//   - knows which members are required, optional and known: an unknown one is an error in Closed mode and is skipped and
//     remembered in Open mode (the Context Graph protocol's rule U1);
//   - reads integers from integer literals only (1.0, 1e2, -0 and "1" are errors), never by way of a float;
//   - bounds nesting;
//   - remembers the first number that RFC 8785 can't carry exactly, so that a lenient verifier and a strict store can
//     share one parser;
//   - names the place of an error by a JSON pointer (RFC 6901) made of known member names and array indexes only, since a
//     name or value chosen by the sender must never be echoed.
//
// A shape is written as a table of members:
//
//	d := strictjson.NewDecoder(body, strictjson.Open)
//	var f FrameID
//	d.Object(
//		strictjson.Req("provider_id", func() { f.ProviderID = d.String() }),
//		strictjson.Opt("content_digest", func() { f.ContentDigest = d.OptString() }),
//	)
//	err := d.Finish()
//
// The first error sticks: later calls do nothing and return zero values, so a table needs no error checks of its own.
package strictjson

// MaxDepth is the deepest nesting that a Decoder follows, the limit of the Context Graph reference (128).
const MaxDepth = 128

// MaxInteger is the largest magnitude that RFC 8785 (I-JSON, RFC 7493 §2.2) carries exactly: 2^53−1.
const MaxInteger = 1<<53 - 1

// Mode says what an unknown member means.
type Mode int

const (
	// Closed makes an unknown member an error.
	Closed Mode = iota
	// Open skips an unknown member and remembers where it stood; see Decoder.UnknownAt.
	Open
)

// Rule is the stable code of a broken rule.
type Rule string

// The rules that a document can break.
const (
	RuleSyntax        Rule = "invalid-json"
	RuleTrailing      Rule = "trailing-data"
	RuleDuplicate     Rule = "duplicate-member"
	RuleUnknown       Rule = "unknown-member"
	RuleMissing       Rule = "missing-member"
	RuleType          Rule = "wrong-type"
	RuleNull          Rule = "null-not-allowed"
	RuleInteger       Rule = "not-an-integer"
	RuleRange         Rule = "out-of-range"
	RuleDepth         Rule = "too-deep"
	RuleValue         Rule = "invalid-value"
	RuleRepresentable Rule = "number-not-representable"
)

// Error is one broken rule at one place. Detail is a fixed text of ours: it never holds a name or value of the document.
type Error struct {
	Pointer string // RFC 6901, "" is the whole document
	Rule    Rule
	Detail  string
}

func (e *Error) Error() string {
	at := e.Pointer
	if at == "" {
		at = "the document"
	}
	return string(e.Rule) + " at " + at + ": " + e.Detail
}

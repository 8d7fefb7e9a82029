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

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

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

// Member is one row of an object's shape: a known name, whether it must be present, and what reads its value.
type Member struct {
	name     string
	required bool
	read     func()
}

// Req is a member that must be present.
func Req(name string, read func()) Member { return Member{name, true, read} }

// Opt is a member that may be absent. Whether null may stand for absent is its reader's decision.
func Opt(name string, read func()) Member { return Member{name, false, read} }

type step struct {
	name  string
	index int // used when name is ""
}

// Decoder reads one JSON document from a byte slice. It is not safe for concurrent use.
type Decoder struct {
	src     []byte
	dec     *jsontext.Decoder
	mode    Mode
	path    []step
	err     *Error
	unknown []string
	number  *Error
}

// NewDecoder reads src, which must not change while the Decoder is used.
func NewDecoder(src []byte, mode Mode) *Decoder {
	return &Decoder{src: src, dec: jsontext.NewDecoder(bytes.NewBuffer(src)), mode: mode}
}

// Parse reads all of src with read. On an error, always an *Error, the value is T's zero.
func Parse[T any](src []byte, mode Mode, read func(*Decoder) T) (T, error) {
	d := NewDecoder(src, mode)
	v := read(d)
	if err := d.Finish(); err != nil {
		var zero T
		return zero, err
	}
	return v, nil
}

// Finish demands that nothing but white space follows and returns the first error, always an *Error.
func (d *Decoder) Finish() error {
	if d.err == nil {
		if _, err := d.dec.ReadToken(); !errors.Is(err, io.EOF) {
			d.path = d.path[:0]
			d.Fail(RuleTrailing, "something follows the JSON value")
		}
	}
	if d.err != nil {
		return d.err
	}
	return nil
}

// Failed says whether an error has occurred, for readers that would otherwise interpret a zero value.
func (d *Decoder) Failed() bool { return d.err != nil }

// UnknownAt lists the objects (JSON pointers, each once, ordered by their first unknown member) that had unknown members
// in Open mode.
func (d *Decoder) UnknownAt() []string { return d.unknown }

// NotRepresentable is the first number, in a known or an unknown member, that RFC 8785 can't carry exactly, or nil.
func (d *Decoder) NotRepresentable() *Error { return d.number }

// Fail records a broken rule at the current place, unless an earlier one was recorded. The detail must be a fixed text.
func (d *Decoder) Fail(rule Rule, detail string) {
	if d.err == nil {
		d.err = &Error{Pointer: d.Pointer(), Rule: rule, Detail: detail}
	}
}

// Pointer is the place that is being read, as a JSON pointer of known names and indexes.
func (d *Decoder) Pointer() string {
	var b strings.Builder
	for _, s := range d.path {
		b.WriteByte('/')
		if s.name == "" {
			b.WriteString(strconv.Itoa(s.index))
			continue
		}
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(s.name))
	}
	return b.String()
}

// In reads with another mode: a closed wrapper around an open artifact.
func (d *Decoder) In(mode Mode, read func()) {
	before := d.mode
	d.mode = mode
	read()
	d.mode = before
}

// Artifact reads an embedded artifact in Open mode and returns the places of its unknown members as UnknownAt does, but
// relative to the artifact, so that what is said about it does not depend on the document around it.
func (d *Decoder) Artifact(read func()) (unknownAt []string) {
	base, before := d.Pointer(), len(d.unknown)
	d.In(Open, read)
	for _, at := range d.unknown[before:] {
		unknownAt = append(unknownAt, strings.TrimPrefix(at, base))
	}
	return unknownAt
}

// Object reads an object of the given members.
func (d *Decoder) Object(members ...Member) {
	if !d.open('{', "an object is required") {
		return
	}
	var seen uint64 // one bit a member; no shape comes near 64
	hasUnknown := false
	for d.err == nil && d.dec.PeekKind() != '}' {
		tok, ok := d.token()
		if !ok {
			return
		}
		i := indexOf(members, tok.String())
		if i < 0 {
			d.unknownMember(!hasUnknown)
			hasUnknown = true
			continue
		}
		seen |= 1 << i
		d.path = append(d.path, step{name: members[i].name})
		members[i].read()
		d.path = d.path[:len(d.path)-1]
	}
	if d.err != nil {
		return
	}
	if _, ok := d.token(); !ok {
		return
	}
	for i, m := range members {
		if m.required && seen&(1<<i) == 0 {
			d.Fail(RuleMissing, "the member "+m.name+" is required")
			return
		}
	}
}

func indexOf(members []Member, name string) int {
	for i := range members {
		if members[i].name == name {
			return i
		}
	}
	return -1
}

// unknownMember reads over a member that no table names; first says that it is the object's first one.
func (d *Decoder) unknownMember(first bool) {
	if d.mode == Closed {
		d.Fail(RuleUnknown, "the object has a member that is not known here (names are case-sensitive)")
		return
	}
	if first {
		d.unknown = append(d.unknown, d.Pointer())
	}
	d.Skip()
}

// Map reads an object whose names are data, calling value with each name in turn. The names are the sender's, so a pointer
// below the map names the map.
func (d *Decoder) Map(value func(name string)) {
	if !d.open('{', "an object is required") {
		return
	}
	for d.err == nil && d.dec.PeekKind() != '}' {
		tok, ok := d.token()
		if !ok {
			return
		}
		value(tok.String())
	}
	d.token()
}

// Array reads an array, calling elem for each element in turn.
func (d *Decoder) Array(elem func(i int)) {
	if !d.open('[', "an array is required") {
		return
	}
	for i := 0; d.err == nil && d.dec.PeekKind() != ']'; i++ {
		d.path = append(d.path, step{index: i})
		elem(i)
		d.path = d.path[:len(d.path)-1]
	}
	if d.err == nil {
		d.token()
	}
}

func (d *Decoder) open(kind jsontext.Kind, want string) bool {
	if d.err != nil {
		return false
	}
	if d.dec.StackDepth() >= MaxDepth {
		d.Fail(RuleDepth, "nesting is deeper than 128")
		return false
	}
	return d.expect(kind, want)
}

// expect consumes one token of the given kind.
func (d *Decoder) expect(kind jsontext.Kind, want string) bool {
	if !d.next(kind, want) {
		return false
	}
	_, ok := d.token()
	return ok
}

// next says whether the next token is of the given kind, and records the fitting error when it is not.
func (d *Decoder) next(kind jsontext.Kind, want string) bool {
	if d.err != nil {
		return false
	}
	switch d.dec.PeekKind() {
	case kind:
		return true
	case 'n':
		if _, ok := d.token(); ok {
			d.Fail(RuleNull, want+", null is not allowed")
		}
	case 0, '}', ']':
		d.token() // a syntax error; token records it
		d.Fail(RuleSyntax, want)
	default:
		d.Fail(RuleType, want)
	}
	return false
}

func (d *Decoder) token() (jsontext.Token, bool) {
	if d.err != nil {
		return jsontext.Token{}, false
	}
	tok, err := d.dec.ReadToken()
	if err != nil {
		d.syntax(err)
		return jsontext.Token{}, false
	}
	return tok, true
}

func (d *Decoder) syntax(err error) {
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		d.Fail(RuleDuplicate, "the object has a member twice")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		d.Fail(RuleSyntax, "the document ends too early")
	default:
		d.Fail(RuleSyntax, "not well-formed JSON (RFC 8259, valid UTF-8, no lone surrogates)")
	}
}

// String reads a string.
func (d *Decoder) String() string {
	if !d.next('"', "a string is required") {
		return ""
	}
	tok, ok := d.token()
	if !ok {
		return ""
	}
	return tok.String()
}

// OptString reads a string or null; null is nil, as absence is.
func (d *Decoder) OptString() *string {
	if d.Null() {
		return nil
	}
	s := d.String()
	if d.err != nil {
		return nil
	}
	return &s
}

// Null consumes a null if there is one, for members where null means absent.
func (d *Decoder) Null() bool {
	if d.err != nil || d.dec.PeekKind() != 'n' {
		return false
	}
	_, ok := d.token()
	return ok
}

// Bool reads true or false.
func (d *Decoder) Bool() bool {
	if d.err != nil {
		return false
	}
	kind := d.dec.PeekKind()
	if kind != 't' && kind != 'f' {
		d.next('t', "a boolean is required")
		return false
	}
	_, ok := d.token()
	return ok && kind == 't'
}

// Uint32 reads an integer literal from 0 to 2^32−1.
func (d *Decoder) Uint32() uint32 { return uint32(d.unsigned(32)) }

// Uint64 reads an integer literal from 0 to 2^64−1. Above MaxInteger it also sets NotRepresentable.
func (d *Decoder) Uint64() uint64 { return d.unsigned(64) }

func (d *Decoder) unsigned(bits int) uint64 {
	if !d.next('0', "an integer is required") {
		return 0
	}
	raw, err := d.dec.ReadValue()
	if err != nil {
		d.syntax(err)
		return 0
	}
	if !isUnsignedLiteral(raw) {
		d.Fail(RuleInteger, "a non-negative integer literal is required (no sign, fraction or exponent)")
		return 0
	}
	v, err := strconv.ParseUint(string(raw), 10, bits)
	if err != nil {
		d.Fail(RuleRange, "the integer exceeds "+strconv.Itoa(bits)+" bits")
		return 0
	}
	if v > MaxInteger {
		d.notRepresentable()
	}
	return v
}

func isUnsignedLiteral(raw []byte) bool {
	for _, c := range raw {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(raw) > 0
}

// Skip reads over a value of any kind, checking its syntax, depth and numbers.
func (d *Decoder) Skip() {
	depth := d.dec.StackDepth()
	for d.err == nil {
		tok, ok := d.token()
		if !ok {
			return
		}
		switch tok.Kind() {
		case '0':
			if !representable(tok.String()) {
				d.notRepresentable()
			}
		case '{', '[':
			if d.dec.StackDepth() > MaxDepth {
				d.Fail(RuleDepth, "nesting is deeper than 128")
			}
		}
		if d.dec.StackDepth() <= depth {
			return
		}
	}
}

// Raw runs read and returns the bytes of the value that it consumed, as they stand in the document.
func (d *Decoder) Raw(read func()) jsontext.Value {
	d.dec.PeekKind()
	from := d.dec.InputOffset()
	read()
	if d.err != nil {
		return nil
	}
	return bytes.TrimLeft(d.src[from:d.dec.InputOffset()], " \t\r\n:,")
}

func (d *Decoder) notRepresentable() {
	if d.number == nil {
		d.number = &Error{Pointer: d.Pointer(), Rule: RuleRepresentable, Detail: "RFC 8785 carries integers up to 2^53-1 only"}
	}
}

// representable says whether RFC 8785 keeps the number: as an IEEE double within ±(2^53−1). A fraction is rounded to the
// nearest double, as the RFC does; a magnitude beyond the safe range is refused rather than rounded.
func representable(literal string) bool {
	f, err := strconv.ParseFloat(literal, 64)
	return err == nil && f >= -MaxInteger && f <= MaxInteger
}

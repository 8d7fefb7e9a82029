package strictjson

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// String reads a string.
func (d *Decoder) String() string {
	if !d.next('"', "a string is required") {
		return ""
	}
	if d.strings++; d.strings > manyStrings {
		return d.known()
	}
	tok, ok := d.token()
	if !ok {
		return ""
	}
	return tok.String()
}

// manyStrings is from when on a document is long enough for remembering its strings to pay.
const manyStrings = 256

// known reads a string that may have been there before, as most of a long document have: ids, words, namespaces.
func (d *Decoder) known() string {
	quoted, err := d.dec.ReadValue()
	if err != nil {
		d.syntax(err)
		return ""
	}
	text := []byte(quoted[1 : len(quoted)-1])
	if bytes.IndexByte(text, '\\') >= 0 {
		if text, err = jsontext.AppendUnquote(nil, quoted); err != nil {
			d.syntax(err)
		}
		return string(text)
	}
	n := len(text)
	if n == 0 || n > 64 { // a digest rarely comes again
		return string(text)
	}
	if d.recent == nil {
		d.recent = new([256]string)
	}
	slot := &d.recent[uint8(uint(text[0])*31+uint(text[n-1])*7+uint(text[n/2])*131+uint(n))]
	if *slot != string(text) {
		*slot = string(text)
	}
	return *slot
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

// Int64 reads an integer literal from −2^63 to 2^63−1; −0 is an error. Beyond ±MaxInteger it also sets NotRepresentable.
func (d *Decoder) Int64() int64 {
	if !d.next('0', "an integer is required") {
		return 0
	}
	raw, err := d.dec.ReadValue()
	if err != nil {
		d.syntax(err)
		return 0
	}
	digits, negative := bytes.CutPrefix(raw, []byte("-"))
	if !isUnsignedLiteral(digits) || negative && digits[0] == '0' {
		d.Fail(RuleInteger, "an integer literal is required (no fraction or exponent, no negative zero)")
		return 0
	}
	v, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		d.Fail(RuleRange, "the integer exceeds 64 bits")
		return 0
	}
	if v > MaxInteger || v < -MaxInteger {
		d.notRepresentable()
	}
	return v
}

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

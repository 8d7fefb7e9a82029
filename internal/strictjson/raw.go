package strictjson

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

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

// RawValue returns the bytes of the next value as they stand, checked for syntax and duplicate names only: for a part that
// is decoded, or skipped with Skip, by another Decoder later.
func (d *Decoder) RawValue() jsontext.Value {
	return d.Raw(func() {
		if d.err != nil {
			return
		}
		if err := d.dec.SkipValue(); err != nil {
			d.syntax(err)
		}
	})
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

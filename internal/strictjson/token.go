package strictjson

import (
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

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

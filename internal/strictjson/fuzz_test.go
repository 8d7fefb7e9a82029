package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

var seeds = []string{
	`{"text":"a","inner":[{"a/b~c":"x"}],"raw":[1,{"a":null}]}`, `{"text":"\ud83d\ude00","x":{"y":1,"y":2}}`, `[1e999,-0,01]`,
	"\"\xff\"", `"\ud800"`, ` null `, `{"a":1}{}`, strings.Repeat("[", 130) + strings.Repeat("]", 130),
}

// FuzzWellFormed compares acceptance: what Skip reads is exactly what jsontext calls well-formed up to MaxDepth, and then
// encoding/json agrees.
func FuzzWellFormed(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		raw, err := Parse(src, Closed, func(d *Decoder) jsontext.Value { return d.Raw(d.Skip) })
		if want := jsontext.Value(src).IsValid() && depthOf(src) <= MaxDepth; (err == nil) != want {
			t.Fatalf("%q: %v, but jsontext says %v", src, err, want)
		}
		if err != nil {
			return
		}
		if !json.Valid(src) {
			t.Errorf("%q: encoding/json refuses it", src)
		}
		if !bytes.Equal(raw, bytes.Trim(src, " \t\r\n")) {
			t.Errorf("%q: Raw is %q", src, raw)
		}
	})
}

// depthOf is the deepest nesting of a well-formed document.
func depthOf(src []byte) (deepest int) {
	dec := jsontext.NewDecoder(bytes.NewReader(src))
	for {
		if _, err := dec.ReadToken(); err != nil {
			return deepest
		}
		deepest = max(deepest, dec.StackDepth())
	}
}

// FuzzShape holds a table of members against encoding/json: what is accepted there with the exact names has the same
// values here, and Closed accepts nothing that Open does not.
func FuzzShape(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		open, err := Parse(src, Open, decodeShape)
		closed, closedErr := Parse(src, Closed, decodeShape)
		if closedErr == nil && (err != nil || closed.text != open.text || closed.raw != open.raw) {
			t.Fatalf("%q: closed accepts it, open says %v", src, err)
		}
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || strings.ContainsAny(e.Pointer, " \"{") {
				t.Fatalf("%q: %v", src, err)
			}
			return
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(src, &members); err != nil {
			t.Fatalf("%q: encoding/json refuses it: %v", src, err)
		}
		var text string
		if json.Unmarshal(members["text"], &text) != nil || text != open.text || string(members["raw"]) != open.raw {
			t.Errorf("%q: text %q raw %q", src, open.text, open.raw)
		}
	})
}

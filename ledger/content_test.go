package ledger_test

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"testing"

	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"

	"ledgerd/internal/strictjson"
	"ledgerd/ledger"
)

func TestParseContent(t *testing.T) {
	c, err := ledger.ParseContent([]byte(goldenContent))
	if err != nil || string(c.Artifact) != `{"n":1}` || string(c.Context) != "{}" || string(c.Receiver) != "{}" {
		t.Errorf("read as %+v, %v", c, err)
	}
	if !ledger.SameSubmission([]byte(goldenContent), c.Submitted()) {
		t.Error("the content is not of its own submission")
	}
	c.Receiver = []byte(`{"verdict":"valid"}`)
	if !ledger.SameSubmission(c.Encode(), c.Submitted()) {
		t.Error("what the server adds makes another submission")
	}
	c.Context = []byte(`{"a":1}`)
	if ledger.SameSubmission([]byte(goldenContent), c.Submitted()) {
		t.Error("another context makes the same submission")
	}
}

func TestParseContentRefuses(t *testing.T) {
	for name, text := range respellings(t, goldenContent, map[string][2]string{
		"no artifact": {`"artifact":{"n":1},`, ""}, "no context": {`"context":{},`, ""}, "no receiver": {`,"receiver":{}`, ""}, "artifact twice": {`"context":{}`, `"artifact":{}`},
		"other order": {`"context":{},"receiver":{}`, `"receiver":{},"context":{}`}, "other case": {`"context"`, `"Context"`}, "malformed inside": {`"n":1`, `"n":01`},
		"a member twice inside": {`"n":1`, `"n":1,"n":1`}, "invalid UTF-8 inside": {`"n"`, "\"\xff\""}, "space around a part": {`{"n":1}`, ` {"n":1}`},
	}) {
		if got, err := ledger.ParseContent([]byte(text)); !errors.Is(err, ledger.ErrContentForm) || got.Artifact != nil {
			t.Errorf("%s: %s is read as %+v, %v", name, text, got, err)
		}
	}
}

func TestCanonicalize(t *testing.T) {
	for in, want := range map[string]string{
		` { "b" : [ 1.0 , 1e2 , -0 , 0.1e1 ] , "a" : "\u00e9\/" } `: `{"a":"é/","b":[1,100,0,1]}`,
		`{"\ud83d\ude00":1,"\ufb33":2,"z":3}`:                       "{\"z\":3,\"😀\":1,\"\ufb33\":2}", // by UTF-16 code units, not code points
		`9007199254740991`:                                          `9007199254740991`,
		`-9007199254740991`:                                         `-9007199254740991`,
		`1e-400`:                                                    `0`,
		`null`:                                                      `null`,
	} {
		raw := []byte(in)
		got, err := ledger.Canonicalize(raw)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", in, got, err, want)
		}
		if string(raw) != in {
			t.Errorf("%s: the argument was changed", in)
		}
	}
}

func TestCanonicalizeRefuses(t *testing.T) {
	for in, want := range map[string]strictjson.Rule{
		`9007199254740992`: strictjson.RuleRepresentable, `{"a":[-9007199254740992]}`: strictjson.RuleRepresentable, `1e300`: strictjson.RuleRepresentable, `1e999`: strictjson.RuleRepresentable,
		`18446744073709551615`: strictjson.RuleRepresentable, `{"a":1,"a":1}`: strictjson.RuleDuplicate, `[01]`: strictjson.RuleSyntax, "\"\xff\"": strictjson.RuleSyntax, `"\ud800"`: strictjson.RuleSyntax,
		`1 2`: strictjson.RuleTrailing, ``: strictjson.RuleSyntax,
	} {
		_, err := ledger.Canonicalize([]byte(in))
		var rule *strictjson.Error
		if !errors.As(err, &rule) || rule.Rule != want {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}

// FuzzCanonicalize holds the two implementations of RFC 8785 equal on everything that is accepted: the fast one that makes
// the bytes, and the one that fsck and disputes check them with.
func FuzzCanonicalize(f *testing.F) {
	for _, s := range []string{
		goldenContent, ` { "b" : [ 1.5e-7 , 1e21 , 123456789012345 ] , "a" : "\u00e9\u2028<>&" } `, `[0.1,-0.0,5e-324,1.7976931348623157e-300]`,
		`{"\ud83d\ude00":1,"\ufb33":2,"z":3,"":4}`, `"\u0000\b\u007f"`, `[true,false,null,"",{}]`, `9007199254740992`, `[333333333.33333329,1e-6,1e-7]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := ledger.Canonicalize(raw)
		if err != nil {
			var rule *strictjson.Error
			if !errors.As(err, &rule) {
				t.Errorf("%q: %v", raw, err)
			}
			return
		}
		want, err := jcs.Transform(raw)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q\n is %s,\nbut jcs says %s (%v)", raw, got, want, err)
		}
		again, err := ledger.Canonicalize(got)
		if err != nil || !bytes.Equal(again, got) {
			t.Errorf("%q: canonical bytes are changed again: %s, %v", raw, again, err)
		}
	})
}

// Every double that may be recorded is written the same by both.
func TestCanonicalizeNumbersAgainstJCS(t *testing.T) {
	doubles := rapid.Map(rapid.Uint64(), math.Float64frombits).Filter(func(n float64) bool { return math.Abs(n) <= strictjson.MaxInteger })
	rapid.Check(t, func(t *rapid.T) {
		raw := strconv.AppendFloat(nil, doubles.Draw(t, "number"), 'e', -1, 64)
		got, err := ledger.Canonicalize(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		want, err := jcs.Transform(raw)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s is %s, but jcs says %s (%v)", raw, got, want, err)
		}
	})
}

func FuzzParseContent(f *testing.F) {
	f.Add([]byte(goldenContent))
	f.Add([]byte(`{"artifact":"\u0061","context":{},"receiver":[1e999]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := ledger.ParseContent(raw)
		switch {
		case err != nil && !errors.Is(err, ledger.ErrContentForm):
			t.Errorf("%q: %v", raw, err)
		case err == nil && !bytes.Equal(c.Encode(), raw):
			t.Errorf("%q is read as what is written %q", raw, c.Encode())
		}
	})
}

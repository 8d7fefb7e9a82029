package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// shape is one member of every kind.
type shape struct {
	text  string
	opt   *string
	small uint32
	large uint64
	flag  bool
	inner []string
	raw   string
}

func decodeShape(d *Decoder) shape {
	var s shape
	d.Object(
		Req("text", func() { s.text = d.String() }),
		Opt("opt", func() { s.opt = d.OptString() }),
		Opt("small", func() { s.small = d.Uint32() }),
		Opt("large", func() { s.large = d.Uint64() }),
		Opt("flag", func() { s.flag = d.Bool() }),
		Opt("inner", func() {
			d.Array(func(int) {
				d.Object(Req("a/b~c", func() { s.inner = append(s.inner, d.String()) }))
			})
		}),
		Opt("raw", func() { s.raw = string(d.Raw(d.Skip)) }),
		Opt("map", func() { d.Map(func(string) { _ = d.Uint32() }) }),
		Opt("value", func() { d.Fail(RuleValue, "never right") }),
	)
	return s
}

func wantError(t *testing.T, err error, rule Rule, pointer string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Rule != rule || e.Pointer != pointer {
		t.Errorf("got %v, want %s at %q", err, rule, pointer)
	}
}

func TestEveryRule(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)
	for _, tt := range []struct {
		src     string
		rule    Rule
		pointer string
	}{
		{``, RuleSyntax, ""},
		{`{`, RuleSyntax, ""},
		{`{"text":"a"`, RuleSyntax, ""},
		{`{"text":"a",}`, RuleSyntax, ""},
		{`{"text":}`, RuleSyntax, "/text"},
		{`{"text":"\ud800"}`, RuleSyntax, "/text"},
		{"{\"text\":\"\xff\"}", RuleSyntax, "/text"},
		{"{\"text\":\"\n\"}", RuleSyntax, "/text"},
		{"\ufeff{\"text\":\"a\"}", RuleSyntax, ""},
		{`{"text":"a","flag":tru}`, RuleSyntax, "/flag"},
		{`{"text":"a"} x`, RuleTrailing, ""},
		{`{"text":"a"}{}`, RuleTrailing, ""},
		{`{"text":"a","text":"a"}`, RuleDuplicate, ""},
		{`{"text":"a","te\u0078t":"a"}`, RuleDuplicate, ""},
		{`{"text":"a","raw":{"x":1,"x":2}}`, RuleDuplicate, "/raw"},
		{`{"text":"a","Text":"a"}`, RuleUnknown, ""},
		{`{"text":"a","inner":[{"a/b~c":"","secret":1}]}`, RuleUnknown, "/inner/0"},
		{`{}`, RuleMissing, ""},
		{`{"text":"a","inner":[{"a/b~c":""},{}]}`, RuleMissing, "/inner/1"},
		{`[]`, RuleType, ""},
		{`{"text":1}`, RuleType, "/text"},
		{`{"text":{}}`, RuleType, "/text"},
		{`{"text":"a","opt":1}`, RuleType, "/opt"},
		{`{"text":"a","small":"1"}`, RuleType, "/small"},
		{`{"text":"a","flag":0}`, RuleType, "/flag"},
		{`{"text":"a","inner":{}}`, RuleType, "/inner"},
		{`{"text":"a","map":[]}`, RuleType, "/map"},
		{`{"text":"a","map":{"secret":"x"}}`, RuleType, "/map"},
		{`{"text":"a","inner":[{"a/b~c":1}]}`, RuleType, "/inner/0/a~1b~0c"},
		{`null`, RuleNull, ""},
		{`{"text":null}`, RuleNull, "/text"},
		{`{"text":"a","small":null}`, RuleNull, "/small"},
		{`{"text":"a","flag":null}`, RuleNull, "/flag"},
		{`{"text":"a","inner":null}`, RuleNull, "/inner"},
		{`{"text":"a","inner":[null]}`, RuleNull, "/inner/0"},
		{`{"text":"a","small":1.0}`, RuleInteger, "/small"},
		{`{"text":"a","small":1e2}`, RuleInteger, "/small"},
		{`{"text":"a","small":-0}`, RuleInteger, "/small"},
		{`{"text":"a","small":-1}`, RuleInteger, "/small"},
		{`{"text":"a","small":4294967296}`, RuleRange, "/small"},
		{`{"text":"a","large":18446744073709551616}`, RuleRange, "/large"},
		{`{"text":"a","small":01}`, RuleSyntax, ""},
		{`{"text":"a","raw":` + deep + `}`, RuleDepth, "/raw"},
		{`{"text":"a","value":1}`, RuleValue, "/value"},
	} {
		_, err := Parse([]byte(tt.src), Closed, decodeShape)
		t.Run(tt.src[:min(len(tt.src), 40)], func(t *testing.T) { wantError(t, err, tt.rule, tt.pointer) })
	}
}

func TestValuesAsTheyStand(t *testing.T) {
	src := " {\"opt\":null,\"small\":4294967295,\n\"large\":18446744073709551615,\"flag\":true,\"text\":\"\\u00e9\\ud83d\\ude00\"," +
		"\"raw\" :\t [1, \"\\u0041\" ,{ }] , \"map\":{\"\":1,\"a\":2}} "
	s, err := Parse([]byte(src), Closed, decodeShape)
	if err != nil {
		t.Fatal(err)
	}
	if s.text != "é😀" || s.opt != nil || s.small != 1<<32-1 || s.large != 1<<64-1 || !s.flag || s.raw != `[1, "\u0041" ,{ }]` {
		t.Errorf("%+v", s)
	}
}

func TestRawIsExactAfterAnySpace(t *testing.T) {
	for _, value := range []string{`1`, `"a b"`, `{"x" : [ 1 ]}`, `[ ]`, `null`, `-1.50e+3`} {
		for _, space := range []string{"", " ", "\r\n\t "} {
			src := "[" + space + value + space + "," + space + value + space + "]"
			var got []string
			d := NewDecoder([]byte(src), Closed)
			d.Array(func(int) { got = append(got, string(d.Raw(d.Skip))) })
			if err := d.Finish(); err != nil || !slices.Equal(got, []string{value, value}) {
				t.Errorf("%q: got %q, %v", src, got, err)
			}
		}
	}
	d := NewDecoder([]byte(`  {"a":1}`), Closed)
	if raw := d.Raw(d.Skip); string(raw) != `{"a":1}` {
		t.Errorf("the whole document: %q", raw)
	}
	d = NewDecoder([]byte(`{"a":`), Closed)
	if raw := d.Raw(d.Skip); raw != nil || !d.Failed() {
		t.Errorf("of a broken one: %q", raw)
	}
}

func TestDepth(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	var walk func(d *Decoder) int
	walk = func(d *Decoder) (n int) {
		d.Array(func(int) { n = walk(d) })
		return n + 1
	}
	for depth, rule := range map[int]Rule{1: "", MaxDepth: "", MaxDepth + 1: RuleDepth, 1_000_000: RuleDepth} {
		for how, read := range map[string]func(*Decoder) int{
			"skipped": func(d *Decoder) int { d.Skip(); return 0 },
			"walked":  walk,
		} {
			_, err := Parse([]byte(nested(depth)), Closed, read)
			var e *Error
			if rule == "" && err != nil || rule != "" && (!errors.As(err, &e) || e.Rule != rule) {
				t.Errorf("%d %s: %v", depth, how, err)
			}
		}
	}
	unclosed := strings.Repeat(`{"a":`, 1_000_000)
	if _, err := Parse([]byte(unclosed), Open, func(d *Decoder) int { d.Object(); return 0 }); err == nil {
		t.Error("a bomb was accepted")
	}
}

// TestTheFirstErrorSticks: after an error every reader returns its zero value and changes nothing.
func TestTheFirstErrorSticks(t *testing.T) {
	d := NewDecoder([]byte(`{"a":1,"b":2}`), Closed)
	d.Fail(RuleValue, "first")
	d.Fail(RuleType, "second")
	called := false
	read := func() { called = true }
	d.Object(Opt("a", read))
	d.Array(func(int) { read() })
	d.Map(func(string) { read() })
	d.Skip()
	if d.String() != "" || d.OptString() != nil || d.Bool() || d.Uint32() != 0 || d.Uint64() != 0 || d.Null() || called || !d.Failed() {
		t.Error("a reader went on")
	}
	if err := d.Finish(); err == nil || err.Error() != "invalid-value at the document: first" {
		t.Errorf("%v", err)
	}
	if v, err := Parse([]byte(`{"text":"a","x":1}`), Closed, decodeShape); err == nil || v.text != "" {
		t.Errorf("a failed parse gives %+v", v)
	}
}

// Strings of a long document are what they are wherever they stand: repeated or not, escaped, empty, long.
func TestManyStrings(t *testing.T) {
	var want []string
	for i := range 2000 {
		want = append(want, []string{"same", "", fmt.Sprint("n", i), "esc\"aped\\\n", "ünï", strings.Repeat("long", 20), fmt.Sprint("x", i%300, "y"), "a/b"}[i%8])
	}
	src, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(src, Closed, func(d *Decoder) (all []string) {
		d.Array(func(int) { all = append(all, d.String()) })
		return all
	})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %d strings", err, len(got))
	}
	for _, bad := range []string{`"\ud800"`, "\"\xff\"", `"\x"`, `"open`, "\"\x01\""} {
		_, err := Parse(append(src[:len(src)-1:len(src)-1], (","+bad+"]")...), Closed, func(d *Decoder) int {
			d.Array(func(int) { _ = d.String() })
			return 0
		})
		var e *Error
		if !errors.As(err, &e) || e.Rule != RuleSyntax || e.Pointer != "/2000" {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

package strictjson

import (
	"slices"
	"strings"
	"testing"
)

func TestUnknownMembersAreRememberedByPlace(t *testing.T) {
	src := `{"secret-1":{"deep":[1]},"text":"a","inner":[{"a/b~c":"","secret-2":1},{"a/b~c":""},{"x":1,"a/b~c":"","y":2}],"secret-3":0}`
	d := NewDecoder([]byte(src), Open)
	decodeShape(d)
	if err := d.Finish(); err != nil {
		t.Fatal(err)
	}
	if got := d.UnknownAt(); !slices.Equal(got, []string{"", "/inner/0", "/inner/2"}) {
		t.Errorf("%q", got)
	}
}

func TestArtifactIsToldFromItsWrapper(t *testing.T) {
	read := func(src string) (inside []string, err error) {
		d := NewDecoder([]byte(src), Closed)
		d.Object(
			Req("list", func() {
				d.Array(func(int) { inside = append(inside, d.Artifact(func() { decodeShape(d) })...) })
			}),
		)
		return inside, d.Finish()
	}
	inside, err := read(`{"list":[{"text":"a","inner":[{"a/b~c":"","x":1}],"y":1},{"z":1,"text":"b"}]}`)
	if err != nil || !slices.Equal(inside, []string{"/inner/0", "", ""}) {
		t.Errorf("%q, %v", inside, err)
	}
	_, err = read(`{"list":[{"text":"a"}],"x":1}`)
	wantError(t, err, RuleUnknown, "") // the wrapper stays closed after an open artifact
}

func TestUnknownMembersAreStillChecked(t *testing.T) {
	for _, tt := range []struct {
		src     string
		rule    Rule
		pointer string
	}{
		{`{"text":"a","secret":{"x":1,"x":2}}`, RuleDuplicate, ""},
		{`{"text":"a","secret":1,"secret":2}`, RuleDuplicate, ""},
		{`{"text":"a","inner":[{"a/b~c":"","secret":[{"\u0078":1,"x":2}]}]}`, RuleDuplicate, "/inner/0"},
		{`{"text":"a","secret":"\udc00"}`, RuleSyntax, ""},
		{`{"text":"a","secret":[1,]}`, RuleSyntax, ""},
		{`{"text":"a","secret":` + strings.Repeat(`{"x":`, 200) + `1` + strings.Repeat(`}`, 200) + `}`, RuleDepth, ""},
	} {
		_, err := Parse([]byte(tt.src), Open, decodeShape)
		wantError(t, err, tt.rule, tt.pointer)
	}
}

// TestNothingOfTheSenderIsEchoed: whatever is wrong, the error shows no name and no value of the document.
func TestNothingOfTheSenderIsEchoed(t *testing.T) {
	for _, src := range []string{
		`{"sEcrEt":1}`, `{"text":"a","sEcrEt":1}`, `{"text":"a","sEcrEt":1,"sEcrEt":2}`, `{"text":"a","sEcrEt":{"sEcrEt":[}}`,
		`{"text":"sEcrEt","text":"sEcrEt"}`, `{"text":"a","map":{"sEcrEt":"sEcrEt"}}`, `{"text":"a","map":{"sEcrEt":1,"sEcrEt":2}}`,
		`{"text":"a","small":"sEcrEt"}`, `{"text":"a","inner":[{"a/b~c":"","sEcrEt":1}]}`, `{"text":"sEcrEt`, `{"text":"a"}"sEcrEt"`,
		`{"text":"a","raw":{"sEcrEt":{"sEcrEt":1,"sEcrEt":1}}}`,
	} {
		_, err := Parse([]byte(src), Closed, decodeShape)
		if err == nil || strings.Contains(err.Error(), "sEcrEt") {
			t.Errorf("%s: %v", src, err)
		}
	}
}

func TestNumbersThatRFC8785CannotCarry(t *testing.T) {
	for _, tt := range []struct {
		src, pointer string
		found        bool
	}{
		{`{"text":"a","large":9007199254740991}`, "", false},
		{`{"text":"a","large":9007199254740992}`, "/large", true},
		{`{"text":"a","x":[0.1,-9007199254740991,1e15,1e-400]}`, "", false},
		{`{"text":"a","x":[{"y":9007199254740993}]}`, "", true},
		{`{"text":"a","x":-9007199254740992}`, "", true},
		{`{"text":"a","x":1e16}`, "", true},
		{`{"text":"a","x":1e999}`, "", true},
		{`{"text":"a","raw":[1e16],"large":18446744073709551615}`, "/raw", true},
		{`{"text":"a","inner":[{"a/b~c":"","x":1e16}]}`, "/inner/0", true},
	} {
		d := NewDecoder([]byte(tt.src), Open)
		decodeShape(d)
		if err := d.Finish(); err != nil {
			t.Fatalf("%s: %v", tt.src, err)
		}
		e := d.NotRepresentable()
		if (e != nil) != tt.found || e != nil && (e.Pointer != tt.pointer || e.Rule != RuleRepresentable) {
			t.Errorf("%s: got %v", tt.src, e)
		}
	}
}

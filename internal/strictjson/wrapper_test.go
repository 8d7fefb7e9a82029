package strictjson_test

import (
	"errors"
	"testing"

	"ledgerd/internal/strictjson"
)

// A wrapper's own members are held to every rule; what is twice inside a part is for the part's own decoder to find.
func TestWrapper(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, document string
		rule           strictjson.Rule
		pointer, part  string
	}{
		{"good", ` {"part": {"a":1} , "name":"n"} `, "", "", `{"a":1}`},
		{"twice inside the part", `{"part":{"a":1,"a":2},"name":"n"}`, "", "", `{"a":1,"a":2}`},
		{"twice", `{"name":"n","part":1,"name":"n"}`, strictjson.RuleDuplicate, "", ""},
		{"part twice", `{"part":1,"part":1,"name":"n"}`, strictjson.RuleDuplicate, "", ""},
		{"unknown", `{"part":1,"name":"n","x":1}`, strictjson.RuleUnknown, "", ""},
		{"missing", `{"part":1}`, strictjson.RuleMissing, "", ""},
		{"malformed part", `{"part":{"a":tru},"name":"n"}`, strictjson.RuleSyntax, "/part", ""},
		{"invalid UTF-8 in the part", "{\"part\":\"\xff\",\"name\":\"n\"}", strictjson.RuleSyntax, "/part", ""},
		{"trailing", `{"part":1,"name":"n"}{}`, strictjson.RuleTrailing, "", "1"},
	} {
		var part string
		d := strictjson.NewWrapper([]byte(c.document))
		d.Object(
			strictjson.Req("name", func() { _ = d.String() }),
			strictjson.Req("part", func() { part = string(d.RawValue()) }),
		)
		err := d.Finish()
		if again := d.Finish(); !errors.Is(again, err) {
			t.Errorf("%s: finished again: %v, at first %v", c.name, again, err)
		}
		var e *strictjson.Error
		switch {
		case c.rule == "":
			if err != nil || part != c.part {
				t.Errorf("%s: part %s, %v", c.name, part, err)
			}
		case !errors.As(err, &e) || e.Rule != c.rule || e.Pointer != c.pointer:
			t.Errorf("%s: %v, want %s at %q", c.name, err, c.rule, c.pointer)
		}
		// The memory of a wrapper serves strict decoders next: none of its leniency may stay in it.
		strict := strictjson.NewDecoder([]byte(`{"a":1,"a":2}`), strictjson.Open)
		strict.Skip()
		if err := strict.Finish(); !errors.As(err, &e) || e.Rule != strictjson.RuleDuplicate {
			t.Errorf("%s: a strict decoder after it: %v", c.name, err)
		}
	}
}

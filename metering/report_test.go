package metering

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
)

const worked = `{"budget_requested":2000,"budget_consumed":403,"as_of":"2031-03-04T05:06:07Z","providers":[` +
	`{"provider_id":"wiki-index","frames_served":2,"frames_rejected":0,"token_cost":403,"served_frames":[` +
	`{"frame":{"provider_id":"wiki-index","frame_id":"page/onboarding","content_digest":"sha256:c6ffeba44ad1939eccbc1dda428f3e7380bbdfc434909eba13908cb18f7f8e4f"},"token_cost":311},` +
	`{"frame":{"provider_id":"wiki-index","frame_id":"page/oncall"},"token_cost":92}]}]}`

func parse(t *testing.T, src string) UsageReport {
	t.Helper()
	r, err := ParseUsageReport([]byte(src))
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return r
}

func TestParseKeepsEveryMember(t *testing.T) {
	r := parse(t, worked)
	out, err := json.Marshal(r)
	if err != nil || string(out) != worked {
		t.Errorf("written back: %s, %v", out, err)
	}
}

func TestParseRefuses(t *testing.T) {
	edit := func(old, by string) string {
		s := strings.Replace(worked, old, by, 1)
		if s == worked {
			t.Fatalf("%q is not in the example", old)
		}
		return s
	}
	for name, tt := range map[string]struct {
		src, pointer string
		rule         strictjson.Rule
	}{
		"missing member":       {edit(`"frames_rejected":0,`, ``), "/providers/0", strictjson.RuleMissing},
		"other case":           {edit(`"budget_consumed"`, `"Budget_Consumed"`), "", strictjson.RuleMissing},
		"duplicate":            {edit(`"as_of"`, `"budget_consumed":403,"as_of"`), "", strictjson.RuleDuplicate},
		"u32":                  {edit(`:2000`, `:4294967296`), "/budget_requested", strictjson.RuleRange},
		"u64":                  {edit(`:403`, `:18446744073709551616`), "/budget_consumed", strictjson.RuleRange},
		"fraction":             {edit(`:2000`, `:2000.0`), "/budget_requested", strictjson.RuleInteger},
		"exponent":             {edit(`:2000`, `:2e3`), "/budget_requested", strictjson.RuleInteger},
		"minus zero":           {edit(`"frames_rejected":0`, `"frames_rejected":-0`), "/providers/0/frames_rejected", strictjson.RuleInteger},
		"string":               {edit(`:311`, `:"311"`), "/providers/0/served_frames/0/token_cost", strictjson.RuleType},
		"null rows":            {`{"budget_requested":1,"budget_consumed":0,"as_of":"","providers":null}`, "/providers", strictjson.RuleNull},
		"null as_of":           {edit(`"2031-03-04T05:06:07Z"`, `null`), "/as_of", strictjson.RuleNull},
		"positional frame":     {edit(`{"provider_id":"wiki-index","frame_id":"page/oncall"}`, `["wiki-index","page/oncall"]`), "/providers/0/served_frames/1/frame", strictjson.RuleType},
		"lone surrogate":       {edit(`page/oncall`, `\ud800`), "/providers/0/served_frames/1/frame/frame_id", strictjson.RuleSyntax},
		"trailing data":        {worked + `{}`, "", strictjson.RuleTrailing},
		"no object":            {`[]`, "", strictjson.RuleType},
		"empty":                {``, "", strictjson.RuleSyntax},
		"leading zero":         {edit(`:311`, `:0311`), "/providers/0/served_frames/0", strictjson.RuleSyntax},
		"digest of bad type":   {edit(`"frame_id":"page/oncall"`, `"frame_id":"page/oncall","content_digest":7`), "/providers/0/served_frames/1/frame/content_digest", strictjson.RuleType},
		"duplicate in unknown": {edit(`"as_of"`, `"x":{"y":1,"y":2},"as_of"`), "", strictjson.RuleDuplicate},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseUsageReport([]byte(tt.src))
			var e *strictjson.Error
			if !errors.As(err, &e) || e.Rule != tt.rule || e.Pointer != tt.pointer {
				t.Errorf("got %v, want %s at %q", err, tt.rule, tt.pointer)
			}
		})
	}
}

func TestDecodeInsideAClosedWrapper(t *testing.T) {
	src := `{"report":{"budget_requested":1,"budget_consumed":0,"as_of":"2031-03-04T05:06:07Z","providers":[` +
		`{"provider_id":"a","frames_served":0,"frames_rejected":0,"token_cost":0,"latency":1}],"secret-name":1},"request_id":"r"}`
	var r UsageReport
	d := strictjson.NewDecoder([]byte(src), strictjson.Closed)
	d.Object(
		strictjson.Req("report", func() { r = DecodeUsageReport(d) }),
		strictjson.Req("request_id", func() { _ = d.String() }),
	)
	if err := d.Finish(); err != nil {
		t.Fatal(err)
	}
	want := []frames.Finding{
		{Code: frames.UnknownMember, Pointer: "/providers/0", Document: "SPEC U1"},
		{Code: frames.UnknownMember, Pointer: "", Document: "SPEC U1"},
	}
	if got := Findings(r); !equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func equal(a, b []frames.Finding) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestCheckAsOf(t *testing.T) {
	recorded := time.Date(2031, 3, 4, 5, 6, 7, 0, time.UTC)
	for asOf, problem := range map[string]string{
		"2031-03-04T05:06:07Z":           "",
		"2031-03-04T05:11:07Z":           "",
		"2031-03-04T05:11:07.000000001Z": AsOfAhead,
		"2030-01-28T05:06:07Z":           "",
		"2030-01-28T05:06:06.9Z":         AsOfTooOld,
		"2031-03-04T05:06:07+00:00":      AsOfMalformed,
		"":                               AsOfMalformed,
	} {
		at, err := CheckAsOf(UsageReport{AsOf: asOf}, recorded)
		var e *AsOfError
		if problem == "" && (err != nil || at.IsZero()) || problem != "" && (!errors.As(err, &e) || e.Problem != problem) {
			t.Errorf("%s: got %v, %v; want %q", asOf, at, err, problem)
		}
	}
}

func FuzzParseUsageReport(f *testing.F) {
	f.Add([]byte(worked))
	f.Add([]byte(`{"budget_requested":0,"budget_consumed":18446744073709551615,"as_of":"","x":[1e999]}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		r, err := ParseUsageReport(src)
		if err != nil {
			return
		}
		Findings(r)
		out, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseUsageReport(out)
		if err != nil {
			t.Fatalf("%s does not parse: %v", out, err)
		}
		if (Check(r) == nil) != (Check(again) == nil) || again.BudgetConsumed != r.BudgetConsumed {
			t.Errorf("another report after a round trip: %s", out)
		}
	})
}

package assembly

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// refusals are the rules that a record breaks by its form alone.
func refusals() []struct {
	rule Rule
	id   string
	e    edit
	code Code
	at   []string
} {
	return []struct {
		rule Rule
		id   string
		e    edit
		code Code
		at   []string
	}{
		{R010, "unknown member", put("/identity/session_id", "s-1"), SchemaInvalid, []string{"/identity"}},
		{R010, "missing member", drop("/parent/settled_at"), SchemaInvalid, []string{"/parent"}},
		{R010, "null where a value is required", put("/parent/deadline", nil), SchemaInvalid, []string{"/parent/deadline"}},
		{R010, "vocabulary", put("/identity/assembly_kind", "first"), SchemaInvalid, []string{"/identity/assembly_kind"}},
		{R010, "no UUID", put("/identity/turn_id", "turn-1"), SchemaInvalid, []string{"/identity/turn_id"}},
		{R010, "digest in upper case", put("/plan/plan_digest", strings.ToUpper(hashOf("a"))), SchemaInvalid, []string{"/plan/plan_digest"}},
		{R010, "time with an offset", put("/parent/deadline", "2026-11-30T09:00:00+00:00"), SchemaInvalid, []string{"/parent/deadline"}},
		{R010, "negative number", put("/final/fixed/tokens", -1), SchemaInvalid, []string{"/final/fixed/tokens"}},
		{R010, "number beyond 2^53", put("/final/fixed/tokens", json.Number("9007199254740992")), SchemaInvalid, []string{"/final/fixed/tokens"}},
		{R010, "version", put("/record_version", "c0.assembly.v2"), SchemaInvalid, []string{"/record_version"}},
		{R010, "no report", drop("/report"), SchemaInvalid, []string{""}},
		{R020, "payload", put(result10+"/0/payload", "hello"), ForbiddenContent, []string{result10 + "/0/payload"}},
		{R020, "prose in a name's place", put("/profile/source_classes/prompt", tree{}), ForbiddenContent, []string{"/profile/source_classes/prompt"}},
		{R020, "prose", put("/identity/correlation_id", "see the user's note"), ForbiddenContent, []string{"/identity/correlation_id"}},
		{R020, "fraction", put("/final/fixed/tokens", 0.5), ForbiddenContent, []string{"/final/fixed/tokens"}},
		{R020, "everything forbidden at once", all(put("/identity/stack_trace", "x"), put("/identity/x-private-name", "a b"), put("/parent/error", nil)), ForbiddenContent,
			[]string{"/identity", "/identity/stack_trace", "/parent/error"}},
		{R320, "reserve missing", drop("/plan/budget/reserves/4"), SchemaInvalid, []string{"/plan/budget/reserves"}},
		{R320, "reserve twice", put("/plan/budget/reserves/4/kind", "output"), SchemaInvalid, []string{"/plan/budget/reserves/4"}},
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range refusals() {
		whole := record(3, 1)
		tt.e(whole)
		src := must(json.Marshal(whole))
		_, err := Parse(src)
		var refused *RecordError
		if !asRecordError(err, &refused) || refused.Code != tt.code || !slices.Equal(refused.At, tt.at) {
			t.Errorf("%s: %v, want %s at %v", tt.id, err, tt.code, tt.at)
		}
		if tt.rule != R320 && refused.Rule() != tt.rule {
			t.Errorf("%s: rule %s", tt.id, refused.Rule())
		}
	}
}

// TestEveryRuleHasATest lists the rules of the table that neither a case of our corpus, nor a change of a whole record, nor
// a refusal is about.
func TestEveryRuleHasATest(t *testing.T) {
	tested := map[Rule]bool{}
	for _, s := range samples() {
		tested[s.rule] = true
	}
	for _, c := range changes() {
		tested[c.rule] = true
	}
	for _, r := range refusals() {
		tested[r.rule] = true
	}
	for _, info := range Rules() {
		if !tested[info.Rule] {
			t.Errorf("no test for %s (%s)", info.Rule, info.Group)
		}
		delete(tested, info.Rule)
	}
	for rule := range tested {
		t.Errorf("%s is tested and not in the table", rule)
	}
}

// TestRulesAreTheSpecifications holds the table against the specification, where it is present.
func TestRulesAreTheSpecifications(t *testing.T) {
	specs, err := filepath.Glob("../../shared/spec/context-strategy.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| (C0-R\d{3}) \| .* \| ([ABXP][ABXP, /]*) \| [^|]* \| [^|]* \|$`)
	for _, spec := range specs {
		src, err := os.ReadFile(spec)
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		plain := strings.ReplaceAll(string(src), "A (floor: B)", "A, B")
		for _, m := range row.FindAllStringSubmatch(plain, -1) {
			want = append(want, m[1]+" "+strings.NewReplacer(",", "", " ", "", "/", "").Replace(m[2]))
		}
		for _, info := range Rules() {
			line := string(info.Rule) + " "
			for _, e := range info.Evidence {
				line += string(e)
			}
			got = append(got, line)
		}
		slices.Sort(want)
		if len(want) < 130 || len(got) != len(want) {
			t.Errorf("the table has %d rules, the specification %d", len(got), len(want))
		}
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("the table has %s, the specification %s", got[i], want[i])
			}
		}
	}
}

func TestEveryRuleIsCovered(t *testing.T) {
	a := must(Parse(must(json.Marshal(record(3, 2)))))
	c := must(ParseCompaction(must(json.Marshal(compactionRecord()))))
	r := must(ParseRecovery(must(json.Marshal(recoveryRecord()))))
	status := map[Rule]Status{}
	for _, list := range [][]Coverage{Verify(a, Anchors{}).Coverage, VerifyCompaction(c, Turn{}).Coverage, VerifyRecovery(r, Turn{}).Coverage} {
		if !slices.ContainsFunc(list, func(c Coverage) bool { return c.Fact != "" && c.Status == NotChecked }) {
			t.Error("what can't be proved is not said")
		}
		for _, row := range list {
			status[row.Rule] = row.Status
		}
	}
	for _, info := range Rules() {
		if status[info.Rule] == "" {
			t.Errorf("%s is in no coverage", info.Rule)
		}
		if info.Group.Section() == "" {
			t.Errorf("%s has no section", info.Rule)
		}
	}
	for rule, want := range map[Rule]Status{R360: Checked, R520: Attested, R215: NotChecked, R525: NotChecked, R940: Checked, R800: NotChecked} {
		if status[rule] != want {
			t.Errorf("%s is %s, want %s", rule, status[rule], want)
		}
	}
}

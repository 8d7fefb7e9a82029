package assembly

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzParse holds for any bytes that each reader gives a record or a RecordError, and that no pointer has a name of the
// sender.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{ // short ones, which the fuzzer minimises fast; FuzzVerify goes into the depth
		`{"record_version":"c0.recovery.v1","positions":[]}`, `{"positions":[1.5,"a b",{"prompt":null}]}`, `{"snapshot":{"x":1e9,"x":2}}`, "{\"plan_id\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		_, perr := ParseProfile(src)
		_, serr := ParseSnapshot(src)
		_, lerr := ParsePlan(src)
		_, rerr := ParseRow(src)
		compaction, cerr := ParseCompaction(src)
		recovery, verr := ParseRecovery(src)
		for _, err := range []error{perr, serr, lerr, rerr, cerr, verr} {
			checkRefusal(t, err)
		}
		if cerr == nil {
			checkReport(t, VerifyCompaction(compaction, Turn{}).Report)
		}
		if verr == nil {
			checkReport(t, VerifyRecovery(recovery, Turn{}).Report)
		}
		checkTwice(t, src)
	})
}

// FuzzVerify changes up to two leaves of a whole record to any JSON values: the verdict is whole, and the same one twice.
// The changes are short, so that the fuzzer reaches deep into the pipeline with them.
func FuzzVerify(f *testing.F) {
	whole := record(3, 2)
	var leaves []string
	walk(whole, "", func(at string) { leaves = append(leaves, at) })
	slices.Sort(leaves)
	for _, seed := range []struct{ at, value string }{
		{"/parent/cancelled_at", `"2026-11-30T09:00:01Z"`}, {"/final/ceiling/tokens", "100"}, {result20 + "/0/sensitivity", "null"},
		{row10 + "/result/contributions/1/ordinal", "9007199254740991"}, {rule20 + "/minimum/bytes", "9007199254740991"},
		{row10 + "/attempts/0/end", `"timeout"`}, {"/plan/budget/policy_ceiling/items", "0"}, {"/final/size_model", `"measured"`},
		{cache30 + "/ordinals_as_stored/0", "9007199254740991"}, {rule10 + "/enabled", "false"}, {bind20 + "/axes/ready", `"no"`},
		{"/parent/deadline", `"0000-01-01T00:00:00Z"`}, {"/profile/clock_skew_ms", "9007199254740991"},
	} {
		f.Add(uint(slices.Index(leaves, seed.at)), []byte(seed.value), uint(0), []byte{})
	}
	f.Fuzz(func(t *testing.T, first uint, value []byte, second uint, other []byte) {
		changed := treeOf(whole)
		for at, raw := range map[uint][]byte{first: value, second: other} {
			if json.Valid(raw) { // as it is written: 1E700 must reach the parser
				splice(changed, leaves[at%uint(len(leaves))], raw)
			}
		}
		checkTwice(t, must(json.Marshal(changed)))
	})
}

// splice sets a leaf to raw JSON, unless an earlier change took its container away.
func splice(t tree, at string, raw []byte) {
	v, last := holder(t, at)
	switch v := v.(type) {
	case tree:
		v[last] = json.RawMessage(raw)
	case []any:
		v[must(strconv.Atoi(last))] = json.RawMessage(raw)
	}
}

// checkTwice verifies a document that may be a record.
func checkTwice(t *testing.T, src []byte) {
	t.Helper()
	a, err := Parse(src)
	checkRefusal(t, err)
	if err != nil {
		return
	}
	if !jsontext.Value(src).IsValid() {
		t.Fatalf("a record that is not well-formed, or has a member twice, was read: %q", src)
	}
	r := Verify(a, a.Anchors(), Presented{Ref{10, 0}, src})
	checkReport(t, r)
	first := must(json.Marshal(r))
	if second := must(json.Marshal(Verify(a, a.Anchors(), Presented{Ref{10, 0}, src}))); !bytes.Equal(first, second) {
		t.Fatalf("two verdicts: %s and %s", first, second)
	}
}

func checkRefusal(t *testing.T, err error) {
	t.Helper()
	var refused *RecordError
	if err == nil {
		return
	}
	if !errors.As(err, &refused) || refused.Code != SchemaInvalid && refused.Code != ForbiddenContent || len(refused.At) == 0 {
		t.Fatalf("refused by %v", err)
	}
	for _, at := range refused.At {
		checkPointer(t, at)
	}
}

func checkReport(t *testing.T, r Report) {
	t.Helper()
	if r.Verdict != verdictOf(r.Findings, r.Missing) || r.Findings == nil || r.Missing == nil || len(r.Coverage) == 0 {
		t.Fatalf("%+v", r)
	}
	for _, f := range r.Findings {
		checkPointer(t, f.At)
	}
}

func checkPointer(t *testing.T, at string) {
	t.Helper()
	for step := range strings.SplitSeq(strings.TrimPrefix(at, "/"), "/") {
		if digits(step) < 0 && !isMember(step) && !isForbidden(step) && at != "" {
			t.Fatalf("the pointer %s has a name that is not ours", at)
		}
	}
}

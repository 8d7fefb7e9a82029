package assembly

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ledgerd/internal/strictjson"
)

// TestEveryLeafMatters changes every leaf of a whole record in turn. Unless the leaf is free or evidence only, the record is
// refused or is no longer verified.
func TestEveryLeafMatters(t *testing.T) {
	whole := record(3, 1)
	free := []string{
		"/identity/workspace_id", "/identity/conversation_id", // held by cache keys and requests only where there are any
		"/deadline", "/late_outputs", "/kernel_tokens", "/rendered_", "/context_contribution_id", "/observed_at", "/retrieved_at", "/checked_at",
		"/result_digest", "/source_revision", "/started_at", "/ended_at", "/settled_at", "/parent/deadline", "/transcript_units", "/tool_results",
		"/final/fixed", "/pruning", "/stable_ref", "/identity/assembly_kind", "/identity/predecessor_assembly_id", "/compaction/",
		"/kernel_inadmissible_ref", "/valid_until", "/sensitivity", "/kernel_sensitivity_floor", "/kernel_bytes", "/authority",
		"/size_model", "/cancelled_at", "/origin", "/pre_event",
	}
	walk(whole, "", func(at string) {
		changed := treeOf(whole)
		put(at, otherThan(get(changed, at)))(changed)
		a, err := Parse(must(json.Marshal(changed)))
		if err != nil {
			checkRefusal(t, err)
			return
		}
		r := Verify(a, a.Anchors())
		checkReport(t, r)
		isFree := slices.ContainsFunc(free, func(part string) bool { return strings.Contains(at, part) })
		if r.Verdict == Verified && !isFree {
			t.Errorf("%s changed and the record is still verified", at)
		}
	})
}

// walk visits the leaves of a tree.
func walk(v any, at string, visit func(at string)) {
	switch v := v.(type) {
	case tree:
		for name, child := range v {
			walk(child, at+"/"+name, visit)
		}
	case []any:
		for i, child := range v {
			walk(child, pointer([]any{at, i}), visit)
		}
	default:
		visit(at)
	}
}

// otherThan is another value of the same type.
func otherThan(v any) any {
	switch v := v.(type) {
	case bool:
		return !v
	case float64:
		return v + 1
	case string:
		if isDigest(v) {
			return hashOf(v)
		}
		if _, ok := parseInstant(v); ok {
			return strings.Replace(v, "2026", "2027", 1)
		}
		return v + "x"
	}
	return "x"
}

// TestBounds: a record that is too long is refused before it is read, and sums saturate rather than wrap.
func TestBounds(t *testing.T) {
	_, err := Parse(bytes.Repeat([]byte{' '}, MaxRecordBytes+1))
	checkRefusal(t, err)
	if err == nil || !strings.Contains(err.Error(), "8 MiB") {
		t.Errorf("%v", err)
	}
	deep := []byte(strings.Repeat(`{"parent":`, strictjson.MaxDepth+2))
	if _, err := Parse(deep); err == nil || len(Forbidden(deep)) != 0 {
		t.Errorf("%v", err)
	}
	many := []byte(`[` + strings.Repeat(`0.5,`, 300) + `0]`)
	if at := Forbidden(many); len(at) != maxForbidden {
		t.Errorf("%d places", len(at))
	}
	largest := Amount{strictjson.MaxInteger, strictjson.MaxInteger, strictjson.MaxInteger}
	var total Amount
	for range 2000 {
		total = total.plus(largest)
	}
	if !total.exceeds(largest) || less(total.Bytes, largest.Bytes) != total.Bytes {
		t.Errorf("%+v", total)
	}
}

// TestPartsAreReadAsWritten: what final truncation removed is named in a form of its own.
func TestPartsAreReadAsWritten(t *testing.T) {
	for _, p := range []Part{{Kind: aToolResult, Name: "tr-a"}, {Kind: aTranscriptUnit, Name: "u1"}, {Kind: aContribution, Ref: Ref{10, 3}}} {
		var got Part
		if err := json.Unmarshal(must(json.Marshal(p)), &got); err != nil || got != p {
			t.Errorf("%+v: %+v, %v", p, got, err)
		}
	}
	for _, src := range []string{`{}`, `[]`, `["tool_result"]`, `["contribution",1,2,3]`, `["contribution","a",2]`, `[1,"a"]`} {
		var got Part
		if err := json.Unmarshal([]byte(src), &got); err == nil {
			t.Errorf("%s was read as %+v", src, got)
		}
	}
}

// TestZeroRecordsAreRefused: what was not parsed is not verified.
func TestZeroRecordsAreRefused(t *testing.T) {
	for _, r := range []Report{Verify(nil, Anchors{}), Verify(&Assembly{}, Anchors{}), VerifyCompaction(nil, Turn{}).Report, VerifyRecovery(&Recovery{}, Turn{}).Report} {
		if _, ok := r.Faithful(); ok || r.Verdict != Mismatch {
			t.Errorf("%+v", r)
		}
		if _, ok := r.Derived(); ok {
			t.Error("something was derived of nothing")
		}
	}
}

// TestCoverageOfPayloads: the rules count as checked against payloads only where every contribution's was shown.
func TestCoverageOfPayloads(t *testing.T) {
	a := must(Parse(must(json.Marshal(record(2, 2)))))
	var shown []Presented
	for i := range 2 {
		for j := range 2 {
			shown = append(shown, Presented{Ref{int64(10 * (i + 1)), int64(j)}, fmt.Append(nil, i, "/", j)})
		}
	}
	for _, payloads := range [][]Presented{nil, shown[:3], append(shown[:3:3], shown[0]), shown} {
		want := NotChecked
		if len(payloads) == 4 && payloads[3].Contribution != payloads[0].Contribution {
			want = Checked
		}
		for _, c := range Verify(a, Anchors{}, payloads...).Coverage {
			if c.Evidence == FromPayloads && c.Status != want {
				t.Errorf("%d payloads: %s is %s, want %s", len(payloads), c.Rule, c.Status, want)
			}
		}
	}
}

// TestEveryObjectRefusesWhatStandsTwice: the first member of each object of a record is written twice.
func TestEveryObjectRefusesWhatStandsTwice(t *testing.T) {
	src := must(json.Marshal(record(3, 1)))
	n := 0
	for i := 1; i < len(src); i++ {
		if src[i-1] != '{' || src[i] != '"' {
			continue
		}
		name := src[i : i+bytes.IndexByte(src[i+1:], '"')+2]
		var value json.RawMessage
		if err := json.NewDecoder(bytes.NewReader(src[i+len(name)+1:])).Decode(&value); err != nil {
			t.Fatal(err)
		}
		var e *RecordError
		if _, err := Parse(slices.Concat(src[:i], name, []byte(":"), value, []byte(","), src[i:])); !asRecordError(err, &e) || !strings.HasPrefix(e.Detail, "duplicate-member") {
			t.Errorf("twice %s: %v", name, err)
		}
		n++
	}
	if n < 80 {
		t.Errorf("%d objects", n)
	}
}

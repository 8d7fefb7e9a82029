package assembly

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/internal/strictjson"
)

// StageReport is the answer about one stage on its own.
type StageReport struct {
	Verdict  Verdict
	Code     Code      // the derived code
	Findings []Finding // in rule order
	Missing  []string
	// Derived are the derived members as JSON.
	Derived map[string]jsontext.Value
}

// VerifyStage derives one stage from its own input and compares a recorded outcome with it, of which there may be any
// subset of the derived members. The kinds and their inputs are those of the conformance cases (section 12): profile,
// budget, validate, freshness, clamp, identity, merge, failure, truncate, conduct, cache, compaction, recovery, privacy,
// payload, and assembly for a whole record. The error is a *RecordError, about the input or the recorded outcome.
func VerifyStage(kind string, input, recorded []byte) (StageReport, error) {
	if kind == "assembly" {
		return verifyWhole(input, recorded)
	}
	derived, err := deriveStage(kind, input)
	if err != nil {
		return StageReport{}, err
	}
	got, err := readRecorded(recorded)
	if err != nil {
		return StageReport{}, err
	}
	return derived.compare(got)
}

// stage is what one stage derives.
type stage struct {
	members []derivedMember
	broken  []Rule // of conduct
	missing []string
}

// derivedMember is one member of a derived outcome and the rule that is reported when the recorded one differs (7.3).
type derivedMember struct {
	name  string
	rule  Rule
	value any
	// judge names the rule where it depends on what was recorded.
	judge func(recorded jsontext.Value) Rule
}

// recordedMember is one member of a recorded outcome, in the order of the document.
type recordedMember struct {
	name  string
	value jsontext.Value
}

func readRecorded(src []byte) ([]recordedMember, error) {
	closed := func(src []byte) *strictjson.Decoder { return strictjson.NewDecoder(src, strictjson.Closed) }
	return parseBy(closed, src, func(r reader) (all []recordedMember) {
		r.Map(func(name string) {
			all = append(all, recordedMember{name, r.Raw(r.Skip)})
		})
		return all
	})
}

func (s stage) compare(recorded []recordedMember) (StageReport, error) {
	out := StageReport{Missing: s.missing, Derived: map[string]jsontext.Value{}}
	for _, m := range s.members {
		value, err := json.Marshal(m.value)
		if err != nil {
			return StageReport{}, err
		}
		out.Derived[m.name] = value
		if code, ok := m.value.(Code); ok && m.name == "code" {
			out.Code = code
		}
	}
	findings := []Finding{}
	for _, rule := range s.broken {
		findings = append(findings, Finding{rule, ""})
	}
	for _, got := range recorded {
		if rule, differs := s.differs(got, out.Derived); differs {
			findings = append(findings, Finding{rule, placeOf(got.name)})
		}
	}
	out.Findings = inRuleOrder(findings)
	out.Verdict = verdictOf(out.Findings, out.Missing)
	return out, nil
}

// differs says by which rule a recorded member is not the derived one.
func (s stage) differs(got recordedMember, derived map[string]jsontext.Value) (Rule, bool) {
	i := slices.IndexFunc(s.members, func(m derivedMember) bool { return m.name == got.name })
	if i < 0 {
		return R940, true
	}
	m := s.members[i]
	if sameJSON(got.value, derived[m.name]) {
		return "", false
	}
	if m.judge != nil {
		return m.judge(got.value), true
	}
	return m.rule, true
}

func placeOf(name string) string {
	if !isMember(name) {
		return ""
	}
	return "/" + name
}

// sameJSON compares by canonical form; numbers beyond 2^53 never stand in a record.
func sameJSON(a, b jsontext.Value) bool {
	x, y := a.Clone(), b.Clone()
	return x.Canonicalize() == nil && y.Canonicalize() == nil && bytes.Equal(x, y)
}

// verifyWhole is stage "assembly": the record without its report, and the report apart.
func verifyWhole(input, recorded []byte) (StageReport, error) {
	a, err := parse(input, func(r reader) *Assembly {
		a := &Assembly{}
		r.Object(append(a.members(r, false), a.joined(r)...)...)
		return a
	})
	if err != nil {
		return StageReport{}, err
	}
	present := map[string]bool{}
	a.recorded, err = parse(recorded, func(r reader) Outcome {
		return r.outcome(func(name string, read func()) strictjson.Member {
			return opt(name, func() { present[name] = true; read() })
		})
	})
	if err != nil {
		return StageReport{}, err
	}
	v := verifier{rec: a, anchors: a.Anchors(), recorded: present}
	v.run()
	r := v.report(false)
	s := StageReport{Verdict: r.Verdict, Findings: r.Findings, Missing: r.Missing}
	if v.out == nil {
		return s, nil
	}
	s.Code = v.out.Code
	whole, err := json.Marshal(v.out)
	if err == nil {
		err = json.Unmarshal(whole, &s.Derived)
	}
	return s, err
}

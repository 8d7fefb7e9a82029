package assembly

import (
	"slices"
	"strconv"
	"strings"
)

// Model is the version of the verification model. It changes with every change after which a recorded verdict might be reached
// differently: a verdict depends on the rows, the model and the payloads shown, and on nothing else (section 9.2).
const Model = "c0.verification.v1"

// Verify says whether the recorded outcome of an assembly is the one that the contract dictates (sections 4 and 7.3). It is
// a pure function of the record, the anchors and the payloads shown: the same ones give the same Report at any time. It
// never panics and keeps nothing that it is given but the record's own texts. A nil or zero Assembly is refused.
//
// The stages run in the contract's order and the first one that fails decides; what comes after it is not evaluated.
func Verify(record *Assembly, anchors Anchors, payloads ...Presented) Report {
	if record == nil || record.id == (Identity{}) {
		return refusal()
	}
	v := verifier{rec: record, anchors: anchors}
	v.run()
	return v.report(v.checkPayloads(payloads))
}

// VerifyJSON is Verify of a document with the anchors that stand in it. The error is a *RecordError.
func VerifyJSON(src []byte, payloads ...Presented) (Report, error) {
	record, err := Parse(src)
	if err != nil {
		return Report{}, err
	}
	return Verify(record, record.Anchors(), payloads...), nil
}

// verifier holds what one verification has found out so far.
type verifier struct {
	rec      *Assembly
	anchors  Anchors
	findings []Finding
	missing  []string
	reached  Group
	isClosed bool // binding or plan failed: no provider may have been asked
	seats    []seat
	budget   budget
	out      *Outcome // nil while nothing can be derived

	isCompared bool
	recorded   map[string]bool // the members of a partly recorded outcome; nil: all
}

// seat is one enabled position with everything that is known of it. What the record lacks is an empty value with a finding.
type seat struct {
	rule    *positionRule
	binding *binding
	planned *plannedPosition
	row     *runtimeRow
	// Where they stand in the record.
	bindingAt, plannedAt, rowAt string

	allocation Allocation
	isEligible bool
	isDegraded bool // bound with degraded health

	event       Word
	cacheStatus Word
	isStaleHit  bool // the cached result is too old for a required position, and nothing else is wrong with it
	settled
	pieces []piece // by ordinal
	cached []piece // of a valid cached result
}

func (s *seat) isRequired() bool { return s.rule.requirement == required }

// run derives the outcome and compares the recorded one with it.
func (v *verifier) run() {
	v.derive()
	if !v.isKnown() {
		v.out = nil
	}
	if v.out != nil {
		v.isCompared = true
		v.compare()
	}
}

// derive runs the pipeline up to the stage that decides, or to a missing input.
func (v *verifier) derive() {
	if v.resolveProfile() || v.bind() || v.plan() {
		v.noRequests()
		return
	}
	if !v.isKnown() {
		return
	}
	v.reached = AssessmentRules
	v.invoke()
	if !v.isKnown() {
		return
	}
	v.reached = SettleRules
	if !v.settle() && !v.merge() {
		v.truncate()
	}
}

// isKnown: nothing that a derivation needs is missing.
func (v *verifier) isKnown() bool { return len(v.missing) == 0 }

// fail ends the pipeline at a stage that has no positions yet.
func (v *verifier) fail(stage Word, code Code) bool {
	out := failedAt(stage, code)
	v.out = &out
	return true
}

// unless notes a broken rule. The pointer is put together only then.
func (v *verifier) unless(holds bool, rule Rule, at ...any) {
	if !holds {
		v.findings = append(v.findings, Finding{rule, pointer(at)})
	}
}

// lack notes an input that a derivation needs and the record doesn't have.
func (v *verifier) lack(at ...any) {
	if p := pointer(at); !slices.Contains(v.missing, p) {
		v.missing = append(v.missing, p)
	}
}

// pointer joins texts, which begin with a slash, and indexes.
func pointer(parts []any) string {
	var b strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b.WriteString(p)
		case int:
			b.WriteString("/" + strconv.Itoa(p))
		}
	}
	return b.String()
}

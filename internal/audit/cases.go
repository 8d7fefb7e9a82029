package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
)

// CaseResult is the outcome of one conformance case.
type CaseResult struct {
	// Name is the case's file or id.
	Name string `json:"name"`
	// Kind is the kind of artifact, as the corpus names it.
	Kind string `json:"kind"`
	// Want is the expected verdict, with the stage of a refusal and the expected flags: "reject at check [overflow]".
	Want string `json:"want"`
	// Got is the verdict in the same form, or "unsupported", "skipped" or "unreadable".
	Got string `json:"got"`
	// Pass says that all of the expectation was met, or the case was skipped.
	Pass bool `json:"pass"`
	// Skipped says that the case was left out on demand; it then proves nothing.
	Skipped bool `json:"skipped,omitempty"`
	// Detail says why an artifact was refused, and how the expectation was missed.
	Detail string `json:"detail,omitempty"`
}

// CaseOptions says how a corpus is run.
type CaseOptions struct {
	// SkipKinds names kinds that may be left out because they are not built yet. Naming one that is built is an error: a
	// run can't be made to pass by leaving out what fails.
	SkipKinds []string
}

// What Got says where there is no verdict.
const (
	gotUnsupported = "unsupported"
	gotSkipped     = "skipped"
	gotUnreadable  = "unreadable"
)

// ContextGraphIndex is the name of the Context Graph corpus's index in its folder.
const ContextGraphIndex = "cases.json"

// expectation is one row of the index.
type expectation struct {
	file, kind, expect, stage string
	flags                     []string
}

// RunContextGraphCases judges every case of a Context Graph corpus: fsys holds cases.json and the files that it names. The
// verdict, the stage of a refusal, the flags and all that a case file itself expects must come out the same, for a
// composition to the byte. The error is about the corpus as a whole; a case that can't be read is a result that fails.
func RunContextGraphCases(fsys fs.FS, opt CaseOptions) ([]CaseResult, error) {
	src, err := fs.ReadFile(fsys, ContextGraphIndex)
	if err != nil {
		return nil, fmt.Errorf("reading the index of cases: %w", err)
	}
	index, err := strictjson.Parse(src, strictjson.Open, decodeIndex)
	if err != nil {
		return nil, fmt.Errorf("reading the index of cases: %w", err)
	}
	if len(index) == 0 {
		return nil, errors.New("reading the index of cases: it has none, so a run would prove nothing")
	}
	for _, kind := range opt.SkipKinds {
		if judgeOf(kind) != nil {
			return nil, fmt.Errorf("skipping cases of kind %s: this kind is built and can't be skipped", kind)
		}
	}
	results := make([]CaseResult, len(index))
	for i, want := range index {
		results[i] = runCase(fsys, want, opt)
	}
	return results, nil
}

func decodeIndex(d *strictjson.Decoder) (index []expectation) {
	d.Object(strictjson.Req("cases", func() {
		d.Array(func(int) { index = append(index, decodeExpectation(d)) })
	}))
	return index
}

func decodeExpectation(d *strictjson.Decoder) expectation {
	var e expectation
	d.Object(
		strictjson.Req("file", func() { e.file = d.String() }),
		strictjson.Req("kind", func() { e.kind = d.String() }),
		strictjson.Req("expect", func() {
			e.expect = d.String()
			if !d.Failed() && e.expect != accept && e.expect != reject {
				d.Fail(strictjson.RuleValue, "a case is expected to accept or to reject")
			}
		}),
		strictjson.Opt("stage", func() { e.stage = d.String() }),
		strictjson.Opt("flags", func() {
			d.Array(func(int) { e.flags = append(e.flags, d.String()) })
		}),
	)
	return e
}

func runCase(fsys fs.FS, want expectation, opt CaseOptions) CaseResult {
	r := CaseResult{Name: want.file, Kind: want.kind, Want: want.String()}
	judge := judgeOf(want.kind)
	if judge == nil {
		r.Got, r.Detail = gotUnsupported, "this kind is not built yet"
		if slices.Contains(opt.SkipKinds, want.kind) {
			r.Got, r.Pass, r.Skipped = gotSkipped, true, true
		}
		return r
	}
	src, err := fs.ReadFile(fsys, want.file)
	if err != nil {
		r.Got, r.Detail = gotUnreadable, err.Error()
		return r
	}
	got := judge(src)
	r.Got = got.String()
	missed := want.missed(got)
	r.Pass = len(missed) == 0
	r.Detail = strings.Join(append(missed, got.reasons()...), "; ")
	return r
}

func (e expectation) String() string { return describe(e.expect, e.stage, e.flags) }

// missed says in what the judgement differs from the expectation.
func (e expectation) missed(got judgement) []string {
	missed := slices.Clone(got.unmet)
	if got.verdict() != e.expect {
		missed = append(missed, "another verdict")
	}
	if e.stage != "" && got.stage != e.stage {
		missed = append(missed, "another stage")
	}
	for _, flag := range e.flags {
		if !slices.Contains(got.flags, frames.Code(flag)) {
			missed = append(missed, "the flag "+flag+" was not raised")
		}
	}
	for _, flag := range got.flags {
		if !slices.Contains(e.flags, string(flag)) && !isUnlisted(flag) {
			missed = append(missed, "the flag "+string(flag)+" was raised")
		}
	}
	return missed
}

// isUnlisted names the findings that the published index leaves out although its cases raise them: it lists where the
// reference is silent about meaning, and calls unknown members and repeated verdicts simply ignored. Where an index does
// list them they must be raised.
func isUnlisted(flag frames.Code) bool {
	return flag == frames.UnknownMember || flag == frames.ContradictoryVerdicts
}

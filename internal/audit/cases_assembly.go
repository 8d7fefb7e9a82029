package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/assembly"
	"ledgerd/internal/strictjson"
)

// ContextStrategyIndex is the name of the context-strategy corpus's index in its folder. It is also ContextGraphIndex; the
// rows tell the two forms apart.
const ContextStrategyIndex = "cases.json"

// strategyRow is one row of the index.
type strategyRow struct{ file, kind, rule, expect string }

// strategyCase is one case file.
type strategyCase struct {
	kind, rule      string
	input, recorded jsontext.Value
	verdict         string
	findings        []string
	derived         map[string]jsontext.Value
}

// IsContextStrategyCorpus says whether a folder's index names rules of the context-strategy contract.
func IsContextStrategyCorpus(fsys fs.FS) bool {
	rows, err := readStrategyIndex(fsys)
	return err == nil && len(rows) > 0 && strings.HasPrefix(rows[0].rule, "C0-R")
}

// RunContextStrategyCases judges every case of a context-strategy corpus: fsys holds cases.json and the files that it
// names. The verdict, the rules of the findings and the derived members that a case file expects must come out the same,
// and so must the word that the index expects. The error is about the corpus as a whole; a case that can't be read is a
// result that fails.
func RunContextStrategyCases(fsys fs.FS) ([]CaseResult, error) {
	rows, err := readStrategyIndex(fsys)
	if err != nil {
		return nil, fmt.Errorf("reading the index of cases: %w", err)
	}
	if len(rows) == 0 {
		return nil, errors.New("reading the index of cases: it has none, so a run would prove nothing")
	}
	results := make([]CaseResult, len(rows))
	for i, row := range rows {
		results[i] = row.run(fsys)
	}
	return results, nil
}

func readStrategyIndex(fsys fs.FS) ([]strategyRow, error) {
	src, err := fs.ReadFile(fsys, ContextStrategyIndex)
	if err != nil {
		return nil, err
	}
	return strictjson.Parse(src, strictjson.Open, func(d *strictjson.Decoder) (rows []strategyRow) {
		d.Object(strictjson.Req("cases", func() {
			d.Array(func(int) {
				var row strategyRow
				d.Object(
					strictjson.Req("file", func() { row.file = d.String() }),
					strictjson.Req("kind", func() { row.kind = d.String() }),
					strictjson.Req("rule", func() { row.rule = d.String() }),
					strictjson.Req("expect", func() { row.expect = d.String() }),
				)
				rows = append(rows, row)
			})
		}))
		return rows
	})
}

func (row strategyRow) run(fsys fs.FS) CaseResult {
	r := CaseResult{Name: row.file, Kind: row.kind, Want: row.expect, Got: gotUnreadable}
	src, err := fs.ReadFile(fsys, row.file)
	if err != nil {
		r.Detail = err.Error()
		return r
	}
	c, err := strictjson.Parse(src, strictjson.Open, decodeStrategyCase)
	if err != nil {
		r.Detail = err.Error()
		return r
	}
	got, err := assembly.VerifyStage(c.kind, c.input, c.recorded)
	if err != nil {
		r.Detail = err.Error()
		return r
	}
	r.Got = expectOf(got)
	missed := c.missed(got)
	if r.Got != row.expect {
		missed = append(missed, "another outcome")
	}
	if c.kind != row.kind || c.rule != row.rule {
		missed = append(missed, "the index has another kind or rule than the case")
	}
	r.Pass = len(missed) == 0
	r.Detail = strings.Join(append(missed, strategyRules(got)...), "; ")
	return r
}

// expectOf is what the index says of a case: a mismatch, else the code that a faithful record carries, else the verdict.
func expectOf(got assembly.StageReport) string {
	if got.Verdict == assembly.Verified && got.Code != "" {
		return string(got.Code)
	}
	return string(got.Verdict)
}

func strategyRules(got assembly.StageReport) (rules []string) {
	for _, f := range got.Findings {
		rules = append(rules, string(f.Rule))
	}
	return slices.Compact(rules) // they come in rule order
}

// missed says in what a report differs from what the case file expects.
func (c strategyCase) missed(got assembly.StageReport) (missed []string) {
	if string(got.Verdict) != c.verdict {
		missed = append(missed, "another verdict")
	}
	if !slices.Equal(strategyRules(got), c.findings) {
		missed = append(missed, "other findings")
	}
	for name, want := range c.derived {
		have, ok := got.Derived[name]
		if !ok || !sameValue(have, want) {
			missed = append(missed, "another "+name)
		}
	}
	slices.Sort(missed)
	return missed
}

// sameValue compares two JSON values in canonical form.
func sameValue(a, b jsontext.Value) bool {
	a, b = a.Clone(), b.Clone()
	return a.Canonicalize() == nil && b.Canonicalize() == nil && bytes.Equal(a, b)
}

func decodeStrategyCase(d *strictjson.Decoder) (c strategyCase) {
	c.derived = map[string]jsontext.Value{}
	d.Object(
		strictjson.Req("kind", func() { c.kind = d.String() }),
		strictjson.Req("rule", func() { c.rule = d.String() }),
		strictjson.Req("input", func() { c.input = d.Raw(d.Skip) }),
		strictjson.Req("recorded", func() { c.recorded = d.Raw(d.Skip) }),
		strictjson.Req("expected", func() {
			d.Object(
				strictjson.Req("verdict", func() { c.verdict = d.String() }),
				strictjson.Req("findings", func() {
					d.Array(func(int) { c.findings = append(c.findings, d.String()) })
				}),
				strictjson.Req("derived", func() {
					d.Map(func(name string) { c.derived[name] = d.Raw(d.Skip) })
				}),
			)
		}),
	)
	slices.Sort(c.findings)
	return c
}

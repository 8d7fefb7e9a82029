package assembly

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/cases from the tables of samples")

const corpusDir = "testdata/cases"

// sample is one stage case: a base input, what is changed in it, and the outcome that was worked out by hand.
type sample struct {
	rule     Rule
	id       string
	kind     string
	why      string
	edits    edit   // of the base input
	derived  string // JSON, a subset of the derived members
	recorded string // JSON: members that were recorded otherwise
	findings []Rule // none: verified
}

// caseFile is the form of the published cases.
type caseFile struct {
	Case     string `json:"case"`
	Kind     string `json:"kind"`
	Rule     Rule   `json:"rule"`
	Why      string `json:"why"`
	Input    tree   `json:"input"`
	Recorded tree   `json:"recorded"`
	Expected struct {
		Verdict  Verdict `json:"verdict"`
		Findings []Rule  `json:"findings"`
		Derived  tree    `json:"derived"`
	} `json:"expected"`
}

// indexRow is a row of the corpus's index.
type indexRow struct {
	File   string `json:"file"`
	Kind   string `json:"kind"`
	Rule   Rule   `json:"rule"`
	Expect string `json:"expect"`
	Why    string `json:"why"`
}

func parseTree(src string) tree {
	if src == "" {
		return tree{}
	}
	var t tree
	if err := json.Unmarshal([]byte(src), &t); err != nil {
		panic(err)
	}
	return t
}

func (s sample) file(i int) caseFile {
	c := caseFile{Case: fmt.Sprintf("%03d-%s-%s", i+1, s.kind, s.id), Kind: s.kind, Rule: s.rule, Why: s.why, Input: treeOf(baseInput(s.kind))}
	if s.edits != nil {
		s.edits(c.Input)
	}
	c.Expected.Derived = parseTree(s.derived)
	c.Recorded = parseTree(s.derived)
	for name, value := range parseTree(s.recorded) {
		c.Recorded[name] = value
	}
	c.Expected.Verdict, c.Expected.Findings = Verified, []Rule{}
	if len(s.findings) > 0 {
		c.Expected.Verdict, c.Expected.Findings = Mismatch, s.findings
	}
	return c
}

func (c caseFile) expect() string {
	if code, ok := c.Expected.Derived["code"].(string); ok && c.Expected.Verdict == Verified {
		return code
	}
	return string(c.Expected.Verdict)
}

// generate is the corpus as files.
func generate() map[string][]byte {
	files := map[string][]byte{}
	var rows []indexRow
	for i, s := range samples() {
		c := s.file(i)
		name := c.Case + ".json"
		files[name] = append(must(json.Marshal(c)), '\n')
		rows = append(rows, indexRow{name, c.Kind, c.Rule, c.expect(), c.Why})
	}
	var index bytes.Buffer
	index.WriteString("{\"cases\": [")
	for i, r := range rows {
		index.WriteString([]string{"\n  ", ",\n  "}[min(i, 1)])
		index.Write(must(json.Marshal(r)))
	}
	index.WriteString("\n]}\n")
	files["cases.json"] = index.Bytes()
	return files
}

// TestCorpusIsCurrent holds the committed corpus against the tables; -update rewrites it.
func TestCorpusIsCurrent(t *testing.T) {
	files := generate()
	if *update {
		if err := os.RemoveAll(corpusDir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(corpusDir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, src := range files {
			if err := os.WriteFile(filepath.Join(corpusDir, name), src, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	entries, err := os.ReadDir(corpusDir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(files) {
		t.Errorf("%d files, the tables make %d: run go test -run TestCorpusIsCurrent -update", len(entries), len(files))
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(corpusDir, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from the tables (%v): run go test -run TestCorpusIsCurrent -update", name, err)
		}
	}
}

// TestRecordIsCurrent holds the committed record that the examples and the command line's test read.
func TestRecordIsCurrent(t *testing.T) {
	want := append(must(json.MarshalIndent(record(3, 1), "", " ")), '\n')
	if *update {
		if err := os.WriteFile("testdata/record.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile("testdata/record.json"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("testdata/record.json differs from the fixture (%v): run go test -run TestRecordIsCurrent -update", err)
	}
}

// TestCases runs our corpus and, where it is present, the published one.
func TestCases(t *testing.T) {
	dirs, err := filepath.Glob("../../shared/conformance/context-strategy")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range append(dirs, corpusDir) {
		files, err := filepath.Glob(filepath.Join(dir, "*-*.json"))
		if err != nil || len(files) < 45 {
			t.Fatalf("%s: %d cases, %v", dir, len(files), err)
		}
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) { runCase(t, file) })
		}
	}
}

func runCase(t *testing.T, file string) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		caseFile
		Input    json.RawMessage `json:"input"` // these two hide the decoded ones
		Recorded json.RawMessage `json:"recorded"`
	}
	if err := json.Unmarshal(src, &c); err != nil {
		t.Fatal(err)
	}
	got, err := VerifyStage(c.Kind, c.Input, c.Recorded)
	if err != nil {
		t.Fatal(err)
	}
	if rules := rulesIn(got.Findings); got.Verdict != c.Expected.Verdict || !slices.Equal(rules, c.Expected.Findings) {
		t.Errorf("%s %v, want %s %v", got.Verdict, rules, c.Expected.Verdict, c.Expected.Findings)
	}
	for name, want := range c.Expected.Derived {
		if !sameJSON(got.Derived[name], must(json.Marshal(want))) {
			t.Errorf("%s is %s, want %s", name, got.Derived[name], must(json.Marshal(want)))
		}
	}
}

func rulesIn(findings []Finding) []Rule {
	rules := []Rule{}
	for _, f := range findings {
		rules = append(rules, f.Rule)
	}
	return slices.Compact(rules)
}

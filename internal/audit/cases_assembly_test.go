package audit

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

const (
	publishedContextStrategy = "../../../shared/conformance/context-strategy"
	ownContextStrategy       = "../../assembly/testdata/cases"
)

func TestContextStrategyCases(t *testing.T) {
	published, err := filepath.Glob(publishedContextStrategy)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range append(published, ownContextStrategy) {
		corpus := os.DirFS(dir)
		if !IsContextStrategyCorpus(corpus) {
			t.Errorf("%s is not known by its rows", dir)
		}
		results, err := RunContextStrategyCases(corpus)
		if err != nil {
			t.Fatal(err)
		}
		if dir != ownContextStrategy && len(results) != 45 {
			t.Errorf("%d cases, 45 were published", len(results))
		}
		wantAllPass(t, results)
		wantEveryStrategyChangeCaught(t, corpus)
	}
	if IsContextStrategyCorpus(os.DirFS(ownContextGraph)) {
		t.Error("a Context Graph corpus is taken for one of context-strategy")
	}
}

// wantEveryStrategyChangeCaught changes one expectation of one case at a time; that case must then fail.
func wantEveryStrategyChangeCaught(t *testing.T, corpus fs.FS) {
	t.Helper()
	rows, err := readStrategyIndex(corpus)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		src, err := fs.ReadFile(corpus, row.file)
		if err != nil {
			t.Fatal(err)
		}
		for what, changed := range strategyChanges(t, src) {
			if r := row.run(fstest.MapFS{row.file: {Data: changed}}); r.Pass {
				t.Errorf("%s passes although its %s was changed", row.file, what)
			}
		}
		for what, other := range map[string]strategyRow{
			"expectation": {row.file, row.kind, row.rule, row.expect + "-not"},
			"rule":        {row.file, row.kind, "C0-R999", row.expect},
			"kind":        {row.file, "other", row.rule, row.expect},
		} {
			if r := other.run(corpus); r.Pass {
				t.Errorf("%s passes although the index's %s was changed", row.file, what)
			}
		}
	}
}

func strategyChanges(t *testing.T, src []byte) map[string][]byte {
	t.Helper()
	read := func() (whole, expected map[string]any) {
		if err := json.Unmarshal(src, &whole); err != nil {
			t.Fatal(err)
		}
		return whole, whole["expected"].(map[string]any)
	}
	changes := map[string][]byte{}
	keep := func(what string, change func(expected map[string]any)) {
		whole, expected := read()
		change(expected)
		changed, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		changes[what] = changed
	}
	keep("verdict", func(e map[string]any) { e["verdict"] = "indeterminate" })
	keep("findings", func(e map[string]any) { e["findings"] = append(e["findings"].([]any), "C0-R999") })
	_, expected := read()
	for name := range maps.Keys(expected["derived"].(map[string]any)) {
		keep(name, func(e map[string]any) { e["derived"].(map[string]any)[name] = "something-else" })
	}
	return changes
}

func TestContextStrategyCorporaThatProveNothing(t *testing.T) {
	corpus := fstest.MapFS{ContextStrategyIndex: {Data: []byte(`{"cases":[]}`)}}
	if _, err := RunContextStrategyCases(corpus); err == nil {
		t.Error("no cases were run")
	}
	if _, err := RunContextStrategyCases(fstest.MapFS{}); err == nil {
		t.Error("a folder without an index was run")
	}
	corpus[ContextStrategyIndex].Data = []byte(`{"cases":[{"file":"gone","kind":"merge","rule":"C0-R660","expect":"verified"},
		{"file":"broken","kind":"merge","rule":"C0-R660","expect":"verified"},{"file":"odd","kind":"merge","rule":"C0-R660","expect":"verified"}]}`)
	corpus["broken"] = &fstest.MapFile{Data: []byte(`{`)}
	corpus["odd"] = &fstest.MapFile{Data: []byte(`{"kind":"merge","rule":"C0-R660","input":{},"recorded":{},"expected":{"verdict":"verified","findings":[],"derived":{}}}`)}
	results, err := RunContextStrategyCases(corpus)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Pass || r.Got != gotUnreadable || strings.TrimSpace(r.Detail) == "" {
			t.Errorf("%+v", r)
		}
	}
}

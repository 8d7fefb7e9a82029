package audit

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// Where the published corpora stand beside a checkout that has them. Without them our own corpus covers every kind.
const (
	publishedContextGraph = "../../../shared/conformance/context-graph"
	publishedAIR          = "../../../shared/conformance/air-v1"
	ownContextGraph       = "testdata/context-graph"
)

func TestPublishedContextGraphCases(t *testing.T) {
	dirs, err := filepath.Glob(publishedContextGraph)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		results, err := RunContextGraphCases(os.DirFS(dir), CaseOptions{SkipKinds: []string{"trace-journal"}})
		if err != nil {
			t.Fatal(err)
		}
		if len(results) != 87 {
			t.Errorf("%d cases, 87 were published", len(results))
		}
		wantAllPass(t, results)
		every, err := RunContextGraphCases(os.DirFS(dir), CaseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range every {
			if r.Pass != (r.Kind != "trace-journal") || !r.Pass && r.Got != "unsupported" {
				t.Errorf("without skipping: %+v", r)
			}
		}
		wantEveryChangeCaught(t, os.DirFS(dir))
	}
}

func TestPublishedAIRCases(t *testing.T) {
	dirs, err := filepath.Glob(publishedAIR)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		results, err := RunAIRCases(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		if len(results) != 24 {
			t.Errorf("%d vectors, 24 were published", len(results))
		}
		wantAllPass(t, results)
	}
}

func TestOwnAIRCases(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("../../receipts/air/testdata/corpus.json")
	if err != nil {
		t.Fatal(err)
	}
	results, err := RunAIRCases(fstest.MapFS{AIRVectors: {Data: src}})
	if err != nil || len(results) < 400 {
		t.Fatalf("%d cases, %v", len(results), err)
	}
	wantAllPass(t, results)
}

func TestOwnContextGraphCases(t *testing.T) {
	results, err := RunContextGraphCases(os.DirFS(ownContextGraph), CaseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wantAllPass(t, results)
	kinds := map[string]bool{}
	for _, r := range results {
		kinds[r.Kind] = true
	}
	if len(kinds) != 9 {
		t.Errorf("our corpus covers only %v", slices.Sorted(maps.Keys(kinds)))
	}
	wantEveryChangeCaught(t, os.DirFS(ownContextGraph))
}

func wantAllPass(t *testing.T, results []CaseResult) {
	t.Helper()
	for _, r := range results {
		if !r.Pass {
			t.Errorf("%s: want %s, got %s (%s)", r.Name, r.Want, r.Got, r.Detail)
		}
	}
}

// indexRow is a row of the index that a test changes.
type indexRow struct {
	File   string   `json:"file"`
	Kind   string   `json:"kind"`
	Expect string   `json:"expect"`
	Stage  string   `json:"stage"`
	Flags  []string `json:"flags"`
}

// wantEveryChangeCaught changes one expectation of one case at a time; that case must then fail.
func wantEveryChangeCaught(t *testing.T, corpus fs.FS) {
	t.Helper()
	src, err := fs.ReadFile(corpus, ContextGraphIndex)
	if err != nil {
		t.Fatal(err)
	}
	var index struct {
		Cases []indexRow `json:"cases"`
	}
	if err := json.Unmarshal(src, &index); err != nil {
		t.Fatal(err)
	}
	for _, row := range index.Cases {
		if judgeOf(row.Kind) == nil {
			continue
		}
		for what, changed := range changesOf(row) {
			r := runCase(corpus, expectation{changed.File, changed.Kind, changed.Expect, changed.Stage, changed.Flags}, CaseOptions{})
			if r.Pass {
				t.Errorf("%s passes although its expectation was changed: %s", row.File, what)
			}
		}
	}
}

func changesOf(row indexRow) map[string]indexRow {
	verdict, stage, added := row, row, row
	if row.Expect == accept {
		verdict.Expect, stage.Stage = reject, stageCheck
	} else {
		verdict.Expect, verdict.Stage = accept, ""
		stage.Stage = map[string]string{stageParse: stageCheck, stageCheck: stageParse}[row.Stage]
	}
	added.Flags = append(slices.Clone(row.Flags), "no-such-flag")
	changes := map[string]indexRow{"verdict": verdict, "stage": stage, "a flag more": added}
	for i, flag := range row.Flags {
		if flag != "unknown-member" && flag != "contradictory-verdicts" {
			removed := row
			removed.Flags = slices.Delete(slices.Clone(row.Flags), i, i+1)
			changes["without "+flag] = removed
		}
	}
	return changes
}

// TestChangedCaseFilesFail changes what a case file itself expects, one byte or value at a time.
func TestChangedCaseFilesFail(t *testing.T) {
	for file, edits := range map[string][][2]string{
		"liveness-before-grant.json":   {{`"live": true`, `"live": false`}, {`"live_by_instant": false`, `"live_by_instant": true`}},
		"order-digest.json":            {{`"canonical": [{"provider_id": "a"`, `"canonical": [{"provider_id": "b"`}},
		"compose-two-contents.json":    {{`cite=\"G\"`, `cite=\"g\"`}, {`\n</frame>\n"`, `\n</frame>"`}, {`<\\Frame`, `<Frame`}},
		"gate-renamed.json":            {{`"missing": ["third-party-index"]`, `"missing": []`}, {`["org-tenant", "org-tenant", "third-party-index"]}}`, `["org-tenant", "third-party-index"]}}`}, {`needs_receipts`, `permitted`}},
		"partition-contradiction.json": {{`}], "dropped"`, `}, {"provider_id": "shelf", "frame_id": "m"}], "dropped"`}, {`"retained": [{"provider_id": "shelf", "frame_id": "m", "content_digest": ""}, `, `"retained": [`}},
	} {
		for _, edit := range edits {
			corpus := copyOf(t, file)
			changed := strings.Replace(string(corpus[file].Data), edit[0], edit[1], 1)
			if changed == string(corpus[file].Data) {
				t.Fatalf("%s does not hold %s", file, edit[0])
			}
			corpus[file].Data = []byte(changed)
			if failed := failures(t, corpus); !slices.Equal(failed, []string{file}) {
				t.Errorf("%s with %s: failed are %v", file, edit[1], failed)
			}
		}
	}
}

// copyOf is our corpus with one file that may be changed.
func copyOf(t *testing.T, file string) fstest.MapFS {
	t.Helper()
	corpus := fstest.MapFS{}
	names, err := fs.Glob(os.DirFS(ownContextGraph), "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(ownContextGraph, name))
		if err != nil {
			t.Fatal(err)
		}
		corpus[name] = &fstest.MapFile{Data: data}
	}
	if corpus[file] == nil {
		t.Fatalf("there is no %s", file)
	}
	return corpus
}

func failures(t *testing.T, corpus fs.FS) (failed []string) {
	t.Helper()
	results, err := RunContextGraphCases(corpus, CaseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if !r.Pass {
			failed = append(failed, r.Name)
		}
	}
	return failed
}

func TestCorpusAsAWholeIsRefused(t *testing.T) {
	for name, index := range map[string]string{
		"no cases":        `{"cases":[]}`,
		"no member cases": `{}`,
		"other verdict":   `{"cases":[{"file":"a","kind":"compose","expect":"maybe"}]}`,
		"not JSON":        `cases`,
	} {
		if _, err := RunContextGraphCases(fstest.MapFS{ContextGraphIndex: {Data: []byte(index)}}, CaseOptions{}); err == nil {
			t.Errorf("%s was run", name)
		}
	}
	if _, err := RunContextGraphCases(fstest.MapFS{}, CaseOptions{}); err == nil {
		t.Error("a folder without an index was run")
	}
	if _, err := RunContextGraphCases(os.DirFS(ownContextGraph), CaseOptions{SkipKinds: []string{"compose"}}); err == nil {
		t.Error("a kind that is built was skipped")
	}
	if _, err := RunAIRCases(fstest.MapFS{AIRVectors: {Data: []byte(`{"valid_vectors":[],"invalid_vectors":[]}`)}}); err == nil {
		t.Error("no vectors were run")
	}
}

func TestUnbuiltAndUnreadableCasesFail(t *testing.T) {
	corpus := fstest.MapFS{ContextGraphIndex: {Data: []byte(`{"cases":[
		{"file":"a","kind":"trace-journal","expect":"accept"},
		{"file":"../b","kind":"compose","expect":"reject"},
		{"file":"gone","kind":"compose","expect":"reject"}]}`)}}
	results, err := RunContextGraphCases(corpus, CaseOptions{SkipKinds: []string{"other"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"unsupported", "unreadable", "unreadable"} {
		if r := results[i]; r.Pass || r.Got != want {
			t.Errorf("%+v, want %s", r, want)
		}
	}
	results, err = RunContextGraphCases(corpus, CaseOptions{SkipKinds: []string{"trace-journal"}})
	if err != nil || !results[0].Pass || results[0].Got != "skipped" {
		t.Errorf("%+v, %v", results, err)
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledgerd/assembly"
)

const recordFile = "../../assembly/testdata/record.json"

// TestVerifyAssemblyFiles: one JSON object per file; exit 0 only when every record is verified.
func TestVerifyAssemblyFiles(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile(recordFile)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(src), `"outcome": "success"`, `"outcome": "degraded"`, 1)
	forbidden := strings.Replace(string(src), `"correlation_id"`, `"prompt": "hello", "correlation_id"`, 1)
	for _, tt := range []struct {
		stdin   string
		files   []string
		exit    int
		verdict []assembly.Verdict
		refused assembly.Code
	}{
		{"", []string{recordFile}, 0, []assembly.Verdict{assembly.Verified}, ""},
		{changed, []string{recordFile, "-"}, 1, []assembly.Verdict{assembly.Verified, assembly.Mismatch}, ""},
		{forbidden, []string{"-"}, 1, []assembly.Verdict{""}, assembly.ForbiddenContent},
		{"", []string{"/nowhere"}, 1, nil, ""},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), append([]string{"verify", "context-assembly"}, tt.files...), strings.NewReader(tt.stdin), &out, &errs); code != tt.exit {
			t.Errorf("%v: exit %d, %s", tt.files, code, errs.String())
		}
		lines := json.NewDecoder(&out)
		for _, verdict := range tt.verdict {
			var line struct {
				Verdict assembly.Verdict
				Refused struct{ Code assembly.Code }
			}
			if err := lines.Decode(&line); err != nil || line.Verdict != verdict || line.Refused.Code != tt.refused {
				t.Errorf("%v: %+v %v, want %s", tt.files, line, err, verdict)
			}
		}
	}
}

// TestVerifyContextStrategyCases: the form of a corpus is known by its rows, and none of its kinds can be left out.
func TestVerifyContextStrategyCases(t *testing.T) {
	t.Parallel()
	corpora, err := filepath.Glob("../../../shared/conformance/context-strategy")
	if err != nil {
		t.Fatal(err)
	}
	for _, corpus := range append(corpora, "../../assembly/testdata/cases") {
		var out, errs bytes.Buffer
		if code := run(t.Context(), []string{"verify", "cases", corpus}, nil, &out, &errs); code != 0 || !strings.HasSuffix(out.String(), " passed, 0 failed\n") {
			t.Errorf("%s: exit %d, %s %s", corpus, code, out.String(), errs.String())
		}
		if code := run(t.Context(), []string{"verify", "cases", "--skip-kind", "merge", corpus}, nil, &out, &errs); code == 0 {
			t.Errorf("%s: a kind was left out", corpus)
		}
	}
}

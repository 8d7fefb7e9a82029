package audit

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func airCorpus(valid, invalid string) fstest.MapFS {
	src := `{"valid_vectors":[` + valid + `],"invalid_vectors":[` + invalid + `]}`
	return fstest.MapFS{AIRVectors: {Data: []byte(src)}}
}

func TestAIRVectorsFailWhenExpectationsChange(t *testing.T) {
	const policy = `{"max_future_skew_seconds":0,"trusted_key_refs":[],"verified_at":"2032-01-01T00:00:00Z"}`
	for name, tt := range map[string]struct {
		corpus fstest.MapFS
		pass   bool
	}{
		"its own rule":         {airCorpus("", `{"id":"a","expected_rule":"AIR-V1-R010","verification_policy":`+policy+`,"bundle":{"profile":"other"}}`), true},
		"a rule that it keeps": {airCorpus("", `{"id":"a","expected_rule":"AIR-V1-R111","verification_policy":`+policy+`,"bundle":{"profile":"other"}}`), false},
		"called valid":         {airCorpus(`{"id":"a","expected_receipt_digest":"sha256:","verification_policy":`+policy+`,"bundle":{}}`, ""), false},
	} {
		results, err := RunAIRCases(tt.corpus)
		if err != nil || len(results) != 1 || results[0].Pass != tt.pass {
			t.Errorf("%s: %+v, %v", name, results, err)
		}
	}
}

// TestPublishedAIRDigestsMatter changes the first digest and rule of the published vectors, where they are.
func TestPublishedAIRDigestsMatter(t *testing.T) {
	dirs, err := filepath.Glob(publishedAIR)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		src, err := fs.ReadFile(os.DirFS(dir), AIRVectors)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(src), `"expected_receipt_digest": "sha256:d2`, `"expected_receipt_digest": "sha256:d3`, 1)
		changed = strings.Replace(changed, `"expected_rule": "AIR-V1-R003"`, `"expected_rule": "AIR-V1-R004"`, 1)
		results, err := RunAIRCases(fstest.MapFS{AIRVectors: {Data: []byte(changed)}})
		if err != nil {
			t.Fatal(err)
		}
		failed := 0
		for _, r := range results {
			if !r.Pass {
				failed++
			}
		}
		if failed != 2 {
			t.Errorf("%d vectors fail, 2 were changed", failed)
		}
	}
}

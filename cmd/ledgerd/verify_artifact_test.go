package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"ledgerd/internal/audit"
)

// Every artifact that the API judges can be judged by a command of the same name.
func TestVerifyArtifactFiles(t *testing.T) {
	t.Parallel()
	for _, kind := range audit.ArtifactKinds() {
		var out, errs bytes.Buffer
		if code := run(t.Context(), []string{"verify", kind, "-"}, strings.NewReader(`[]`), &out, &errs); code != 1 {
			t.Errorf("%s: exit %d, %s", kind, code, errs.String())
		}
		var line artifactLine
		if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Kind != kind || line.File != "-" || line.Verdict != "reject" || line.Stage != "parse" {
			t.Errorf("%s: %s %v", kind, out.String(), err)
		}
	}
	var out, errs bytes.Buffer
	const flow = `{"egress":true,"egress_scopes":["local-only"],"later":1}`
	if code := run(t.Context(), []string{"verify", "data-flow", "-"}, strings.NewReader(flow), &out, &errs); code != 0 ||
		!strings.Contains(out.String(), "egress-without-off-machine-scope") || !strings.Contains(out.String(), "unknown-member") {
		t.Errorf("exit %d: %s %s", code, out.String(), errs.String())
	}
	if code := run(t.Context(), []string{"verify", "data-flow", "/nowhere"}, nil, &out, &errs); code != 1 || !strings.Contains(errs.String(), "/nowhere") {
		t.Errorf("exit %d: %s", code, errs.String())
	}
}

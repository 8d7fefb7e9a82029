package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ledgerd/assembly"
	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

// An assembly of 16 positions with 64 contributions each is one entry: recorded, judged, shown, kept as a conflict where it comes
// with another content, and checked with the rest of the log. On the bulk route it is too large for a line.
func TestWideAssemblyThroughTheBinary(t *testing.T) {
	t.Parallel()
	dir := devFolder(t)
	s := story{t, startDev(t, dir), time.Now()}
	turn := ledgertest.NewWideTurn(t, 1, 16, 64)
	row := string(ledgertest.JSON(t, turn.Assemblies[0]))
	s.call("POST", "/v1/context-profiles", kinds.Host, string(ledgertest.JSON(t, turn.Profile)), 201, nil)
	s.call("POST", "/v1/context-snapshots", kinds.Host, string(ledgertest.JSON(t, turn.Snapshot)), 201, nil)
	s.call("POST", "/v1/context-plans", kinds.Host, string(ledgertest.JSON(t, turn.Plans[0])), 201, nil)
	line := `{"kind":"context-assembly","artifact":` + row + `}`
	if got := s.bulk(line); !strings.Contains(got, `"status":413`) || strings.Contains(got, "stable_ref") {
		t.Errorf("as a line: %.300s", got)
	}
	var recorded struct{ Seq int64 }
	s.call("POST", "/v1/context-assemblies", kinds.Host, row, 201, &recorded)
	s.call("POST", "/v1/context-assemblies", kinds.Host, row, 200, nil)
	s.call("POST", "/v1/context-assemblies", kinds.Host, strings.Replace(row, `"outcome":"success"`, `"outcome":"degraded"`, 1), 409, nil)
	s.call("POST", "/v1/context-assemblies", kinds.Host, strings.Replace(row, `{`, `{`+strings.Repeat(" ", 4<<20), 1), 413, nil)

	var v audit.ContextVerification
	s.call("GET", fmt.Sprintf("/v1/context-assemblies/%d/verification", recorded.Seq), kinds.Auditor, "", 200, &v)
	if !v.Reproduced || v.Current.Verdict.Verdict != assembly.Verified {
		t.Errorf("reproduced %v, %s %v", v.Reproduced, v.Current.Verdict.Verdict, v.Current.Verdict.Findings)
	}
	var got audit.TurnAnswer
	s.call("GET", "/v1/turns/"+turn.ID, kinds.Auditor, "", 200, &got)
	if len(got.Assemblies) != 1 || len(got.Assemblies[0].Included) != 16*64 || len(got.Conflicts) != 1 {
		t.Errorf("%d assemblies, %d conflicts", len(got.Assemblies), len(got.Conflicts))
	}
	file := filepath.Join(t.TempDir(), "whole.json")
	if err := os.WriteFile(file, ledgertest.JSON(t, turn.Whole(0)), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := command(t.Context(), "verify", "context-assembly", file); code != 0 {
		t.Errorf("verify: exit %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := command(t.Context(), "fsck", "--data-dir", dir); code != 0 {
		t.Errorf("fsck: exit %d\n%s%s", code, stdout, stderr)
	}
	s.dev.end(t, syscall.SIGTERM)
}

// bulk posts lines and gives the results as they came.
func (s story) bulk(lines string) string {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.dev.URL+"/v1/entries", strings.NewReader(lines))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.dev.Tokens[kinds.Host])
	req.Header.Set("Content-Type", "application/x-ndjson")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	results, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatalf("%d %s %v", res.StatusCode, results, err)
	}
	return string(results)
}

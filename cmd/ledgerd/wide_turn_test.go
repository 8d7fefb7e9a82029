package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ledgerd/assembly"
	"ledgerd/client"
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
	host, auditor := s.client(kinds.Host), s.client(kinds.Auditor)
	for _, post := range []func() (client.Recorded, error){
		func() (client.Recorded, error) {
			return host.PostContextProfile(t.Context(), ledgertest.JSON(t, turn.Profile))
		},
		func() (client.Recorded, error) {
			return host.PostContextSnapshot(t.Context(), ledgertest.JSON(t, turn.Snapshot))
		},
		func() (client.Recorded, error) {
			return host.PostContextPlan(t.Context(), ledgertest.JSON(t, turn.Plans[0]))
		},
	} {
		if _, err := post(); err != nil {
			t.Fatal(err)
		}
	}
	line := `{"kind":"context-assembly","artifact":` + row + `}`
	if got := s.bulk(line); !strings.Contains(got, `"status":413`) || strings.Contains(got, "stable_ref") {
		t.Errorf("as a line: %.300s", got)
	}
	recorded, err := host.PostContextAssembly(t.Context(), []byte(row))
	if err != nil || len(recorded.Findings) != 0 {
		t.Fatalf("%+v, %v", recorded, err)
	}
	if again, err := host.PostContextAssembly(t.Context(), []byte(row)); err != nil || again.Seq != recorded.Seq || !again.Replayed {
		t.Errorf("again: %+v, %v", again, err)
	}
	s.call("POST", "/v1/context-assemblies", kinds.Host, strings.Replace(row, `"outcome":"success"`, `"outcome":"degraded"`, 1), 409, nil)
	s.call("POST", "/v1/context-assemblies", kinds.Host, strings.Replace(row, `{`, `{`+strings.Repeat(" ", 4<<20), 1), 413, nil)
	s.checkWide(auditor, turn, recorded.Seq)
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

// checkWide reads the turn and its verdict, the conflict, and what a payload shows.
func (s story) checkWide(auditor *client.Client, turn *ledgertest.Turn, seq int64) {
	s.t.Helper()
	ctx := s.t.Context()
	v, err := auditor.VerifyContextEntry(ctx, "context-assembly", seq)
	if err != nil || !v.Reproduced || v.Current.Verdict.Verdict != assembly.Verified {
		s.t.Errorf("reproduced %v, %s %v, %v", v.Reproduced, v.Current.Verdict.Verdict, v.Current.Verdict.Findings, err)
	}
	got, err := auditor.Turn(ctx, turn.ID)
	if err != nil || len(got.Assemblies) != 1 || len(got.Assemblies[0].Included) != 16*64 || len(got.Conflicts) != 1 {
		s.t.Fatalf("%d assemblies, %d conflicts, %v", len(got.Assemblies), len(got.Conflicts), err)
	}
	kept, err := auditor.Conflict(ctx, got.Conflicts[0].Seq)
	if err != nil || kept.HeldBy != seq || !strings.Contains(string(kept.Artifact), `"outcome":"degraded"`) {
		s.t.Errorf("conflict with %d, %v", kept.HeldBy, err)
	}
	checked, err := auditor.VerifyContextAssembly(ctx, client.ContextCheck{Seq: &seq, Payloads: []client.Presented{{Position: 1, Ordinal: 0, Payload: "another"}}})
	if err != nil || checked.Verdict.Verdict != assembly.Mismatch || checked.Derived == nil || len(checked.Derived.Contributions) != 16*64 {
		s.t.Errorf("with another payload: %s %v", checked.Verdict.Verdict, err)
	}
}

func (s story) client(role kinds.Role) *client.Client {
	s.t.Helper()
	c, err := client.New(s.dev.URL, s.dev.Tokens[role])
	if err != nil {
		s.t.Fatal(err)
	}
	return c
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

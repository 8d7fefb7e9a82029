package main

import (
	"fmt"
	"maps"
	"strings"
	"syscall"
	"testing"
	"time"

	"ledgerd/assembly"
	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

// A whole turn through the real binary: profile, snapshot, an initial assembly and two steps of a tool loop with their plans,
// a compaction and a recovery. The auditor sees what was left out and why, every verdict is reproduced, a second content is
// kept as evidence, and the log checks out.
func TestTurnThroughTheBinary(t *testing.T) {
	t.Parallel()
	dir := devFolder(t)
	s := story{t, startDev(t, dir), time.Now()}
	turn := ledgertest.NewTurn(t, 1)
	omitted := turn.Assemblies[1]["report"].(ledgertest.Tree)["contributions"].([]any)[2].(ledgertest.Tree)
	omitted["disposition"] = "conflict_omitted" // the contract dictates that it is included
	post := func(path string, body ledgertest.Tree, want int) {
		t.Helper()
		s.call("POST", path, kinds.Host, string(ledgertest.JSON(t, body)), want, nil)
	}
	post("/v1/context-profiles", turn.Profile, 201)
	post("/v1/context-snapshots", turn.Snapshot, 201)
	for i := range turn.Plans {
		post("/v1/context-plans", turn.Plans[i], 201)
		post("/v1/context-assemblies", turn.Assemblies[i], 201)
	}
	post("/v1/context-compactions", beside(turn.CompactionContext, "compaction", turn.Compaction), 201)
	post("/v1/context-recoveries", beside(turn.RecoveryContext, "recovery", turn.Recovery), 201)
	for skew := range kinds.MaxConflicts + 2 { // of which a few are kept
		turn.Profile["clock_skew_ms"] = skew
		post("/v1/context-profiles", turn.Profile, 409)
	}
	turn.Profile["prompt"] = "the evil door code"
	_, refused, err := s.dev.do(t.Context(), "POST", "/v1/context-profiles", kinds.Host, string(ledgertest.JSON(t, turn.Profile)))
	if err != nil || !strings.Contains(string(refused), `"code":"record_forbidden_content"`) || !strings.Contains(string(refused), `"pointer":"/prompt"`) || strings.Contains(string(refused), "evil") {
		t.Errorf("forbidden content: %s %v", refused, err)
	}

	s.eraseFrom(turn.ID, s.checkTurn(turn.ID))
	code, stdout, stderr := command(t.Context(), "fsck", "--data-dir", dir)
	if code != 0 {
		t.Errorf("fsck: exit %d\n%s%s", code, stdout, stderr)
	}
	s.dev.end(t, syscall.SIGTERM)
}

// The same as one bulk stream, which is checked line by line as its parts are recorded.
func TestTurnInOneStreamThroughTheBinary(t *testing.T) {
	t.Parallel()
	dir := devFolder(t)
	s := story{t, startDev(t, dir), time.Now()}
	turn := ledgertest.NewTurn(t, 1)
	var lines []string
	add := func(kind *kinds.Kind, artifact, context ledgertest.Tree) {
		line := ledgertest.Tree{"kind": kind.Name, "artifact": artifact}
		if context != nil {
			line["context"] = context
		}
		lines = append(lines, string(ledgertest.JSON(t, line)))
	}
	add(&kinds.ContextProfile, turn.Profile, nil)
	add(&kinds.ContextSnapshot, turn.Snapshot, nil)
	for i := range turn.Plans {
		add(&kinds.ContextPlan, turn.Plans[i], nil)
		add(&kinds.ContextAssembly, turn.Assemblies[i], nil)
	}
	add(&kinds.ContextCompaction, turn.Compaction, turn.CompactionContext)
	add(&kinds.ContextRecovery, turn.Recovery, turn.RecoveryContext)
	if got := s.bulk(strings.Join(lines, "\n")); strings.Count(got, `"status":201`) != len(lines) {
		t.Fatalf("%s", got)
	}
	got, err := s.client(kinds.Auditor).Turn(t.Context(), turn.ID)
	if err != nil || len(got.Assemblies) != 3 || len(got.Compactions) != 1 || len(got.Recoveries) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, a := range got.Assemblies {
		if a.Verdict.Verdict != assembly.Verified || a.Plan == nil || a.Plan.Seq >= a.Seq {
			t.Errorf("%+v", a)
		}
	}
	if code, stdout, stderr := command(t.Context(), "fsck", "--data-dir", dir); code != 0 {
		t.Errorf("fsck: exit %d\n%s%s", code, stdout, stderr)
	}
	s.dev.end(t, syscall.SIGTERM)
}

func beside(context ledgertest.Tree, name string, operation ledgertest.Tree) ledgertest.Tree {
	body := maps.Clone(context)
	body[name] = operation
	return body
}

func (s story) checkTurn(id string) (got audit.TurnAnswer) {
	s.t.Helper()
	s.call("GET", "/v1/turns/"+id, kinds.Auditor, "", 200, &got)
	if got.Profile == nil || got.Snapshot == nil || len(got.Assemblies) != 3 || len(got.Compactions) != 1 || len(got.Recoveries) != 1 || len(got.Conflicts) != kinds.MaxConflicts {
		s.t.Fatalf("%+v", got)
	}
	paths := map[string]assembly.Verdict{
		fmt.Sprintf("/v1/context-compactions/%d", got.Compactions[0].Seq): assembly.Verified,
		fmt.Sprintf("/v1/context-recoveries/%d", got.Recoveries[0].Seq):   assembly.Verified,
	}
	for i, want := range []assembly.Verdict{assembly.Verified, assembly.Mismatch, assembly.Verified} {
		paths[fmt.Sprintf("/v1/context-assemblies/%d", got.Assemblies[i].Seq)] = want
	}
	if o := got.Assemblies[1].Omitted; len(o) != 1 || o[0].Disposition != "conflict_omitted" {
		s.t.Errorf("omitted %+v", o)
	}
	for path, want := range paths {
		var v audit.ContextVerification
		s.call("GET", path+"/verification", kinds.Auditor, "", 200, &v)
		if !v.Reproduced || v.Stored.Verdict.Verdict != want || v.Current.Verdict.Verdict != want {
			s.t.Errorf("%s: reproduced %v, %s, want %s", path, v.Reproduced, v.Stored.Verdict.Verdict, want)
		}
	}
	return got
}

// eraseFrom destroys a plan, the turn's last assembly and the conflict. The rest of the turn stays, and what was judged with an
// erased part can't be judged again.
func (s story) eraseFrom(id string, turn audit.TurnAnswer) {
	s.t.Helper()
	first, last := turn.Assemblies[0], turn.Assemblies[2]
	s.call("POST", "/v1/erasures", kinds.Admin, fmt.Sprintf(`{"reason":"asked by the person","seqs":[%d,%d,%d]}`, first.Plan.Seq, last.Seq, turn.Conflicts[0].Seq), 201, nil)
	var got audit.TurnAnswer
	s.call("GET", "/v1/turns/"+id, kinds.Auditor, "", 200, &got)
	if len(got.Assemblies) != 2 || got.Assemblies[0].Plan != nil || len(got.Erased) != 1 || got.Erased[0] != first.Plan.Seq || len(got.Conflicts) != kinds.MaxConflicts {
		s.t.Errorf("after an erasure: %+v", got)
	}
	for seq, want := range map[int64]int{first.Seq: 410, last.Seq: 410, got.Assemblies[1].Seq: 200} {
		s.call("GET", fmt.Sprintf("/v1/context-assemblies/%d/verification", seq), kinds.Auditor, "", want, nil)
	}
}

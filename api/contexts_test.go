package api_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledgerd/api"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

// contextPost is one post of a turn.
type contextPost struct {
	path string
	body []byte
}

// postsOf is a turn as a host posts it, in its order.
func postsOf(t *testing.T, turn *ledgertest.Turn) []contextPost {
	t.Helper()
	list := []contextPost{
		{"/v1/context-profiles", ledgertest.JSON(t, turn.Profile)},
		{"/v1/context-snapshots", ledgertest.JSON(t, turn.Snapshot)},
	}
	for i := range turn.Plans {
		list = append(list, contextPost{"/v1/context-plans", ledgertest.JSON(t, turn.Plans[i])}, contextPost{"/v1/context-assemblies", ledgertest.JSON(t, turn.Assemblies[i])})
	}
	return append(list,
		contextPost{"/v1/context-compactions", wrapped(t, turn.CompactionContext, "compaction", turn.Compaction)},
		contextPost{"/v1/context-recoveries", wrapped(t, turn.RecoveryContext, "recovery", turn.Recovery)})
}

func wrapped(t *testing.T, beside ledgertest.Tree, name string, operation ledgertest.Tree) []byte {
	t.Helper()
	body := maps.Clone(beside)
	body[name] = operation
	return ledgertest.JSON(t, body)
}

// recordTurn posts a whole turn and demands that all of it is new and has no finding.
func (s *service) recordTurn(t *testing.T, turn *ledgertest.Turn) (seqs []int64) {
	t.Helper()
	for _, p := range postsOf(t, turn) {
		got := s.as(t, kinds.Host, "POST", p.path, string(p.body))
		if got.status != 201 && (p.path != "/v1/context-profiles" || got.status != 200) {
			t.Fatalf("%s: %d %s", p.path, got.status, got.body)
		}
		var r api.RecordedBody
		got.into(t, &r)
		if len(r.Findings) != 0 {
			t.Errorf("%s: findings %+v", p.path, r.Findings)
		}
		seqs = append(seqs, r.Seq)
	}
	return seqs
}

func TestTurnIsRecordedOnce(t *testing.T) {
	t.Parallel()
	s := newService(t)
	turn := ledgertest.NewTurn(t, 1)
	first := s.recordTurn(t, turn)
	for i, p := range postsOf(t, turn) {
		got := s.as(t, kinds.Host, "POST", p.path, string(p.body))
		var r api.RecordedBody
		got.into(t, &r)
		if got.status != 200 || r.Seq != first[i] || got.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s again: %d %s", p.path, got.status, got.body)
		}
	}
	s.recordTurn(t, ledgertest.NewTurn(t, 2)) // another turn under the same profile
}

// A second content under a known id, and a second snapshot of a turn, are refused and kept, a few of them and each once.
func TestSecondContentsAreKeptAsConflicts(t *testing.T) {
	t.Parallel()
	s := newService(t)
	turn := ledgertest.NewTurn(t, 1)
	seqs := s.recordTurn(t, turn)
	refused := func(path string, body []byte, seq int64) {
		t.Helper()
		got := s.as(t, kinds.Host, "POST", path, string(body))
		if p := got.problem(t); got.status != 409 || p.Code != "conflict" || p.Seq == nil || *p.Seq != seq {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	conflicts := func(want int) {
		t.Helper()
		if n := s.Count(t, "ledger.conflicts"); n != want {
			t.Errorf("%d conflicts are kept, want %d", n, want)
		}
	}
	for skew := range kinds.MaxConflicts + 2 {
		turn.Profile["clock_skew_ms"] = skew
		for range 2 {
			refused("/v1/context-profiles", ledgertest.JSON(t, turn.Profile), seqs[0])
		}
	}
	conflicts(kinds.MaxConflicts)
	if got := s.as(t, kinds.Host, "POST", "/v1/context-profiles", string(ledgertest.JSON(t, turn.Profile))); !strings.Contains(got.problem(t).Detail, "nothing was recorded") {
		t.Errorf("one too many: %s", got.body)
	}

	turn.Snapshot["snapshot_id"] = "snap-second"
	ledgertest.Seal(t, turn.Snapshot, "tyrum.c0.binding-snapshot.v1", "snapshot_digest")
	refused("/v1/context-snapshots", ledgertest.JSON(t, turn.Snapshot), seqs[1])
	if got := s.as(t, kinds.Host, "POST", "/v1/context-snapshots", string(ledgertest.JSON(t, turn.Snapshot))); !strings.Contains(got.problem(t).Detail, "is kept as a conflict") {
		t.Errorf("a second snapshot of the turn: %s", got.body)
	}
	conflicts(kinds.MaxConflicts + 1)

	turn.Plans[0]["kernel_reserve_ms"] = 1
	ledgertest.Seal(t, turn.Plans[0], "tyrum.c0.assembly-plan.v1", "plan_digest")
	results := s.bulk(t, kinds.Host, "", contextLine(t, "context-plan", turn.Plans[0], nil))
	if len(results) != 1 || results[0].Status != 409 {
		t.Errorf("on the bulk route: %+v", results)
	}
	conflicts(kinds.MaxConflicts + 2)
}

func contextLine(t *testing.T, kind string, artifact, context ledgertest.Tree) string {
	t.Helper()
	line := ledgertest.Tree{"kind": kind, "artifact": artifact}
	if context != nil {
		line["context"] = context
	}
	return string(ledgertest.JSON(t, line))
}

// turnLines is a turn as the lines of one stream, in its order.
func turnLines(t *testing.T, turn *ledgertest.Turn) []string {
	t.Helper()
	lines := []string{contextLine(t, "context-profile", turn.Profile, nil), contextLine(t, "context-snapshot", turn.Snapshot, nil)}
	for i := range turn.Plans {
		lines = append(lines, contextLine(t, "context-plan", turn.Plans[i], nil), contextLine(t, "context-assembly", turn.Assemblies[i], nil))
	}
	return append(lines, contextLine(t, "context-compaction", turn.Compaction, turn.CompactionContext), contextLine(t, "context-recovery", turn.Recovery, turn.RecoveryContext))
}

// Whole turns in one stream, among other lines: what names parts is checked when the lines before it are recorded, so that it is
// judged with them as if each had been posted alone. Results stay in order.
func TestTurnsInOneStream(t *testing.T) {
	t.Parallel()
	s := newService(t)
	var lines []string
	const turns = 40
	for n := range turns {
		lines = append(lines, consentLine(fmt.Sprint("k", n), "1"), "{}")
		lines = append(lines, turnLines(t, ledgertest.NewTurn(t, n))...)
	}
	got := s.bulk(t, kinds.Host, "", strings.Join(lines, "\n"))
	if len(got) != len(lines) {
		t.Fatalf("%d results of %d lines", len(got), len(lines))
	}
	last := int64(-1)
	for i, r := range got {
		want := 201
		switch i % 12 {
		case 1:
			want = 400
		case 2:
			if i > 12 { // the profile is the same
				want = 200
			}
		}
		if r.Line != int64(i+1) || r.Status != want {
			t.Fatalf("line %d: %+v, want %d", i+1, r, want)
		}
		if r.Seq != nil && !r.Replayed {
			if *r.Seq != last+1 {
				t.Fatalf("line %d: seq %d after %d", i+1, *r.Seq, last)
			}
			last = *r.Seq
		}
	}
	for _, line := range []int{5, 7} { // the initial assembly, and the step after it
		var v struct {
			Stored struct {
				Verdict kinds.ContextVerdict
				Joined  kinds.ContextJoined
			}
		}
		s.as(t, kinds.Auditor, "GET", fmt.Sprintf("/v1/context-assemblies/%d/verification", *got[12*(turns-1)+line].Seq), "").into(t, &v)
		before := v.Stored.Joined.AssemblySeq
		if v.Stored.Verdict.Verdict != "verified" || (before != nil) != (line == 7) || line == 7 && *before != *got[12*(turns-1)+5].Seq {
			t.Errorf("line %d: %+v", line, v.Stored)
		}
	}
	if _, found := s.turn(t, kinds.Auditor, ledgertest.NewTurn(t, 3).ID), s.Count(t, "ledger.context_assemblies"); found != 3*turns {
		t.Errorf("%d assemblies", found)
	}
}

// What comes before its parts is refused, and so is what comes with them in an atomic request, of which nothing is recorded while
// it is checked.
func TestLinesWithoutTheirParts(t *testing.T) {
	t.Parallel()
	s := newService(t)
	lines := turnLines(t, ledgertest.NewTurn(t, 1))
	backward := slices.Clone(lines)
	slices.Reverse(backward)
	if got, want := statuses(s.bulk(t, kinds.Host, "", strings.Join(backward[:7], "\n"))), "1:422 2:422 3:422 4:201@0 5:422 6:201@1 7:422"; got != want {
		t.Errorf("backward: %s, want %s", got, want)
	}
	for i, r := range s.bulk(t, kinds.Host, "?mode=atomic", strings.Join(lines[:4], "\n")) {
		want := "not-recorded"
		if i == 3 {
			want = "context-part-missing"
		}
		if r.Error == nil || r.Error.Code != want {
			t.Errorf("atomic, line %d: %+v, want %s", r.Line, r, want)
		}
	}
	if got, want := statuses(s.bulk(t, kinds.Host, "?mode=atomic", strings.Join(lines[:3], "\n"))), "1:201@2 2:201@3 3:201@4"; got != want {
		t.Errorf("parts alone: %s, want %s", got, want)
	}
	if got, want := statuses(s.bulk(t, kinds.Host, "?mode=atomic", lines[3])), "1:201@5"; got != want {
		t.Errorf("then what names them: %s, want %s", got, want)
	}
}

// A client that leaves while lines wait leaves nothing behind: the lines before stand, and the service goes on.
func TestStreamThatEndsWhileLinesWait(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for n := range 5 {
		ctx, leave := context.WithCancel(t.Context())
		body, in := io.Pipe()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/entries", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+s.tokens[kinds.Host])
		req.Header.Set("Content-Type", ndjson)
		left := make(chan struct{})
		go func() {
			defer close(left)
			if res, err := http.DefaultClient.Do(req); err == nil {
				_, _ = io.ReadAll(res.Body)
				res.Body.Close()
			}
		}()
		for _, line := range turnLines(t, ledgertest.NewTurn(t, n)) {
			_, _ = io.WriteString(in, line+"\n")
		}
		leave()
		in.CloseWithError(context.Canceled)
		<-left
	}
	for _, r := range s.bulk(t, kinds.Host, "", strings.Join(turnLines(t, ledgertest.NewTurn(t, 0)), "\n")) {
		if r.Seq == nil {
			t.Errorf("afterwards: %+v", r)
		}
	}
}

// What must not be stored is refused by its place, nothing of it is stored, and nothing of it is repeated.
func TestForbiddenContentIsRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	turn := ledgertest.NewTurn(t, 1)
	turn.Profile["prompt"] = "the evil door code"
	turn.Snapshot["trust"] = "evil words of prose"
	turn.Assemblies[0]["positions"].([]any)[0].(ledgertest.Tree)["error"] = "evil stack"
	turn.Compaction["proposal"].(ledgertest.Tree)["summary"] = "evil summary"
	turn.RecoveryContext["turn_id"] = "evil prose beside it"
	pointers := map[string]string{
		"/v1/context-profiles": "/prompt", "/v1/context-snapshots": "", "/v1/context-assemblies": "/positions/0/error",
		"/v1/context-compactions": "/compaction/proposal/summary", "/v1/context-recoveries": "/turn_id",
	}
	for _, p := range postsOf(t, turn) {
		if p.path == "/v1/context-plans" || strings.Contains(string(p.body), "tool_loop_step") {
			continue
		}
		got := s.as(t, kinds.Host, "POST", p.path, string(p.body))
		problem := got.problem(t)
		if got.status != 422 || problem.Code != "record_forbidden_content" || problem.Pointer == nil || *problem.Pointer != pointers[p.path] {
			t.Errorf("%s: %d %s", p.path, got.status, got.body)
		}
		if strings.Contains(string(got.body), "evil") {
			t.Errorf("%s: the answer repeats it: %s", p.path, got.body)
		}
	}
	if n := s.Count(t, "ledger.entries"); n != 0 {
		t.Errorf("%d entries", n)
	}
}

func TestContextRecordsAreRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	turn, other := ledgertest.NewTurn(t, 1), ledgertest.NewTurn(t, 2)
	seqs := s.recordTurn(t, turn)
	s.as(t, kinds.Host, "POST", "/v1/context-snapshots", string(ledgertest.JSON(t, other.Snapshot)))
	set := func(of ledgertest.Tree, member string, value any) []byte {
		changed := maps.Clone(of)
		changed[member] = value
		return ledgertest.JSON(t, changed)
	}
	snapshot := ledgertest.Tree{"snapshot_id": turn.Snapshot["snapshot_id"], "snapshot_digest": other.Snapshot["snapshot_digest"]}
	for name, c := range map[string]struct {
		path    string
		body    []byte
		code    string
		pointer string
	}{
		"a wrong digest":         {"/v1/context-snapshots", set(turn.Snapshot, "snapshot_id", "snap-9"), "digest-mismatch", "/snapshot_digest"},
		"a plan's":               {"/v1/context-plans", set(turn.Plans[0], "kernel_reserve_ms", 3), "digest-mismatch", "/plan_digest"},
		"no plan":                {"/v1/context-assemblies", ledgertest.JSON(t, other.Assemblies[0]), "context-part-missing", "/plan"},
		"another digest":         {"/v1/context-assemblies", set(turn.Assemblies[0], "snapshot", snapshot), "context-part-mismatch", "/snapshot"},
		"another shape":          {"/v1/context-assemblies", set(turn.Assemblies[0], "positions", "none"), "record_schema_invalid", "/positions"},
		"a compaction's turn":    {"/v1/context-compactions", wrapped(t, ledgertest.Tree{"turn_id": other.ID, "snapshot": turn.CompactionContext["snapshot"]}, "compaction", turn.Compaction), "context-part-mismatch", "/snapshot"},
		"a recovery of no known": {"/v1/context-recoveries", wrapped(t, ledgertest.Tree{"recovery_id": "r", "turn_id": turn.ID, "context_assembly_id": "asm-none", "snapshot": turn.CompactionContext["snapshot"]}, "recovery", turn.Recovery), "context-part-missing", "/context_assembly_id"},
	} {
		got := s.as(t, kinds.Host, "POST", c.path, string(c.body))
		if p := got.problem(t); got.status != 422 || p.Code != c.code || p.Pointer == nil || *p.Pointer != c.pointer {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	if n := s.Count(t, "ledger.entries"); n != len(seqs)+1 {
		t.Errorf("%d entries, want %d", n, len(seqs)+1)
	}
}

// The record's tenant is data: another tenant's token records it as its own, and sees nothing of the first one's.
func TestContextRecordsStayInTheirTenant(t *testing.T) {
	t.Parallel()
	s := newService(t)
	turn := ledgertest.NewTurn(t, 1)
	s.recordTurn(t, turn)
	s.AddTenant(t, "umbrella")
	other := s.token(t, "umbrella", kinds.Host, time.Now(), time.Hour)
	got := s.do(t, "POST", "/v1/context-assemblies", other, string(ledgertest.JSON(t, turn.Assemblies[0])))
	if p := got.problem(t); p.Code != "context-part-missing" {
		t.Errorf("another tenant's parts were found: %s", got.body)
	}
	for i, p := range postsOf(t, turn) {
		if got := s.do(t, "POST", p.path, other, string(p.body)); got.status != 201 {
			t.Errorf("post %s of another tenant: %d %s", strconv.Itoa(i), got.status, got.body)
		}
	}
}

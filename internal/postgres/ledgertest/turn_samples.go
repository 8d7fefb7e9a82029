package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"ledgerd/internal/kinds"
)

// contextSample fills in a submission of a context kind, together with the parts that it is judged with. They are not
// recorded: a test that appends samples in any order records their verdicts all the same.
func contextSample(tb testing.TB, k *kinds.Kind, n int, s *kinds.Submission, env *kinds.Env) bool {
	tb.Helper()
	t := NewTurn(tb, n)
	env.Context = t.parts(tb)
	switch k {
	case &kinds.ContextProfile:
		t.Profile["profile_revision_id"] = fmt.Sprintf("prof-%d", n)
		s.Artifact = JSON(tb, t.Profile)
	case &kinds.ContextSnapshot:
		s.Artifact = JSON(tb, t.Snapshot)
	case &kinds.ContextPlan:
		s.Artifact = JSON(tb, t.Plans[0])
	case &kinds.ContextAssembly:
		s.Artifact = JSON(tb, t.Assemblies[0])
	case &kinds.ContextCompaction:
		s.Artifact, s.Context = JSON(tb, t.Compaction), JSON(tb, t.CompactionContext)
	case &kinds.ContextRecovery:
		s.Artifact, s.Context = JSON(tb, t.Recovery), JSON(tb, t.RecoveryContext)
	case &kinds.Conflict:
		s.Artifact = fmt.Appendf(nil, `{"kind":"context-plan","key":"plan-%d","claim":"","held_by":0,"ordinal":%d,"artifact":{"plan_id":"plan-%[1]d"},"context":{}}`, n, n+1)
	default:
		return false
	}
	return true
}

// parts are what a ledger would have of the turn before its first assembly, recorded now.
func (t *Turn) parts(tb testing.TB) *kinds.ContextParts {
	tb.Helper()
	part := func(v any) *kinds.ContextPart {
		return &kinds.ContextPart{RecordedAt: time.Now(), Artifact: JSON(tb, v)}
	}
	p := &kinds.ContextParts{Profile: part(t.Profile), Snapshot: part(t.Snapshot), Plan: part(t.Plans[0]), Assembly: part(t.Assemblies[2])}
	p.Seen, p.Revisions = []kinds.ContextPart{*p.Snapshot}, []kinds.ContextPart{*p.Profile}
	return p
}

package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"ledgerd/internal/kinds"
)

// contextSample fills in a submission of a context kind. What is judged together with other entries is judged with the parts
// that SampleFirst records; an assembly of another id than their plan's is a mismatch, which is recorded like any.
func contextSample(tb testing.TB, k *kinds.Kind, n int, s *kinds.Submission, env *kinds.Env) bool {
	tb.Helper()
	t, first := NewTurn(tb, n), NewTurn(tb, 0)
	env.Needs, env.Context = &kinds.ContextNeeds{}, first.parts(tb)
	switch k {
	case &kinds.ContextProfile:
		t.Profile["profile_revision_id"] = fmt.Sprintf("prof-sample-%d", n)
		s.Artifact = JSON(tb, t.Profile)
	case &kinds.ContextSnapshot:
		s.Artifact = JSON(tb, t.Snapshot)
	case &kinds.ContextPlan:
		s.Artifact = JSON(tb, t.Plans[0])
	case &kinds.ContextAssembly:
		first.Assemblies[0]["identity"].(Tree)["context_assembly_id"] = fmt.Sprintf("asm-sample-%d", n)
		s.Artifact = JSON(tb, first.Assemblies[0])
	case &kinds.ContextCompaction:
		first.Compaction["operation"].(Tree)["compaction_operation_id"] = fmt.Sprintf("cop-sample-%d", n)
		s.Artifact, s.Context = JSON(tb, first.Compaction), JSON(tb, first.CompactionContext)
	case &kinds.ContextRecovery:
		first.RecoveryContext["recovery_id"] = fmt.Sprintf("rcv-sample-%d", n)
		delete(first.RecoveryContext, "context_assembly_id")
		s.Artifact, s.Context = JSON(tb, first.Recovery), JSON(tb, first.RecoveryContext)
	case &kinds.Conflict:
		s.Artifact = fmt.Appendf(nil, `{"kind":"context-plan","key":"plan-%d","claim":"","held_by":0,"ordinal":%d,"artifact":{"plan_id":"plan-%[1]d"},"context":{}}`, n, n+1)
	default:
		return false
	}
	return true
}

// SampleFirst are the entries that samples name by seq, so they must be recorded first and in this order: the trust policy, and
// profile, snapshot and plan of turn 0.
func SampleFirst(tb testing.TB) []*kinds.Accepted {
	tb.Helper()
	t := NewTurn(tb, 0)
	list := []*kinds.Accepted{SamplePolicy(tb)}
	for _, part := range []struct {
		kind     *kinds.Kind
		artifact Tree
	}{{&kinds.ContextProfile, t.Profile}, {&kinds.ContextSnapshot, t.Snapshot}, {&kinds.ContextPlan, t.Plans[0]}} {
		a, err := part.kind.Accept(kinds.Submission{Artifact: JSON(tb, part.artifact)}, kinds.Env{})
		if err != nil {
			tb.Fatalf("ledgertest: %s: %v", part.kind.Name, err)
		}
		list = append(list, a)
	}
	return list
}

// parts are what SampleFirst records of the turn.
func (t *Turn) parts(tb testing.TB) *kinds.ContextParts {
	tb.Helper()
	part := func(seq int64, v any) *kinds.ContextPart {
		return &kinds.ContextPart{Seq: seq, RecordedAt: time.Now(), Artifact: JSON(tb, v)}
	}
	p := &kinds.ContextParts{Profile: part(1, t.Profile), Snapshot: part(2, t.Snapshot), Plan: part(3, t.Plans[0])}
	p.Seen, p.Revisions = []kinds.ContextPart{*p.Snapshot}, []kinds.ContextPart{*p.Profile}
	return p
}

package postgres_test

import (
	"encoding/json"
	"slices"
	"testing"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

// withReceiver is an accepted context record whose server's part says something else, sealed and projected as if it were so.
func withReceiver(t *testing.T, a *kinds.Accepted, change func(*kinds.ContextReceiver)) *kinds.Accepted {
	t.Helper()
	var r kinds.ContextReceiver
	if err := json.Unmarshal(a.Content.Receiver, &r); err != nil {
		t.Fatal(err)
	}
	change(&r)
	var err error
	if a.Content.Receiver, err = ledger.CanonicalizeChecked(ledgertest.JSON(t, r)); err != nil {
		t.Fatal(err)
	}
	p, err := a.Kind.Project(a.Content)
	if err != nil {
		t.Fatal(err)
	}
	a.Rows = p.Rows
	return a
}

// A verdict that was recorded and does not follow from the entries that it names is found at its entry, by fsck and behind an
// answer, although every hash of it holds.
func TestFsckJudgesContextRecordsAgain(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	fillKinds(t, l, 20)
	if _, found := fsck(t, l); len(found) > 0 {
		t.Fatalf("before: %v", found)
	}
	l.AddTenant(t, "umbrella")
	elsewhere, err := l.Appender.Append(t.Context(), kinds.Poster{Tenant: "umbrella", Role: kinds.Host, TokenID: "tok"}, ledgertest.SampleFirst(t)[2])
	if err != nil {
		t.Fatal(err)
	}
	assembly, recovery := &kinds.ContextAssembly, &kinds.ContextRecovery
	cases := []struct {
		name   string
		kind   *kinds.Kind
		change func(*kinds.ContextReceiver)
	}{
		{"a verdict", assembly, func(r *kinds.ContextReceiver) { r.Verdict.Verdict = "verified" }},
		{"the model", recovery, func(r *kinds.ContextReceiver) { r.Verdict.Model = "c0.verification.v9" }},
		{"a finding of the verdict", assembly, func(r *kinds.ContextReceiver) { r.Verdict.Findings = r.Verdict.Findings[1:] }},
		{"a finding of the entry", assembly, func(r *kinds.ContextReceiver) { r.Findings = r.Findings[1:] }},
		{"the dictated outcome", recovery, func(r *kinds.ContextReceiver) { r.Verdict.Dictated = nil }},
		{"another part", assembly, func(r *kinds.ContextReceiver) { *r.Joined.PlanSeq = 2 }},
		{"a part of another tenant", recovery, func(r *kinds.ContextReceiver) { *r.Joined.SnapshotSeq = elsewhere.Seq }},
		{"a part that is not there", recovery, func(r *kinds.ContextReceiver) { *r.Joined.SnapshotSeq = -1 }},
		{"a part that comes later", assembly, func(r *kinds.ContextReceiver) { r.Joined.RevisionSeqs = []int64{10_000} }},
		{"no part", assembly, func(r *kinds.ContextReceiver) { r.Joined.SnapshotSeq = nil }},
		{"too many parts", assembly, func(r *kinds.ContextReceiver) { r.Joined.SeenSeqs = slices.Repeat([]int64{2}, kinds.MaxSeen+1) }},
	}
	want := map[int64]string{}
	for i, c := range cases {
		r, err := l.Appender.Append(t.Context(), ledgertest.Host, withReceiver(t, ledgertest.Sample(t, c.kind, 100+i), c.change))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		want[r.Seq] = c.name
	}
	_, found := fsck(t, l)
	if len(found) != len(want) {
		t.Errorf("%d faults of %d: %v", len(found), len(want), found)
	}
	for _, f := range found {
		if f.Code != audit.FaultVerdict || want[f.Seq] == "" {
			t.Errorf("%s: %+v", want[f.Seq], f)
		}
	}
	checkAnswer(t, l, want)
}

// checkAnswer: the check behind an answer finds the same.
func checkAnswer(t *testing.T, l *ledgertest.Ledger, want map[int64]string) {
	t.Helper()
	head, err := l.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var seqs []int64
	for seq := range head.Size {
		seqs = append(seqs, seq)
	}
	checked, err := l.Store.VerifyEntries(t.Context(), ledgertest.Tenant, seqs, head)
	if err != nil {
		t.Fatal(err)
	}
	for seq, r := range checked {
		if r.Whole() != (want[seq] == "") || (r.ResultOf(audit.CheckVerdict) == audit.Failed) != (want[seq] != "") {
			t.Errorf("entry %d (%s): %+v", seq, want[seq], r)
		}
	}
}

// A verdict is not held to what was erased. What was only damaged excuses nothing.
func TestFsckJudgesWithWhatIsLeft(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	fillKinds(t, l, 25)
	if _, err := l.Appender.Append(t.Context(), admin, erasure(t, 3)); err != nil { // the plan, without which no assembly is judged
		t.Fatal(err)
	}
	if _, found := fsck(t, l); len(found) > 0 {
		t.Fatalf("after an erasure: %v", found)
	}
	asAdmin(t, l, `UPDATE ledger.contents SET content = '{}' WHERE seq = 2`)
	_, found := fsck(t, l)
	var judged []string
	for _, f := range found {
		if f.Code == audit.FaultVerdict {
			judged = append(judged, kindAt(t, l, f.Seq))
		}
	}
	slices.Sort(judged)
	if want := []string{"context-assembly", "context-compaction", "context-recovery"}; !slices.Equal(judged, want) {
		t.Errorf("a damaged snapshot: %v, want faults of %v", found, want)
	}
}

func kindAt(t *testing.T, l *ledgertest.Ledger, seq int64) string {
	t.Helper()
	e, err := l.Store.Entry(t.Context(), ledgertest.Tenant, auditor, seq)
	if err != nil {
		t.Fatal(err)
	}
	return e.Meta.Kind
}

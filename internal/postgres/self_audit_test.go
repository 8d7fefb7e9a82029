package postgres_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
)

func selfAudit(l *ledgertest.Ledger) *postgres.SelfAudit {
	return &postgres.SelfAudit{Store: l.Store, Append: l.Appender.Append, Verifiers: []note.Verifier{l.Keys.Verifier}}
}

// pass checks everything once and returns what was news.
func pass(t *testing.T, a *postgres.SelfAudit) (news []audit.SelfAuditNews) {
	t.Helper()
	if err := a.BeginFull(t.Context()); err != nil {
		t.Fatal(err)
	}
	for {
		n, found, err := a.NextFull(t.Context(), 50)
		if err != nil {
			t.Fatal(err)
		}
		news = append(news, found...)
		if s := auditState(t, a); n == 0 || s.FullNext >= s.FullEnd {
			return news
		}
	}
}

func auditState(t *testing.T, a *postgres.SelfAudit) audit.SelfAuditState {
	t.Helper()
	s, err := a.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// recordedOf lists what was recorded of an entry, in order.
func (l *tampered) recordedOf(t *testing.T, seq int64) (list []kinds.ReverificationArtifact) {
	t.Helper()
	rows, err := l.admin.Query(t.Context(), `
		SELECT c.content::bytea FROM ledger.reverifications r JOIN ledger.contents c USING (seq) WHERE r.of_seq = $1 AND r.cause = 'self-audit' ORDER BY r.seq`, seq)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var content struct{ Artifact kinds.ReverificationArtifact }
		var raw []byte
		if err := rows.Scan(&raw); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &content); err != nil {
			t.Fatal(err)
		}
		list = append(list, content.Artifact)
	}
	return list
}

// A failure is recorded once, again when it becomes another, and when it ends; nothing else is said.
func TestSelfAuditRecordsEachFailureOnce(t *testing.T) {
	t.Parallel()
	l := newTampered(t)
	l.AddTenant(t, "other")
	if _, err := l.Appender.Append(t.Context(), kinds.Poster{Tenant: "other", Role: kinds.Host, TokenID: "t"}, ledgertest.Consent(t, "k", "p")); err != nil {
		t.Fatal(err)
	}
	a := selfAudit(l.Ledger)
	if news := pass(t, a); len(news) != 0 {
		t.Fatalf("untouched: %+v", news)
	}
	usage, grant := l.pick(t, &kinds.UsageReport, map[int64]bool{}), l.pick(t, &kinds.ConsentReceipt, map[int64]bool{})
	l.exec(t, `UPDATE ledger.usage_lines SET tokens = tokens + 1 WHERE seq = $1`, usage)
	l.exec(t, `UPDATE ledger.contents SET content = content || '\x20' WHERE seq = $1`, grant)
	news := pass(t, a)
	if len(news) != 2 || news[0].Ended || news[0].Failures == "" {
		t.Fatalf("two were changed: %+v", news)
	}
	for _, seq := range []int64{usage, grant} {
		r := l.recordedOf(t, seq)
		if len(r) != 1 || r[0].Result != "failed" || r[0].After != nil || len(r[0].Failed) == 0 || r[0].Against.TreeSize == 0 {
			t.Errorf("entry %d: %+v", seq, r)
		}
	}
	if s := auditState(t, a); s.Failing != 2 || s.SinceFull == nil {
		t.Errorf("%+v", s)
	}
	if again := pass(t, a); len(again) != 0 {
		t.Errorf("the same again: %+v", again)
	}
	l.exec(t, `UPDATE ledger.usage_lines SET tokens = tokens - 1 WHERE seq = $1`, usage)
	l.exec(t, `UPDATE ledger.entries SET meta_salt = sha256('x') WHERE seq = $1`, grant)
	if news = pass(t, a); len(news) != 2 || !slices.ContainsFunc(news, func(n audit.SelfAuditNews) bool { return n.Seq == usage && n.Ended }) {
		t.Errorf("one ended and one became another: %+v", news)
	}
	if r := l.recordedOf(t, usage); len(r) != 2 || r[1].Result != "passed" || !slices.Equal(r[1].Changed, []string{"failed", "result"}) || r[1].After == nil {
		t.Errorf("ended: %+v", r)
	}
	if r := l.recordedOf(t, grant); len(r) != 2 || r[1].Result != "failed" || r[1].Digest == r[0].Digest {
		t.Errorf("became another: %+v", r)
	}
	l.exec(t, `UPDATE ledger.usage_lines SET tokens = tokens + 1 WHERE seq = $1`, usage)
	if pass(t, a); len(l.recordedOf(t, usage)) != 3 {
		t.Errorf("the first failure came back: %+v", l.recordedOf(t, usage))
	}
}

// Two processes that find the same record it once.
func TestSelfAuditsAgree(t *testing.T) {
	t.Parallel()
	l := newTampered(t)
	seq := l.pick(t, &kinds.UsageReport, map[int64]bool{})
	l.exec(t, `UPDATE ledger.usage_lines SET tokens = tokens + 1 WHERE seq = $1`, seq)
	a, b := selfAudit(l.Ledger), selfAudit(l.Ledger)
	b.Append = func(ctx context.Context, who kinds.Poster, acc *kinds.Accepted) (kinds.Recorded, error) {
		pass(t, a) // while b is about to record
		return l.Appender.Append(ctx, who, acc)
	}
	pass(t, b)
	if r := l.recordedOf(t, seq); len(r) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestSelfAuditSamplesRotate(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	fillKinds(t, l, 25)
	a := selfAudit(l)
	var counts []int
	for range 5 {
		n, news, err := a.NextSample(t.Context(), 10)
		if err != nil || len(news) != 0 {
			t.Fatal(news, err)
		}
		counts = append(counts, n)
	}
	if !slices.Equal(counts, []int{10, 10, 5, 10, 10}) {
		t.Errorf("%v", counts)
	}
	if s := auditState(t, a); s.Checked != 45 || s.Failing != 0 || s.SinceFull != nil {
		t.Errorf("%+v", s)
	}
	if err := a.Sampled(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestSelfAuditIsOneAtATime(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	a := selfAudit(l)
	hold := func(who string, lease time.Duration, want bool) {
		t.Helper()
		if held, err := a.Hold(t.Context(), who, lease); err != nil || held != want {
			t.Fatalf("%s: %v, %v", who, held, err)
		}
	}
	hold("a", time.Minute, true)
	hold("b", time.Minute, false)
	hold("a", time.Minute, true)
	if err := a.Release(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	hold("b", time.Minute, false)
	if err := a.Release(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	hold("b", time.Minute, true)
}

package postgres_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
)

// The cost of a question grows with its answer: no plan goes through a table that grows with the ledger.
func TestQuestionsScanNoTable(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	v := ledgertest.Volume{Reports: 10_000, Rows: 4, Providers: 200, Customers: 50, Consents: 2_000, From: from, Over: 300 * 24 * time.Hour}
	l.FillVolume(t, v)
	conn := connect(t, l.ServiceURL)
	plan := func(sql string, args ...any) string {
		t.Helper()
		rows, err := conn.Query(t.Context(), "EXPLAIN "+sql, append([]any{pgx.QueryExecModeExec}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(lines, "\n")
	}
	month := from.Add(30 * 24 * time.Hour)
	size := int64(v.Reports + v.Consents + v.Providers)
	limit := audit.MaxEgressLines + 1
	some := []string{"provider-1", "provider-2", "provider-3"}
	var nobody []string // all providers
	sql := postgres.QuestionSQL
	for name, got := range map[string]string{
		"a customer's month":    plan(sql.Usage, ledgertest.Tenant, from, month, size, "", "customer-7", "", "", nobody, limit),
		"a provider's month":    plan(sql.Usage, ledgertest.Tenant, from, month, size, "provider-7", "", "", "", nobody, limit),
		"a frame's month":       plan(sql.Usage, ledgertest.Tenant, from, month, size, "", "", "page/7", "", nobody, limit),
		"everybody's hour":      plan(sql.Usage, ledgertest.Tenant, from, from.Add(time.Hour), size, "", "", "", "", nobody, limit),
		"some providers' month": plan(sql.Usage, ledgertest.Tenant, from, month, size, "", "", "", "", some, limit),
		"before a month":        plan(sql.UsageBefore, ledgertest.Tenant, month, size, "", 100),
		"grants":                plan(sql.Grants, ledgertest.Tenant, some, size, limit),
		"revocations":           plan(sql.Revocations, ledgertest.Tenant, some, size, limit),
		"boolean consents":      plan(sql.Records, ledgertest.Tenant, some, size, limit),
		"declarations":          plan(sql.Declarations, ledgertest.Tenant, some, size, limit),
	} {
		for _, table := range []string{"entries", "usage_lines"} {
			if strings.Contains(got, "Seq Scan on "+table) {
				t.Errorf("%s scans %s:\n%s", name, table, got)
			}
		}
		if !strings.Contains(got, "entries_pkey") {
			t.Errorf("%s does not look entries up by seq:\n%s", name, got)
		}
	}
	for name, got := range map[string]string{
		"frame_verdicts_by_frame": plan(sql.VerdictsBefore, ledgertest.Tenant, some, some, some, month, size),
		"frame_verdicts_by_time":  plan(sql.VerdictsOf, ledgertest.Tenant, from, month, size, "", limit),
		"usage_lines_erased":      plan(sql.Erased, ledgertest.Tenant, from, month, size),
	} {
		if !strings.Contains(got, name) {
			t.Errorf("%s is not used:\n%s", name, got)
		}
	}
	if got := plan(sql.Usage, ledgertest.Tenant, from, month, size, "", "customer-7", "", "", nobody, limit); !strings.Contains(got, "usage_lines_by_customer") {
		t.Errorf("a customer's month is not found by its index:\n%s", got)
	}
}

// However many verdicts came before a period, its findings can be asked for, and what was called stale before it counts. A
// kind that needs no usage or no verdicts reads none.
func TestFindingsAfterManyVerdicts(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	v := ledgertest.Volume{Reports: 100, Rows: 2, Providers: 4, Customers: 5, Consents: 10, From: from, Over: 30 * 24 * time.Hour}
	l.FillVolume(t, v)
	conn := connect(t, l.AdminURL)
	for _, sql := range []string{
		`INSERT INTO ledger.frame_verdicts (seq, tenant, line, provider_id, verified_at, frame_id, content_digest, result)
		 SELECT 1, $1, n, 'provider-' || n % 4, $2::timestamptz - interval '1 day' - n * interval '1 second', 'page/' || n % 1000, 'sha256:' || md5((n % 1000)::text), 'valid'
		 FROM generate_series(1, 60000) n`,
		`INSERT INTO ledger.frame_verdicts (seq, tenant, line, provider_id, verified_at, frame_id, content_digest, result)
		 SELECT DISTINCT ON (provider_id) 2, $1, row_number() OVER () + 70000, provider_id, $2::timestamptz - interval '1 hour', frame_ids[1], frame_digests[1], 'stale'
		 FROM ledger.usage_lines ORDER BY provider_id, as_of`,
	} {
		if _, err := conn.Exec(t.Context(), sql, ledgertest.Tenant, from); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range append([]audit.FindingKind{""}, audit.FindingKinds[:]...) {
		q := audit.FindingQuery{Kind: kind, From: from, To: from.Add(v.Over), Size: 1 << 40}
		e, err := l.Store.Findings(t.Context(), ledgertest.Tenant, q)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if q.WantsUsage() != (len(e.Usage) > 0) || !q.Wants(audit.FindingUnconsented) && e.Consents.Count() > 0 {
			t.Errorf("%s reads %d lines and %d consents", kind, len(e.Usage), e.Consents.Count())
		}
		if stale := q.Wants(audit.FindingStaleReuse); stale != (len(e.Verdicts) > 0) || len(e.Verdicts) > 2*v.Lines()*3 {
			t.Errorf("%s reads %d verdicts", kind, len(e.Verdicts))
		}
		found, err := audit.Findings(t.Context(), e, q)
		if err != nil {
			t.Fatal(err)
		}
		if kind == audit.FindingStaleReuse && len(found) != v.Providers {
			t.Errorf("%d frames were served again after they were called stale, want %d: %+v", len(found), v.Providers, found)
		}
	}
}

// A question about who agreed is held to its own lines, however many others the period has.
func TestEgressOfOneGrantorReadsItsProviders(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	v := ledgertest.Volume{Reports: 26_000, Rows: 2, Providers: 200, Customers: 5, Consents: 200, From: from, Over: 30 * 24 * time.Hour}
	l.FillVolume(t, v)
	q := audit.EgressQuery{From: from, To: from.Add(v.Over), Size: 1 << 40}
	if _, err := l.Store.Egress(t.Context(), ledgertest.Tenant, q); !errors.Is(err, kinds.ErrTooMuch) {
		t.Fatalf("everything: %v", err)
	}
	q.Grantor = "person-7"
	e, err := l.Store.Egress(t.Context(), ledgertest.Tenant, q)
	if err != nil || len(e.Usage) == 0 {
		t.Fatalf("of one grantor: %d lines, %v", len(e.Usage), err)
	}
	answer := audit.Egress(e, q)
	if answer.Totals.Reports != len(e.Usage) {
		t.Errorf("%d lines were read for %d", len(e.Usage), answer.Totals.Reports)
	}
	q.GrantorKind = "policy"
	if e, err = l.Store.Egress(t.Context(), ledgertest.Tenant, q); err != nil || len(e.Usage) != 0 {
		t.Errorf("of a policy of that name: %d lines, %v", len(e.Usage), err)
	}
}

// An answer's entries verify, and whatever a superuser changes behind it is named: the entry, its content, the row that the
// answer was made of, its leaf in the tree.
func TestVerifyEntriesNamesWhatWasChanged(t *testing.T) {
	t.Parallel()
	l := newTampered(t)
	seqs := make([]int64, tamperedSize)
	for i := range seqs {
		seqs[i] = int64(i)
	}
	verify := func() audit.Checked {
		t.Helper()
		head, err := l.Store.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		checked, err := l.Store.VerifyEntries(t.Context(), ledgertest.Tenant, seqs, head)
		if err != nil {
			t.Fatal(err)
		}
		return checked
	}
	checked := verify()
	for _, seq := range seqs {
		if !checked.Verifies(seq) {
			t.Fatalf("untouched, entry %d: %v", seq, checked[seq])
		}
	}
	first := func(kind *kinds.Kind) (seq int64) {
		t.Helper()
		if err := l.admin.QueryRow(t.Context(), `SELECT min(seq) FROM ledger.entries WHERE kind = $1 AND tenant = $2`, kind.Name, ledgertest.Tenant).Scan(&seq); err != nil {
			t.Fatal(err)
		}
		return seq
	}
	usage, consent, revoked, declared := first(&kinds.UsageReport), first(&kinds.ConsentReceipt), first(&kinds.ConsentRevocation), first(&kinds.ProviderDeclaration)
	l.exec(t, `UPDATE ledger.usage_lines SET tokens = tokens + 1 WHERE seq = $1`, usage)
	l.exec(t, `DELETE FROM ledger.consent_revocations WHERE seq = $1`, revoked)
	l.exec(t, `UPDATE ledger.contents SET content = content || '\x20' WHERE seq = $1`, consent)
	l.exec(t, `DELETE FROM ledger.entries WHERE seq = $1`, declared)
	checked = verify()
	for seq, want := range map[int64]audit.FaultCode{usage: audit.FaultProjection, revoked: audit.FaultProjection, consent: audit.FaultContent} {
		if r := checked[seq]; r.Result != audit.Failed || !slices.ContainsFunc(r.Checks, func(c audit.Check) bool { return c.Fault == want }) {
			t.Errorf("entry %d: %+v, want %s", seq, r, want)
		}
	}
	if _, found := checked[declared]; found || checked.Verifies(declared) {
		t.Error("a missing entry verifies")
	}
}

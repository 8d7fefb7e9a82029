package postgres_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

var admin = kinds.Poster{Tenant: ledgertest.Tenant, Role: kinds.Admin, TokenID: "tok_admin"}

func erasure(t *testing.T, seqs ...int64) *kinds.Accepted {
	t.Helper()
	raw, err := json.Marshal(kinds.ErasureArtifact{Reason: "asked by the person", Seqs: seqs})
	if err != nil {
		t.Fatal(err)
	}
	a, err := kinds.Erasure.Accept(kinds.Submission{Artifact: raw}, kinds.Env{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What was to be destroyed is gone, in the same transaction as the entry that says so; everything else stays and verifies.
func TestErasureDestroysContentsOnly(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	for i := range 3 {
		if _, err := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, fmt.Sprintf("k%d", i), "p")); err != nil {
			t.Fatal(err)
		}
	}
	r, err := l.Appender.Append(t.Context(), admin, erasure(t, 0, 2))
	if err != nil {
		t.Fatal(err)
	}
	for seq, erased := range []bool{true, false, true} {
		e, err := l.Store.Entry(t.Context(), ledgertest.Tenant, auditor, int64(seq))
		if err != nil || e.Erased() != erased || (erased && e.ErasedBy != r.Seq) {
			t.Errorf("entry %d: erased %v by %d, %v", seq, e.Erased(), e.ErasedBy, err)
		}
		if err := e.Check(); err != nil {
			t.Errorf("entry %d: %v", seq, err)
		}
	}
	checkLog(t, l)
	if n := l.Count(t, "ledger.consents WHERE grantor_id IS NULL AND provider_id = 'p'"); n != 2 {
		t.Errorf("%d consents without a grantor, want 2", n)
	}
	var gone *kinds.ErasedError
	if _, err := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "k0", "p")); !errors.As(err, &gone) || gone.Seq != 0 || gone.ErasureSeq != r.Seq {
		t.Errorf("posting an erased entry again: %v", err)
	}
	again, err := l.Appender.Append(t.Context(), admin, erasure(t, 0, 2))
	if err != nil || !again.Replayed || again.Seq != r.Seq {
		t.Errorf("the same erasure again: %+v, %v", again, err)
	}
}

// The database believes no erasure that it was not just told to append, and none that reaches into another tenant.
func TestErasureIsCheckedByTheDatabase(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	l.AddTenant(t, "umbrella")
	other := ledgertest.Host
	other.Tenant = "umbrella"
	for _, who := range []kinds.Poster{ledgertest.Host, other} {
		if _, err := l.Appender.Append(t.Context(), who, ledgertest.Consent(t, "k", "p")); err != nil {
			t.Fatal(err)
		}
	}
	for name, seqs := range map[string][]int64{"another tenant's": {1}, "one that is not there": {99}, "partly another tenant's": {0, 1}} {
		if _, err := l.Appender.Append(t.Context(), admin, erasure(t, seqs...)); !errors.Is(err, kinds.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	policy, err := l.Appender.Append(t.Context(), admin, ledgertest.SamplePolicy(t))
	if err != nil {
		t.Fatal(err)
	}
	var refused *kinds.Rejection
	if _, err := l.Appender.Append(t.Context(), admin, erasure(t, 0, policy.Seq)); !errors.As(err, &refused) || refused.Code != "not-erasable" {
		t.Errorf("a trust policy: %v", err)
	}
	if n := l.Count(t, "ledger.contents WHERE content IS NULL"); n != 0 {
		t.Errorf("%d contents are gone", n)
	}
	done, err := l.Appender.Append(t.Context(), admin, erasure(t, 0))
	if err != nil {
		t.Fatal(err)
	}
	svc := connect(t, l.ServiceURL)
	const denied = "42501"
	for _, seq := range []int64{0, 1, done.Seq} { // a consent, another one, an erasure that is committed already
		refusedWith(t, svc, denied, fmt.Sprintf("SELECT ledger.erase(%d)", seq))
	}
	refusedWith(t, svc, denied, "INSERT INTO ledger.erased VALUES (1, 2)")
	refusedWith(t, svc, denied, "UPDATE ledger.contents SET content = NULL WHERE seq = 1")
	checkLog(t, l)
}

// forgedErasure is what the service's role could write past the append path: an erasure at seq, which names what targets selects.
func forgedErasure(seq int64, targets string) string {
	return fmt.Sprintf(`
		INSERT INTO ledger.entries SELECT %[1]d, recorded_at, tenant, 'erasure', 'forged', token_id, meta, meta_salt, envelope, leaf_hash FROM ledger.entries WHERE seq = 0;
		INSERT INTO ledger.contents SELECT %[1]d, convert_to(json_build_object('artifact', json_build_object('seqs', (%[2]s)))::text, 'UTF8'), content_salt
			FROM ledger.contents WHERE seq = 0;`, seq, targets)
}

// The service's role can destroy nothing unless the log's head moves over the erasure that says so, in the same transaction.
func TestErasureMustBeInTheLog(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	appendConsents(t, l.Appender, 0, 3)
	svc := connect(t, l.ServiceURL)
	const denied, all = "42501", "SELECT json_agg(seq) FROM ledger.entries WHERE kind <> 'erasure'"
	refusedWith(t, svc, denied, forgedErasure(100000000, all)+"SELECT ledger.erase(100000000)")
	refusedWith(t, svc, denied, forgedErasure(3, all)+"UPDATE ledger.head SET size = size; SELECT ledger.erase(3)")
	refusedWith(t, svc, denied, forgedErasure(3, all)+"SELECT ledger.erase(3); UPDATE ledger.head SET size = 4")
	refusedWith(t, svc, denied, forgedErasure(4, all)+"UPDATE ledger.head SET size = 4; SELECT ledger.erase(4)")
	refusedWith(t, svc, denied, forgedErasure(-1, all)+"UPDATE ledger.head SET size = 4; SELECT ledger.erase(-1)")
	const nextLog = "INSERT INTO ledger.head SELECT incarnation + 1, 'next.example', 50, 0, root, recorded_at, checkpoint FROM ledger.head; "
	refusedWith(t, svc, denied, forgedErasure(3, all)+nextLog+"UPDATE ledger.head SET size = 4 WHERE incarnation = 0; SELECT ledger.erase(3)")
	checkLog(t, l)
	if _, err := svc.Exec(t.Context(), "UPDATE ledger.head SET size = 10"); err != nil { // by a transaction before
		t.Fatal(err)
	}
	refusedWith(t, svc, denied, forgedErasure(5, all)+"SELECT ledger.erase(5)")
	if n := l.Count(t, "ledger.contents WHERE content IS NULL") + l.Count(t, "ledger.erased"); n != 0 {
		t.Errorf("%d contents are gone", n)
	}
}

// The database erases entries of just the kinds that the registry lets an erasure name.
func TestErasableKindsAreTheRegistrys(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	appendConsents(t, l.Appender, 0, 1)
	var listed, want []string
	if err := connect(t, l.OwnerURL).QueryRow(t.Context(), "SELECT ledger.erasable_kinds()").Scan(&listed); err != nil {
		t.Fatal(err)
	}
	forged := func(kind string) string {
		return `INSERT INTO ledger.entries SELECT 1, recorded_at, tenant, '` + kind + `', 'other', token_id, meta, meta_salt, envelope, leaf_hash FROM ledger.entries;` +
			forgedErasure(2, "'[1]'::json") + "UPDATE ledger.head SET size = 3; SELECT ledger.erase(2)"
	}
	svc := connect(t, l.ServiceURL)
	refusedWith(t, svc, "42501", forged("unheard-of"))
	for _, k := range kinds.All() {
		if !k.Erasable() {
			refusedWith(t, svc, "42501", forged(k.Name))
			continue
		}
		want = append(want, k.Name)
		if err := rolledBack(t, svc, forged(k.Name)); err != nil {
			t.Errorf("%s: %v", k.Name, err)
		}
	}
	slices.Sort(listed)
	slices.Sort(want)
	if !slices.Equal(listed, want) {
		t.Errorf("the database erases\n%v\nand the registry allows\n%v", listed, want)
	}
}

// What the registry calls personal is just what the eraser may null.
func TestErasableColumnsAreTheRegistrys(t *testing.T) {
	t.Parallel()
	l := ledgertest.Empty(t)
	conn := connect(t, l.AdminURL)
	rows, err := conn.Query(t.Context(), `
		SELECT table_name || '.' || column_name FROM information_schema.column_privileges
		WHERE grantee = 'ledger_eraser' AND privilege_type = 'UPDATE' AND table_schema = 'ledger'`)
	if err != nil {
		t.Fatal(err)
	}
	granted, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	personal := []string{"contents.content", "contents.content_salt"}
	for _, k := range kinds.All() {
		for _, table := range k.Tables {
			for _, c := range table.Columns {
				if name := table.Name + "." + c.Name; c.Personal && !slices.Contains(personal, name) {
					personal = append(personal, name)
				}
			}
		}
	}
	slices.Sort(granted)
	slices.Sort(personal)
	if !slices.Equal(granted, personal) {
		t.Errorf("the eraser may null\n%v\nand the registry calls personal\n%v", granted, personal)
	}
}

// A full check accepts an absent content only where an erasure names it.
func TestFsckKnowsErasures(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	fillKinds(t, l, 40)
	var seqs []int64
	for _, k := range kinds.All() { // one entry of each kind that can be erased
		list, _, err := l.Store.Entries(t.Context(), ledgertest.Tenant, auditor, kinds.EntryQuery{Kind: k.Name, After: -1, Size: 40, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if k.Erasable() {
			seqs = append(seqs, list[0].Seq)
		}
	}
	slices.Sort(seqs)
	if _, err := l.Appender.Append(t.Context(), admin, erasure(t, seqs...)); err != nil {
		t.Fatal(err)
	}
	if _, faults := fsck(t, l); len(faults) > 0 {
		t.Fatalf("after an erasure: %v", faults)
	}
	super := connect(t, l.AdminURL)
	if _, err := super.Exec(t.Context(), `ALTER TABLE ledger.usage_lines DISABLE TRIGGER USER; UPDATE ledger.usage_lines SET customer_id = 'back' WHERE customer_id IS NULL`); err != nil {
		t.Fatal(err)
	}
	if _, faults := fsck(t, l); len(faults) != 4 || faults[0].Code != audit.FaultErased { // a report and a correction of two lines each
		t.Errorf("a personal column that came back: %v", faults)
	}
	if _, err := super.Exec(t.Context(), `UPDATE ledger.usage_lines SET customer_id = NULL WHERE customer_id = 'back'`); err != nil {
		t.Fatal(err)
	}
	for name, sql := range map[string]string{
		"a content gone without an erasure": `UPDATE ledger.contents SET content = NULL, content_salt = NULL WHERE seq = (SELECT min(seq) FROM ledger.contents WHERE content IS NOT NULL)`,
		"an erasure forgotten":              fmt.Sprintf(`DELETE FROM ledger.erased WHERE seq = %d`, seqs[0]),
		"an erasure made up":                `INSERT INTO ledger.erased SELECT min(seq), 40 FROM ledger.contents WHERE content IS NOT NULL`,
	} {
		undo := changedBehind(t, super, sql)
		if _, faults := fsck(t, l); len(faults) == 0 {
			t.Errorf("%s is not found", name)
		}
		undo()
	}
}

// What an erased entry's meta still says of its rows is demanded of them: also what the service's own role can add.
func TestFsckLooksAtTheRowsOfErasedEntries(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	fillKinds(t, l, 60)
	first := func(k *kinds.Kind) int64 {
		list, _, err := l.Store.Entries(t.Context(), ledgertest.Tenant, auditor, kinds.EntryQuery{Kind: k.Name, After: -1, Size: 60, Limit: 1})
		if err != nil || len(list) == 0 {
			t.Fatalf("%s: %v", k.Name, err)
		}
		return list[0].Seq
	}
	report, consent, bundle := first(&kinds.UsageReport), first(&kinds.ConsentReceipt), first(&kinds.ReceiptBundle)
	seqs := []int64{report, consent, bundle}
	slices.Sort(seqs)
	if _, err := l.Appender.Append(t.Context(), admin, erasure(t, seqs...)); err != nil {
		t.Fatal(err)
	}
	if _, faults := fsck(t, l); len(faults) > 0 {
		t.Fatalf("after an erasure: %v", faults)
	}
	super := connect(t, l.AdminURL)
	run := func(sql string) {
		t.Helper()
		if _, err := super.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	tables := []string{"usage_lines", "consents", "claims"}
	for _, table := range tables {
		run(`ALTER TABLE ledger.` + table + ` DISABLE TRIGGER USER; CREATE TABLE public.` + table + ` AS TABLE ledger.` + table)
	}
	const line = `INSERT INTO ledger.usage_lines SELECT (jsonb_populate_record(u, jsonb_build_object('seq', %d, 'line', %d, 'tokens', 999999999))).* FROM ledger.usage_lines u WHERE u.seq = %d AND u.line = 0`
	for _, c := range []struct {
		name, sql string
		seq       int64
		code      audit.FaultCode
	}{
		{"a further line of the report", fmt.Sprintf(line, report, 77, report), report, audit.FaultProjection},
		{"usage of a consent", fmt.Sprintf(line, consent, 0, report), consent, audit.FaultProjection},
		{"a grant of the report", fmt.Sprintf(`INSERT INTO ledger.consents SELECT (jsonb_populate_record(c, '{"seq":%d}')).* FROM ledger.consents c WHERE c.seq = %d`, report, consent), report, audit.FaultProjection},
		{"a claim of the report", fmt.Sprintf(`INSERT INTO ledger.claims VALUES ('%s', 'receipt_id', 'another', 'x', %d)`, ledgertest.Tenant, report), report, audit.FaultClaim},
		{"a second claim of the bundle", fmt.Sprintf(`INSERT INTO ledger.claims VALUES ('%s', 'receipt_id', 'another', 'x', %d)`, ledgertest.Tenant, bundle), bundle, audit.FaultClaim},
		{"another tenant's usage", fmt.Sprintf(`UPDATE ledger.usage_lines SET tenant = 'other' WHERE seq = %d`, report), report, audit.FaultProjection},
		{"another request's usage", fmt.Sprintf(`UPDATE ledger.usage_lines SET request_id = 'other' WHERE seq = %d`, report), report, audit.FaultProjection},
		{"no usage at all", fmt.Sprintf(`DELETE FROM ledger.usage_lines WHERE seq = %d`, report), report, audit.FaultProjection},
		{"no consent", fmt.Sprintf(`DELETE FROM ledger.consents WHERE seq = %d`, consent), consent, audit.FaultProjection},
	} {
		run(c.sql)
		if _, faults := fsck(t, l); !slices.ContainsFunc(faults, func(f audit.Fault) bool { return f.Seq == c.seq && f.Code == c.code }) {
			t.Errorf("%s is not found: %v", c.name, faults)
		}
		for _, table := range tables {
			run(`DELETE FROM ledger.` + table + `; INSERT INTO ledger.` + table + ` TABLE public.` + table)
		}
	}
}

// An erasure that was written past the append path excuses nothing that no erasure can destroy.
func TestFsckKnowsWhatCannotBeErased(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	appendConsents(t, l.Appender, 0, 2)
	r, err := l.Appender.Append(t.Context(), admin, erasure(t, 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{`tenant = 'umbrella'`, `kind = 'trust-policy'`, `kind = 'unheard-of'`} {
		asAdmin(t, l, `UPDATE ledger.entries SET `+set+` WHERE seq = 0`)
		_, faults := fsck(t, l)
		if !slices.ContainsFunc(faults, func(f audit.Fault) bool { return f.Seq == r.Seq && f.Code == audit.FaultErased }) {
			t.Errorf("%s: %v", set, faults)
		}
		asAdmin(t, l, `UPDATE ledger.entries SET tenant = $1, kind = 'consent' WHERE seq = 0`, ledgertest.Tenant)
	}
}

// changedBehind changes tables behind the triggers, and returns what puts them back.
func changedBehind(t *testing.T, super *pgx.Conn, sql string) (undo func()) {
	t.Helper()
	run := func(sql string) {
		t.Helper()
		if _, err := super.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	run(`CREATE TABLE public.contents_before AS TABLE ledger.contents; CREATE TABLE public.erased_before AS TABLE ledger.erased;
		ALTER TABLE ledger.contents DISABLE TRIGGER USER; ALTER TABLE ledger.erased DISABLE TRIGGER USER`)
	run(sql)
	return func() {
		run(`DELETE FROM ledger.contents; INSERT INTO ledger.contents TABLE public.contents_before; DROP TABLE public.contents_before;
			DELETE FROM ledger.erased; INSERT INTO ledger.erased TABLE public.erased_before; DROP TABLE public.erased_before`)
	}
}

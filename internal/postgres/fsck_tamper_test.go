package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

// tampered is a filled ledger whose tables a superuser has opened to changes: no triggers, no checks.
type tampered struct {
	*ledgertest.Ledger
	admin *pgx.Conn
}

const tamperedSize = 500

func newTampered(t *testing.T) *tampered {
	t.Helper()
	l := &tampered{Ledger: ledgertest.New(t)}
	fillKinds(t, l.Ledger, tamperedSize)
	l.admin = connect(t, l.AdminURL)
	rows, err := l.admin.Query(t.Context(), `
		SELECT format('ALTER TABLE ledger.%I DISABLE TRIGGER USER', c.relname) FROM pg_class c
		WHERE c.relnamespace = 'ledger'::regnamespace AND c.relkind IN ('r', 'p')
		UNION ALL SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', o.conrelid::regclass, o.conname) FROM pg_constraint o
		WHERE o.connamespace = 'ledger'::regnamespace AND o.contype = 'c'`)
	if err != nil {
		t.Fatal(err)
	}
	open, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range open {
		l.exec(t, sql)
	}
	return l
}

// exec demands that the statement changes something, unless it is no such statement.
func (l *tampered) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	tag, err := l.admin.Exec(t.Context(), sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if (tag.Update() || tag.Delete() || tag.Insert()) && tag.RowsAffected() == 0 {
		t.Fatalf("%s: it changed nothing", sql)
	}
}

// pick is the seq of an entry of the kind that was not picked before.
func (l *tampered) pick(t *testing.T, kind *kinds.Kind, taken map[int64]bool) int64 {
	t.Helper()
	return l.pickRow(t, "entries", kind, taken)
}

// pickRow is the same of an entry that has a row in the table.
func (l *tampered) pickRow(t *testing.T, table string, kind *kinds.Kind, taken map[int64]bool) int64 {
	t.Helper()
	rows, err := l.admin.Query(t.Context(), `SELECT e.seq FROM ledger.entries e WHERE e.kind = $1 AND e.seq > 3
		AND EXISTS (SELECT 1 FROM ledger.`+table+` p WHERE p.seq = e.seq) ORDER BY e.seq`, kind.Name)
	if err != nil {
		t.Fatal(err)
	}
	seqs, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		t.Fatal(err)
	}
	for _, seq := range seqs {
		if !taken[seq] {
			taken[seq] = true
			return seq
		}
	}
	t.Fatalf("too few entries of kind %s for all cases", kind.Name)
	return 0
}

// change is an expression of another value of a column, by its type.
func change(t *testing.T, column, kind string) string {
	t.Helper()
	e, ok := map[string]string{
		"bigint": "coalesce(%[1]s, 0) + 1000000", "integer": "%[1]s + 1000000", "smallint": "%[1]s + 5",
		"text": "coalesce(%[1]s, '') || 'x'", "uuid": "md5(%[1]s::text)::uuid", "boolean": "NOT %[1]s",
		"bytea":                    "set_byte(%[1]s, octet_length(%[1]s) / 2, get_byte(%[1]s, octet_length(%[1]s) / 2) # 1)",
		"timestamp with time zone": "coalesce(%[1]s, now()) + interval '1 microsecond'",
		"text[]":                   "coalesce(%[1]s, '{}') || 'x'::text", "bigint[]": "coalesce(%[1]s, '{}') || 1::bigint",
	}[kind]
	if !ok {
		t.Fatalf("columns of type %s need a way to be changed", kind)
	}
	return fmt.Sprintf(e, column)
}

type column struct{ table, name, kind string }

// ledgerColumns asks the catalogue, so that a new column can't be forgotten.
func (l *tampered) ledgerColumns(t *testing.T) []column {
	t.Helper()
	rows, err := l.admin.Query(t.Context(), `
		SELECT c.relname, a.attname, format_type(a.atttypid, NULL)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE n.nspname = 'ledger' AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.relname, a.attnum`)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c column, err error) {
		return c, row.Scan(&c.table, &c.name, &c.kind)
	})
	if err != nil || len(columns) < 100 {
		t.Fatalf("columns of schema ledger: %d, %v", len(columns), err)
	}
	return columns
}

// kindOf is a kind whose entries have rows in the table.
func kindOf(table string) *kinds.Kind {
	for _, k := range kinds.All() {
		for _, t := range k.Tables {
			if t.Name == table {
				return k
			}
		}
	}
	if table == "claims" {
		return &kinds.ContextSnapshot
	}
	return &kinds.TrustPolicyKind // which has no columns of its own to be changed
}

// codeOf is the fault that changing a column must be found as, at the entry that the row was of.
func codeOf(c column) audit.FaultCode {
	if code, ok := map[string]audit.FaultCode{
		"entries.seq": audit.FaultMissing, "entries.recorded_at": audit.FaultColumn, "entries.tenant": audit.FaultColumn, "entries.kind": audit.FaultColumn,
		"entries.key": audit.FaultColumn, "entries.token_id": audit.FaultColumn, "entries.meta": audit.FaultMeta, "entries.meta_salt": audit.FaultMeta,
		"entries.envelope": audit.FaultLeaf, "entries.leaf_hash": audit.FaultLeaf,
	}[c.table+"."+c.name]; ok {
		return code
	}
	if code, ok := map[string]audit.FaultCode{"contents": audit.FaultContent, "keys": audit.FaultKey, "claims": audit.FaultClaim}[c.table]; ok {
		return code
	}
	return audit.FaultProjection
}

// One value of each column of each table that has rows of entries is changed, each of another entry, and each is found there,
// with nothing found anywhere else.
func TestFsckFindsEachChangedColumn(t *testing.T) {
	t.Parallel()
	l := newTampered(t)
	fillWithoutLines(t, l.Ledger, 12)
	want := map[int64]string{}
	taken := map[int64]bool{}
	codes := map[int64]audit.FaultCode{}
	for _, c := range l.ledgerColumns(t) {
		if c.table == "head" || c.table == "tiles" || c.table == "checkpoints" || c.table == "erased" {
			continue // TestFsckFindsChangesOfTheTree, TestFsckKnowsErasures
		}
		seq := l.pickRow(t, c.table, kindOf(c.table), taken)
		table := "ledger." + c.table
		l.exec(t, "UPDATE "+table+" SET "+c.name+" = "+change(t, c.name, c.kind)+" WHERE ctid = (SELECT ctid FROM "+table+" WHERE seq = $1 LIMIT 1)", seq)
		want[seq], codes[seq] = c.table+"."+c.name, codeOf(c)
	}
	_, found := fsck(t, l.Ledger)
	at := bySeq(found)
	for seq, name := range want {
		if !slices.ContainsFunc(at[seq], func(f audit.Fault) bool { return f.Code == codes[seq] }) {
			t.Errorf("%s of entry %d was changed, found %v, want %s", name, seq, at[seq], codes[seq])
		}
		if codes[seq] == audit.FaultProjection && !strings.HasSuffix(name, ".seq") && !strings.Contains(fmt.Sprint(at[seq]), name+" ") {
			t.Errorf("%s of entry %d was changed, and is not named: %v", name, seq, at[seq])
		}
	}
	for seq, list := range at {
		if want[seq] == "" && seq < tamperedSize {
			t.Errorf("entry %d was not touched, found %v", seq, list)
		}
	}
}

// bySeq groups faults of entries; those of the tree are left out.
func bySeq(found []audit.Fault) map[int64][]audit.Fault {
	at := map[int64][]audit.Fault{}
	for _, f := range found {
		switch f.Code {
		case audit.FaultTile, audit.FaultRoot, audit.FaultHead, audit.FaultCheckpoint:
		default:
			at[f.Seq] = append(at[f.Seq], f)
		}
	}
	return at
}

// Rows that are gone, doubled, swapped or too many, each at another entry of one ledger.
func TestFsckFindsMissingAndExtraRows(t *testing.T) {
	t.Parallel()
	l := newTampered(t)
	fillWithoutLines(t, l.Ledger, 12)
	taken := map[int64]bool{}
	want := map[int64]audit.FaultCode{}
	doRow := func(table string, kind *kinds.Kind, code audit.FaultCode, sql string) int64 {
		seq := l.pickRow(t, table, kind, taken)
		l.exec(t, sql, seq)
		want[seq] = code
		return seq
	}
	do := func(kind *kinds.Kind, code audit.FaultCode, sql string) int64 {
		return doRow("entries", kind, code, sql)
	}
	consent, bundle := &kinds.ConsentReceipt, &kinds.ReceiptBundle
	do(consent, audit.FaultContent, `DELETE FROM ledger.contents WHERE seq = $1`)
	do(consent, audit.FaultContent, `UPDATE ledger.contents SET content = NULL, content_salt = NULL WHERE seq = $1`)
	do(consent, audit.FaultContent, `UPDATE ledger.contents SET content_salt = NULL WHERE seq = $1`)
	do(consent, audit.FaultKey, `DELETE FROM ledger.keys WHERE seq = $1`)
	do(consent, audit.FaultKey, `INSERT INTO ledger.keys VALUES (gen_random_uuid(), $1)`)
	do(bundle, audit.FaultClaim, `DELETE FROM ledger.claims WHERE seq = $1`)
	do(bundle, audit.FaultClaim, `INSERT INTO ledger.claims SELECT tenant, space, name || 'x', value, $1 FROM ledger.claims WHERE seq = $1`)
	do(consent, audit.FaultClaim, `INSERT INTO ledger.claims VALUES ('acme', 'receipt_id', 'mine', 'sha256:1', $1)`)
	for _, k := range kinds.All() {
		for _, table := range k.Tables {
			doRow(table.Name, k, audit.FaultProjection, `DELETE FROM ledger.`+table.Name+` WHERE seq = $1`)
		}
	}
	do(&kinds.UsageReport, audit.FaultProjection, `DELETE FROM ledger.usage_lines WHERE seq = $1 AND line = 1`)
	do(&kinds.UsageReport, audit.FaultProjection, `INSERT INTO ledger.consents SELECT $1, tenant, provider_id, scope, provider_name, provider_version, grantor_kind, grantor_id,
		granted_at_text, granted_at, expires_at_text, expires_at FROM ledger.consents WHERE seq = (SELECT max(seq) FROM ledger.consents)`)
	a, b := l.pick(t, consent, taken), l.pick(t, consent, taken)
	l.exec(t, `UPDATE ledger.contents x SET content = y.content, content_salt = y.content_salt FROM ledger.contents y
		WHERE x.seq IN ($1, $2) AND y.seq IN ($1, $2) AND x.seq <> y.seq`, a, b)
	want[a], want[b] = audit.FaultContent, audit.FaultContent
	gone := do(consent, audit.FaultMissing, `DELETE FROM ledger.entries WHERE seq = $1`)
	l.exec(t, `DELETE FROM ledger.contents WHERE seq = $1`, gone)

	_, found := fsck(t, l.Ledger)
	at := bySeq(found)
	for seq, code := range want {
		if len(at[seq]) == 0 || at[seq][0].Code != code {
			t.Errorf("entry %d: found %v, want %s", seq, at[seq], code)
		}
	}
	for seq, list := range at {
		if want[seq] == "" {
			t.Errorf("entry %d was not touched, found %v", seq, list)
		}
	}
}

// The service's own role may insert rows beyond the head. They are found in each table, as are negative ones.
func TestFsckFindsRowsOutsideTheLog(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	outside := int64(len(ledgertest.SampleFirst(t)) + len(ledgertest.Harmless()))
	fillKinds(t, l, int(outside)) // one of each kind, and what they name
	fillWithoutLines(t, l, 1)
	outside++
	svc := connect(t, l.ServiceURL)
	want := 0
	for _, table := range ledgerTables(t, svc) {
		if table == "head" || table == "tiles" || table == "checkpoints" || table == "erased" { // the service may not insert into erased
			continue
		}
		for _, seq := range []int64{-2, outside, 5000} {
			copyRow(t, svc, table, seq)
			want++
		}
	}
	_, found := fsck(t, l)
	tables := map[string]int{}
	for _, f := range found {
		if f.Code != audit.FaultOutside || (f.Seq != -2 && f.Seq != outside && f.Seq != 5000) {
			t.Errorf("found %+v", f)
		}
		tables[strings.Fields(f.Detail)[0]]++
	}
	if len(found) != want || len(tables) != want/3 {
		t.Errorf("found %d rows of %v, want %d", len(found), tables, want)
	}
}

// copyRow inserts a row of the table again under another seq, with other values where they must be unique.
func copyRow(t *testing.T, conn *pgx.Conn, table string, seq int64) {
	t.Helper()
	var list string
	err := conn.QueryRow(t.Context(), `
		SELECT string_agg(CASE WHEN a.attname IN ('seq', 'usage_seq', 'intent_seq') THEN '$1::bigint' WHEN a.attname = 'key_hash' THEN 'gen_random_uuid()'
			WHEN a.attname = 'space' THEN 'space || $1::bigint::text' ELSE quote_ident(a.attname) END, ', ' ORDER BY a.attnum)
		FROM pg_attribute a WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped`, "ledger."+table).Scan(&list)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(context.WithoutCancel(t.Context()), "INSERT INTO ledger."+table+" SELECT "+list+" FROM ledger."+table+" WHERE seq >= 0 AND seq < (SELECT size FROM ledger.head) LIMIT 1", seq); err != nil {
		t.Fatalf("%s: %v", table, err)
	}
}

package postgres_test

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/postgres/ledgertest"
)

// grants lists every right in schema ledger that somebody else than the owner has, as "object: grantee right"; what the eraser
// may do to columns is TestErasableColumnsAreTheRegistrys'. An object without a list of rights has the defaults of its type.
const grants = `
	WITH acls (object, owner, acl) AS (
		SELECT 'schema', nspowner, coalesce(nspacl, acldefault('n', nspowner)) FROM pg_namespace WHERE nspname = 'ledger'
	UNION ALL
		SELECT CASE relkind WHEN 'r' THEN 'table ' WHEN 'p' THEN 'table ' ELSE 'relkind ' || relkind::text || ' ' END || relname,
			relowner, coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", relowner))
		FROM pg_class WHERE relnamespace = 'ledger'::regnamespace
	UNION ALL
		SELECT 'column ' || relname || '.' || attname, relowner, attacl
		FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE relnamespace = 'ledger'::regnamespace AND attacl IS NOT NULL
	UNION ALL
		SELECT 'function ' || proname || '(' || oidvectortypes(proargtypes) || ')', proowner, coalesce(proacl, acldefault('f', proowner))
		FROM pg_proc WHERE pronamespace = 'ledger'::regnamespace
	)
	SELECT format('%s: %s %s', object, CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE g.grantee::regrole::text END, g.privilege_type)
		|| CASE WHEN g.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END
	FROM acls, aclexplode(acl) g
	WHERE g.grantee <> owner AND NOT (g.grantee = 'ledger_eraser'::regrole AND (object LIKE 'table %' OR object LIKE 'column %'))`

// What others than the owner may do in the schema is just this, so that no grant, view or function creeps in.
func TestRightsInSchemaLedger(t *testing.T) {
	t.Parallel()
	conn := connect(t, ledgertest.Empty(t).AdminURL)
	want := []string{
		"schema: ledger_svc USAGE", "schema: ledger_eraser USAGE",
		"column head.size: ledger_svc UPDATE", "column head.root: ledger_svc UPDATE",
		"column head.recorded_at: ledger_svc UPDATE", "column head.checkpoint: ledger_svc UPDATE",
		"function seq_at(timestamp with time zone): ledger_svc EXECUTE",
		"function expect_head(integer, bigint, bytea): ledger_svc EXECUTE",
		"function erase(bigint): ledger_svc EXECUTE",
		"function erasable_kinds(): ledger_eraser EXECUTE",
	}
	for _, table := range ledgerTables(t, conn) {
		want = append(want, "table "+table+": ledger_svc SELECT")
		if table != "erased" { // only erase() writes it
			want = append(want, "table "+table+": ledger_svc INSERT")
		}
	}
	same(t, "rights", texts(t, conn, grants), want)
}

// The schema has tables with indexes and plain functions, all of them the owner's. Only erase runs with another's rights: the eraser's.
func TestObjectsInSchemaLedger(t *testing.T) {
	t.Parallel()
	conn := connect(t, ledgertest.Empty(t).AdminURL)
	same(t, "relations that are no tables", texts(t, conn, `
		SELECT relkind::text || ' ' || relname FROM pg_class WHERE relnamespace = 'ledger'::regnamespace AND relkind NOT IN ('r', 'i')`), nil)
	same(t, "objects that are not the owner's, or lend their owner's rights", texts(t, conn, `
		SELECT format('%s, %s, %s', relname, relowner::regrole, '-') FROM pg_class
		WHERE relnamespace = 'ledger'::regnamespace AND relowner <> 'ledger_owner'::regrole
		UNION ALL SELECT format('%s, %s, %s', oid::regprocedure, proowner::regrole, prosecdef) FROM pg_proc
		WHERE pronamespace = 'ledger'::regnamespace AND (proowner <> 'ledger_owner'::regrole OR prosecdef)`),
		[]string{"ledger.erase(bigint), ledger_eraser, t"})
	same(t, "functions whose names are looked up wherever the caller says", texts(t, conn, `
		SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'ledger'::regnamespace
		AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (proconfig), false)`), nil)
}

// What the owner will make gives nothing to anybody, functions included, which Postgres would let everybody execute.
func TestDefaultRights(t *testing.T) {
	t.Parallel()
	conn := connect(t, ledgertest.Empty(t).AdminURL)
	same(t, "default rights", texts(t, conn, `
		SELECT format('%s in %s, %s: %s', defaclrole::regrole, defaclnamespace, defaclobjtype, defaclacl) FROM pg_default_acl`),
		[]string{"ledger_owner in 0, f: {ledger_owner=X/ledger_owner}"})
}

func texts(t *testing.T, conn *pgx.Conn, sql string) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// same compares lists in any order and names what is too much and what is missing.
func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	for _, g := range got {
		if !slices.Contains(want, g) {
			t.Errorf("%s: too much: %s", what, g)
		}
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%s: missing: %s", what, w)
		}
	}
}

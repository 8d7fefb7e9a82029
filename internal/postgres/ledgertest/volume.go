package ledgertest

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Volume is how much FillVolume makes up. Every report reaches Rows providers.
type Volume struct {
	Reports, Rows, Providers, Customers, Consents int
	From                                          time.Time     // as_of and recorded_at of the first report
	Over                                          time.Duration // in which the reports are spread
}

// Lines is the number of usage lines.
func (v Volume) Lines() int { return v.Reports * v.Rows }

// FillVolume writes consents, declarations and usage of the tenant straight into the tables, as a superuser: many of them,
// fast, in the order of time that a service would have recorded. What they commit to is made up, so nothing can be proven of
// them; it serves questions and their plans. The ledger must be empty, and can't be appended to afterwards.
func (l *Ledger) FillVolume(tb testing.TB, v Volume) {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), l.AdminURL)
	if err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
	defer conn.Close(tb.Context())
	first := v.Consents + v.Providers
	exec := func(sql string, args ...any) {
		tb.Helper()
		if _, err := conn.Exec(tb.Context(), sql, args...); err != nil {
			tb.Fatalf("ledgertest: %v", err)
		}
	}
	exec(`
		INSERT INTO ledger.entries (seq, recorded_at, tenant, kind, key, token_id, meta, meta_salt, envelope, leaf_hash)
		SELECT n, CASE WHEN n < $2 THEN $4::timestamptz ELSE $4::timestamptz + ($5::interval * ((n - $2)::float8 / $1)) END, $6,
		       CASE WHEN n < $3 THEN 'consent-receipt' WHEN n < $2 THEN 'provider-declaration' ELSE 'usage-report' END,
		       'key-' || n, 'tok', decode(repeat('00', 100), 'hex'), decode(repeat('00', 16), 'hex'), decode(repeat('00', 220), 'hex'), sha256(n::text::bytea)
		FROM generate_series(0::bigint, $1::bigint + $2 - 1) n`, v.Reports, first, v.Consents, v.From, v.Over, Tenant)
	exec(`
		INSERT INTO ledger.consents (seq, tenant, provider_id, scope, provider_name, provider_version, grantor_kind, grantor_id, granted_at_text, granted_at, expires_at_text, expires_at)
		SELECT n, $3, 'provider-' || n % $2, (ARRAY['third-party-model', 'org-tenant', 'third-party-index', 'x:eu', 'x:us'])[1 + (n / $2) % 5], 'Provider', '1', 'human', 'person-' || n % 97,
		       '2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z', NULL, NULL
		FROM generate_series(0::bigint, $1::bigint - 1) n`, v.Consents, v.Providers, Tenant)
	exec(`
		INSERT INTO ledger.provider_declarations (seq, tenant, provider_id, provider_name, provider_version, declared_at_text, declared_at, reads, writes, egress, egress_scopes)
		SELECT $1::bigint + n, $3, 'provider-' || n, 'Provider', '1', '2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z', true, false, true, ARRAY['third-party-model', 'org-tenant']
		FROM generate_series(0::bigint, $2::bigint - 1) n`, v.Consents, v.Providers, Tenant)
	exec(`
		INSERT INTO ledger.usage_lines (seq, tenant, line, request_id, turn_id, customer_id, provider_id, as_of, frames_served, frames_rejected, tokens,
		                                frame_ids, frame_digests, frame_tokens)
		SELECT $2::bigint + n, $8, row, 'req-' || n, 'turn-' || n, 'customer-' || n % $4, 'provider-' || (n * 7 + row * 31) % $5, $6::timestamptz + ($7::interval * (n::float8 / $1)), 3, 0, 60,
		       ARRAY['page/' || n % 500, 'page/' || n % 501, 'page/' || n % 502], ARRAY['sha256:' || md5((n % 500)::text), 'sha256:' || md5((n % 501)::text), NULL], ARRAY[10, 20, 30]
		FROM generate_series(0::bigint, $1::bigint - 1) n, generate_series(0, $3::int - 1) row`,
		v.Reports, first, v.Rows, v.Customers, v.Providers, v.From, v.Over, Tenant)
	exec(`UPDATE ledger.head SET size = $1, root = sha256('made up'), recorded_at = greatest(recorded_at, $2)`, v.Reports+first, v.From.Add(v.Over))
	exec(`ANALYZE ledger.entries, ledger.usage_lines, ledger.consents, ledger.provider_declarations`)
}

// FillUsage writes usage lines straight into the tables of a database, as a superuser: one of each entry, with frames of distinct
// digests. As after FillVolume nothing can be proven or appended.
func FillUsage(tb testing.TB, adminURL string, entries, frames int) {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), adminURL)
	if err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
	defer conn.Close(tb.Context())
	for _, step := range []struct {
		sql  string
		args []any
	}{
		{`INSERT INTO ledger.usage_lines (seq, tenant, line, request_id, turn_id, customer_id, provider_id, as_of, frames_served, frames_rejected, tokens,
		                                  frame_ids, frame_digests, frame_tokens)
		  SELECT n, $3, 0, 'req-' || n, 'turn-' || n / 4, 'customer-' || n % 100, 'provider-' || n % 7, now() - n * interval '1 second', $2, 0, 10 * $2::int,
		         array_agg('page/' || n % 500 || '/' || f), array_agg('sha256:' || encode(sha256((n || '/' || f)::bytea), 'hex')), array_agg(10)
		  FROM generate_series(0, $1::int - 1) n, generate_series(1, $2::int) f GROUP BY n`, []any{entries, frames, Tenant}},
		{`UPDATE ledger.head SET size = $1, root = sha256('made up')`, []any{entries}},
		{`ANALYZE ledger.usage_lines`, nil},
	} {
		if _, err := conn.Exec(tb.Context(), step.sql, step.args...); err != nil {
			tb.Fatalf("ledgertest: %v", err)
		}
	}
}

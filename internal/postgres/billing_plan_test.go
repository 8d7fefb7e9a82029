package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
)

// What planning costs grows with what is unclaimed: nothing goes through all usage, all claims or all intents.
func TestBillingScansNoTable(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	from := time.Now().UTC().Truncate(time.Hour).AddDate(0, 0, -25)
	v := ledgertest.Volume{Reports: 10_000, Rows: 4, Providers: 200, Customers: 50, Consents: 10, From: from, Over: 24 * 24 * time.Hour}
	l.FillVolume(t, v)
	conn := connect(t, l.AdminURL)
	for _, sql := range []string{
		`INSERT INTO ledger.billing_intents (seq, tenant, identifier, config_revision, meter_id, event_name, customer_key, stripe_customer, value_key, value, event_at, window_start, window_end,
			period_start, period_end, claims)
		 SELECT n, 'acme', 'led1_' || n, 1, 'mtr_1', 'e', 'c', 'cus_' || n % 50, 'v', 60, now() - n * interval '1 minute', $1::timestamptz, $1 + interval '1 hour', $1, $1 + interval '30 days', 1 FROM generate_series(1, 20000) n`,
		`INSERT INTO ledger.billing_outcomes (seq, tenant, intent_seq, number, state, cause) SELECT 100000 + n, 'acme', n, 1, 'confirmed', 'delivered' FROM generate_series(1, 20000) n`,
		`INSERT INTO ledger.billing_claims (seq, tenant, usage_seq, provider_id, tokens)
		 SELECT DISTINCT ON (seq, provider_id) seq % 20000, tenant, seq, provider_id, tokens FROM ledger.usage_lines WHERE seq < 9500`,
		`INSERT INTO work.billing_waiting (tenant, seq, provider_id, customer_id, as_of, tokens)
		 SELECT DISTINCT ON (seq, provider_id) tenant, seq, provider_id, customer_id, as_of, tokens FROM ledger.usage_lines WHERE seq >= 9500`,
		`ANALYZE ledger.billing_intents, ledger.billing_outcomes, ledger.billing_claims, work.billing_waiting`,
	} {
		var args []any
		if strings.Contains(sql, "$1") {
			args = []any{from}
		}
		if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	seqs := []int64{9001, 9002, 9003}
	sql := postgres.BillingSQL
	for name, ask := range map[string]struct {
		sql  string
		args []any
	}{
		"a customer's unclaimed usage": {sql.DueUsage, []any{ledgertest.Tenant, "customer-7", from, int64(-1), "", time.Now(), 100}},
		"what comes into the feed":     {sql.FedUsage, []any{ledgertest.Tenant, seqs, from, nil}},
		"what a period holds":          {sql.HeldIn, []any{ledgertest.Tenant, "cus_7", "mtr_1", time.Now().Add(-time.Hour), time.Now()}},
		"the entries that are fed":     {sql.FedEntries, []any{ledgertest.Tenant, []string{kinds.UsageReport.Name, kinds.Correction.Name}, int64(9990), int64(10_210), 100}},
	} {
		rows, err := conn.Query(t.Context(), "EXPLAIN "+ask.sql, append([]any{pgx.QueryExecModeExec}, ask.args...)...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		plan := strings.Join(lines, "\n")
		for _, table := range []string{"entries", "usage_lines", "billing_claims", "billing_intents", "billing_outcomes"} {
			if strings.Contains(plan, "Seq Scan on "+table) {
				t.Errorf("%s scans %s:\n%s", name, table, plan)
			}
		}
	}
}

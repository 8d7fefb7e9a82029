package postgres_test

import (
	"strconv"
	"testing"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
	"ledgerd/metering/billing"
)

// BenchmarkPlanning plans all customers' unclaimed lines, 10,000 of a million, without recording anything. catch-up is the first look at
// such a log, which goes through all of it once.
func BenchmarkPlanning(b *testing.B) {
	l := ledgertest.New(b)
	from := time.Now().UTC().Truncate(time.Hour).AddDate(0, 0, -25)
	v := ledgertest.Volume{Reports: 250_000, Rows: 4, Providers: 200, Customers: 50, Consents: 10, From: from, Over: 24 * 24 * time.Hour}
	l.FillVolume(b, v)
	customers := make([]string, v.Customers)
	for i := range customers {
		customers[i] = "customer-" + strconv.Itoa(i)
	}
	config := ledgertest.BillingConfig(b, nil, customers...)
	meta := ledger.Meta{Actor: ledger.Actor{Role: "admin", TokenID: "tok"}, Key: "1", Kind: kinds.BillingConfigKind.Name, Tenant: ledgertest.Tenant}.Encode()
	conn := connect(b, l.AdminURL)
	for sql, args := range map[string][]any{
		`INSERT INTO ledger.entries (seq, recorded_at, tenant, kind, key, token_id, meta, meta_salt, envelope, leaf_hash)
		 VALUES (-1, now(), $1, $2, '1', 'tok', $3, decode(repeat('00', 16), 'hex'), '', decode(repeat('00', 32), 'hex'))`: {ledgertest.Tenant, kinds.BillingConfigKind.Name, meta},
		`INSERT INTO ledger.contents (seq, content) VALUES (-1, $1)`: {config.Content.Encode()},
		`INSERT INTO ledger.billing_claims (seq, tenant, usage_seq, provider_id, tokens)
		 SELECT DISTINCT ON (seq, provider_id) 0, tenant, seq, provider_id, tokens FROM ledger.usage_lines WHERE seq < $1`: {v.Consents + v.Providers + v.Reports - 2_500},
		`ANALYZE ledger.billing_claims`: nil,
	} {
		if _, err := conn.Exec(b.Context(), sql, args...); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("catch-up", func(b *testing.B) {
		for b.Loop() {
			if _, err := conn.Exec(b.Context(), `TRUNCATE work.billing_feeds, work.billing_waiting`); err != nil {
				b.Fatal(err)
			}
			if n := planned(b, l.Store); n == 0 {
				b.Fatal("nothing is due")
			}
		}
	})
	b.Run("steady", func(b *testing.B) {
		lines := 0
		for b.Loop() {
			lines = planned(b, l.Store)
		}
		b.ReportMetric(float64(lines), "lines")
	})
}

// planned makes a plan for each customer and returns how many lines it is made of.
func planned(b *testing.B, s *postgres.Store) (lines int) {
	b.Helper()
	terms, err := s.BillingTerms(b.Context(), ledgertest.Tenant)
	if err != nil {
		b.Fatal(err)
	}
	c, now := terms.Config, time.Now()
	due, err := s.DueCustomers(b.Context(), ledgertest.Tenant, c.Start, now)
	if err != nil {
		b.Fatal(err)
	}
	for _, id := range due {
		m, _ := c.Mapped(id)
		list, err := s.DueUsage(b.Context(), ledgertest.Tenant, id, c.Start, now, nil, 20_000)
		if err != nil {
			b.Fatal(err)
		}
		held, err := s.HeldIn(b.Context(), billing.Lane{Tenant: ledgertest.Tenant, MeterID: c.MeterID, Customer: m.Customer}, c.OpenPeriods(m, now))
		if err != nil {
			b.Fatal(err)
		}
		billing.Make(billing.Ask{Origin: terms.Origin, Revision: terms.Revision, Config: c, Mapping: m, Lines: list, Held: held, Now: now})
		lines += len(list)
	}
	return lines
}

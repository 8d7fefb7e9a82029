package postgres

import (
	"context"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/metering/billing"
)

// NoteStanding keeps what a reconciliation found of a lane's billing period, in place of what an earlier one did.
func (s *Store) NoteStanding(ctx context.Context, l billing.Lane, v billing.Standing) error {
	b := v.Balance
	_, err := s.pool.Exec(ctx, `
		INSERT INTO work.billing_standings AS w (tenant, stripe_customer, meter_id, period_start, period_end, customer_id, confirmed, adding, taking_back, planned, parked,
			intents, last_confirmed, total, agreement, detail, checked_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
		ON CONFLICT (tenant, stripe_customer, meter_id, period_start) DO UPDATE SET period_end = excluded.period_end, customer_id = excluded.customer_id,
			confirmed = excluded.confirmed, adding = excluded.adding, taking_back = excluded.taking_back, planned = excluded.planned, parked = excluded.parked,
			intents = excluded.intents, last_confirmed = excluded.last_confirmed, total = excluded.total, agreement = excluded.agreement, detail = excluded.detail,
			checked_at = excluded.checked_at WHERE w.checked_at <= excluded.checked_at`,
		l.Tenant, l.Customer, l.MeterID, v.Period.Start, v.Period.End, v.CustomerID, b.Confirmed, b.Adding, b.TakingBack, b.Planned, b.Parked,
		b.Intents, orNull(b.LastConfirmed), v.Total, string(v.Agreement), v.Detail, v.CheckedAt)
	return unavailable(err)
}

// Standings are what the last reconciliations of a tenant found, of periods that end after an instant, by customer and period.
func (s *Store) Standings(ctx context.Context, tenant string, after time.Time) ([]billing.Standing, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT customer_id, stripe_customer, meter_id, period_start, period_end, confirmed, adding, taking_back, planned, parked, intents, last_confirmed, total,
		       agreement, detail, checked_at
		FROM work.billing_standings WHERE tenant = $1 AND period_end > $2 ORDER BY customer_id, stripe_customer, meter_id, period_start`, tenant, after)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (billing.Standing, error) {
		var v billing.Standing
		var last *time.Time
		b := &v.Balance
		err := row.Scan(&v.CustomerID, &v.StripeCustomer, &v.MeterID, &v.Period.Start, &v.Period.End, &b.Confirmed, &b.Adding, &b.TakingBack, &b.Planned, &b.Parked,
			&b.Intents, &last, &v.Total, &v.Agreement, &v.Detail, &v.CheckedAt)
		if last != nil {
			b.LastConfirmed = last.UTC()
		}
		v.Period.Start, v.Period.End, v.CheckedAt = v.Period.Start.UTC(), v.Period.End.UTC(), v.CheckedAt.UTC()
		return v, err
	})
	return list, unavailable(err)
}

// BillingGauges tells how billing stands over all tenants. Ages are by the database's clock.
func (s *Store) BillingGauges(ctx context.Context) (billing.Gauges, error) {
	var g billing.Gauges
	var seconds float64
	err := s.pool.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE w.state = 'planned'), count(*) FILTER (WHERE w.state = 'planned' AND w.attempts > 0),
		       count(*) FILTER (WHERE w.state = 'parked'), count(*) FILTER (WHERE w.state = 'stopped'),
		       coalesce((SELECT greatest(extract(epoch FROM clock_timestamp() - e.recorded_at), 0)::float8
		                 FROM ledger.entries e WHERE e.seq = min(w.intent) FILTER (WHERE w.state = 'planned')), 0)
		FROM work.billing_open w`).Scan(&g.Pending, &g.Ambiguous, &g.Parked, &g.Stopped, &seconds)
	if err != nil {
		return g, unavailable(err)
	}
	g.OldestPending = time.Duration(seconds * float64(time.Second))
	if err := s.pool.QueryRow(ctx, `
		SELECT coalesce(sum(abs(total - confirmed)), 0)::bigint, count(*) FROM work.billing_standings
		WHERE agreement IN ('higher', 'lower') AND period_end > clock_timestamp() - interval '35 days'`).
		Scan(&g.DriftTokens, &g.Disagreements); err != nil {
		return g, unavailable(err)
	}
	g.UnmappedTokens, err = s.unmappedTokens(ctx)
	return g, err
}

// unmappedTokens sums up over all tenants what waits for a mapping.
func (s *Store) unmappedTokens(ctx context.Context) (int64, error) {
	tenants, err := s.BillingTenants(ctx)
	if err != nil {
		return 0, err
	}
	sum := new(big.Int)
	for _, tenant := range tenants {
		c, err := s.BillingConfig(ctx, tenant)
		if err != nil || c == nil {
			return 0, err
		}
		_, tokens, err := s.Unmapped(ctx, tenant, c, "", 1)
		if err != nil {
			return 0, err
		}
		sum.Add(sum, tokens)
	}
	if !sum.IsInt64() {
		return int64(^uint64(0) >> 1), nil // a gauge; nothing is computed from it
	}
	return sum.Int64(), nil
}

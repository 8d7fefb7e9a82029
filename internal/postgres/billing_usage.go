package postgres

import (
	"context"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/metering/billing"
)

// DueCustomers lists the customers that have usage in [from, to) which nothing claims, mapped or not. It first catches up with
// the log.
func (s *Store) DueCustomers(ctx context.Context, tenant string, from, to time.Time) ([]string, error) {
	if err := s.catchUp(ctx, tenant); err != nil {
		return nil, err
	}
	// From customer to customer by the index, whatever number of lines each has.
	rows, err := s.pool.Query(ctx, `
		WITH RECURSIVE c AS (
			(SELECT customer_id FROM work.billing_waiting WHERE tenant = $1 ORDER BY customer_id LIMIT 1)
			UNION ALL
			SELECT (SELECT w.customer_id FROM work.billing_waiting w WHERE w.tenant = $1 AND w.customer_id > c.customer_id ORDER BY w.customer_id LIMIT 1)
			FROM c WHERE c.customer_id IS NOT NULL)
		SELECT c.customer_id FROM c
		WHERE EXISTS (SELECT 1 FROM work.billing_waiting w WHERE w.tenant = $1 AND w.customer_id = c.customer_id AND w.as_of >= $2 AND w.as_of < $3)
		ORDER BY 1`, tenant, from, to)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return list, unavailable(err)
}

// catchUp feeds a tenant that has a configuration.
func (s *Store) catchUp(ctx context.Context, tenant string) error {
	c, err := s.BillingConfig(ctx, tenant)
	if err != nil || c == nil {
		return err
	}
	return s.feed(ctx, tenant, c)
}

// unclaimed is what waits and has no claim, aliased w: a line that was claimed a moment ago may still be in the table. As in the feed,
// no join over all claims.
const unclaimed = ` FROM work.billing_waiting w WHERE (
	SELECT c.seq FROM ledger.billing_claims c WHERE c.tenant = w.tenant AND c.usage_seq = w.seq AND c.provider_id = w.provider_id) IS NULL AND w.tenant = $1 `

const dueUsageSQL = `SELECT w.seq, w.provider_id, w.as_of, w.tokens` + unclaimed + `
	AND w.customer_id = $2 AND (w.as_of, w.seq, w.provider_id) > ($3::timestamptz, $4::bigint, $5::text) AND w.as_of >= $3 AND w.as_of < $6
	ORDER BY w.as_of, w.seq, w.provider_id LIMIT $7`

// DueUsage reads a page of the lines of a customer in [from, to) which nothing claims, in the order of as_of, seq and provider,
// after a line, or from the first with nil.
func (s *Store) DueUsage(ctx context.Context, tenant, customerID string, from, to time.Time, after *billing.Line, limit int) ([]billing.Line, error) {
	if after == nil {
		after = &billing.Line{AsOf: from, Seq: -1}
	}
	rows, err := s.pool.Query(ctx, dueUsageSQL, tenant, customerID, after.AsOf, after.Seq, after.ProviderID, to, limit)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, scanBillingLine)
	return list, unavailable(err)
}

func scanBillingLine(row pgx.CollectableRow) (billing.Line, error) {
	var l billing.Line
	err := row.Scan(&l.Seq, &l.ProviderID, &l.AsOf, &l.Tokens)
	l.AsOf = l.AsOf.UTC()
	return l, err
}

const heldInSQL = `
	SELECT coalesce(sum(i.value), 0)::bigint FROM ledger.billing_intents i ` + latestOutcome + `
	WHERE i.tenant = $1 AND i.stripe_customer = $2 AND i.meter_id = $3 AND i.event_at >= $4 AND i.event_at < $5
	  AND (o.state = 'confirmed' OR i.value < 0 AND coalesce(o.state, 'planned') IN ('planned', 'stopped'))`

// HeldIn tells what periods hold of a customer's meter, as the planner wants it: what is confirmed, and all that is or may yet be
// taken back.
func (s *Store) HeldIn(ctx context.Context, l billing.Lane, periods []billing.Period) ([]billing.Held, error) {
	list := make([]billing.Held, 0, len(periods))
	for _, p := range periods {
		h := billing.Held{Period: p}
		err := s.pool.QueryRow(ctx, heldInSQL,
			l.Tenant, l.Customer, l.MeterID, p.Start, p.End).Scan(&h.Tokens)
		if err != nil {
			return nil, unavailable(err)
		}
		list = append(list, h)
	}
	return list, nil
}

// Moment sums up the intents of a customer's meter whose timestamps lie in a stretch of time, by what is known of them.
func (s *Store) Moment(ctx context.Context, l billing.Lane, p billing.Period) (billing.Balance, error) {
	var b billing.Balance
	var last *time.Time
	err := s.pool.QueryRow(ctx, `
		SELECT coalesce(sum(v) FILTER (WHERE state = 'confirmed'), 0)::bigint, coalesce(sum(v) FILTER (WHERE state = 'planned' AND tried AND v > 0), 0)::bigint,
		       coalesce(sum(v) FILTER (WHERE state = 'planned' AND tried AND v < 0), 0)::bigint, coalesce(sum(v) FILTER (WHERE state = 'planned' AND NOT tried), 0)::bigint,
		       coalesce(sum(v) FILTER (WHERE state IN ('parked', 'stopped')), 0)::bigint, count(*) FILTER (WHERE state <> 'replaced'),
		       max(confirmed_at)
		FROM (SELECT i.value AS v, coalesce(o.state, 'planned') AS state, coalesce(w.attempts, 0) > 0 AS tried,
		             CASE WHEN o.state = 'confirmed' THEN (SELECT e.recorded_at FROM ledger.entries e WHERE e.seq = o.seq) END AS confirmed_at
		      FROM ledger.billing_intents i `+latestOutcome+` LEFT JOIN work.billing_open w ON w.tenant = i.tenant AND w.intent = i.seq
		      WHERE i.tenant = $1 AND i.stripe_customer = $2 AND i.meter_id = $3 AND i.event_at >= $4 AND i.event_at < $5) x`,
		l.Tenant, l.Customer, l.MeterID, p.Start, p.End).Scan(&b.Confirmed, &b.Adding, &b.TakingBack, &b.Planned, &b.Parked, &b.Intents, &last)
	if last != nil {
		b.LastConfirmed = last.UTC()
	}
	return b, unavailable(err)
}

// ConfirmedLately is the earliest timestamp in a stretch of time of an event that was confirmed after an instant, zero for none, and the
// sum of those that take back, 0 or less.
func (s *Store) ConfirmedLately(ctx context.Context, l billing.Lane, p billing.Period, after time.Time) (from time.Time, takenBack int64, err error) {
	var at *time.Time
	err = s.pool.QueryRow(ctx, `
		SELECT min(i.event_at), coalesce(sum(least(i.value, 0)), 0)::bigint FROM ledger.billing_intents i `+latestOutcome+`
		WHERE i.tenant = $1 AND i.stripe_customer = $2 AND i.meter_id = $3 AND i.event_at >= $4 AND i.event_at < $5 AND o.state = 'confirmed'
		  AND (SELECT e.recorded_at FROM ledger.entries e WHERE e.seq = o.seq) > $6`, l.Tenant, l.Customer, l.MeterID, p.Start, p.End, after).Scan(&at, &takenBack)
	if at != nil {
		from = at.UTC()
	}
	return from, takenBack, unavailable(err)
}

// Unmapped lists customers with usage that waits for a mapping, by customer, at most limit after the given one; and the
// tokens of all of them. It first catches up with the log.
func (s *Store) Unmapped(ctx context.Context, tenant string, c *kinds.BillingConfig, after string, limit int) (list []billing.UnmappedUsage, tokens *big.Int, err error) {
	if err := s.feed(ctx, tenant, c); err != nil {
		return nil, nil, err
	}
	mapped := mappedIDs(c)
	var sum string
	if err := s.pool.QueryRow(ctx, `SELECT coalesce(sum(w.tokens), 0)::text`+unclaimed+` AND NOT w.customer_id = ANY ($2)`, tenant, mapped).Scan(&sum); err != nil {
		return nil, nil, unavailable(err)
	}
	rows, err := s.pool.Query(ctx, `SELECT w.customer_id, count(*), sum(w.tokens)::text, min(w.as_of)`+unclaimed+`
		AND NOT w.customer_id = ANY ($2) AND w.customer_id > $3 GROUP BY 1 ORDER BY 1 LIMIT $4`, tenant, mapped, after, limit)
	if err != nil {
		return nil, nil, unavailable(err)
	}
	list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (billing.UnmappedUsage, error) {
		var u billing.UnmappedUsage
		var sum string
		err := row.Scan(&u.CustomerID, &u.Lines, &sum, &u.Oldest)
		u.Tokens, u.Oldest = decimal(sum), u.Oldest.UTC()
		return u, err
	})
	return list, decimal(sum), unavailable(err)
}

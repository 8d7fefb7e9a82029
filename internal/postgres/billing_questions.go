package postgres

import (
	"context"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/metering/billing"
)

// UnclaimedUsage reads what is not billed yet of a customer, in [from, to) of as_of, mapped or not. It first catches up with the log.
// kinds.ErrTooMuch beyond limit lines.
func (s *Store) UnclaimedUsage(ctx context.Context, tenant, customerID string, from, to time.Time, limit int) ([]billing.Line, error) {
	if err := s.catchUp(ctx, tenant); err != nil {
		return nil, err
	}
	list, err := s.DueUsage(ctx, tenant, customerID, from, to, nil, limit+1)
	if err == nil && len(list) > limit {
		return nil, kinds.ErrTooMuch
	}
	return list, err
}

// UsageBefore sums up a customer's usage before an instant: what was used before billing began, which is never billed.
func (s *Store) UsageBefore(ctx context.Context, tenant, customerID string, start time.Time) (lines int64, tokens *big.Int, err error) {
	var sum string
	err = s.pool.QueryRow(ctx, `SELECT count(*), coalesce(sum(tokens), 0)::text FROM ledger.usage_lines WHERE tenant = $1 AND customer_id = $2 AND as_of < $3 AND tokens <> 0`,
		tenant, customerID, start).Scan(&lines, &sum)
	return lines, decimal(sum), unavailable(err)
}

// UsageNotCounted sums up a customer's usage of other providers than the given ones, in [from, to) of as_of, that nothing claims.
func (s *Store) UsageNotCounted(ctx context.Context, tenant, customerID string, providers []string, from, to time.Time) (lines int64, tokens *big.Int, err error) {
	var sum string
	err = s.pool.QueryRow(ctx, `
		SELECT count(*), coalesce(sum(u.tokens), 0)::text FROM ledger.usage_lines u
		WHERE u.tenant = $1 AND u.customer_id = $2 AND u.as_of >= $3 AND u.as_of < $4 AND u.tokens <> 0 AND NOT u.provider_id = ANY ($5)
		  AND (SELECT c.seq FROM ledger.billing_claims c WHERE c.tenant = $1 AND c.usage_seq = u.seq AND c.provider_id = u.provider_id) IS NULL`,
		tenant, customerID, from, to, providers).Scan(&lines, &sum)
	return lines, decimal(sum), unavailable(err)
}

// ErasedUsage sums up what was erased before anybody could bill it: lines from an instant on that no customer is known of and
// nothing claims.
func (s *Store) ErasedUsage(ctx context.Context, tenant string, start time.Time) (lines int64, tokens *big.Int, err error) {
	var sum string
	err = s.pool.QueryRow(ctx, `
		SELECT count(*), coalesce(sum(u.tokens), 0)::text FROM (
			SELECT seq, provider_id, tokens FROM ledger.usage_lines WHERE tenant = $1 AND as_of >= $2 AND frame_ids IS NULL AND frames_served > 0 AND corrects IS NULL
			UNION ALL
			SELECT seq, provider_id, tokens FROM ledger.usage_lines WHERE tenant = $1 AND as_of >= $2 AND customer_id IS NULL AND corrects IS NOT NULL) u
		WHERE u.tokens <> 0
		  AND (SELECT c.seq FROM ledger.billing_claims c WHERE c.tenant = $1 AND c.usage_seq = u.seq AND c.provider_id = u.provider_id) IS NULL
		  AND (SELECT w.seq FROM work.billing_waiting w WHERE w.tenant = $1 AND w.seq = u.seq AND w.provider_id = u.provider_id) IS NULL`,
		tenant, start).Scan(&lines, &sum)
	return lines, decimal(sum), unavailable(err)
}

// BilledWindows reads the intents of some processor's customers by window: of the first windows from an instant on and before another,
// at most limit of them; next is the start of the one after, nil at the end.
func (s *Store) BilledWindows(ctx context.Context, tenant string, customers []string, from, to time.Time, limit int) (list []billing.Pending, next *time.Time, err error) {
	rows, err := s.pool.Query(ctx, `
		SELECT DISTINCT i.window_start FROM ledger.billing_intents i
		WHERE i.tenant = $1 AND i.stripe_customer = ANY ($2) AND i.window_start >= $3 AND i.window_start < $4 ORDER BY 1 LIMIT $5`, tenant, customers, from, to, limit+1)
	if err != nil {
		return nil, nil, unavailable(err)
	}
	starts, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
	if err != nil || len(starts) == 0 {
		return nil, nil, unavailable(err)
	}
	if len(starts) > limit {
		after := starts[limit].UTC()
		next, starts = &after, starts[:limit]
	}
	list, err = s.readIntents(ctx, `WHERE i.tenant = $1 AND i.stripe_customer = ANY ($2) AND i.window_start >= $3 AND i.window_start <= $4 ORDER BY i.window_start, i.seq`,
		tenant, customers, starts[0], starts[len(starts)-1])
	return list, next, err
}

// TakenBack reads the lines of corrections that took tokens back of a customer, by as_of in [from, to), each with the intent that
// tells of it. kinds.ErrTooMuch beyond limit.
func (s *Store) TakenBack(ctx context.Context, tenant, customerID string, from, to time.Time, limit int) ([]billing.TakenBack, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT p.seq, p.provider_id, p.as_of, p.tokens, p.corrects, i.seq, i.window_start, i.window_end, i.period_start, i.period_end
		FROM ledger.usage_lines p
		LEFT JOIN ledger.billing_claims c ON c.tenant = p.tenant AND c.usage_seq = p.seq AND c.provider_id = p.provider_id LEFT JOIN ledger.billing_intents i ON i.seq = c.seq
		WHERE p.tenant = $1 AND p.customer_id = $2 AND p.corrects IS NOT NULL AND p.tokens < 0 AND p.as_of >= $3 AND p.as_of < $4
		ORDER BY p.as_of, p.seq, p.provider_id LIMIT $5`, tenant, customerID, from, to, limit+1)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, scanTakenBack)
	if err == nil && len(list) > limit {
		return nil, kinds.ErrTooMuch
	}
	return list, unavailable(err)
}

func scanTakenBack(row pgx.CollectableRow) (billing.TakenBack, error) {
	var t billing.TakenBack
	var seq *int64
	var times [4]*time.Time
	err := row.Scan(&t.Seq, &t.ProviderID, &t.AsOf, &t.Tokens, &t.Corrects, &seq, &times[0], &times[1], &times[2], &times[3])
	t.AsOf = t.AsOf.UTC()
	if seq != nil && err == nil {
		t.IntentAt = *seq
		t.Intent = &billing.Intent{Window: billing.Period{Start: times[0].UTC(), End: times[1].UTC()}, Period: billing.Period{Start: times[2].UTC(), End: times[3].UTC()}}
	}
	return t, err
}

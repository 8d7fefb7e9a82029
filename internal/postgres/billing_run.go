package postgres

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
	"ledgerd/metering/billing"
)

// recordTogether bounds the intents that wait in the append queue at once: each may have close to a megabyte.
const recordTogether = 100

// RecordIntents appends intents in their order, each on its own, and returns how many are recorded. billing.ErrClaimed: another
// intent claims a line of one of them; the others are recorded nevertheless. Recording the same again is no error.
func (b *Books) RecordIntents(ctx context.Context, tenant string, intents []billing.Intent) (recorded int, err error) {
	for part := range slices.Chunk(intents, recordTogether) {
		list := make([]*kinds.Accepted, len(part))
		for n, i := range part {
			if list[n], err = kinds.NewBillingIntent(i); err != nil {
				return recorded, err
			}
		}
		var seqs []int64
		var claimed error
		for _, o := range b.appender.Submit(ctx, biller(tenant), list)() {
			switch {
			case o.Err == nil:
				seqs = append(seqs, o.Recorded.Seq)
			case errors.Is(o.Err, billing.ErrClaimed):
				claimed = o.Err
			default:
				err = o.Err
			}
		}
		recorded += len(seqs)
		if e := b.follow(ctx, tenant, seqs); err == nil {
			err = e
		}
		if err == nil {
			err = claimed
		}
		if err != nil {
			return recorded, err
		}
	}
	return recorded, nil
}

const (
	maxUnmapped  = 100
	maxStandings = 1000
)

// BillingStatus is how a tenant's billing stands. It first catches up with the log.
func (s *Store) BillingStatus(ctx context.Context, tenant string) (billing.Status, error) {
	v := billing.Status{Unmapped: []billing.UnmappedCustomer{}, Standings: []billing.Standing{}}
	c, err := s.BillingConfig(ctx, tenant)
	if err != nil || c == nil {
		return v, err
	}
	if err := s.feed(ctx, tenant, c); err != nil {
		return v, err
	}
	v.Revision = c.Revision
	var since time.Time // of periods that Stripe may still take something for, or took something lately
	err = s.pool.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE w.state = 'planned'), coalesce(sum(i.value) FILTER (WHERE w.state = 'planned'), 0)::bigint,
		       count(*) FILTER (WHERE w.state = 'planned' AND w.attempts > 0), count(*) FILTER (WHERE w.state = 'parked'), count(*) FILTER (WHERE w.state = 'stopped'),
		       (SELECT e.recorded_at FROM ledger.entries e WHERE e.seq = min(w.intent) FILTER (WHERE w.state = 'planned')), clock_timestamp() - interval '35 days'
		FROM work.billing_open w JOIN ledger.billing_intents i ON i.seq = w.intent WHERE w.tenant = $1`, tenant).
		Scan(&v.Pending, &v.PendingTokens, &v.Ambiguous, &v.Parked, &v.Stopped, &v.OldestPending, &since)
	if err != nil {
		return v, unavailable(err)
	}
	list, tokens, err := s.Unmapped(ctx, tenant, c, "", maxUnmapped)
	if err != nil {
		return v, err
	}
	v.UnmappedTokens = clampInt64(tokens)
	for _, u := range list {
		v.Unmapped = append(v.Unmapped, billing.UnmappedCustomer{CustomerID: u.CustomerID, Tokens: clampInt64(u.Tokens), Lines: u.Lines, Since: u.Oldest})
	}
	standings, err := s.Standings(ctx, tenant, since)
	if len(standings) > 0 {
		v.Standings = worstFirst(standings)
	}
	return v, err
}

// WaitingIntents lists intents that are parked or stopped, above a seq, in the order of seq, with the outcome that made them so. It
// first catches up with the log.
func (s *Store) WaitingIntents(ctx context.Context, tenant string, after int64, limit int) ([]billing.Waited, error) {
	if err := s.catchUp(ctx, tenant); err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, `
		SELECT i.seq, i.identifier, i.stripe_customer, i.meter_id, i.value, i.event_at, i.window_start, i.window_end, i.period_start, i.period_end,
		       o.state, o.cause, o.seq, e.recorded_at, c.content
		FROM work.billing_open w JOIN ledger.billing_intents i ON i.seq = w.intent `+latestOutcome+`
		JOIN ledger.entries e ON e.seq = o.seq JOIN ledger.contents c ON c.seq = o.seq
		WHERE w.tenant = $1 AND w.state IN ('parked', 'stopped') AND w.intent > $2 AND o.state IN ('parked', 'stopped') ORDER BY w.intent LIMIT $3`, tenant, after, limit)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, scanWaited)
	return list, unavailable(err)
}

func scanWaited(row pgx.CollectableRow) (billing.Waited, error) {
	var w billing.Waited
	outcome := ledger.Entry{}
	err := row.Scan(&w.Seq, &w.Identifier, &w.StripeCustomer, &w.MeterID, &w.Value, &w.Timestamp, &w.Window.Start, &w.Window.End, &w.Period.Start, &w.Period.End,
		&w.State, &w.Cause, &w.OutcomeSeq, &w.Since, &outcome.Content)
	if err != nil {
		return w, err
	}
	for _, t := range []*time.Time{&w.Timestamp, &w.Window.Start, &w.Window.End, &w.Period.Start, &w.Period.End, &w.Since} {
		*t = t.UTC()
	}
	outcome.Seq = w.OutcomeSeq
	o, err := kinds.ReadBillingOutcome(outcome)
	w.Attempts, w.Status, w.Code, w.Detail = o.Attempts, o.Status, o.Code, o.Detail
	return w, err
}

// worstFirst puts the standings that are to be looked at before the others, and keeps what one answer holds.
func worstFirst(list []billing.Standing) []billing.Standing {
	wrong := func(s billing.Standing) int {
		if s.Agreement == billing.Higher || s.Agreement == billing.Lower {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b billing.Standing) int { return cmp.Compare(wrong(a), wrong(b)) })
	return list[:min(len(list), maxStandings)]
}

// clampInt64 is a sum for people to read; nothing is computed from it.
func clampInt64(n *big.Int) int64 {
	switch {
	case n.IsInt64():
		return n.Int64()
	case n.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

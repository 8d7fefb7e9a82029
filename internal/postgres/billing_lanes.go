package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/metering/billing"
)

// HoldLane takes or prolongs the lease of a lane; false when another holder has it. The clock is the database's.
func (s *Store) HoldLane(ctx context.Context, l billing.Lane, holder string, lease time.Duration) (bool, error) {
	tag, err := s.pool.Exec(ctx, `
		INSERT INTO work.billing_lanes AS w (tenant, stripe_customer, meter_id, holder, lease_until) VALUES ($1, $2, $3, $4, clock_timestamp() + $5::interval)
		ON CONFLICT (tenant, stripe_customer, meter_id) DO UPDATE SET holder = excluded.holder, lease_until = excluded.lease_until
		WHERE w.holder = excluded.holder OR w.lease_until < clock_timestamp()`, l.Tenant, l.Customer, l.MeterID, holder, lease)
	return tag.RowsAffected() == 1, unavailable(err)
}

// ReleaseLane gives a lease back, so that the next holder need not wait for its end.
func (s *Store) ReleaseLane(ctx context.Context, l billing.Lane, holder string) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM work.billing_lanes WHERE tenant = $1 AND stripe_customer = $2 AND meter_id = $3 AND holder = $4`,
		l.Tenant, l.Customer, l.MeterID, holder)
	return unavailable(err)
}

// OpenLanes lists the lanes that have intents which are planned. It first catches up with the log.
func (s *Store) OpenLanes(ctx context.Context, tenant string) ([]billing.Lane, error) {
	if err := s.catchUp(ctx, tenant); err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, `
		SELECT DISTINCT tenant, meter_id, stripe_customer FROM work.billing_open WHERE tenant = $1 AND state = 'planned' ORDER BY 1, 2, 3`, tenant)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[billing.Lane])
	return list, unavailable(err)
}

// LaneStopped says whether an intent of the lane is stopped.
func (s *Store) LaneStopped(ctx context.Context, l billing.Lane) (stopped bool, err error) {
	err = s.pool.QueryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM work.billing_open WHERE tenant = $1 AND stripe_customer = $2 AND meter_id = $3 AND state = 'stopped')`,
		l.Tenant, l.Customer, l.MeterID).Scan(&stopped)
	return stopped, unavailable(err)
}

// pendingColumns are what a billing.Pending is scanned from: an intent i, its latest outcome o and its work w, which may be missing.
const pendingColumns = `i.seq, i.identifier, i.config_revision, i.meter_id, i.event_name, i.customer_key, i.stripe_customer, i.value_key, i.value, i.event_at,
	i.window_start, i.window_end, i.period_start, i.period_end, coalesce(i.replaces, 0), coalesce(o.state, CASE WHEN i.value = 0 THEN 'settled' ELSE 'planned' END),
	coalesce(o.cause, ''), coalesce(o.number, 0), coalesce(w.attempts, 0), w.first_try, w.last_try, w.next_try, w.absent_since`

func scanPending(row pgx.CollectableRow) (billing.Pending, error) {
	var p billing.Pending
	i, e, a := &p.Intent, &p.Intent.Event, &p.Attempts
	times := [4]*time.Time{}
	err := row.Scan(&p.Seq, &e.Identifier, &i.Revision, &i.MeterID, &e.EventName, &e.CustomerKey, &e.Customer, &e.ValueKey, &e.Value, &e.Timestamp,
		&i.Window.Start, &i.Window.End, &i.Period.Start, &i.Period.End, &i.Replaces, &p.State, &p.Cause, &p.Outcomes, &a.Count, &times[0], &times[1], &times[2], &times[3])
	for n, to := range []*time.Time{&a.First, &a.Last, &a.NextTry, &a.AbsentSince} {
		if times[n] != nil {
			*to = times[n].UTC()
		}
	}
	for _, t := range []*time.Time{&e.Timestamp, &i.Window.Start, &i.Window.End, &i.Period.Start, &i.Period.End} {
		*t = t.UTC()
	}
	return p, err
}

// LaneIntents reads planned intents of a lane in the order of seq, above a seq; without their claims.
func (s *Store) LaneIntents(ctx context.Context, l billing.Lane, after int64, limit int) ([]billing.Pending, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT `+pendingColumns+` FROM work.billing_open w JOIN ledger.billing_intents i ON i.seq = w.intent `+latestOutcome+`
		WHERE w.tenant = $1 AND w.stripe_customer = $2 AND w.meter_id = $3 AND w.state = 'planned' AND w.intent > $4 AND o.state IS NULL
		ORDER BY w.intent LIMIT $5`, l.Tenant, l.Customer, l.MeterID, after, limit)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, scanPending)
	return list, unavailable(err)
}

// StampAttempts commits that calls are about to be made for planned intents. kinds.ErrNotFound when one is planned no more; then none
// is stamped.
func (s *Store) StampAttempts(ctx context.Context, tenant string, seqs []int64, now time.Time) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE work.billing_open SET attempts = attempts + 1, first_try = coalesce(first_try, $3), last_try = $3
			WHERE tenant = $1 AND state = 'planned' AND intent = ANY (ARRAY(
				SELECT want.seq FROM unnest($2::bigint[]) AS want(seq) LEFT JOIN LATERAL (
					SELECT x.seq FROM ledger.billing_outcomes x WHERE x.tenant = $1 AND x.intent_seq = want.seq LIMIT 1) o ON true
				WHERE o.seq IS NULL))`, tenant, seqs, now)
		if err == nil && tag.RowsAffected() != int64(len(seqs)) {
			err = fmt.Errorf("stamping attempts: %w", kinds.ErrNotFound)
		}
		return err
	})
}

// UnstampAttempts takes back what was stamped for calls that were not made.
func (s *Store) UnstampAttempts(ctx context.Context, tenant string, seqs []int64) error {
	_, err := s.pool.Exec(ctx, `
		UPDATE work.billing_open SET attempts = attempts - 1, first_try = CASE WHEN attempts > 1 THEN first_try END, last_try = CASE WHEN attempts > 1 THEN last_try END
		WHERE tenant = $1 AND intent = ANY ($2) AND attempts > 0`, tenant, seqs)
	return unavailable(err)
}

// NoteAttempt keeps when to try or look again, since when an event was seen to be absent, and a word for people. A zero time
// is none.
func (s *Store) NoteAttempt(ctx context.Context, tenant string, seq int64, next, absentSince time.Time, detail string) error {
	_, err := s.pool.Exec(ctx, `UPDATE work.billing_open SET next_try = $3, absent_since = $4, detail = $5 WHERE tenant = $1 AND intent = $2`,
		tenant, seq, orNull(next), orNull(absentSince), detail)
	return unavailable(err)
}

func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

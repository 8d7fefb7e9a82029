package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/metering/billing"
)

// fromIntents reads intents with their state and attempts, without their claims; a condition on i and an order follow.
const fromIntents = ` FROM ledger.billing_intents i ` + latestOutcome + ` LEFT JOIN work.billing_open w ON w.tenant = i.tenant AND w.intent = i.seq `

// Intent reads an intent; billing.ErrNoIntent when the tenant has none with the seq.
func (s *Store) Intent(ctx context.Context, tenant string, seq int64) (billing.Pending, error) {
	list, err := s.readIntents(ctx, `WHERE i.tenant = $1 AND i.seq = $2`, tenant, seq)
	if err != nil {
		return billing.Pending{}, err
	}
	if len(list) == 0 {
		return billing.Pending{}, billing.ErrNoIntent
	}
	return list[0], nil
}

// IntentNamed reads the intent of an identifier; billing.ErrNoIntent when the tenant has none.
func (s *Store) IntentNamed(ctx context.Context, tenant, identifier string) (billing.Pending, error) {
	var seq int64
	err := s.pool.QueryRow(ctx, `SELECT seq FROM ledger.keys WHERE key_hash = $1`, keyHash(tenant, kinds.BillingIntent.Name, identifier)).Scan(&seq)
	if errors.Is(err, pgx.ErrNoRows) {
		return billing.Pending{}, billing.ErrNoIntent
	}
	if err != nil {
		return billing.Pending{}, unavailable(err)
	}
	return s.Intent(ctx, tenant, seq)
}

// ConfirmedIn reads the confirmed intents of a lane whose timestamps lie in a stretch of time, in the order of seq.
func (s *Store) ConfirmedIn(ctx context.Context, l billing.Lane, p billing.Period) ([]billing.Pending, error) {
	return s.readIntents(ctx, `WHERE i.tenant = $1 AND i.stripe_customer = $2 AND i.meter_id = $3 AND i.event_at >= $4 AND i.event_at < $5 AND o.state = 'confirmed'
		ORDER BY i.seq`, l.Tenant, l.Customer, l.MeterID, p.Start, p.End)
}

// readIntents reads intents; where is the end of a statement of this room, never a caller's text.
func (s *Store) readIntents(ctx context.Context, where string, args ...any) ([]billing.Pending, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+pendingColumns+fromIntents+where, args...)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, scanPending)
	return list, unavailable(err)
}

// BilledLanes lists the lanes that have events with timestamps from an instant on.
func (s *Store) BilledLanes(ctx context.Context, tenant string, from time.Time) ([]billing.Lane, error) {
	// From lane to lane by the index, whatever number of intents each has.
	rows, err := s.pool.Query(ctx, `
		WITH RECURSIVE l AS (
			(SELECT stripe_customer, meter_id FROM ledger.billing_intents WHERE tenant = $1 ORDER BY 1, 2 LIMIT 1)
			UNION ALL
			SELECT n.stripe_customer, n.meter_id FROM l CROSS JOIN LATERAL (
				SELECT i.stripe_customer, i.meter_id FROM ledger.billing_intents i
				WHERE i.tenant = $1 AND (i.stripe_customer, i.meter_id) > (l.stripe_customer, l.meter_id) ORDER BY 1, 2 LIMIT 1) n)
		SELECT $1::text, l.meter_id, l.stripe_customer FROM l
		WHERE EXISTS (SELECT 1 FROM ledger.billing_intents i
			WHERE i.tenant = $1 AND i.stripe_customer = l.stripe_customer AND i.meter_id = l.meter_id AND i.event_at >= $2)
		ORDER BY 2, 3`, tenant, from)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[billing.Lane])
	return list, unavailable(err)
}

// NoteAbsent keeps that confirmed events of a lane are missing from the summaries of a stretch of time, and that all others of the
// stretch are not. It returns since when each has been.
func (s *Store) NoteAbsent(ctx context.Context, l billing.Lane, p billing.Period, seqs []int64, now time.Time) (map[int64]time.Time, error) {
	since := map[int64]time.Time{}
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM work.billing_absent WHERE tenant = $1 AND stripe_customer = $2 AND meter_id = $3
			AND event_at >= $4 AND event_at < $5 AND NOT (intent = ANY (coalesce($6, '{}'::bigint[])))`,
			l.Tenant, l.Customer, l.MeterID, p.Start, p.End, seqs); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			INSERT INTO work.billing_absent AS w (tenant, intent, stripe_customer, meter_id, event_at, since)
			SELECT i.tenant, i.seq, i.stripe_customer, i.meter_id, i.event_at, $3 FROM ledger.billing_intents i WHERE i.tenant = $1 AND i.seq = ANY ($2)
			ON CONFLICT (tenant, intent) DO UPDATE SET since = w.since RETURNING intent, since`, l.Tenant, seqs, now)
		if err != nil {
			return err
		}
		var seq int64
		var at time.Time
		_, err = pgx.ForEachRow(rows, []any{&seq, &at}, func() error { since[seq] = at.UTC(); return nil })
		return err
	})
	return since, err
}

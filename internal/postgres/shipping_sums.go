package postgres

import (
	"context"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/metering"
)

// sumsTimeout bounds a reconciliation's own statements, which read every line.
const sumsTimeout = "10min"

// daysSQL hashes each line as the statement of the same name in internal/clickhouse does: the first eight bytes of MD5 over
// the members, as a number. The sum of the hashes does not depend on an order, and notices a line that is there twice.
const daysSQL = `
	SELECT p.tenant, date_trunc('day', p.as_of, 'UTC') AS day, count(*), sum(p.tokens)::text,
	       sum(('x' || left(md5(concat(
	           p.seq, E'\x1f', p.provider_id, E'\x1f', p.request_id, E'\x1f', p.customer_id, E'\x1f', p.turn_id, E'\x1f', p.tokens, E'\x1f',
	           p.frames_served, E'\x1f', p.frames_rejected, E'\x1f', (extract(epoch FROM p.as_of) * 1000000)::bigint, E'\x1f',
	           array_to_string(p.frame_providers, E'\x1e'), E'\x1f', array_to_string(p.frame_ids, E'\x1e'), E'\x1f',
	           array_to_string(p.frame_digests, E'\x1e', E'\x1d'), E'\x1f',
	           CASE WHEN p.frame_ids IS NOT NULL THEN array_to_string(p.frame_tokens, E'\x1e') END)), 16))::bit(64)::bigint)::text
	FROM ledger.usage_lines p
	WHERE p.seq < $1 AND NOT (p.seq = ANY ($2))
	  AND NOT EXISTS (SELECT 1 FROM work.shipping_quarantine q WHERE q.seq = p.seq AND q.provider_id = p.provider_id)
	GROUP BY 1, 2 ORDER BY 1, 2`

// ShippedSums sums up what the projection must hold, by tenant and UTC day: the lines of entries below the cursor, without
// those in quarantine and without entries whose erasure is recorded and not shipped yet, which it also returns.
func (s *Store) ShippedSums(ctx context.Context) (sums []metering.DaySum, below int64, except []int64, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL statement_timeout = '`+sumsTimeout+`'`); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, `SELECT next_seq FROM work.shipping`).Scan(&below); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT seq FROM ledger.erased WHERE erasure_seq >= $1 AND seq < $1`, below)
		if err != nil {
			return err
		}
		if except, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil {
			return err
		}
		if rows, err = tx.Query(ctx, daysSQL, below, except); err != nil {
			return err
		}
		sums, err = pgx.CollectRows(rows, scanDaySum)
		return err
	})
	return sums, below, except, err
}

func scanDaySum(row pgx.CollectableRow) (metering.DaySum, error) {
	var d metering.DaySum
	var tokens, hash string
	if err := row.Scan(&d.Tenant, &d.Day, &d.Lines, &tokens, &hash); err != nil {
		return d, err
	}
	d.Day, d.Tokens = d.Day.UTC(), decimal(tokens)
	low := new(big.Int).And(decimal(hash), new(big.Int).SetUint64(1<<64-1)) // two's complement, as And has it
	d.Hash = low.Uint64()
	return d, nil
}

// decimal reads an integer that the database wrote.
func decimal(text string) *big.Int {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return new(big.Int)
	}
	return n
}

// DayLines reads a tenant's lines of a UTC day of entries from one seq up to another, in the order of the log, at most limit
// and then those of the last entry whole.
func (s *Store) DayLines(ctx context.Context, tenant string, day time.Time, from, below int64, limit int) ([]metering.Line, error) {
	list, err := readLines(ctx, s.pool, `p.tenant = $1 AND p.as_of >= $2 AND p.as_of < $3 AND p.seq >= $4 AND p.seq < $5 AND p.seq <= (
		SELECT max(w.seq) FROM (SELECT seq FROM ledger.usage_lines
		WHERE tenant = $1 AND as_of >= $2 AND as_of < $3 AND seq >= $4 AND seq < $5 ORDER BY seq LIMIT $6) w)`,
		tenant, day, day.AddDate(0, 0, 1), from, below, limit)
	return list, unavailable(err)
}

// NoteReconciled keeps what a reconciliation found. With nothing left to repair, what a repair began is over.
func (s *Store) NoteReconciled(ctx context.Context, drifted int) error {
	tag, err := s.pool.Exec(ctx, `
		WITH ended AS (DELETE FROM work.shipping_changes WHERE name = 'repair' AND $1 = 0)
		UPDATE work.shipping SET reconciled_at = now(), drifted_days = $1`, drifted)
	if err == nil && tag.RowsAffected() == 0 {
		return kinds.ErrNotFound
	}
	return unavailable(err)
}

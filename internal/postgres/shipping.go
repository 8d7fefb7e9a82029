package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/metering"
)

// ErrNotHolder says that another process ships, or that this one's lease is over.
var ErrNotHolder = errors.New("another process ships to ClickHouse")

// HoldShipping takes or prolongs the lease of the one shipper among all processes; false when another one has it. The clock
// is the database's.
func (s *Store) HoldShipping(ctx context.Context, holder string, lease time.Duration) (bool, error) {
	tag, err := s.pool.Exec(ctx, `
		UPDATE work.shipping SET holder = $1, lease_until = clock_timestamp() + $2::interval
		WHERE holder = $1 OR lease_until < clock_timestamp()`, holder, lease)
	return tag.RowsAffected() == 1, unavailable(err)
}

// ReleaseShipping gives the lease back, so that the next shipper need not wait for its end.
func (s *Store) ReleaseShipping(ctx context.Context, holder string) error {
	_, err := s.pool.Exec(ctx, `UPDATE work.shipping SET lease_until = '-infinity' WHERE holder = $1`, holder)
	return unavailable(err)
}

// lockShipping locks the cursor for its holder until the transaction ends.
func lockShipping(ctx context.Context, tx pgx.Tx, holder string) (epoch, next int64, err error) {
	err = tx.QueryRow(ctx, `SELECT epoch, next_seq FROM work.shipping WHERE holder = $1 AND lease_until > clock_timestamp() FOR UPDATE`, holder).Scan(&epoch, &next)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, 0, ErrNotHolder
	}
	return epoch, next, err
}

// NextBatch returns the batch that is under way, read again, or else begins the next one with at most maxLines lines, and
// some more when one entry has them. nil when everything is shipped. The batch is committed before it is returned: a crash
// after it leads to the same stretch again. What ReadAhead gave saves reading, if it is what comes next; nil for none.
func (s *Store) NextBatch(ctx context.Context, holder string, maxLines int, ahead *metering.Batch) (b *metering.Batch, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		epoch, next, err := lockShipping(ctx, tx, holder)
		if err != nil {
			return err
		}
		if b, err = openBatch(ctx, tx); err != nil || b != nil {
			return err
		}
		if b = ahead; b == nil || b.Epoch != epoch || b.First != next {
			b, err = readStretch(ctx, tx, epoch, next, maxLines)
		}
		if err != nil || b == nil {
			return err
		}
		return beginBatch(ctx, tx, b)
	})
	return b, err
}

// ReadAhead reads the stretch after a batch that is still under way, nil when there is none, so that NextBatch need not. It
// commits nothing. An erasure that is recorded from now on lies behind the stretch, and is shipped with its own.
func (s *Store) ReadAhead(ctx context.Context, after *metering.Batch, maxLines int) (b *metering.Batch, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		b, err = readStretch(ctx, tx, after.Epoch, after.End, maxLines)
		return err
	})
	return b, err
}

// openBatch reads the batch under way with what it holds now; nil when there is none.
func openBatch(ctx context.Context, tx pgx.Tx) (*metering.Batch, error) {
	var b metering.Batch
	err := tx.QueryRow(ctx, `UPDATE work.shipping_batches SET attempts = attempts + 1 WHERE NOT done RETURNING id, epoch, first_seq, end_seq`).Scan(&b.ID, &b.Epoch, &b.First, &b.End)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &b, fillBatch(ctx, tx, &b, 0)
}

// readStretch reads the log from next on, at most maxLines lines; nil when there is nothing.
func readStretch(ctx context.Context, tx pgx.Tx, epoch, next int64, maxLines int) (*metering.Batch, error) {
	head, err := scanHead(tx.QueryRow(ctx, currentHead))
	if err != nil || head.Next() <= next {
		return nil, err
	}
	b := &metering.Batch{Epoch: epoch, First: next}
	if b.End, err = shorten(ctx, tx, next, head.Next(), maxLines); err != nil {
		return nil, err
	}
	b.Cut = b.End < head.Next()
	if err := fillBatch(ctx, tx, b, int(min(int64(maxLines), 2*(b.End-b.First)))); err != nil {
		return nil, err
	}
	return b, nil
}

// maxFrames bounds a batch's frames, and so the memory that it takes, of which there are two while one is read ahead: one report
// may have thousands. Three times as many ship no faster.
const maxFrames = 50_000

// shorten returns where a stretch must end to have at most limit lines and maxFrames frames, and erasures of at most limit entries,
// by whole entries and at least one. It looks at nothing but their numbers: a sum over the lines themselves would read more than
// twice what fits.
func shorten(ctx context.Context, tx pgx.Tx, first, end int64, limit int) (int64, error) {
	var cut *int64
	err := tx.QueryRow(ctx, `
		SELECT least(
			(SELECT seq FROM (
				SELECT seq, line, row_number() OVER w AS n, sum(frames) OVER w AS frames
				FROM (SELECT seq, line, coalesce(cardinality(frame_tokens), 0) AS frames FROM ledger.usage_lines WHERE seq >= $1 AND seq < $2 ORDER BY seq, line LIMIT $3 + 1) u
				WINDOW w AS (ORDER BY seq, line ROWS UNBOUNDED PRECEDING)) c
			WHERE n > $3 OR frames > $4 ORDER BY seq, line LIMIT 1),
			(SELECT erasure_seq FROM ledger.erased WHERE erasure_seq >= $1 AND erasure_seq < $2 ORDER BY erasure_seq OFFSET $3 LIMIT 1))`,
		first, end, limit, maxFrames).Scan(&cut)
	if err != nil || cut == nil {
		return end, err
	}
	return max(*cut, first+1), nil
}

func beginBatch(ctx context.Context, tx pgx.Tx, b *metering.Batch) error {
	digest := metering.Digest(b.Lines)
	return tx.QueryRow(ctx, `
		INSERT INTO work.shipping_batches (epoch, first_seq, end_seq, lines, digest, attempts) VALUES ($1, $2, $3, $4, $5, 1) RETURNING id`,
		b.Epoch, b.First, b.End, len(b.Lines), digest[:]).Scan(&b.ID)
}

// fillBatch reads the lines of a batch's stretch, about as many as room, and those that the erasures in it changed before it.
func fillBatch(ctx context.Context, tx pgx.Tx, b *metering.Batch, room int) (err error) {
	if b.Lines, err = readLinesOf(ctx, tx, room, `ledger.usage_lines`, `p.seq >= $1 AND p.seq < $2`, b.First, b.End); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, `SELECT seq FROM ledger.erased WHERE erasure_seq >= $1 AND erasure_seq < $2 AND seq < $1 ORDER BY seq`, b.First, b.End)
	if err != nil {
		return err
	}
	if b.Erased, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil || len(b.Erased) == 0 {
		return err
	}
	again, err := readLines(ctx, tx, `p.seq = ANY ($1)`, b.Erased)
	b.Lines = append(b.Lines, again...)
	return err
}

// readLines reads lines in the order of the log. where is a condition of this room on p, never a caller's text.
func readLines(ctx context.Context, q querier, where string, args ...any) ([]metering.Line, error) {
	return readLinesOf(ctx, q, 0, `ledger.usage_lines`, where, args...)
}

// readLinesOf reads them from something else that has their columns, about as many as room.
func readLinesOf(ctx context.Context, q querier, room int, from, where string, args ...any) ([]metering.Line, error) {
	rows, err := q.Query(ctx, `
		SELECT p.seq, p.tenant, p.request_id, coalesce(p.turn_id, ''), coalesce(p.customer_id, ''), p.provider_id, p.as_of, p.frames_served,
		       p.frames_rejected, p.tokens, coalesce(x.erasure_seq, 0), p.corrects, p.frame_providers, p.frame_ids, p.frame_digests, p.frame_tokens
		FROM `+from+` p LEFT JOIN ledger.erased x USING (seq) WHERE `+where+` ORDER BY p.seq, p.line`, args...)
	if err != nil {
		return nil, err
	}
	return pgx.AppendRows(make([]metering.Line, 0, room), rows, scanLine)
}

func scanLine(row pgx.CollectableRow) (l metering.Line, err error) {
	const frames = 12 // the first of the columns of frames
	scalars := []any{
		&l.Seq, &l.Tenant, &l.RequestID, &l.TurnID, &l.CustomerID, &l.ProviderID, &l.AsOf, &l.FramesServed, &l.FramesRejected, &l.Tokens, &l.ErasedBy, &l.Corrects,
		nil, nil, nil, nil,
	}
	var f frameColumns
	binary := row.FieldDescriptions()[frames].Format == pgx.BinaryFormatCode
	if !binary {
		scalars[frames], scalars[frames+1], scalars[frames+2], scalars[frames+3] = &f.providers, &f.ids, &f.digests, &f.tokens
	}
	if err := row.Scan(scalars...); err != nil {
		return l, err
	}
	l.AsOf = l.AsOf.UTC()
	if !binary {
		l.Frames = f.lineFrames(l.ProviderID)
		return l, nil
	}
	raw := row.RawValues()[frames:]
	l.Frames, err = binaryFrames(l.ProviderID, raw[0], raw[1], raw[2], raw[3])
	return l, err
}

// CloseBatch moves the cursor past a batch whose lines are in the projection, but for those that were rejected. It is the
// commit of a shipment: a crash before it ships the batch once more.
func (s *Store) CloseBatch(ctx context.Context, holder string, b *metering.Batch, rejected []metering.Rejected) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		if _, _, err := lockShipping(ctx, tx, holder); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `UPDATE work.shipping_batches SET done = true, done_at = now(), last_error = NULL WHERE id = $1 AND NOT done`, b.ID)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return fmt.Errorf("closing a batch: %w", kinds.ErrNotFound) // a rebuild has begun meanwhile
		}
		if _, err := tx.Exec(ctx, `DELETE FROM work.shipping_changes WHERE name = $1`, batchChange(b.ID)); err != nil {
			return err
		}
		for _, r := range rejected {
			if _, err := tx.Exec(ctx, `INSERT INTO work.shipping_quarantine (seq, provider_id, reason) VALUES ($1, $2, $3)
				ON CONFLICT (seq, provider_id) DO UPDATE SET reason = excluded.reason`, r.Seq, r.ProviderID, r.Reason); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, `DELETE FROM work.shipping_batches WHERE done AND id < $1 - 1000`, b.ID); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE work.shipping SET next_seq = $1`, b.End)
		return err
	})
}

// BeginErasing notes that lines which the projection has shown are about to be destroyed, until the batch is closed that sends
// them again.
func (s *Store) BeginErasing(ctx context.Context, b *metering.Batch) error {
	return s.beginChange(ctx, batchChange(b.ID))
}

// BeginRepair notes that days are about to be destroyed and sent again, until a comparison finds no difference.
func (s *Store) BeginRepair(ctx context.Context) error { return s.beginChange(ctx, "repair") }

// BeginRebuild notes that the projection is about to be emptied, until RestartShipping.
func (s *Store) BeginRebuild(ctx context.Context) error { return s.beginChange(ctx, "rebuild") }

func batchChange(id int64) string { return fmt.Sprintf("batch %d", id) }

// beginChange notes a change before anything is destroyed. A crash after it leaves the note until the same is done again.
func (s *Store) beginChange(ctx context.Context, name string) error {
	_, err := s.pool.Exec(ctx, `
		WITH noted AS (INSERT INTO work.shipping_changes (name) VALUES ($1) ON CONFLICT (name) DO NOTHING)
		UPDATE work.shipping SET changes = changes + 1`, name)
	return unavailable(err)
}

// FailBatch notes why a batch did not arrive.
func (s *Store) FailBatch(ctx context.Context, id int64, reason string) error {
	_, err := s.pool.Exec(ctx, `UPDATE work.shipping_batches SET last_error = $2 WHERE id = $1 AND NOT done`, id, reason)
	return unavailable(err)
}

// RestartShipping begins a new epoch at the log's first entry. The projection must have been emptied before: what is shipped
// between the two is then shipped twice, which does no harm, where the other order would lose it.
func (s *Store) RestartShipping(ctx context.Context) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE work.shipping SET epoch = epoch + 1, next_seq = 0, drifted_days = 0`)
		if err == nil {
			_, err = tx.Exec(ctx, `DELETE FROM work.shipping_batches WHERE NOT done`)
		}
		if err == nil {
			_, err = tx.Exec(ctx, `DELETE FROM work.shipping_quarantine`)
		}
		if err == nil {
			_, err = tx.Exec(ctx, `DELETE FROM work.shipping_changes`) // answers cover nothing from here on
		}
		return err
	})
}

// Shipping tells how far the projection is behind.
func (s *Store) Shipping(ctx context.Context) (metering.Shipping, error) {
	var v metering.Shipping
	var seconds float64
	err := s.pool.QueryRow(ctx, `
		SELECT s.epoch, s.next_seq, greatest(h.base + h.size - s.next_seq, 0),
		       coalesce((SELECT greatest(extract(epoch FROM clock_timestamp() - e.recorded_at), 0)::float8 FROM ledger.entries e WHERE e.seq = s.next_seq), 0),
		       coalesce(b.attempts, 0), coalesce(b.last_error, ''), (SELECT count(*) FROM work.shipping_quarantine), s.drifted_days, s.reconciled_at,
		       EXISTS (SELECT 1 FROM work.shipping_changes), s.changes
		FROM work.shipping s CROSS JOIN (SELECT base, size FROM ledger.head ORDER BY incarnation DESC LIMIT 1) h
		LEFT JOIN work.shipping_batches b ON NOT b.done`).Scan(
		&v.Epoch, &v.NextSeq, &v.LagEntries, &seconds, &v.Attempts, &v.LastError, &v.Quarantined, &v.DriftedDays, &v.ReconciledAt, &v.Changing, &v.Changes)
	v.Lag = time.Duration(seconds * float64(time.Second))
	return v, unavailable(err)
}

// Quarantined lists the lines that the projection refused, in the order of the log.
func (s *Store) Quarantined(ctx context.Context) ([]metering.Rejected, error) {
	rows, err := s.pool.Query(ctx, `SELECT seq, provider_id, reason, since FROM work.shipping_quarantine ORDER BY seq, provider_id`)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[metering.Rejected])
	return list, unavailable(err)
}

// QuarantinedLine reads a quarantined line; ErrNotFound when it is not in quarantine.
func (s *Store) QuarantinedLine(ctx context.Context, r metering.Rejected) (metering.Line, error) {
	list, err := readLines(ctx, s.pool, `p.seq = $1 AND p.provider_id = $2
		AND EXISTS (SELECT 1 FROM work.shipping_quarantine q WHERE q.seq = p.seq AND q.provider_id = p.provider_id)`, r.Seq, r.ProviderID)
	if err != nil {
		return metering.Line{}, unavailable(err)
	}
	if len(list) == 0 {
		return metering.Line{}, kinds.ErrNotFound
	}
	return list[0], nil
}

// EntryLines reads the lines of an entry, in quarantine or not, as they are now.
func (s *Store) EntryLines(ctx context.Context, seq int64) ([]metering.Line, error) {
	list, err := readLines(ctx, s.pool, `p.seq = $1`, seq)
	return list, unavailable(err)
}

// Acquit takes a line out of quarantine.
func (s *Store) Acquit(ctx context.Context, r metering.Rejected) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM work.shipping_quarantine WHERE seq = $1 AND provider_id = $2`, r.Seq, r.ProviderID)
	return unavailable(err)
}

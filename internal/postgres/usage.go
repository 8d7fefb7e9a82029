package postgres

import (
	"context"
	"errors"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/metering"
)

// groupColumns are the two columns that name a group, by grouping: a key and the start of a time.
var groupColumns = map[metering.Grouping]string{
	metering.ByCustomer: `coalesce(p.customer_id, ''), NULL::timestamptz`,
	metering.ByProvider: `p.provider_id, NULL::timestamptz`,
	metering.ByTurn:     `coalesce(p.turn_id, ''), NULL::timestamptz`,
	metering.ByRequest:  `p.request_id, NULL::timestamptz`,
	metering.ByHour:     `'', date_trunc('hour', p.as_of, $10)`,
	metering.ByDay:      `'', date_trunc('day', p.as_of, $10)`,
	metering.ByMonth:    `'', date_trunc('month', p.as_of, $10)`,
}

// usageFilter selects the lines of a question; see usageSQL for how it is planned.
const usageFilter = ` p.tenant = $1 AND p.as_of >= $2 AND p.as_of < $3 AND p.seq < $4
	  AND ($5::text = '' OR p.provider_id = $5) AND ($6::text = '' OR p.customer_id = $6) AND ($7::text = '' OR p.request_id = $7)
	  AND ($8::text = '' OR p.turn_id = $8) AND ($9::text = '' OR $9 = ANY(p.frame_ids))`

func usageArgs(q metering.Question, more ...any) []any {
	return append([]any{pgx.QueryExecModeExec, q.Tenant, q.From, q.To, q.Below, q.ProviderID, q.CustomerID, q.RequestID, q.TurnID, q.FrameID}, more...)
}

// ErrGrouping says that Postgres does not answer a question grouped so.
var ErrGrouping = errors.New("this grouping is not answered from Postgres")

// Usage sums up usage. kinds.ErrTooMuch when there are more groups than the question's limit, unless it asks for the top.
func (s *Store) Usage(ctx context.Context, q metering.Question) ([]metering.Group, error) {
	columns, ok := groupColumns[q.By]
	if !ok {
		return nil, ErrGrouping
	}
	order := `1, 2`
	if q.Top {
		order = `sum(p.tokens) DESC, 1, 2`
	}
	rows, err := s.pool.Query(ctx, `
		SELECT `+columns+`, count(DISTINCT p.seq), sum(p.frames_served)::text, sum(p.frames_rejected)::text, sum(p.tokens)::text, min(p.seq), max(p.seq)
		FROM ledger.usage_lines p WHERE `+usageFilter+` AND $10::text <> '' GROUP BY 1, 2 ORDER BY `+order+` LIMIT $11`,
		usageArgs(q, q.Zone, q.Limit+1)...)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, scanGroup)
	if err != nil || len(list) <= q.Limit {
		return list, unavailable(err)
	}
	if q.Top {
		return list[:q.Limit], nil
	}
	return nil, kinds.ErrTooMuch
}

func scanGroup(row pgx.CollectableRow) (metering.Group, error) {
	var g metering.Group
	var start *time.Time
	var served, rejected, tokens string
	err := row.Scan(&g.Key, &start, &g.Reports, &served, &rejected, &tokens, &g.FirstSeq, &g.LastSeq)
	if start != nil {
		g.Start = start.UTC()
	}
	g.FramesServed, g.FramesRejected, g.Tokens = decimal(served), decimal(rejected), decimal(tokens)
	return g, err
}

// UsageTotal sums up all lines of a question, whatever it groups by: the exact sum, beside an answer's groups.
func (s *Store) UsageTotal(ctx context.Context, q metering.Question) (tokens *big.Int, reports int64, err error) {
	var text string
	err = s.pool.QueryRow(ctx, `SELECT coalesce(sum(p.tokens), 0)::text, count(DISTINCT p.seq) FROM ledger.usage_lines p WHERE `+usageFilter, usageArgs(q)...).Scan(&text, &reports)
	return decimal(text), reports, unavailable(err)
}

// UsageIsWide says whether a sum would read more lines than some. It counts what an index finds: filters by request and frame
// save no reading.
func (s *Store) UsageIsWide(ctx context.Context, q metering.Question, lines int) (wide bool, err error) {
	q.RequestID, q.FrameID = "", ""
	err = s.pool.QueryRow(ctx, `SELECT count(*) > $10 FROM (SELECT 1 FROM ledger.usage_lines p WHERE `+usageFilter+` LIMIT $10 + 1) w`, usageArgs(q, lines)...).Scan(&wide)
	return wide, unavailable(err)
}

// UsageSeqs are the entries behind an answer, in the order of the log. kinds.ErrTooMuch beyond limit.
func (s *Store) UsageSeqs(ctx context.Context, q metering.Question, limit int) ([]int64, error) {
	return usageSeqs(ctx, s.pool, q, limit)
}

func usageSeqs(ctx context.Context, db querier, q metering.Question, limit int) ([]int64, error) {
	rows, err := db.Query(ctx, `SELECT DISTINCT p.seq FROM ledger.usage_lines p WHERE `+usageFilter+` ORDER BY 1 LIMIT $10`, usageArgs(q, limit+1)...)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err == nil && len(list) > limit {
		return nil, kinds.ErrTooMuch
	}
	return list, unavailable(err)
}

// UsageLines is the drill-down: the lines of a question from a seq on, by whole entries, at most limit and then those of the
// last entry too.
func (s *Store) UsageLines(ctx context.Context, q metering.Question, from int64, limit int) ([]metering.Line, error) {
	list, err := readLines(ctx, s.pool, usageFilter+` AND p.seq >= $10 AND p.seq <= (
		SELECT max(w.seq) FROM (SELECT p.seq FROM ledger.usage_lines p WHERE `+usageFilter+` AND p.seq >= $10 ORDER BY p.seq LIMIT $11) w)`,
		usageArgs(q, from, limit)...)
	return list, unavailable(err)
}

package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"ledgerd/frames"
	"ledgerd/metering"
)

// groupColumns are the columns that name a group, by grouping: key, start, and a frame's provider, id and digest.
var groupColumns = map[metering.Grouping]string{
	metering.ByCustomer: `customer_id, toDateTime(0, 'UTC'), '', '', CAST(NULL, 'Nullable(String)')`,
	metering.ByProvider: `toString(provider_id), toDateTime(0, 'UTC'), '', '', CAST(NULL, 'Nullable(String)')`,
	metering.ByTurn:     `turn_id, toDateTime(0, 'UTC'), '', '', CAST(NULL, 'Nullable(String)')`,
	metering.ByRequest:  `request_id, toDateTime(0, 'UTC'), '', '', CAST(NULL, 'Nullable(String)')`,
	metering.ByFrame:    `'', toDateTime(0, 'UTC'), toString(f.provider_id), f.frame_id, f.content_digest`,
	metering.ByHour:     `'', toDateTime(toStartOfHour(as_of, @zone), 'UTC'), '', '', CAST(NULL, 'Nullable(String)')`,
	metering.ByDay:      `'', toDateTime(toStartOfDay(as_of, @zone), 'UTC'), '', '', CAST(NULL, 'Nullable(String)')`,
	metering.ByMonth:    `'', toDateTime(toDateTime(toStartOfMonth(as_of, @zone), @zone), 'UTC'), '', '', CAST(NULL, 'Nullable(String)')`,
}

// usageFilter selects the lines of a question, as the one of internal/postgres does.
const usageFilter = ` tenant = @tenant AND as_of >= fromUnixTimestamp64Micro(@from) AND as_of < fromUnixTimestamp64Micro(@to) AND entry_seq < @below
	AND (@provider = '' OR provider_id = @provider) AND (@customer = '' OR customer_id = @customer) AND (@request = '' OR request_id = @request)
	AND (@turn = '' OR turn_id = @turn)`

// A line of a correction has the frames that it takes back first, then those that stand in their place, and the difference as
// frames_served: so the first (length − frames_served)/2 of any line's frames are taken back, none of a report's own.
const (
	lineFilter = usageFilter + ` AND (@frame = '' OR has(frames.frame_id, @frame))`
	lineSums   = `toInt64(uniqExact(entry_seq)), sum(toInt128(frames_served)), sum(toInt128(frames_rejected)), sum(toInt128(tokens)) AS total, min(entry_seq), max(entry_seq)
		FROM usage WHERE` + lineFilter
	frameSums = `toInt64(uniqExact(entry_seq)), sum(toInt128(if(2 * n <= length(frames.tokens) - frames_served, -1, 1))), toInt128(0), sum(toInt128(f.tokens)) AS total, min(entry_seq), max(entry_seq)
		FROM usage ARRAY JOIN frames AS f, arrayEnumerate(frames.tokens) AS n WHERE` + usageFilter + ` AND (@frame = '' OR f.frame_id = @frame)`
)

// usageArgs are a question's named parameters.
func usageArgs(q metering.Question) []any {
	return []any{
		ch.Named("tenant", q.Tenant), ch.Named("from", q.From.UnixMicro()), ch.Named("to", q.To.UnixMicro()), ch.Named("below", q.Below),
		ch.Named("provider", q.ProviderID), ch.Named("customer", q.CustomerID), ch.Named("request", q.RequestID), ch.Named("turn", q.TurnID),
		ch.Named("frame", q.FrameID), ch.Named("zone", q.Zone), ch.Named("limit", q.Limit+1),
	}
}

// unanswered is translate for questions: a server repeats a statement that it refuses, and a question names customers, who have
// no place in a log. The code tells what it refuses.
func unanswered(err error) error {
	var e *ch.Exception
	if errors.As(err, &e) {
		return fmt.Errorf("%w: it answers a question with code %d", ErrUnavailable, e.Code)
	}
	return translate(err)
}

// UsageTotal sums up all lines of a question, whatever it groups by.
func (c *Client) UsageTotal(ctx context.Context, q metering.Question) (tokens *big.Int, reports int64, err error) {
	tokens = new(big.Int)
	err = c.conn.QueryRow(ctx, `SELECT sum(toInt128(tokens)), toInt64(uniqExact(entry_seq)) FROM usage WHERE`+lineFilter, usageArgs(q)...).Scan(tokens, &reports)
	return tokens, reports, unanswered(err)
}

// Usage sums up usage, at most one group more than the question's limit.
func (c *Client) Usage(ctx context.Context, q metering.Question) ([]metering.Group, error) {
	sums, order := lineSums, `1, 2, 3, 4, 5`
	if q.By == metering.ByFrame {
		sums = frameSums
	}
	if q.Top {
		order = `total DESC, ` + order
	}
	rows, err := c.conn.Query(ctx, `SELECT `+groupColumns[q.By]+`, `+sums+` GROUP BY 1, 2, 3, 4, 5 ORDER BY `+order+` LIMIT @limit`, usageArgs(q)...)
	if err != nil {
		return nil, unanswered(err)
	}
	defer rows.Close()
	var list []metering.Group
	for rows.Next() {
		g := metering.Group{FramesServed: new(big.Int), FramesRejected: new(big.Int), Tokens: new(big.Int)}
		var start time.Time
		var digest *string
		id := &g.Frame.ID
		if err := rows.Scan(&g.Key, &start, &id.ProviderID, &id.FrameID, &digest, &g.Reports, g.FramesServed, g.FramesRejected, g.Tokens, &g.FirstSeq, &g.LastSeq); err != nil {
			return nil, unanswered(err)
		}
		if start.Unix() != 0 {
			g.Start = start.UTC()
		}
		id.ContentDigest = frames.DigestOf(digest)
		list = append(list, g)
	}
	return list, unanswered(rows.Err())
}

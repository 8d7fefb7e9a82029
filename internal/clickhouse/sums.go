package clickhouse

import (
	"context"
	"math/big"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"ledgerd/metering"
)

// daysSQL hashes each line as the statement of the same name in internal/postgres does; see there.
const daysSQL = `
	SELECT tenant, toDateTime(toStartOfDay(as_of, 'UTC'), 'UTC') AS day, toInt64(count()), sum(toInt128(tokens)),
	       sum(reinterpretAsUInt64(reverse(substring(MD5(concat(
	           toString(entry_seq), '\x1f', provider_id, '\x1f', request_id, '\x1f', customer_id, '\x1f', turn_id, '\x1f', toString(tokens), '\x1f',
	           toString(frames_served), '\x1f', toString(frames_rejected), '\x1f', toString(toUnixTimestamp64Micro(as_of)), '\x1f',
	           if(arrayAll(p -> p = provider_id, frames.provider_id), '', arrayStringConcat(frames.provider_id, '\x1e')), '\x1f',
	           arrayStringConcat(frames.frame_id, '\x1e'), '\x1f', arrayStringConcat(arrayMap(d -> ifNull(d, '\x1d'), frames.content_digest), '\x1e'), '\x1f',
	           arrayStringConcat(frames.tokens, '\x1e'))), 1, 8))))
	FROM usage WHERE entry_seq < ? AND entry_seq NOT IN (?)
	GROUP BY tenant, day ORDER BY tenant, day`

// Days sums up what is held of entries below a seq, by tenant and UTC day, without the entries in except.
func (c *Client) Days(ctx context.Context, below int64, except []int64) ([]metering.DaySum, error) {
	if except == nil {
		except = []int64{-1} // an array literal needs a type
	}
	// The statement names them all, and a server reads 256 KiB of one unless it is told otherwise.
	ctx = ch.Context(ctx, ch.WithSettings(ch.Settings{"max_query_size": 1<<18 + 21*len(except)}))
	rows, err := c.conn.Query(ctx, daysSQL, below, except)
	if err != nil {
		return nil, translate(err)
	}
	defer rows.Close()
	var list []metering.DaySum
	for rows.Next() {
		s := metering.DaySum{Tokens: new(big.Int)}
		var day time.Time
		if err := rows.Scan(&s.Tenant, &day, &s.Lines, s.Tokens, &s.Hash); err != nil {
			return nil, translate(err)
		}
		s.Day = day.UTC()
		list = append(list, s)
	}
	return list, translate(rows.Err())
}

package clickhouse

import (
	"context"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"ledgerd/metering"
)

const insertSQL = `INSERT INTO usage_events (tenant, customer_id, as_of, request_id, turn_id, provider_id, entry_seq, frames_served,
	frames_rejected, tokens, frames.provider_id, frames.frame_id, frames.content_digest, frames.tokens, erased, version)`

// Insert sends lines as one block and returns when they are written. The token names the block: a server that has it already
// takes it once. After ErrUnavailable the outcome is unknown, and the same lines must be sent again by a new call; the table
// keeps one row of a line however often it comes. After ErrRejected none is written.
func (c *Client) Insert(ctx context.Context, token string, lines []metering.Line) error {
	if len(lines) == 0 {
		return nil
	}
	ctx = ch.Context(ctx, ch.WithSettings(ch.Settings{"insert_deduplication_token": token, "insert_deduplicate": 1}))
	batch, err := c.conn.PrepareBatch(ctx, insertSQL)
	if err != nil {
		return translate(err)
	}
	defer batch.Close()
	for _, l := range lines {
		f := split(l.Frames)
		err := batch.Append(l.Tenant, l.CustomerID, l.AsOf, l.RequestID, l.TurnID, l.ProviderID, l.Seq, l.FramesServed, l.FramesRejected,
			l.Tokens, f.providers, f.ids, f.digests, f.tokens, l.ErasedBy != 0, l.Version())
		if err != nil {
			return translate(err)
		}
	}
	return translate(batch.Send())
}

// frameArrays are frames as the table's parallel arrays.
type frameArrays struct {
	providers, ids []string
	digests        []*string
	tokens         []int64
}

func split(frames []metering.LineFrame) frameArrays {
	a := frameArrays{
		make([]string, len(frames)), make([]string, len(frames)), make([]*string, len(frames)), make([]int64, len(frames)),
	}
	for i, f := range frames {
		a.providers[i], a.ids[i], a.tokens[i] = f.ID.ProviderID, f.ID.FrameID, f.Tokens
		if digest, ok := f.ID.ContentDigest.Value(); ok {
			a.digests[i] = &digest
		}
	}
	return a
}

// mutation makes a deletion return when it is done on all replicas, and the rows are gone from disk.
var mutation = ch.WithSettings(ch.Settings{"mutations_sync": 2})

// Delete destroys the lines of entries. An erased line can't be replaced in place, since its customer is part of the sorting
// key; and what is erased must not stay on disk until the next merge.
func (c *Client) Delete(ctx context.Context, seqs []int64) error {
	if len(seqs) == 0 {
		return nil
	}
	return translate(c.conn.Exec(ch.Context(ctx, mutation), `ALTER TABLE usage_events DELETE WHERE entry_seq IN (?)`, seqs))
}

// DeleteDay destroys what the projection holds of a tenant's UTC day, of entries below a seq.
func (c *Client) DeleteDay(ctx context.Context, day metering.DaySum, below int64) error {
	return translate(c.conn.Exec(ch.Context(ctx, mutation),
		`ALTER TABLE usage_events DELETE WHERE tenant = ? AND as_of >= fromUnixTimestamp64Micro(?) AND as_of < fromUnixTimestamp64Micro(?) AND entry_seq < ?`,
		day.Tenant, day.Day.UnixMicro(), day.Day.AddDate(0, 0, 1).UnixMicro(), below))
}

// Empty destroys everything that the projection holds.
func (c *Client) Empty(ctx context.Context) error {
	return translate(c.conn.Exec(ctx, `TRUNCATE TABLE usage_events`))
}

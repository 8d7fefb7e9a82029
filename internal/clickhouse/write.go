package clickhouse

import (
	"context"
	"slices"

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
	var f frameArrays
	for i := range lines {
		l := &lines[i]
		f.hold(l.Frames)
		version := l.Version()
		// The driver copies values at once, and a pointer saves it an allocation; but what it keeps as a dictionary's key must
		// be a value: tenant and providers.
		err := batch.Append(l.Tenant, &l.CustomerID, &l.AsOf, &l.RequestID, &l.TurnID, l.ProviderID, &l.Seq, &l.FramesServed, &l.FramesRejected,
			&l.Tokens, f.providers, f.ids, f.digests, f.tokens, l.ErasedBy != 0, &version)
		if err != nil {
			return translate(err)
		}
	}
	return translate(batch.Send())
}

// frameArrays are a line's frames as the table's parallel arrays. One serves many lines.
type frameArrays struct {
	providers []string
	ids       []*string
	digests   []*string // nil for none
	tokens    []*int64
	texts     []string // that digests point into
}

// hold takes over the frames, which must stay as they are until the next call.
func (a *frameArrays) hold(frames []metering.LineFrame) {
	a.providers, a.ids, a.digests, a.tokens = a.providers[:0], a.ids[:0], a.digests[:0], a.tokens[:0]
	a.texts = slices.Grow(a.texts[:0], len(frames)) // so that it does not move any more
	for i := range frames {
		f := &frames[i]
		a.providers, a.ids, a.tokens = append(a.providers, f.ID.ProviderID), append(a.ids, &f.ID.FrameID), append(a.tokens, &f.Tokens)
		digest, ok := f.ID.ContentDigest.Value()
		if !ok {
			a.digests = append(a.digests, nil)
			continue
		}
		a.texts = append(a.texts, digest)
		a.digests = append(a.digests, &a.texts[len(a.texts)-1])
	}
}

// mutation makes a deletion return when it is done on all replicas, and the rows are gone from disk.
var mutation = ch.WithSettings(ch.Settings{"mutations_sync": 2})

// deleteAtOnce is how many entries one statement names: a server reads no statement of more than 256 KiB (max_query_size), and
// a seq takes at most 21 bytes.
const deleteAtOnce = 10_000

// Delete destroys the lines of entries. An erased line can't be replaced in place, since its customer is part of the sorting
// key; and what is erased must not stay on disk until the next merge. After an error some may be destroyed and others not.
func (c *Client) Delete(ctx context.Context, seqs []int64) error {
	for some := range slices.Chunk(seqs, deleteAtOnce) {
		if err := c.conn.Exec(ch.Context(ctx, mutation), `ALTER TABLE usage_events DELETE WHERE entry_seq IN (?)`, some); err != nil {
			return translate(err)
		}
	}
	return nil
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

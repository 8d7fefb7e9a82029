package postgres

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// commit is the append transaction (READ COMMITTED: a later snapshot than the lock's must see what the lock's last holder
// wrote). What a crash, of us or of the server, means after each step:
//
//  1. lock and look up — nothing was written; the lock goes with the session.
//  2. seal, sign       — memory only. A signature over a tree that is not committed exists in this process alone and is
//     released by nobody; the same size may be signed again later with another root, never after a commit.
//  3. COPY, head       — not visible to anybody; rolled back.
//  4. COMMIT sent      — the outcome is unknown until the answer: either all of it is there or nothing. The batch is run
//     again and step 1 finds its keys, so each caller still gets its one answer.
//  5. COMMIT answered  — durable. Callers that were not answered yet ask again and are replayed.
func (a *Appender) commit(ctx context.Context, batch []*pending) error {
	locked, err := a.lock(ctx, batch)
	if err != nil {
		return err
	}
	if locked.newest != locked.head.Incarnation {
		return fmt.Errorf("%w: a new incarnation was opened", kinds.ErrReadOnly)
	}
	if err := a.follow(ctx, locked.head); err != nil {
		return err
	}
	plan, err := a.resolve(ctx, batch, locked)
	if err != nil {
		return err
	}
	if len(plan.fresh) == 0 { // replays and conflicts only
		if _, err := a.conn.Exec(ctx, "ROLLBACK"); err != nil {
			return unavailable(err)
		}
		plan.answer()
		return nil
	}
	next, err := a.seal(locked.head, plan)
	if err != nil {
		return err
	}
	if err := a.send(ctx, next); err != nil {
		return err
	}
	a.frontier, a.root = next.frontier, next.head.Root
	if next.kept {
		a.stored = next.head.RecordedAt
	}
	a.promised = ledger.Checkpoint{Origin: next.head.Origin, Size: next.head.Size, Root: next.head.Root}
	a.publish([]byte(next.head.Checkpoint))
	plan.answer()
	return nil
}

// locked is what step 1 learned under the head's lock.
type locked struct {
	head   ledger.Head
	newest int                // incarnation
	keys   map[[16]byte]int64 // known keys of the batch → seq
	claims map[claimKey]claimValue
}

type claimKey struct{ tenant, space, name string }

type claimValue struct {
	value string
	seq   int64
}

// lock takes the head and looks up keys and claims, in one round trip.
func (a *Appender) lock(ctx context.Context, batch []*pending) (locked, error) {
	l := locked{keys: map[[16]byte]int64{}, claims: map[claimKey]claimValue{}}
	hashes := make([][16]byte, len(batch))
	var tenants, spaces, names []string
	for i, p := range batch {
		hashes[i] = p.keyHash
		for _, c := range p.claims {
			tenants, spaces, names = append(tenants, p.prepared.Meta().Tenant), append(spaces, c.Space), append(names, c.Name)
		}
	}
	b := &pgx.Batch{}
	b.Queue("BEGIN")
	b.Queue(currentHead + ` FOR UPDATE`).QueryRow(func(row pgx.Row) (err error) {
		l.head, err = scanHead(row)
		return err
	})
	// A statement of its own sees what was committed while the one before waited: no incarnation was opened meanwhile.
	b.Queue(`SELECT max(incarnation) FROM ledger.head`).QueryRow(func(row pgx.Row) error { return row.Scan(&l.newest) })
	// LATERAL with OFFSET 0 keeps this an index look-up per key; a plain join may become a hash join over all keys.
	b.Queue(`SELECT k.key_hash, k.seq FROM unnest($1::uuid[]) AS want(h)
		CROSS JOIN LATERAL (SELECT key_hash, seq FROM ledger.keys WHERE key_hash = want.h OFFSET 0) k`, hashes).Query(func(rows pgx.Rows) error {
		var hash [16]byte
		var seq int64
		_, err := pgx.ForEachRow(rows, []any{&hash, &seq}, func() error { l.keys[hash] = seq; return nil })
		return err
	})
	if len(names) > 0 {
		b.Queue(`SELECT c.* FROM unnest($1::text[], $2::text[], $3::text[]) AS want(tenant, space, name)
			CROSS JOIN LATERAL (SELECT tenant, space, name, value, seq FROM ledger.claims
				WHERE tenant = want.tenant AND space = want.space AND name = want.name OFFSET 0) c`, tenants, spaces, names).Query(func(rows pgx.Rows) error {
			var k claimKey
			var v claimValue
			_, err := pgx.ForEachRow(rows, []any{&k.tenant, &k.space, &k.name, &v.value, &v.seq}, func() error { l.claims[k] = v; return nil })
			return err
		})
	}
	return l, unavailable(a.conn.SendBatch(ctx, b).Close())
}

// sealed is what step 2 made: the next head and everything that goes with it.
type sealed struct {
	head     ledger.Head
	frontier ledger.Frontier
	kept     bool // the checkpoint is also kept in ledger.checkpoints
	tables   []*copyBuffer
	erasures []int64 // seqs of erasures, to be carried out before the commit
}

// checkpointInterval is how often a checkpoint is kept beside the head's.
const checkpointInterval = time.Minute

// seal gives each fresh entry its seq and time, grows the tree, signs, and encodes the rows.
func (a *Appender) seal(head ledger.Head, plan *plan) (sealed, error) {
	for _, b := range a.targets {
		b.reset()
	}
	at := a.now().UTC().Truncate(time.Microsecond)
	if at.Before(head.RecordedAt) { // a clock that went back, or another machine's
		at = head.RecordedAt
	}
	next := sealed{head: head, frontier: a.frontier.Clone()}
	a.targets["contents"].grow(plan.fresh)
	for _, p := range plan.fresh {
		entry := p.prepared.Seal(head.Origin, next.head.Next(), at)
		if err := a.addRows(p, entry); err != nil {
			return sealed{}, err
		}
		for _, t := range next.frontier.Append(entry.LeafHash) {
			if err := a.targets["tiles"].add(head.Incarnation, int16(t.Level), t.Index, t.Root[:], t.Hashes); err != nil {
				return sealed{}, err
			}
		}
		if p.erases != nil {
			next.erasures = append(next.erasures, entry.Seq)
		}
		next.head.Size++
		p.result = recorded(p, entry)
	}
	next.head.RecordedAt, next.head.Root = at, next.frontier.Root()
	msg, err := ledger.Checkpoint{Origin: head.Origin, Size: next.head.Size, Root: next.head.Root}.Sign(a.keys.signers()...)
	if err != nil {
		return sealed{}, err
	}
	next.head.Checkpoint = string(msg)
	if next.kept = at.Sub(a.stored) >= checkpointInterval; next.kept {
		if err := a.targets["checkpoints"].add(head.Incarnation, next.head.Size, at, next.head.Checkpoint); err != nil {
			return sealed{}, err
		}
	}
	for _, b := range a.targets {
		if b.rows > 0 {
			next.tables = append(next.tables, b)
		}
	}
	return next, nil
}

// addRows encodes an entry's own rows and its projections.
func (a *Appender) addRows(p *pending, e ledger.Entry) error {
	m := e.Meta
	if err := a.targets["entries"].add(e.Seq, e.RecordedAt, m.Tenant, m.Kind, m.Key, m.Actor.TokenID, e.MetaBytes, e.MetaSalt[:], e.Envelope, e.LeafHash[:]); err != nil {
		return err
	}
	if err := a.targets["contents"].add(e.Seq, e.Content, e.ContentSalt[:]); err != nil {
		return err
	}
	if err := a.targets["keys"].add(p.keyHash, e.Seq); err != nil {
		return err
	}
	for _, c := range p.newClaims {
		if err := a.targets["claims"].add(m.Tenant, c.Space, c.Name, c.Value, e.Seq); err != nil {
			return err
		}
	}
	for _, rows := range p.rows {
		target := a.targets[rows.Table.Name]
		for _, values := range rows.Values {
			if err := target.add(slices.Concat([]any{e.Seq, m.Tenant}, values)...); err != nil {
				return err
			}
		}
	}
	return nil
}

func recorded(p *pending, e ledger.Entry) kinds.Recorded {
	return kinds.Recorded{
		Seq: e.Seq, Kind: e.Meta.Kind, Key: e.Meta.Key, RecordedAt: e.RecordedAt, LeafHash: e.LeafHash, Findings: p.findings,
	}
}

// send writes all rows, moves the head and commits, in one round trip: the COPYs and the closing statements go out
// together, and the answers are read afterwards. After an error in one of them the server skips to the end of the
// transaction, so a COMMIT that follows becomes a ROLLBACK, which its tag says.
//
// The messages were encoded in place and go to the connection as they are: pgx's frontend would gather a second copy of the
// whole batch first, in memory that is new each time.
func (a *Appender) send(ctx context.Context, next sealed) error {
	h := next.head
	erase := ""
	for _, seq := range next.erasures {
		erase += "SELECT ledger.erase(" + strconv.FormatInt(seq, 10) + "); "
	}
	closing, err := (&pgproto3.Query{String: erase + "UPDATE ledger.head SET size = " + strconv.FormatInt(h.Size, 10) +
		", root = '\\x" + hex.EncodeToString(h.Root[:]) + "'" +
		", recorded_at = '" + h.RecordedAt.Format(ledger.TimeLayout) + "'" +
		", checkpoint = convert_from('\\x" + hex.EncodeToString([]byte(h.Checkpoint)) + "', 'UTF8')" +
		" WHERE incarnation = " + strconv.Itoa(h.Incarnation) + "; COMMIT"}).Encode(nil)
	if err != nil {
		return err
	}
	var messages net.Buffers
	for _, b := range next.tables {
		messages = append(messages, b.messages())
	}
	messages = append(messages, closing)
	pg := a.conn.PgConn()
	if deadline, ok := ctx.Deadline(); ok {
		if err := pg.Conn().SetWriteDeadline(deadline); err != nil {
			return fmt.Errorf("%w: %w", kinds.ErrUnavailable, err)
		}
	}
	if _, err := messages.WriteTo(pg.Conn()); err != nil {
		return fmt.Errorf("%w: %w", kinds.ErrUnavailable, err)
	}
	if err := pg.Conn().SetWriteDeadline(time.Time{}); err != nil {
		return fmt.Errorf("%w: %w", kinds.ErrUnavailable, err)
	}
	return receive(ctx, pg, len(next.tables)+1)
}

// receive reads the answers to the given number of simple queries and demands that the last one committed.
func receive(ctx context.Context, pg *pgconn.PgConn, queries int) error {
	var failure error
	committed := false
	for queries > 0 {
		msg, err := pg.ReceiveMessage(ctx)
		if err != nil {
			return fmt.Errorf("%w: %w", kinds.ErrUnavailable, err)
		}
		switch m := msg.(type) {
		case *pgproto3.ErrorResponse:
			if failure == nil {
				failure = unavailable(pgconn.ErrorResponseToPgError(m))
			}
		case *pgproto3.CommandComplete:
			committed = string(m.CommandTag) == "COMMIT"
		case *pgproto3.ReadyForQuery:
			queries--
		}
	}
	if failure == nil && !committed {
		failure = fmt.Errorf("%w: the transaction was rolled back without an error", kinds.ErrUnavailable)
	}
	return failure
}

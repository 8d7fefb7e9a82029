package postgres

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// send writes all rows, moves the head and commits, in one round trip: the COPYs and the closing statements go out
// together, and the answers are read afterwards. After an error in one of them the server skips to the end of the
// transaction, so a COMMIT that follows becomes a ROLLBACK, which its tag says.
//
// The messages were encoded in place and go to the connection as they are: pgx's frontend would gather a second copy of the
// whole batch first, in memory that is new each time.
func (a *Appender) send(ctx context.Context, f *flight) error {
	next, h := f.next, f.next.head
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
	if f.from != nil {
		opening, err := (&pgproto3.Query{String: "BEGIN; " + expectHead(*f.from)}).Encode(nil)
		if err != nil {
			return err
		}
		messages = append(messages, opening)
	}
	for _, b := range next.buffers {
		if b.rows > 0 {
			messages = append(messages, b.messages())
		}
	}
	messages = append(messages, closing)
	queries := len(messages)
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
	return receive(ctx, pg, queries)
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

// expectHead is a statement that takes the head's lock and fails unless the head is as given.
func expectHead(h ledger.Head) string {
	return "SELECT ledger.expect_head(" + strconv.Itoa(h.Incarnation) + ", " + strconv.FormatInt(h.Size, 10) + ", '\\x" + hex.EncodeToString(h.Root[:]) + "')"
}

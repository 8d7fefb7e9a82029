package postgres

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// write sends all rows, the head's move and the commit, in one go; the answers are read afterwards, see receive. What is not
// written by the deadline never will be.
//
// It is one query of many statements, so that the server does all or nothing of it whatever goes wrong: after an error it
// skips the rest of a query, the COMMIT too, and drops the rows that still come. As queries of their own the later ones
// would run, each for itself, after a BEGIN that was refused or cancelled.
//
// The rows were encoded in place and go to the connection as they are: pgx's frontend would gather a second copy of the
// whole batch first, in memory that is new each time.
func (f *flight) write(conn net.Conn, deadline time.Time) error {
	messages := make(net.Buffers, 1, 1+len(f.next.buffers))
	var copies strings.Builder
	for _, b := range f.next.buffers {
		if b.copies > 0 {
			b.end()
			copies.WriteString(strings.Repeat(b.target.query+"; ", b.copies))
			messages = append(messages, b.data)
		}
	}
	var err error
	if messages[0], err = (&pgproto3.Query{String: opening(f) + copies.String() + closing(f)}).Encode(nil); err != nil {
		return err
	}
	if err := conn.SetWriteDeadline(deadline); err != nil {
		return fmt.Errorf("%w: %w", kinds.ErrUnavailable, err)
	}
	if _, err := messages.WriteTo(conn); err != nil {
		return fmt.Errorf("%w: %w", kinds.ErrUnavailable, err)
	}
	if err := conn.SetWriteDeadline(time.Time{}); err != nil {
		return fmt.Errorf("%w: %w", kinds.ErrUnavailable, err)
	}
	return nil
}

// opening begins the transaction of a batch that was sealed before the head was locked. Any other is in one already.
func opening(f *flight) string {
	if f.from == nil {
		return ""
	}
	return "BEGIN; " + expectHead(*f.from) + "; "
}

// closing moves the head, carries out the erasures and commits. The database refuses an erasure that the head does not cover.
func closing(f *flight) string {
	h, erase := f.next.head, ""
	for _, seq := range f.next.erasures {
		erase += "SELECT ledger.erase(" + strconv.FormatInt(seq, 10) + "); "
	}
	return "UPDATE ledger.head SET size = " + strconv.FormatInt(h.Size, 10) +
		", root = '\\x" + hex.EncodeToString(h.Root[:]) + "'" +
		", recorded_at = '" + h.RecordedAt.Format(ledger.TimeLayout) + "'" +
		", checkpoint = convert_from('\\x" + hex.EncodeToString([]byte(h.Checkpoint)) + "', 'UTF8')" +
		" WHERE incarnation = " + strconv.Itoa(h.Incarnation) + "; " + erase + "COMMIT"
}

// receive reads the answers to one query and demands that it committed.
func receive(ctx context.Context, pg *pgconn.PgConn) error {
	var failure error
	committed := false
	for {
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
			if failure == nil && !committed {
				failure = fmt.Errorf("%w: the transaction was rolled back without an error", kinds.ErrUnavailable)
			}
			return failure
		}
	}
}

// expectHead is a statement that takes the head's lock and fails unless the head is as given.
func expectHead(h ledger.Head) string {
	return "SELECT ledger.expect_head(" + strconv.Itoa(h.Incarnation) + ", " + strconv.FormatInt(h.Size, 10) + ", '\\x" + hex.EncodeToString(h.Root[:]) + "')"
}

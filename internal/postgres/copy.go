package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"ledgerd/internal/kinds"
)

// copyTarget is one table that a batch fills, with the types of its columns as the database declares them.
type copyTarget struct {
	name    string
	query   string // COPY
	oids    []uint32
	opening []byte // what of the CopyData message comes before the first row: its head and the COPY header
}

// copyHeader opens Postgres's binary COPY format: signature, no flags, no extension.
const copyHeader = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"

// copyBuffer gathers the rows of one batch for one table in binary COPY format, as the messages that go to the server after
// the query: for each COPY all its rows in one CopyData, and CopyDone.
type copyBuffer struct {
	target *copyTarget
	types  *pgtype.Map
	data   []byte
	copies int // begun
	begins int // where the last of them does
	rows   int // of the last of them
}

// Bounds of a batch's COPYs. The server keeps a slot for each row of up to a thousand, and what it does to make and free them
// grows with their square: hence some rows each. It also answers each one before it reads on, and stops reading once a few
// hundred answers wait for a client that is still writing: hence few COPYs for a table, of which the last has the rest.
const (
	copyRows = 256
	copyMost = batchEntries / copyRows
)

// keptCapacity is the largest buffer in bytes that is kept from batch to batch. What an unusual batch needed goes back.
const keptCapacity = 2 * batchBytes

func (c *copyBuffer) reset() {
	if cap(c.data) > keptCapacity {
		c.data = nil
	}
	c.data, c.copies, c.rows = c.data[:0], 0, 0
}

// begin opens another COPY, and ends the one before.
func (c *copyBuffer) begin() {
	c.end()
	c.begins = len(c.data)
	c.data = append(c.data, c.target.opening...)
	c.copies, c.rows = c.copies+1, 0
}

// end closes the COPY that is open, if one is.
func (c *copyBuffer) end() {
	if c.rows == 0 {
		return
	}
	c.data = binary.BigEndian.AppendUint16(c.data, 0xffff) // no more rows
	length := c.data[c.begins+1:]                          // behind the message's type
	binary.BigEndian.PutUint32(length, uint32(len(length)))
	c.data, _ = (&pgproto3.CopyDone{}).Encode(c.data) // it has no content that could be wrong
	c.rows = 0
}

// What contents have beside the content, in bytes: each row lengths, seq and salt; each COPY what opens and ends it.
const (
	contentOverhead = 48
	copyOverhead    = 64
)

// grow makes room for the contents of a batch at once; a large one would be copied several times on the way.
func (c *copyBuffer) grow(batch []*pending) {
	room := len(batch)*contentOverhead + copyMost*copyOverhead
	for _, p := range batch {
		room += p.bytes()
	}
	c.data = slices.Grow(c.data, room)
}

// add appends one row; the values stand in the order of the target's columns.
func (c *copyBuffer) add(values ...any) error {
	return c.addParts(values, nil)
}

// addParts appends one row whose values come in two parts.
func (c *copyBuffer) addParts(first, rest []any) error {
	if len(first)+len(rest) != len(c.target.oids) {
		return fmt.Errorf("%s: %d values for %d columns", c.target.name, len(first)+len(rest), len(c.target.oids))
	}
	if c.rows == 0 || c.rows == copyRows && c.copies < copyMost {
		c.begin()
	}
	c.data = binary.BigEndian.AppendUint16(c.data, uint16(len(c.target.oids)))
	for i := range c.target.oids {
		from, at := first, i
		if i >= len(first) {
			from, at = rest, i-len(first)
		}
		if err := c.value(c.target.oids[i], from[at]); err != nil {
			return fmt.Errorf("%s: column %d: %w", c.target.name, i+1, err)
		}
	}
	c.rows++
	return nil
}

// value appends one value with its length, which is -1 for null.
func (c *copyBuffer) value(oid uint32, v any) error {
	at := len(c.data)
	c.data = append(c.data, 0xff, 0xff, 0xff, 0xff)
	out, ok := appendPlain(c.data, oid, v)
	if !ok {
		var err error
		if out, err = c.types.Encode(oid, pgtype.BinaryFormatCode, v, c.data); err != nil {
			return err
		}
	}
	if out != nil {
		binary.BigEndian.PutUint32(out[at:], uint32(len(out)-at-4))
		c.data = out
	}
	return nil
}

// newCopyTarget asks the database for the types of a table's columns.
func newCopyTarget(ctx context.Context, conn *pgx.Conn, table string, columns []string) (*copyTarget, error) {
	rows, err := conn.Query(ctx, `
		SELECT a.atttypid FROM unnest($2::text[]) WITH ORDINALITY AS c(name, n)
		LEFT JOIN pg_attribute a ON a.attrelid = to_regclass($1) AND a.attname = c.name AND NOT a.attisdropped
		ORDER BY c.n`, "ledger."+table, columns)
	if err != nil {
		return nil, err
	}
	oids, err := pgx.CollectRows(rows, pgx.RowTo[*uint32])
	if err != nil {
		return nil, err
	}
	target := &copyTarget{name: table, query: "COPY ledger." + table + " (" + strings.Join(columns, ", ") + ") FROM STDIN (FORMAT binary)"}
	for i, oid := range oids {
		if oid == nil {
			return nil, fmt.Errorf("table ledger.%s has no column %s", table, columns[i])
		}
		target.oids = append(target.oids, *oid)
	}
	target.opening, err = (&pgproto3.CopyData{Data: []byte(copyHeader)}).Encode(nil)
	return target, err
}

// columnsOf lists a projection's columns as the append path writes them.
func columnsOf(t *kinds.Table) []string {
	names := []string{"seq", "tenant"}
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return names
}

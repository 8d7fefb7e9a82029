package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"ledgerd/internal/kinds"
)

// copyTarget is one table that a batch fills, with the types of its columns as the database declares them.
type copyTarget struct {
	name    string
	oids    []uint32
	opening []byte // the messages and the COPY header that come before the first row
	dataAt  int    // where in opening the CopyData message begins
}

// copyHeader opens Postgres's binary COPY format: signature, no flags, no extension.
const copyHeader = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"

// copyBuffer gathers the rows of one batch for one table in binary COPY format, as the messages that go to the server: the
// query, all rows in one CopyData, CopyDone.
type copyBuffer struct {
	target *copyTarget
	types  *pgtype.Map
	data   []byte
	rows   int
}

// keptCapacity is the largest buffer in bytes that is kept from batch to batch. What an unusual batch needed goes back.
const keptCapacity = 2 * batchBytes

func (c *copyBuffer) reset() {
	if cap(c.data) > keptCapacity {
		c.data = nil
	}
	c.data = append(c.data[:0], c.target.opening...)
	c.rows = 0
}

// contentOverhead is what a row of contents has beside the content, in bytes: lengths, seq and salt.
const contentOverhead = 48

// grow makes room for the contents of a batch at once; a large one would be copied several times on the way.
func (c *copyBuffer) grow(batch []*pending) {
	room := len(batch) * contentOverhead
	for _, p := range batch {
		room += p.bytes()
	}
	c.data = slices.Grow(c.data, room)
}

// add appends one row; the values stand in the order of the target's columns.
func (c *copyBuffer) add(values ...any) error {
	if len(values) != len(c.target.oids) {
		return fmt.Errorf("%s: %d values for %d columns", c.target.name, len(values), len(c.target.oids))
	}
	c.data = binary.BigEndian.AppendUint16(c.data, uint16(len(values)))
	for i, v := range values {
		at := len(c.data)
		c.data = append(c.data, 0xff, 0xff, 0xff, 0xff) // the length of null
		out, ok := appendPlain(c.data, c.target.oids[i], v)
		var err error
		if !ok {
			out, err = c.types.Encode(c.target.oids[i], pgtype.BinaryFormatCode, v, c.data)
		}
		if err != nil {
			return fmt.Errorf("%s: column %d: %w", c.target.name, i+1, err)
		}
		if out != nil {
			binary.BigEndian.PutUint32(out[at:], uint32(len(out)-at-4))
			c.data = out
		}
	}
	c.rows++
	return nil
}

// appendPlain encodes what most values of a batch are, without pgtype's search for a way to do it.
func appendPlain(b []byte, oid uint32, value any) (_ []byte, ok bool) {
	switch v := value.(type) {
	case int64:
		return binary.BigEndian.AppendUint64(b, uint64(v)), oid == pgtype.Int8OID
	case string:
		return append(b, v...), oid == pgtype.TextOID
	case []byte:
		return append(b, v...), oid == pgtype.ByteaOID && v != nil
	case [16]byte:
		return append(b, v[:]...), oid == pgtype.UUIDOID
	case time.Time:
		return binary.BigEndian.AppendUint64(b, uint64(v.UnixMicro()-postgresEpoch)), oid == pgtype.TimestamptzOID
	}
	return b, false
}

// postgresEpoch is 2000-01-01, from which Postgres counts, in microseconds.
const postgresEpoch = 946_684_800_000_000

// messages are the complete messages; after them only reset may be called.
func (c *copyBuffer) messages() []byte {
	c.data = binary.BigEndian.AppendUint16(c.data, 0xffff) // no more rows
	length := c.data[c.target.dataAt+1:]
	binary.BigEndian.PutUint32(length, uint32(len(length)))
	c.data, _ = (&pgproto3.CopyDone{}).Encode(c.data) // it has no content that could be wrong
	return c.data
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
	target := &copyTarget{name: table}
	for i, oid := range oids {
		if oid == nil {
			return nil, fmt.Errorf("table ledger.%s has no column %s", table, columns[i])
		}
		target.oids = append(target.oids, *oid)
	}
	query := pgproto3.Query{String: "COPY ledger." + table + " (" + strings.Join(columns, ", ") + ") FROM STDIN (FORMAT binary)"}
	if target.opening, err = query.Encode(nil); err != nil {
		return nil, err
	}
	target.dataAt = len(target.opening)
	target.opening, err = (&pgproto3.CopyData{Data: []byte(copyHeader)}).Encode(target.opening)
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

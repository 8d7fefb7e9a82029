package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"ledgerd/internal/kinds"
)

// copyTarget is one table that a batch fills, with the types of its columns as the database declares them.
type copyTarget struct {
	sql  string
	oids []uint32
}

// copyHeader opens Postgres's binary COPY format: signature, no flags, no extension.
const copyHeader = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"

// copyBuffer gathers the rows of one batch for one table in binary COPY format.
type copyBuffer struct {
	target *copyTarget
	types  *pgtype.Map
	data   []byte
	rows   int
}

func (c *copyBuffer) reset() {
	c.data = append(c.data[:0], copyHeader...)
	c.rows = 0
}

// add appends one row; the values stand in the order of the target's columns.
func (c *copyBuffer) add(values ...any) error {
	if len(values) != len(c.target.oids) {
		return fmt.Errorf("%s: %d values for %d columns", c.target.sql, len(values), len(c.target.oids))
	}
	c.data = binary.BigEndian.AppendUint16(c.data, uint16(len(values)))
	for i, v := range values {
		at := len(c.data)
		c.data = append(c.data, 0xff, 0xff, 0xff, 0xff) // the length of null
		out, err := c.types.Encode(c.target.oids[i], pgtype.BinaryFormatCode, v, c.data)
		if err != nil {
			return fmt.Errorf("%s: column %d: %w", c.target.sql, i+1, err)
		}
		if out != nil {
			binary.BigEndian.PutUint32(out[at:], uint32(len(out)-at-4))
			c.data = out
		}
	}
	c.rows++
	return nil
}

// bytes is the complete COPY stream.
func (c *copyBuffer) bytes() []byte { return binary.BigEndian.AppendUint16(c.data, 0xffff) }

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
	target := &copyTarget{sql: "COPY ledger." + table + " (" + strings.Join(columns, ", ") + ") FROM STDIN (FORMAT binary)"}
	for i, oid := range oids {
		if oid == nil {
			return nil, fmt.Errorf("table ledger.%s has no column %s", table, columns[i])
		}
		target.oids = append(target.oids, *oid)
	}
	return target, nil
}

// columnsOf lists a projection's columns as the append path writes them.
func columnsOf(t *kinds.Table) []string {
	names := []string{"seq", "tenant"}
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return names
}

package postgres

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"ledgerd/internal/audit"
)

// projections demands of each table just the rows that the content gives.
func (c *recordCheck) projections(out *checked, r record, d audit.Derived) {
	for i, table := range c.fsck.tables {
		var want [][]any
		for _, rows := range d.Projection.Rows {
			if rows.Table == table {
				want = append(want, rows.Values...)
			}
		}
		have := r.parts[partProjections+i]
		if len(have) == 0 && len(want) == 0 {
			continue
		}
		if problem := c.compareRows(c.fsck.streams[partProjections+i], have, want, d.Meta.Tenant); problem != "" {
			out.fault(r.seq, audit.FaultProjection, "ledger."+table.Name+problem)
		}
	}
}

// compareRows says what is wrong with an entry's rows in one table, "" when nothing is. Their order means nothing, but is
// usually the same.
func (c *recordCheck) compareRows(s *stream, have [][][]byte, want [][]any, tenant string) string {
	if len(have) != len(want) {
		return fmt.Sprintf(" has %d rows of it, its content gives %d", len(have), len(want))
	}
	c.buf = c.buf[:0]
	encoded := make([][][]byte, len(want))
	for i, values := range want {
		row, err := c.encode(s.types, have[i][0], tenant, values)
		if err != nil {
			return " can't hold what its content gives"
		}
		encoded[i] = row
	}
	column := differs(have, encoded)
	if column == 0 || differs(slices.SortedFunc(slices.Values(have), compareRow), slices.SortedFunc(slices.Values(encoded), compareRow)) == 0 {
		return ""
	}
	return "." + s.columns[column] + " is not what its content gives"
}

// encode makes a row as the database sends it: the seq as it is, the tenant, the values.
func (c *recordCheck) encode(types []uint32, seq []byte, tenant string, values []any) ([][]byte, error) {
	if len(values)+2 != len(types) {
		return nil, fmt.Errorf("%d values for %d columns", len(values)+2, len(types))
	}
	row := make([][]byte, len(types))
	row[0], row[1] = seq, []byte(tenant)
	for i, v := range values {
		from := len(c.buf)
		out, err := c.types.Encode(types[i+2], pgtype.BinaryFormatCode, v, c.buf)
		if err != nil {
			return nil, err
		}
		if out != nil {
			c.buf, row[i+2] = out, c.asSent(types[i+2], out[from:len(out):len(out)])
		}
	}
	return row, nil
}

// asSent turns what the driver writes into what the database sends, where the two differ: the driver gives an empty array one
// dimension of length 0, the database none.
func (c *recordCheck) asSent(oid uint32, value []byte) []byte {
	const header, dimension = 12, 8 // number of dimensions, flags, element type; length, lower bound
	if len(value) != header+dimension || binary.BigEndian.Uint32(value) != 1 || binary.BigEndian.Uint32(value[header:]) != 0 {
		return value
	}
	t, ok := c.types.TypeForOID(oid)
	if !ok {
		return value
	}
	if _, ok := t.Codec.(*pgtype.ArrayCodec); !ok {
		return value
	}
	clear(value[:4])
	return value[:header]
}

// differs is the first column in which two lists of rows differ, 0 when none does; column 0, the seq, never does.
func differs(a, b [][][]byte) int {
	for i := range a {
		for j := range a[i] {
			if compareValue(a[i][j], b[i][j]) != 0 {
				return j
			}
		}
	}
	return 0
}

func compareRow(a, b [][]byte) int { return slices.CompareFunc(a, b, compareValue) }

// compareValue tells null, which is nil, from an empty value.
func compareValue(a, b []byte) int {
	if (a == nil) != (b == nil) {
		if a == nil {
			return -1
		}
		return 1
	}
	return bytes.Compare(a, b)
}

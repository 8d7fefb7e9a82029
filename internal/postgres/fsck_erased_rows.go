package postgres

import (
	"encoding/binary"
	"slices"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// erased checks the rows of an erased entry. Its content is gone, so what they held can't be derived any more; but its meta is
// proven still, and says which tables and which claims an entry of its kind can have, and whose they are. Nothing personal may
// be left. That a number in a row that stays is what it was is not shown; nor is that a further line, numbered next, was
// there before.
func (c *recordCheck) erased(out *checked, r record, m ledger.Meta) {
	kind := kinds.Lookup(m.Kind)
	rows, whole := 0, false
	for i, table := range c.fsck.tables {
		have := r.parts[partProjections+i]
		rows += len(have)
		owned := kind != nil && slices.Contains(kind.Tables, table)
		whole = whole || owned && lineColumn(table) < 0
		if problem := keptRows(table, have, m, owned); problem != "" && kind != nil {
			out.fault(r.seq, audit.FaultProjection, "ledger."+table.Name+problem)
		}
		c.nothingPersonal(out, r.seq, table, have)
	}
	if whole && rows == 0 {
		out.fault(r.seq, audit.FaultProjection, "no table has a row of it, and each entry of its kind has one, erased or not")
	}
	if kind != nil {
		erasedClaims(out, r, m, kind.ClaimSpace)
	}
}

// firstColumn is where a table's own columns begin in a row: after the seq and the tenant.
const firstColumn = 2

// keptRows says what is wrong with the rows that an erasure left in one table, "" for nothing that can be known.
func keptRows(table *kinds.Table, have [][][]byte, m ledger.Meta, owned bool) string {
	line, request := lineColumn(table), slices.IndexFunc(table.Columns, func(c kinds.Column) bool { return c.Name == "request_id" })
	if len(have) > 0 && !owned {
		return " has a row of it, which no entry of its kind has"
	}
	if len(have) > 1 && line < 0 {
		return " has several rows of it, and an entry has one"
	}
	seen := make([]bool, len(have))
	for _, row := range have {
		if string(row[1]) != m.Tenant {
			return ".tenant is not the entry's"
		}
		if m.Kind == kinds.UsageReport.Name && request >= 0 && string(row[firstColumn+request]) != m.Key {
			return ".request_id is not the entry's key"
		}
		if line >= 0 {
			n, ok := lineNumber(row[firstColumn+line])
			if !ok || n < 0 || n >= len(seen) || seen[n] {
				return ".line does not count from 0 without a gap"
			}
			seen[n] = true
		}
	}
	return ""
}

// lineColumn is where a table of several rows per entry numbers them; -1 for a table of one.
func lineColumn(table *kinds.Table) int {
	return slices.IndexFunc(table.Columns, func(c kinds.Column) bool { return c.Name == "line" })
}

// lineNumber reads an integer as the database sends it.
func lineNumber(raw []byte) (int, bool) {
	if len(raw) != 4 {
		return 0, false
	}
	return int(int32(binary.BigEndian.Uint32(raw))), true //nolint:gosec // it is signed there
}

// nothingPersonal demands that an erasure took the personal columns along.
func (c *recordCheck) nothingPersonal(out *checked, seq int64, table *kinds.Table, have [][][]byte) {
	for _, row := range have {
		for j, column := range table.Columns {
			if column.Personal && row[firstColumn+j] != nil {
				out.fault(seq, audit.FaultErased, "ledger."+table.Name+"."+column.Name+" is there although the entry was erased")
			}
		}
	}
}

// erasedClaims demands that an erased entry claims at most the one name that an entry of its kind can.
func erasedClaims(out *checked, r record, m ledger.Meta, space string) {
	stored := r.parts[partClaim]
	own := slices.IndexFunc(stored, func(row [][]byte) bool { return space != "" && string(row[1]) == m.Tenant && string(row[2]) == space })
	if len(stored) > 1 || len(stored) == 1 && own < 0 {
		out.fault(r.seq, audit.FaultClaim, "ledger.claims has a row of it that no entry of its kind has")
	}
}

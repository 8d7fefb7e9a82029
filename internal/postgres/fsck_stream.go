package postgres

import (
	"context"
	"encoding/binary"

	"github.com/jackc/pgx/v5"
)

// Bounds of what a stream holds in one block, and of how many blocks it reads ahead.
const (
	blockRows   = 512
	blockBytes  = 256 << 10
	blocksAhead = 4
)

// stream reads the rows of one query ahead of its reader, in the driver's binary form. The query's first column is a bigint
// by which the rows are ordered.
type stream struct {
	table  string
	sql    string
	blocks chan *block

	// Set by read before the first block.
	types   []uint32
	columns []string

	block *block // the reader's
	at    int
}

// block is a run of rows. It is not reused, so what is taken from it stays.
type block struct {
	seqs []int64
	rows [][][]byte
	data []byte // room for values
	size int    // of all values, in bytes
}

func newStream(table, sql string) *stream {
	return &stream{table: table, sql: sql, blocks: make(chan *block, blocksAhead)}
}

// read runs the query to its end. The caller closes blocks.
func (s *stream) read(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, s.sql)
	if err != nil {
		return err
	}
	defer rows.Close()
	for _, f := range rows.FieldDescriptions() {
		s.types, s.columns = append(s.types, f.DataTypeOID), append(s.columns, f.Name)
	}
	b := &block{}
	for rows.Next() {
		b.add(rows.RawValues())
		if len(b.rows) < blockRows && b.size < blockBytes {
			continue
		}
		if !send(ctx, s.blocks, b) {
			return context.Cause(ctx)
		}
		b = &block{}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if !send(ctx, s.blocks, b) {
		return context.Cause(ctx)
	}
	return nil
}

func send[T any](ctx context.Context, to chan<- T, v T) bool {
	select {
	case to <- v:
		return true
	case <-ctx.Done():
		return false
	}
}

// add copies a row, which is only valid until the next. A null stays nil.
func (b *block) add(raw [][]byte) {
	need := 0
	for _, v := range raw {
		need += len(v)
	}
	b.size += need
	if cap(b.data)-len(b.data) < need {
		b.data = make([]byte, 0, max(need, 64<<10))
	}
	row := make([][]byte, len(raw))
	for i, v := range raw {
		if v == nil {
			continue
		}
		from := len(b.data)
		b.data = append(b.data, v...)
		row[i] = b.data[from:len(b.data):len(b.data)]
	}
	b.seqs, b.rows = append(b.seqs, int64(binary.BigEndian.Uint64(raw[0]))), append(b.rows, row)
}

// peek is the seq of the next row, false at the end.
func (s *stream) peek() (int64, bool) {
	for s.block == nil || s.at == len(s.block.rows) {
		b, ok := <-s.blocks
		if !ok {
			return 0, false
		}
		s.block, s.at = b, 0
	}
	return s.block.seqs[s.at], true
}

// next is the next row.
func (s *stream) next() ([][]byte, bool) {
	if _, ok := s.peek(); !ok {
		return nil, false
	}
	s.at++
	return s.block.rows[s.at-1], true
}

// take gives the rows of one seq, which may be none.
func (s *stream) take(seq int64) [][][]byte {
	var rows [][][]byte
	for next, ok := s.peek(); ok && next == seq; next, ok = s.peek() {
		from := s.at
		for s.at < len(s.block.rows) && s.block.seqs[s.at] == seq {
			s.at++
		}
		if rows == nil {
			rows = s.block.rows[from:s.at:s.at]
		} else { // they go on in the next block
			rows = append(rows, s.block.rows[from:s.at]...)
		}
	}
	return rows
}

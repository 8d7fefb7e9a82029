package postgres

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// appendPlain encodes what most values of a batch are, without pgtype's search for a way to do it.
func appendPlain(b []byte, oid uint32, value any) (_ []byte, ok bool) {
	switch v := value.(type) {
	case int32:
		return binary.BigEndian.AppendUint32(b, uint32(v)), oid == pgtype.Int4OID
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
	case []string:
		if oid != pgtype.TextArrayOID || v == nil {
			return b, false
		}
		b = appendArrayHeader(b, len(v), false, pgtype.TextOID)
		for _, s := range v {
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
		}
		return b, true
	case []int64:
		if oid != pgtype.Int8ArrayOID || v == nil {
			return b, false
		}
		b = appendArrayHeader(b, len(v), false, pgtype.Int8OID)
		for _, n := range v {
			b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, 8), uint64(n))
		}
		return b, true
	case []*string:
		if oid != pgtype.TextArrayOID || v == nil {
			return b, false
		}
		b = appendArrayHeader(b, len(v), slices.Contains(v, nil), pgtype.TextOID)
		for _, s := range v {
			if s == nil {
				b = binary.BigEndian.AppendUint32(b, ^uint32(0))
				continue
			}
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(*s))), *s...)
		}
		return b, true
	}
	return b, false
}

// appendArrayHeader begins an array of n elements in Postgres's binary form: one dimension, whether there are nulls, the
// elements' type, and the dimension's length and lower bound.
func appendArrayHeader(b []byte, n int, nulls bool, element uint32) []byte {
	flag := uint32(0)
	if nulls {
		flag = 1
	}
	b = binary.BigEndian.AppendUint32(b, 1)
	b = binary.BigEndian.AppendUint32(b, flag)
	b = binary.BigEndian.AppendUint32(b, element)
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	return binary.BigEndian.AppendUint32(b, 1)
}

// postgresEpoch is 2000-01-01, from which Postgres counts, in microseconds.
const postgresEpoch = 946_684_800_000_000

package postgres

import (
	"bytes"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"pgregory.net/rapid"
)

// What appendPlain takes upon itself is what pgtype makes of the same value; all else it leaves alone.
func TestAppendPlainIsPgtypesEncoding(t *testing.T) {
	t.Parallel()
	types := pgtype.NewMap()
	oids := []uint32{
		pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.TextOID, pgtype.ByteaOID, pgtype.UUIDOID, pgtype.TimestamptzOID,
		pgtype.TextArrayOID, pgtype.Int8ArrayOID, pgtype.Int4ArrayOID,
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		texts := rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "texts")
		pointers := rapid.SliceOfN(rapid.Ptr(rapid.String(), true), 0, 3).Draw(t, "pointers")
		taken := 0
		for _, v := range []any{
			rapid.Int32().Draw(t, "int32"), rapid.Int64().Draw(t, "int64"), text, []byte(text), [16]byte([]byte(text + "0123456789abcdef")[:16]),
			time.UnixMicro(rapid.Int64Range(-1<<52, 1<<52).Draw(t, "at")).UTC(), texts, []string(nil), pointers, []*string(nil),
			rapid.SliceOfN(rapid.Int64(), 0, 3).Draw(t, "integers"), []int64(nil), []byte(nil), nil,
		} {
			for _, oid := range oids {
				got, ok := appendPlain([]byte("before"), oid, v)
				if !ok {
					continue
				}
				taken++
				want, err := types.Encode(oid, pgtype.BinaryFormatCode, v, []byte("before"))
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%T as %d: %x, pgtype says %x (%v)", v, oid, got, want, err)
				}
			}
		}
		if taken < 9 { // one for each type that it knows
			t.Fatalf("only %d values were encoded", taken)
		}
	})
}

package postgres

import (
	"reflect"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
	"pgregory.net/rapid"
)

var anyText = rapid.StringOfN(rapid.RuneFrom([]rune("aé/:\x1e ")), 0, 8, -1)

// drawFrames is a line's frames, at least some, as they are stored.
func drawFrames(t *rapid.T, least int) frameColumns {
	n := rapid.IntRange(least, 5).Draw(t, "frames")
	text := rapid.SliceOfN(anyText, n, n)
	c := frameColumns{ids: text.Draw(t, "ids"), tokens: rapid.SliceOfN(rapid.Int64(), n, n).Draw(t, "tokens")}
	c.digests = rapid.SliceOfN(rapid.Ptr(anyText, true), n, n).Draw(t, "digests")
	if n > 0 && rapid.Bool().Draw(t, "of several providers") {
		c.providers = text.Draw(t, "providers")
	}
	return c
}

func encode(t *rapid.T, oid uint32, v any) []byte {
	raw, err := pgtype.NewMap().Encode(oid, pgtype.BinaryFormatCode, v, nil)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func (c frameColumns) binary(t *rapid.T) [4][]byte {
	return [4][]byte{
		encode(t, pgtype.TextArrayOID, c.providers), encode(t, pgtype.TextArrayOID, c.ids), encode(t, pgtype.TextArrayOID, c.digests),
		encode(t, pgtype.Int8ArrayOID, c.tokens),
	}
}

// Frames that are read from bytes are those that the driver would scan.
func TestBinaryFramesAreTheScannedOnes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawFrames(t, 0)
		if rapid.Bool().Draw(t, "erased") {
			c.providers, c.ids, c.digests = nil, nil, nil
		}
		raw := c.binary(t)
		got, err := binaryFrames("own", raw[0], raw[1], raw[2], raw[3])
		if want := c.lineFrames("own"); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, %v\nwant %+v", got, err, want)
		}
	})
}

// Whatever the bytes, the answer is frames or an error; cut ones are an error.
func TestBinaryFramesRefuseWhatIsCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawFrames(t, 1)
		raw := c.binary(t)
		i := rapid.IntRange(1, 3).Draw(t, "column") // that of providers may be null
		raw[i] = raw[i][:rapid.IntRange(0, len(raw[i])-1).Draw(t, "left")]
		if got, err := binaryFrames("own", raw[0], raw[1], raw[2], raw[3]); err == nil {
			t.Fatalf("%+v", got)
		}
	})
}

func FuzzBinaryFrames(f *testing.F) {
	one := []byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 25, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 'f'}
	f.Add([]byte(nil), one, one, one)
	f.Fuzz(func(t *testing.T, providers, ids, digests, tokens []byte) {
		list, err := binaryFrames("own", providers, ids, digests, tokens)
		if err != nil && list != nil {
			t.Fatal("frames and an error")
		}
	})
}

package evidence_test

import (
	"bytes"
	"errors"
	"testing"

	"ledgerd/internal/audit/evidence"
)

// Whatever the bytes: verification ends, without a panic, in a report or a refusal; and only one file passes, the one that
// the log signed.
func FuzzVerify(f *testing.F) {
	b := filled(f)
	small := newBook(f)
	small.record(tenant, small.usage(1))
	for _, file := range [][]byte{small.file(small.items()...), b.file(), b.file(b.items()[1:2]...), evidence.Archive()} {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := evidence.Verify(t.Context(), bytes.NewReader(file), int64(len(file)), evidence.Options{Keys: []string{b.key.vkey}})
		var unreadable *evidence.UnreadableError
		switch {
		case err != nil && !errors.As(err, &unreadable):
			t.Fatal(err)
		case err == nil && !r.Failed() && r.Check("signature").Passed != 1:
			t.Fatal("it passed unsigned")
		}
	})
}

// A line has one spelling.
func FuzzLine(f *testing.F) {
	b := filled(f)
	for _, i := range b.items() {
		f.Add(i.EncodeLine())
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if i, err := evidence.ParseLine(raw); err == nil && !bytes.Equal(i.EncodeLine(), raw) {
			t.Fatalf("%q reads as %q", raw, i.EncodeLine())
		}
	})
}

package ledger_test

import (
	"bytes"
	"errors"
	"testing"

	"ledgerd/ledger"
)

func bundleOf(tb testing.TB, entries ...[]byte) []byte {
	tb.Helper()
	var b []byte
	var err error
	for _, e := range entries {
		if b, err = ledger.AppendBundleEntry(b, e); err != nil {
			tb.Fatal(err)
		}
	}
	return b
}

func TestBundle(t *testing.T) {
	if got := bundleOf(t, []byte("ab"), nil, []byte("c")); !bytes.Equal(got, []byte("\x00\x02ab\x00\x00\x00\x01c")) {
		t.Errorf("bytes are %q", got)
	}
	longest := bytes.Repeat([]byte{'x'}, ledger.MaxBundleEntry)
	bundle := bundleOf(t, longest, []byte("a"))
	entries, err := ledger.ParseBundle(bundle)
	if err != nil || len(entries) != 2 || !bytes.Equal(entries[0], longest) || string(entries[1]) != "a" {
		t.Errorf("read %d entries, %v", len(entries), err)
	}
	kept, err := ledger.AppendBundleEntry(bundle, append(longest, 'x'))
	if !errors.Is(err, ledger.ErrBundle) || !bytes.Equal(kept, bundle) {
		t.Errorf("65,536 bytes: %v", err)
	}
}

func TestParseBundleRefuses(t *testing.T) {
	full := bundleOf(t, make([][]byte, ledger.TileWidth)...)
	if entries, err := ledger.ParseBundle(full); err != nil || len(entries) != ledger.TileWidth {
		t.Errorf("a full bundle: %d entries, %v", len(entries), err)
	}
	for name, b := range map[string][]byte{
		"nothing": nil, "half a length": {0}, "an entry cut off": {0, 2, 'a'}, "half a length behind an entry": {0, 1, 'a', 0}, "257 entries": append(full, 0, 0),
	} {
		if _, err := ledger.ParseBundle(b); !errors.Is(err, ledger.ErrBundle) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseBundle(f *testing.F) {
	f.Add([]byte("\x00\x02ab\x00\x00\x00\x01c"))
	f.Add([]byte{0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := ledger.ParseBundle(b)
		switch {
		case err != nil && !errors.Is(err, ledger.ErrBundle):
			t.Errorf("%q: %v", b, err)
		case err == nil && !bytes.Equal(bundleOf(t, entries...), b):
			t.Errorf("%q does not come back", b)
		}
	})
}

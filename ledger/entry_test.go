package ledger_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"ledgerd/ledger"
)

func TestMetaRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return utf8.ValidRune(r) }))
		m := ledger.Meta{
			Actor: ledger.Actor{Role: text.Draw(t, "role"), TokenID: text.Draw(t, "token")}, Bytes: rapid.IntRange(0, ledger.MaxContent).Draw(t, "bytes"),
			Key: text.Draw(t, "key"), Kind: text.Draw(t, "kind"), Tenant: text.Draw(t, "tenant"),
		}
		got, err := ledger.ParseMeta(m.Encode())
		if err != nil || got != m {
			t.Fatalf("%s is read as %+v, %v", m.Encode(), got, err)
		}
		canonical, err := ledger.Canonicalize(m.Encode())
		if err != nil || !bytes.Equal(canonical, m.Encode()) {
			t.Fatalf("%s is not RFC 8785, which is %s (%v)", m.Encode(), canonical, err)
		}
	})
}

func TestEnvelopeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := ledger.Envelope{
			Origin:     rapid.String().Filter(utf8.ValidString).Draw(t, "origin"),
			RecordedAt: time.UnixMicro(rapid.Int64Range(0, 253402300799_999999).Draw(t, "at")).UTC(),
		}
		copy(e.Content[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "content"))
		copy(e.Meta[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "meta"))
		got, err := ledger.ParseEnvelope(e.Encode())
		if err != nil || got != e {
			t.Fatalf("%s is read as %+v, %v", e.Encode(), got, err)
		}
		canonical, err := ledger.Canonicalize(e.Encode())
		if err != nil || !bytes.Equal(canonical, e.Encode()) {
			t.Fatalf("%s is not RFC 8785, which is %s (%v)", e.Encode(), canonical, err)
		}
	})
}

// respellings are other spellings of one document, and other documents, by an edit of one place.
func respellings(t *testing.T, good string, edits map[string][2]string) map[string]string {
	t.Helper()
	list := map[string]string{
		"nothing": "", "null": "null", "an array": "[]", "an empty object": "{}", "a space before": " " + good, "a newline after": good + "\n",
		"a second document": good + good, "cut off": good[:len(good)-1], "a space inside": strings.Replace(good, ":", ": ", 1),
		"an unknown member": good[:len(good)-1] + `,"z":1}`, "an escape that is not needed": strings.Replace(good, `"`, `"\u0061`, 1),
	}
	for name, edit := range edits {
		if !strings.Contains(good, edit[0]) {
			t.Fatalf("%s: there is no %q in %s", name, edit[0], good)
		}
		list[name] = strings.Replace(good, edit[0], edit[1], 1)
	}
	return list
}

func TestParseMetaRefuses(t *testing.T) {
	for name, text := range respellings(t, goldenMeta, map[string][2]string{
		"bytes with a sign": {"47", "+47"}, "negative bytes": {"47", "-47"}, "bytes as a float": {"47", "47.0"}, "bytes as text": {"47", `"47"`}, "bytes over 32 bits": {"47", "4294967296"},
		"leading zero": {"47", "047"}, "no key": {`"key":"r-1",`, ""}, "a null key": {`"r-1"`, "null"}, "key twice": {`"key":"r-1",`, `"key":"r-1","key":"r-1",`},
		"other order": {`"key":"r-1","kind":"usage-report"`, `"kind":"usage-report","key":"r-1"`}, "other case": {`"kind"`, `"Kind"`},
		"an escaped letter": {"r-1", `r\u002d1`}, "an escaped slash": {"r-1", `r\/1`}, "invalid UTF-8": {"r-1", "\xff"}, "a lone surrogate": {"r-1", `\ud800`},
		"actor unknown member": {`"role"`, `"more":1,"role"`}, "actor as text": {`{"role":"host","token_id":"t1"}`, `"host"`},
	}) {
		if got, err := ledger.ParseMeta([]byte(text)); !errors.Is(err, ledger.ErrMetaForm) || got != (ledger.Meta{}) {
			t.Errorf("%s: %s is read as %+v, %v", name, text, got, err)
		}
	}
}

func TestParseEnvelopeRefuses(t *testing.T) {
	for name, text := range respellings(t, goldenEnvelope, map[string][2]string{
		"another version": {`"v":1`, `"v":2`}, "version as a float": {`"v":1`, `"v":1.0`}, "version as text": {`"v":1`, `"v":"1"`}, "no version": {`,"v":1`, ""},
		"milliseconds": {".123456Z", ".123Z"}, "nanoseconds": {".123456Z", ".123456000Z"}, "a comma": {".123456Z", ",123456Z"}, "an offset": {"456Z", "456+00:00"},
		"lower case t": {"30T15", "30t15"}, "lower case z": {"456Z", "456z"}, "hour 24": {"T15", "T24"}, "a leap second": {":48.", ":60."}, "no such day": {"11-30", "11-31"},
		"base64 without padding": {`oUs="`, `oUs"`}, "base64url": {"PwWSY+I", "PwWSY-I"}, "unused bits": {`oUs="`, `oUt="`}, "a short commitment": {"PwWS", ""},
		"CR inside base64": {"PwWS", `PwW\rS`}, "no meta": {`"meta":"gEQReOyWxotOW7elLbbkL9WBlBaU0TEWBz0+SOQukfU=",`, ""}, "origin null": {`"example.org/log"`, "null"},
		"an escaped slash": {"org/log", `org\/log`}, "other order": {`"v":1`, `"a":1`}, "content twice": {`{"content"`, `{"content":"","content"`},
	}) {
		if got, err := ledger.ParseEnvelope([]byte(text)); !errors.Is(err, ledger.ErrEnvelopeForm) || got != (ledger.Envelope{}) {
			t.Errorf("%s: %s is read as %+v, %v", name, text, got, err)
		}
	}
}

func FuzzParseEnvelope(f *testing.F) {
	f.Add([]byte(goldenEnvelope))
	f.Add([]byte(strings.Replace(goldenEnvelope, "2026", "0000", 1)))
	f.Add([]byte(strings.Replace(goldenEnvelope, "example.org/log", `\ud83d\ude00`, 1)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := ledger.ParseEnvelope(raw)
		switch {
		case err != nil && !errors.Is(err, ledger.ErrEnvelopeForm):
			t.Errorf("%q: %v", raw, err)
		case err == nil && !bytes.Equal(e.Encode(), raw):
			t.Errorf("%q is read as what is written %q", raw, e.Encode())
		}
	})
}

func FuzzParseMeta(f *testing.F) {
	f.Add([]byte(goldenMeta))
	f.Add([]byte(strings.Replace(goldenMeta, "r-1", `\u0000\"`, 1)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := ledger.ParseMeta(raw)
		switch {
		case err != nil && !errors.Is(err, ledger.ErrMetaForm):
			t.Errorf("%q: %v", raw, err)
		case err == nil && !bytes.Equal(m.Encode(), raw):
			t.Errorf("%q is read as what is written %q", raw, m.Encode())
		}
	})
}

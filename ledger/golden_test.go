package ledger_test

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"ledgerd/ledger"
)

// What the worked example must come to, computed by another implementation (Python's hashlib).
const (
	goldenContent  = `{"artifact":{"n":1},"context":{},"receiver":{}}`
	goldenMeta     = `{"actor":{"role":"host","token_id":"t1"},"bytes":47,"key":"r-1","kind":"usage-report","tenant":"acme"}`
	goldenEnvelope = `{"content":"PwWSY+I37mS7B2vyK++HJp7rf9HXI4UK+/E0hR34oUs=","meta":"gEQReOyWxotOW7elLbbkL9WBlBaU0TEWBz0+SOQukfU=",` +
		`"origin":"example.org/log","recorded_at":"2026-11-30T15:20:48.123456Z","v":1}`
	goldenLeaf = `f50602e3214089812438a3a59fa665d5695913050818274339d378faa091f676`
)

func TestGoldenBytes(t *testing.T) {
	e := sealed(t)
	for _, c := range []struct{ name, got, want string }{
		{"content", string(e.Content), goldenContent},
		{"meta", string(e.MetaBytes), goldenMeta},
		{"envelope", string(e.Envelope), goldenEnvelope},
		{"leaf hash", hex.EncodeToString(e.LeafHash[:]), goldenLeaf},
	} {
		if c.got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.name, c.got, c.want)
		}
	}
	if err := e.Check(); err != nil {
		t.Error(err)
	}
}

func TestDocumentationHoldsTheGoldenBytes(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"content      " + goldenContent, "content_salt 000102030405060708090a0b0c0d0e0f",
		"meta         " + goldenMeta, "meta_salt    101112131415161718191a1b1c1d1e1f",
		"envelope     " + goldenEnvelope, "leaf hash    " + goldenLeaf,
	} {
		if !strings.Contains(string(doc), "\n//\t"+line+"\n") {
			t.Errorf("doc.go lacks the line %q", line)
		}
	}
}

// Names need every escape of RFC 8785 §3.2.2.2, and only those.
func TestMetaEscapes(t *testing.T) {
	m := ledger.Meta{Key: "a\"\\/\b\t\n\f\r\x01\x1f\x7f<>&\u2028é😀"}
	want := `"key":"a\"\\/\b\t\n\f\r\u0001\u001f` + "\x7f<>&\u2028é😀" + `"`
	if got := string(m.Encode()); !strings.Contains(got, want) {
		t.Errorf("encoded as %s, want it to hold %s", got, want)
	}
	canonical, err := ledger.Canonicalize(m.Encode())
	if err != nil || string(canonical) != string(m.Encode()) {
		t.Errorf("canonical form is %s, %v", canonical, err)
	}
}

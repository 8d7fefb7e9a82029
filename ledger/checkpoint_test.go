package ledger_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"ledgerd/ledger"
)

func TestCheckpointForm(t *testing.T) {
	k := newKey(t, origin)
	c := ledger.Checkpoint{Origin: origin, Size: 42, Root: leaf(0)}
	msg := sign(t, c, k)
	if want := "example.org/log\n42\n" + leaf(0).String() + "\n\n— example.org/log "; !strings.HasPrefix(string(msg), want) {
		t.Errorf("signed as\n%s, want it to begin with\n%s", msg, want)
	}
	signed, err := ledger.OpenCheckpoint(msg, origin, k.verifier)
	if err != nil || !signed.Valid() || signed.Checkpoint() != c || !bytes.Equal(signed.Note(), msg) {
		t.Errorf("opened as %+v, %v", signed, err)
	}
	if read, err := ledger.ReadCheckpoint(msg); err != nil || read != c {
		t.Errorf("read as %+v, %v", read, err)
	}
	msg[0]++
	if signed.Note()[0] == msg[0] {
		t.Error("the verified note changed with the caller's bytes")
	}
	if _, err := c.Sign(newKey(t, "example.org/other")); err == nil {
		t.Error("a key with another name signed")
	}
	if _, err := c.Sign(); err == nil {
		t.Error("nobody signed, and that was fine")
	}
}

// No byte can be changed without the checkpoint being refused.
func TestCheckpointMangled(t *testing.T) {
	k := newKey(t, origin)
	msg := sign(t, ledger.Checkpoint{Origin: origin, Size: 1234, Root: leaf(0)}, k)
	for at := range msg {
		for bit := range 8 {
			bad := bytes.Clone(msg)
			bad[at] ^= 1 << bit
			if _, err := ledger.OpenCheckpoint(bad, origin, k.verifier); !errors.Is(err, ledger.ErrCheckpoint) {
				t.Errorf("byte %d (%q) as %q: %v", at, msg[at], bad[at], err)
			}
		}
		if _, err := ledger.OpenCheckpoint(msg[:at], origin, k.verifier); !errors.Is(err, ledger.ErrCheckpoint) {
			t.Errorf("cut at byte %d: %v", at, err)
		}
	}
}

// What note.Open lets through: bytes that it drops unread, and a second spelling of the same signature.
func TestCheckpointSignatureLines(t *testing.T) {
	k := newKey(t, origin)
	msg := string(sign(t, ledger.Checkpoint{Origin: origin, Size: 1234, Root: leaf(0)}, k))
	line := msg[strings.LastIndex(msg, "— "):]
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line[strings.LastIndex(line, " "):]))
	if err != nil {
		t.Fatal(err)
	}
	garbage := "— " + origin + " " + base64.StdEncoding.EncodeToString(append(raw[:4:4], make([]byte, 64)...)) + "\n"
	respelt := strings.TrimSuffix(line, "=\n")
	respelt = respelt[:len(respelt)-1] + string(respelt[len(respelt)-1]+1) + "=\n"
	stranger := string(sign(t, ledger.Checkpoint{Origin: "example.org/witness", Size: 1, Root: leaf(0)}, newKey(t, "example.org/witness")))
	stranger = stranger[strings.LastIndex(stranger, "— "):]
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"as signed":             {msg, true},
		"and a stranger's line": {msg + stranger, true}, // C2SP signed-note: unknown signatures are ignored
		"the line twice":        {msg + line, false},
		"garbage by the key":    {msg + garbage, false},
		"a stranger's twice":    {msg + stranger + stranger, false},
		"unused bits set":       {strings.Replace(msg, line, respelt, 1), false},
	} {
		if _, err := note.Open([]byte(c.text), note.VerifierList(k.verifier)); err != nil {
			t.Errorf("%s: note.Open refuses it, so that it shows nothing here: %v", name, err)
		}
		if _, err := ledger.OpenCheckpoint([]byte(c.text), origin, k.verifier); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A log changes its key by signing with both for a while: whoever knows either key, or both, can verify.
func TestCheckpointKeyRotation(t *testing.T) {
	old, next, stranger := newKey(t, origin), newKey(t, origin), newKey(t, origin)
	c := ledger.Checkpoint{Origin: origin, Size: 7, Root: leaf(0)}
	both := sign(t, c, old, next)
	for name, verifiers := range map[string][]note.Verifier{
		"the old key": {old.verifier}, "the new key": {next.verifier}, "both": {next.verifier, old.verifier}, "one more": {stranger.verifier, old.verifier},
	} {
		if signed, err := ledger.OpenCheckpoint(both, origin, verifiers...); err != nil || signed.Checkpoint() != c {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, before := range [][]byte{sign(t, c, old), sign(t, c, next)} { // before and after the change
		if _, err := ledger.OpenCheckpoint(before, origin, old.verifier, next.verifier); err != nil {
			t.Errorf("signed once: %v", err)
		}
	}
	for name, verifiers := range map[string][]note.Verifier{"no key": nil, "a stranger's": {stranger.verifier}, "a key twice": {old.verifier, old.verifier}} {
		if _, err := ledger.OpenCheckpoint(both, origin, verifiers...); !errors.Is(err, ledger.ErrCheckpoint) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A bad signature by a known key spoils the note, however good the other is.
	bad := bytes.Clone(both)
	bad[len(bad)-10] ^= 1
	if _, err := ledger.OpenCheckpoint(bad, origin, old.verifier, next.verifier); !errors.Is(err, ledger.ErrCheckpoint) {
		t.Errorf("a bad signature by the new key: %v", err)
	}
}

func TestOpenCheckpointRefuses(t *testing.T) {
	k := newKey(t, origin)
	other := newKey(t, "example.org/other")
	root := leaf(0).String()
	signText := func(text string, keys ...note.Signer) []byte {
		msg, err := note.Sign(&note.Note{Text: text}, keys...)
		if err != nil {
			t.Fatal(err)
		}
		return msg
	}
	for name, msg := range map[string][]byte{
		"an extension line":      signText(origin+"\n1\n"+root+"\nmore\n", k),
		"two lines":              signText(origin+"\n1\n", k),
		"a leading zero":         signText(origin+"\n01\n"+root+"\n", k),
		"a sign":                 signText(origin+"\n+1\n"+root+"\n", k),
		"a negative size":        signText(origin+"\n-1\n"+root+"\n", k),
		"too large a size":       signText(origin+"\n9223372036854775808\n"+root+"\n", k),
		"a short root":           signText(origin+"\n1\nQUJD\n", k),
		"a root without padding": signText(origin+"\n1\n"+strings.TrimSuffix(root, "=")+"\n", k),
		"unused bits in a root":  signText(origin+"\n1\n"+root[:42]+string(root[42]+1)+"=\n", k),
		"another log":            signText("example.org/other\n1\n"+root+"\n", k),
		"another log's key":      signText(origin+"\n1\n"+root+"\n", other),
		"other case":             signText("Example.org/log\n1\n"+root+"\n", k),
		"no note":                []byte(origin + "\n1\n" + root + "\n"),
	} {
		if signed, err := ledger.OpenCheckpoint(msg, origin, k.verifier, other.verifier); !errors.Is(err, ledger.ErrCheckpoint) || signed.Valid() {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ledger.ReadCheckpoint([]byte(origin + "\n1\n" + root + "\n")); !errors.Is(err, ledger.ErrCheckpoint) {
		t.Errorf("read without a signature block: %v", err)
	}
}

func FuzzReadCheckpoint(f *testing.F) {
	f.Add(sign(f, ledger.Checkpoint{Origin: origin, Size: 42, Root: leaf(0)}, newKey(f, origin)))
	f.Add([]byte("a\n01\nQUJD\n\n"))
	f.Fuzz(func(t *testing.T, msg []byte) {
		c, err := ledger.ReadCheckpoint(msg)
		if err != nil {
			if !errors.Is(err, ledger.ErrCheckpoint) {
				t.Errorf("%q: %v", msg, err)
			}
			return
		}
		if again, err := c.Sign(named(c.Origin)); err == nil && !bytes.HasPrefix(msg, again[:bytes.Index(again, []byte("\n\n"))]) {
			t.Errorf("%q is read as what is written %q", msg, again)
		}
	})
}

// named is a signer of any name; its signatures say nothing.
type named string

func (n named) Name() string              { return string(n) }
func (named) KeyHash() uint32             { return 1 }
func (named) Sign([]byte) ([]byte, error) { return make([]byte, 64), nil }

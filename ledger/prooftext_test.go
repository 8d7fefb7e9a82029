package ledger_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"filippo.io/torchwood"
	"pgregory.net/rapid"

	"ledgerd/ledger"
)

func textProof(tb testing.TB, index, size int64) (ledger.Proof, key) {
	tb.Helper()
	f, k := grown(tb), newKey(tb, origin)
	return ledger.Proof{Index: index, Hashes: path(tb, f, index, size), Checkpoint: sign(tb, f.at(size), k)}, k
}

func TestProofText(t *testing.T) {
	for _, c := range [][2]int64{{0, 1}, {0, 2}, {300, 700}, {699, 700}, {255, 256}} {
		p, k := textProof(t, c[0], c[1])
		text := p.Format()
		got, err := ledger.ParseProof(text)
		if err != nil || got.Index != p.Index || !slices.Equal(got.Hashes, p.Hashes) || !bytes.Equal(got.Checkpoint, p.Checkpoint) {
			t.Fatalf("leaf %d of %d: %+v, %v", c[0], c[1], got, err)
		}
		in, err := got.Check(leaf(c[0]), origin, k.verifier)
		if err != nil || in.Index() != c[0] || in.Checkpoint().Checkpoint().Size != c[1] {
			t.Errorf("leaf %d of %d: %v", c[0], c[1], err)
		}
		if _, err := got.Check(leaf(c[0]+1), origin, k.verifier); !errors.Is(err, ledger.ErrProof) {
			t.Errorf("another leaf: %v", err)
		}
		if _, err := got.Check(leaf(c[0]), origin, newKey(t, origin).verifier); !errors.Is(err, ledger.ErrCheckpoint) {
			t.Errorf("another key: %v", err)
		}
	}
}

// The form is that of c2sp.org/tlog-proof, line by line.
func TestProofTextForm(t *testing.T) {
	p, _ := textProof(t, 2, 3)
	lines := strings.Split(string(p.Format()), "\n")
	want := append([]string{"c2sp.org/tlog-proof@v1", "index 2", p.Hashes[0].String(), ""}, strings.Split(string(p.Checkpoint), "\n")...)
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%q, want\n%q", lines, want)
	}
}

// Another's verifier takes what we write, and nothing that we read is a proof to us and none to it.
func TestProofTextAgreesWithTorchwood(t *testing.T) {
	f, k := grown(t), newKey(t, origin)
	policy := torchwood.ThresholdPolicy(2, torchwood.OriginPolicy(origin), torchwood.SingleVerifierPolicy(k.verifier))
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.Int64Range(1, 700).Draw(rt, "size")
		index := rapid.Int64Range(0, size-1).Draw(rt, "index")
		p := ledger.Proof{Index: index, Hashes: path(t, f, index, size), Checkpoint: sign(t, f.at(size), k)}
		text := p.Format()
		if err := torchwood.VerifyProof(policy, leaf(index), text); err != nil {
			rt.Fatalf("leaf %d of %d: %v", index, size, err)
		}
		at := rapid.IntRange(0, len(text)-1).Draw(rt, "at")
		text[at] = rapid.Byte().Draw(rt, "byte")
		theirs := torchwood.VerifyProof(policy, leaf(index), text)
		q, err := ledger.ParseProof(text)
		if err == nil {
			_, err = q.Check(leaf(index), origin, k.verifier)
		}
		if err == nil && theirs != nil {
			rt.Errorf("byte %d as %q: a proof to us and not to torchwood: %v", at, text[at], theirs)
		}
	})
}

// What a lenient parser lets through, and more.
func TestParseProofRefusesOtherSpellings(t *testing.T) {
	p, _ := textProof(t, 5, 700)
	good := string(p.Format())
	hash := p.Hashes[0].String()
	cut := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the proof has no %q", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	for name, text := range map[string]string{
		"nothing":                  "",
		"a sign":                   cut("index 5", "index +5"),
		"leading zeros":            cut("index 5", "index 005"),
		"negative":                 cut("index 5", "index -5"),
		"negative zero":            cut("index 5", "index -0"),
		"an underscore":            cut("index 5", "index 5_0"),
		"no index":                 cut("index 5\n", ""),
		"an empty index":           cut("index 5", "index "),
		"too large an index":       cut("index 5", "index 9223372036854775808"),
		"a second space":           cut("index 5", "index  5"),
		"other case":               cut("index 5", "Index 5"),
		"other case in the header": cut("c2sp.org/tlog-proof@v1", "C2SP.org/tlog-proof@v1"),
		"another version":          cut("@v1", "@v2"),
		"an extra line":            cut("index 5", "extra QUJD\nindex 5"),
		"an extra line after":      cut("index 5\n", "index 5\nextra QUJD\n"),
		"CR at a line's end":       cut("index 5\n", "index 5\r\n"),
		"CR inside base64":         cut(hash, hash[:10]+"\r"+hash[10:]),
		"LF inside base64":         cut(hash, hash[:10]+"\n"+hash[10:]),
		"a space inside base64":    cut(hash, hash[:10]+" "+hash[10:]),
		"no padding":               cut(hash, strings.TrimSuffix(hash, "=")),
		"base64url":                cut(hash, "-"+hash[1:]),
		"unused bits":              cut(hash, hash[:42]+string(hash[42]+1)+"="),
		"a short hash":             cut(hash, "QUJD"),
		"no empty line":            cut("\n\n", "\n"),
		"two empty lines":          cut("\n\n", "\n\n\n"),
		"no checkpoint":            good[:strings.Index(good, "\n\n")+2],
		"64 hashes":                cut(hash+"\n", strings.Repeat(hash+"\n", 64)),
	} {
		if got, err := ledger.ParseProof([]byte(text)); !errors.Is(err, ledger.ErrProofForm) {
			// An empty line more belongs to the checkpoint, which is opened by Check.
			if name == "two empty lines" && err == nil {
				if _, err := got.Check(leaf(5), origin); errors.Is(err, ledger.ErrCheckpoint) {
					continue
				}
			}
			t.Errorf("%s: accepted as %+v, %v", name, got, err)
		}
	}
}

// No byte of a proof can be changed without somebody noticing.
func TestProofMangled(t *testing.T) {
	p, k := textProof(t, 300, 700)
	text := p.Format()
	for at := range text {
		for _, bit := range []byte{1, 2, 0x20, 0x80} {
			bad := bytes.Clone(text)
			bad[at] ^= bit
			got, err := ledger.ParseProof(bad)
			if err == nil {
				_, err = got.Check(leaf(300), origin, k.verifier)
			}
			if err == nil {
				t.Errorf("byte %d (%q) as %q: still verifies", at, text[at], bad[at])
			}
		}
	}
}

func FuzzParseProof(f *testing.F) {
	p, _ := textProof(f, 5, 700)
	f.Add(p.Format())
	f.Add([]byte("c2sp.org/tlog-proof@v1\nindex 0\n\nx"))
	f.Add([]byte("c2sp.org/tlog-proof@v1\nextra QUJD\nindex 0\n\nx"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ledger.ParseProof(text)
		switch {
		case err != nil && !errors.Is(err, ledger.ErrProofForm):
			t.Errorf("%q: %v", text, err)
		case err == nil && !bytes.Equal(p.Format(), text):
			t.Errorf("%q is read as what is written %q", text, p.Format())
		}
	})
}

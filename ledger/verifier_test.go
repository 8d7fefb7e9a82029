package ledger_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"ledgerd/ledger"
)

func TestParseVerifierKeys(t *testing.T) {
	old, next := newKey(t, origin), newKey(t, origin)
	got, err := ledger.ParseVerifierKeys(origin, old.vkey, next.vkey)
	if err != nil || len(got) != 2 || got[0].KeyHash() != old.verifier.KeyHash() || got[1].KeyHash() != next.verifier.KeyHash() {
		t.Fatalf("%v, %v", got, err)
	}
	c := ledger.Checkpoint{Origin: origin, Size: 7, Root: leaf(0)}
	if _, err := ledger.OpenCheckpoint(sign(t, c, next), origin, got...); err != nil {
		t.Error(err)
	}
	if got, err := ledger.ParseVerifierKeys(origin); err != nil || len(got) != 0 {
		t.Errorf("no keys: %v, %v", got, err)
	}
}

func TestParseVerifierKeysRefuses(t *testing.T) {
	good := ""
	for good == "" || !strings.ContainsAny(strings.Split(good, "+")[1], "abcdef") { // a hash that has another case
		good = newKey(t, origin).vkey
	}
	parts := strings.SplitN(good, "+", 3)
	key := parts[2]
	last := strings.TrimRight(key, "=")
	for name, keys := range map[string][]string{
		"nothing":          {""},
		"no key":           {origin},
		"another log's":    {newKey(t, "example.org/other").vkey},
		"other case":       {strings.ToUpper(origin) + strings.TrimPrefix(good, origin)},
		"hash in capitals": {parts[0] + "+" + strings.ToUpper(parts[1]) + "+" + key},
		"another hash":     {parts[0] + "+00000000+" + key},
		"CR inside base64": {parts[0] + "+" + parts[1] + "+" + key[:9] + "\r" + key[9:]},
		"LF at the end":    {good + "\n"},
		"cut off":          {parts[0] + "+" + parts[1] + "+" + last[:len(last)-4]},
		"twice":            {good, good},
		"one good, one no": {good, "x"},
	} {
		if got, err := ledger.ParseVerifierKeys(origin, keys...); !errors.Is(err, ledger.ErrVerifierKey) || got != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func FuzzParseVerifierKeys(f *testing.F) {
	f.Add(newKey(f, origin).vkey)
	f.Add(origin + "+00000000+AAAA")
	f.Fuzz(func(t *testing.T, key string) {
		list, err := ledger.ParseVerifierKeys(origin, key)
		if (err == nil) != (len(list) == 1) || (err != nil && !errors.Is(err, ledger.ErrVerifierKey)) {
			t.Errorf("%q: %v, %v", key, list, err)
		}
	})
}

func TestVerifierKey(t *testing.T) {
	skey, vkey, err := note.GenerateKey(rand.Reader, origin)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ledger.VerifierKey(skey); err != nil || got != vkey {
		t.Errorf("%s, %v, want %s", got, err, vkey)
	}
	for _, bad := range []string{"", vkey, "PRIVATE+KEY+", skey[1:], skey[:len(skey)-4], strings.Replace(skey, origin, "example.org/other", 1)} {
		if got, err := ledger.VerifierKey(bad); !errors.Is(err, ledger.ErrSignerKey) || got != "" {
			t.Errorf("a malformed key gives %q, %v", got, err)
		}
	}
}

package ledger_test

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/ledger"
)

const origin = "example.org/log"

// key is a signing key with its verifier.
type key struct {
	note.Signer
	verifier note.Verifier
	vkey     string
}

func newKey(tb testing.TB, name string) key {
	tb.Helper()
	skey, vkey, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		tb.Fatal(err)
	}
	k := key{vkey: vkey}
	if k.Signer, err = note.NewSigner(skey); err != nil {
		tb.Fatal(err)
	}
	if k.verifier, err = note.NewVerifier(vkey); err != nil {
		tb.Fatal(err)
	}
	return k
}

func sign(tb testing.TB, c ledger.Checkpoint, keys ...key) []byte {
	tb.Helper()
	var signers []note.Signer
	for _, k := range keys {
		signers = append(signers, k)
	}
	msg, err := c.Sign(signers...)
	if err != nil {
		tb.Fatal(err)
	}
	return msg
}

func open(tb testing.TB, c ledger.Checkpoint, k key) ledger.SignedCheckpoint {
	tb.Helper()
	signed, err := ledger.OpenCheckpoint(sign(tb, c, k), c.Origin, k.verifier)
	if err != nil {
		tb.Fatal(err)
	}
	return signed
}

// leaf is the hash of the i-th leaf of every tree in these tests.
func leaf(i int64) tlog.Hash { return tlog.RecordHash(fmt.Appendf(nil, "leaf %d", i)) }

func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// sealed is the worked example of the package documentation.
func sealed(tb testing.TB) ledger.Entry {
	tb.Helper()
	content := ledger.Content{Artifact: []byte(`{"n":1}`), Context: []byte(`{}`), Receiver: []byte(`{}`)}.Encode()
	meta := ledger.Meta{Actor: ledger.Actor{Role: "host", TokenID: "t1"}, Key: "r-1", Kind: "usage-report", Tenant: "acme"}
	contentSalt := ledger.Salt(unhex(tb, "000102030405060708090a0b0c0d0e0f"))
	metaSalt := ledger.Salt(unhex(tb, "101112131415161718191a1b1c1d1e1f"))
	at := time.Date(2026, 11, 30, 16, 20, 48, 123456789, time.FixedZone("CET", 3600))
	return ledger.Prepare(meta, content, contentSalt, metaSalt).Seal(origin, 0, at)
}

package ledger_test

import (
	"crypto/rand"
	"errors"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"ledgerd/ledger"
)

// What a log's key signs as evidence verifies by the log's verifier key, and is no checkpoint of the log.
func TestEvidenceKey(t *testing.T) {
	t.Parallel()
	skey, vkey, err := note.GenerateKey(rand.Reader, origin)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ledger.EvidenceSigner(skey)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := ledger.EvidenceVerifier(vkey)
	if err != nil {
		t.Fatal(err)
	}
	if signer.Name() != origin+"/evidence" || verifier.Name() != signer.Name() || verifier.KeyHash() != signer.KeyHash() {
		t.Errorf("%s %08x, %s %08x", signer.Name(), signer.KeyHash(), verifier.Name(), verifier.KeyHash())
	}
	msg, err := note.Sign(&note.Note{Text: "text\n"}, signer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := note.Open(msg, note.VerifierList(verifier)); err != nil {
		t.Error(err)
	}
	log, err := note.NewVerifier(vkey)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := note.Open(msg, note.VerifierList(log)); err == nil {
		t.Error("the log's own name verified it")
	}
	for _, bad := range []string{"", skey[1:], "PRIVATE+KEY+x", vkey} {
		if _, err := ledger.EvidenceSigner(bad); !errors.Is(err, ledger.ErrSignerKey) {
			t.Errorf("signer of %d bytes: %v", len(bad), err)
		}
	}
	for _, bad := range []string{"", vkey[1:], vkey + "=", origin + "+00000000+AQ=="} {
		if _, err := ledger.EvidenceVerifier(bad); !errors.Is(err, ledger.ErrVerifierKey) {
			t.Errorf("verifier of %q: %v", bad, err)
		}
	}
}

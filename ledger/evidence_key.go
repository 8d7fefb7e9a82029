package ledger

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// EvidenceName is the name under which a log signs evidence files. The key material is the log's own, under this other name:
// who knows a log's verifier key can check its evidence files, and there is no second secret to keep. A signed note's
// signature covers the text alone and not the key's name, so the two uses are told apart by their texts, of which each
// begins with the name that it is for: no text of the one can be read as the other.
func EvidenceName(origin string) string { return origin + "/evidence" }

// EvidenceSigner is the signer of a log's evidence files, given the log's signing key. ErrSignerKey when it is malformed.
func EvidenceSigner(signerKey string) (note.Signer, error) {
	vkey, err := VerifierKey(signerKey)
	if err != nil {
		return nil, err
	}
	parts := strings.SplitN(signerKey, "+", 5) // "PRIVATE", "KEY", name, hash, algorithm and seed
	name := EvidenceName(parts[2])
	public := strings.SplitN(vkey, "+", 3)[2]
	s, err := note.NewSigner(fmt.Sprintf("PRIVATE+KEY+%s+%08x+%s", name, keyHash(name, public), parts[4]))
	if err != nil {
		return nil, ErrSignerKey
	}
	return s, nil
}

// keyHash is the short hash by which a signature line names its key (C2SP signed-note "Signatures"); the key is base64 of
// the algorithm's byte and the public key.
func keyHash(name, key string) uint32 {
	raw, _ := base64.StdEncoding.DecodeString(key) // VerifierKey wrote it
	sum := sha256.Sum256(append([]byte(name+"\n"), raw...))
	return binary.BigEndian.Uint32(sum[:])
}

// EvidenceVerifier is the verifier of a log's evidence files, given the log's verifier key. ErrVerifierKey when that is not
// in its one spelling.
func EvidenceVerifier(verifierKey string) (note.Verifier, error) {
	name, _, _ := strings.Cut(verifierKey, "+")
	if _, err := ParseVerifierKeys(name, verifierKey); err != nil {
		return nil, err
	}
	raw, err := base64.StdEncoding.DecodeString(strings.SplitN(verifierKey, "+", 3)[2])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrVerifierKey, err)
	}
	renamed, err := note.NewEd25519VerifierKey(EvidenceName(name), ed25519.PublicKey(raw[1:]))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrVerifierKey, err)
	}
	return note.NewVerifier(renamed)
}

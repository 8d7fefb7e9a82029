package ledger

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// ErrVerifierKey says that a text is not a log's verifier key in its one spelling.
var ErrVerifierKey = errors.New("not a verifier key of this log")

// ParseVerifierKeys reads the verifier keys of one log: note verifier strings "<origin>+<8 hex digits>+<base64>" (C2SP
// signed-note) of Ed25519 keys whose name is the origin. While a log changes its key there are two or more, and a
// checkpoint that any of them signed is the log's own. A key in another spelling or given twice is ErrVerifierKey.
func ParseVerifierKeys(origin string, keys ...string) ([]note.Verifier, error) {
	list := make([]note.Verifier, 0, len(keys))
	seen := map[string]bool{}
	for _, key := range keys {
		v, err := note.NewVerifier(key)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrVerifierKey, err)
		case v.Name() != origin:
			return nil, fmt.Errorf("%w: its name is not the origin", ErrVerifierKey)
		case canonicalVerifierKey(key) != key:
			return nil, fmt.Errorf("%w: not in canonical form", ErrVerifierKey)
		case seen[key]:
			return nil, fmt.Errorf("%w: it is given twice", ErrVerifierKey)
		}
		seen[key] = true
		list = append(list, v)
	}
	return list, nil
}

// canonicalVerifierKey writes a key that note.NewVerifier accepted anew. A name has no plus sign, base64 may.
func canonicalVerifierKey(key string) string {
	parts := strings.SplitN(key, "+", 3)
	raw, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(raw) != 1+ed25519.PublicKeySize { // the first byte is the algorithm
		return ""
	}
	canonical, err := note.NewEd25519VerifierKey(parts[0], raw[1:])
	if err != nil {
		return ""
	}
	return canonical
}

// ErrSignerKey says that a text is not a log's signing key. It never holds the text.
var ErrSignerKey = errors.New("the signing key is malformed")

// VerifierKey is the verifier key of a note signer key, "PRIVATE+KEY+<origin>+<8 hex digits>+<base64>", of Ed25519.
func VerifierKey(signerKey string) (string, error) {
	if _, err := note.NewSigner(signerKey); err != nil {
		return "", ErrSignerKey
	}
	parts := strings.SplitN(signerKey, "+", 5)
	raw, err := base64.StdEncoding.DecodeString(parts[4])
	if err != nil || len(raw) != 1+ed25519.SeedSize {
		return "", ErrSignerKey
	}
	public, ok := ed25519.NewKeyFromSeed(raw[1:]).Public().(ed25519.PublicKey)
	if !ok {
		return "", ErrSignerKey
	}
	return note.NewEd25519VerifierKey(parts[2], public)
}

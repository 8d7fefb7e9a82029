package ledger

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Checkpoint is an unsigned statement about a log: the tree of this size has this root (C2SP tlog-checkpoint).
type Checkpoint struct {
	Origin string
	Size   int64
	Root   tlog.Hash
}

// Sign returns the checkpoint as a signed note. The first signer's name must be the origin. While a log changes its key,
// the old and the new one both sign, so that whoever knows either can verify.
func (c Checkpoint) Sign(signers ...note.Signer) ([]byte, error) {
	if len(signers) == 0 || signers[0].Name() != c.Origin {
		return nil, errors.New("signing a checkpoint: the key's name must be the log's origin")
	}
	msg, err := note.Sign(&note.Note{Text: c.text()}, signers...)
	if err != nil {
		return nil, fmt.Errorf("signing a checkpoint: %w", err)
	}
	return msg, nil
}

func (c Checkpoint) text() string {
	return torchwood.Checkpoint{Origin: c.Origin, Tree: tlog.Tree{N: c.Size, Hash: c.Root}}.String()
}

// SignedCheckpoint is a checkpoint whose signature by the log's own key was verified. Only OpenCheckpoint makes one; the
// zero value is not Valid, and nothing accepts it.
type SignedCheckpoint struct {
	checkpoint Checkpoint
	note       []byte
}

// Checkpoint is the verified statement.
func (s SignedCheckpoint) Checkpoint() Checkpoint { return s.checkpoint }

// Note is the signed note, byte for byte. Signatures by keys that were not given are in it, unverified.
func (s SignedCheckpoint) Note() []byte { return bytes.Clone(s.note) }

// Valid says whether a signature was verified; it is false of the zero value.
func (s SignedCheckpoint) Valid() bool { return s.note != nil }

// ErrCheckpoint says that a checkpoint can't be believed.
var ErrCheckpoint = errors.New("checkpoint is not acceptable")

// OpenCheckpoint verifies a signed note of the log named origin with the log's verifiers, of which one must have signed: a
// log that changes its key has several for a while. Signatures by others are ignored, as C2SP signed-note demands; a bad
// one by a known key is an error. Extension lines are refused: our log writes none, and bytes that nobody checked must not
// travel under its signature. Errors wrap ErrCheckpoint.
func OpenCheckpoint(msg []byte, origin string, verifiers ...note.Verifier) (SignedCheckpoint, error) {
	n, err := note.Open(msg, note.VerifierList(verifiers...))
	if err != nil {
		return SignedCheckpoint{}, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	signed := false
	for _, sig := range n.Sigs {
		signed = signed || sig.Name == origin
	}
	if !signed {
		return SignedCheckpoint{}, fmt.Errorf("%w: not signed by the log's own key", ErrCheckpoint)
	}
	if err := checkSignatureLines(msg, n); err != nil {
		return SignedCheckpoint{}, err
	}
	c, err := parseCheckpoint(n.Text)
	if err != nil {
		return SignedCheckpoint{}, err
	}
	if c.Origin != origin {
		return SignedCheckpoint{}, fmt.Errorf("%w: it is of another log", ErrCheckpoint)
	}
	return SignedCheckpoint{checkpoint: c, note: bytes.Clone(msg)}, nil
}

// checkSignatureLines refuses what note.Open lets through: a second line by a key that signed already, which it drops
// unread, and base64 whose unused bits are set, a second spelling of the same signature.
func checkSignatureLines(msg []byte, n *note.Note) error {
	lines := bytes.Count(msg[len(n.Text)+1:], []byte("\n"))
	if lines != len(n.Sigs)+len(n.UnverifiedSigs) {
		return fmt.Errorf("%w: a signature is given twice", ErrCheckpoint)
	}
	for _, sig := range n.Sigs {
		if _, err := base64.StdEncoding.Strict().DecodeString(sig.Base64); err != nil {
			return fmt.Errorf("%w: a signature is not in canonical base64", ErrCheckpoint)
		}
	}
	return nil
}

// ReadCheckpoint reads what a signed note states, without verifying it.
func ReadCheckpoint(msg []byte) (Checkpoint, error) {
	text, _, ok := strings.Cut(string(msg), "\n\n")
	if !ok {
		return Checkpoint{}, fmt.Errorf("%w: not a signed note", ErrCheckpoint)
	}
	return parseCheckpoint(text + "\n")
}

func parseCheckpoint(text string) (Checkpoint, error) {
	stated, err := torchwood.ParseCheckpoint(text)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	if stated.Extension != "" {
		return Checkpoint{}, fmt.Errorf("%w: three lines are required", ErrCheckpoint)
	}
	c := Checkpoint{Origin: stated.Origin, Size: stated.N, Root: stated.Hash}
	if c.text() != text {
		return Checkpoint{}, fmt.Errorf("%w: not in canonical form", ErrCheckpoint)
	}
	return c, nil
}

// Head is the newest committed state of the log.
type Head struct {
	Incarnation int
	Origin      string
	Base        int64 // seq of leaf 0; 0 but for a log that was opened after a restore
	Size        int64 // leaves
	Root        tlog.Hash
	RecordedAt  time.Time // of the newest entry
	Checkpoint  string    // signed note
}

// Next is the seq that the next entry gets.
func (h Head) Next() int64 { return h.Base + h.Size }

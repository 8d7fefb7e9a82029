package ledger

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Checkpoint is an unsigned statement about a log: the tree of this size has this root (C2SP tlog-checkpoint).
type Checkpoint struct {
	Origin string
	Size   int64
	Root   tlog.Hash
}

// Sign returns the checkpoint as a signed note. The first signer's name must be the origin.
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
	return c.Origin + "\n" + strconv.FormatInt(c.Size, 10) + "\n" + base64.StdEncoding.EncodeToString(c.Root[:]) + "\n"
}

// SignedCheckpoint is a checkpoint whose signature by the log's own key was verified. Only OpenCheckpoint makes one.
type SignedCheckpoint struct {
	checkpoint Checkpoint
	note       []byte
}

// Checkpoint is the verified statement.
func (s SignedCheckpoint) Checkpoint() Checkpoint { return s.checkpoint }

// Note is the signed note, byte for byte.
func (s SignedCheckpoint) Note() []byte { return s.note }

// ErrCheckpoint says that a checkpoint can't be believed.
var ErrCheckpoint = errors.New("checkpoint is not acceptable")

// OpenCheckpoint verifies a signed note of the log named origin with the log's verifiers. Extension lines are refused: our
// log writes none, and bytes that nobody checked must not travel under its signature.
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
	c, err := parseCheckpoint(n.Text)
	if err != nil {
		return SignedCheckpoint{}, err
	}
	if c.Origin != origin {
		return SignedCheckpoint{}, fmt.Errorf("%w: it is of another log", ErrCheckpoint)
	}
	return SignedCheckpoint{checkpoint: c, note: msg}, nil
}

func parseCheckpoint(text string) (Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 4 || lines[3] != "" {
		return Checkpoint{}, fmt.Errorf("%w: three lines are required", ErrCheckpoint)
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 {
		return Checkpoint{}, fmt.Errorf("%w: malformed size", ErrCheckpoint)
	}
	root, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || len(root) != tlog.HashSize {
		return Checkpoint{}, fmt.Errorf("%w: malformed root hash", ErrCheckpoint)
	}
	c := Checkpoint{Origin: lines[0], Size: size, Root: tlog.Hash(root)}
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

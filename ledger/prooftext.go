package ledger

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/tlog"
)

// maxProofHashes is the longest inclusion path there can be: a tree has fewer than 2^63 leaves.
const maxProofHashes = 63

// ErrProofForm says that a text is not a tlog-proof in its one spelling.
var ErrProofForm = errors.New("not a tlog-proof in canonical form")

// Format is the proof's text in the form of C2SP tlog-proof: header, index, a base64 hash per line, an empty line, and the
// checkpoint verbatim. It has no extra line: that is data that nobody signed.
func (p Proof) Format() []byte {
	return torchwood.FormatProof(p.Index, p.Hashes, p.Checkpoint)
}

// ParseProof reads a tlog-proof and refuses every spelling but Format's: an extra line, a sign or leading zeros in the
// index, other line ends, unused bits in base64. The checkpoint is not looked at; Check does that. torchwood.VerifyProof takes
// all of these and hands out nothing of what it read, so it is not what reads here; tests hold the two together.
func ParseProof(text []byte) (Proof, error) {
	head, checkpoint, ok := bytes.Cut(text, []byte("\n\n"))
	lines := strings.Split(string(head), "\n")
	if !ok || len(checkpoint) == 0 || len(lines) < 2 || len(lines) > 2+maxProofHashes {
		return Proof{}, fmt.Errorf("%w: its lines", ErrProofForm)
	}
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[1], "index "), 10, 64)
	if err != nil || index < 0 {
		return Proof{}, fmt.Errorf("%w: its index", ErrProofForm)
	}
	p := Proof{Index: index, Checkpoint: checkpoint}
	for _, line := range lines[2:] {
		h, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(h) != tlog.HashSize {
			return Proof{}, fmt.Errorf("%w: a hash", ErrProofForm)
		}
		p.Hashes = append(p.Hashes, tlog.Hash(h))
	}
	if !bytes.Equal(p.Format(), text) {
		return Proof{}, ErrProofForm
	}
	return p, nil
}

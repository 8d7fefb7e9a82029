package audit

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"ledgerd/ledger"
)

// Anchor is a checkpoint that examinations rest on, opened once for all of them.
type Anchor struct {
	signed  ledger.SignedCheckpoint // zero unless its signature was verified
	against *Against                // nil when it can't be read
	check   Check
}

// NewAnchor opens a checkpoint. Without a verifier of its log the signature is not-checkable, and what the checkpoint states
// is the word of whoever handed it over.
func NewAnchor(checkpoint []byte, verifiers ...note.Verifier) *Anchor {
	a := &Anchor{check: Check{Name: CheckCheckpoint, Result: Failed, Fault: FaultCheckpoint}}
	c, err := ledger.ReadCheckpoint(checkpoint)
	if err != nil {
		a.check.Reason = "the checkpoint can't be read"
		return a
	}
	a.against = &Against{Origin: c.Origin, TreeSize: c.Size, RootHash: base64.StdEncoding.EncodeToString(c.Root[:]), Checkpoint: string(checkpoint)}
	own := slices.DeleteFunc(slices.Clone(verifiers), func(v note.Verifier) bool { return v.Name() != c.Origin })
	if len(own) == 0 {
		a.check = Check{Name: CheckCheckpoint, Result: NotCheckable, Reason: "no verifier key of this log was given"}
		return a
	}
	if a.signed, err = ledger.OpenCheckpoint(checkpoint, c.Origin, own...); err != nil {
		a.check.Reason = "it is not signed by a given key of the log"
		return a
	}
	a.against.Key = signingKeys(checkpoint, own)
	a.check = Check{Name: CheckCheckpoint, Result: Passed}
	return a
}

// Signed is the checkpoint, the zero value unless its signature was verified.
func (a *Anchor) Signed() ledger.SignedCheckpoint { return a.signed }

// signingKeys names the keys that signed, as "name+hash".
func signingKeys(checkpoint []byte, verifiers []note.Verifier) string {
	n, err := note.Open(checkpoint, note.VerifierList(verifiers...))
	if err != nil {
		return ""
	}
	names := make([]string, 0, len(n.Sigs))
	for _, s := range n.Sigs {
		names = append(names, fmt.Sprintf("%s+%08x", s.Name, s.Hash))
	}
	return strings.Join(names, " ")
}

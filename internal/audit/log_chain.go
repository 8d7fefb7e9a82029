package audit

import (
	"bytes"
	"encoding/base64"
	"fmt"

	"golang.org/x/mod/sumdb/note"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// FirstEntry is the entry that a later incarnation's log begins with, as the store holds it. The zero value is none.
type FirstEntry struct {
	Kind    string
	Content []byte
}

// Succession holds a later incarnation's log against the one before it, whose place it took. What its first entry says is
// proven by the entry's own check; here it is compared with what it speaks of.
type Succession struct {
	head, before ledger.Head
	previous     *ledger.Checkpoint // that the first entry commits to, verified
	faults       []Fault
}

// NewSuccession checks what can be said without the entries of the log before. verifiers are of that log's keys.
func NewSuccession(before ledger.Head, verifiers []note.Verifier, head ledger.Head, first FirstEntry) *Succession {
	s := &Succession{head: head, before: before}
	if head.Incarnation != before.Incarnation+1 {
		s.add(NoSeq, FaultHead, fmt.Sprintf("the head of incarnation %d is missing", before.Incarnation+1))
	}
	if head.Base != before.Next() {
		s.add(NoSeq, FaultHead, fmt.Sprintf("incarnation %d does not begin where the log before it ends", head.Incarnation))
	}
	switch stated, err := kinds.ReadIncarnation(first.Content); {
	case head.Size == 0:
		s.add(NoSeq, FaultIncarnation, fmt.Sprintf("incarnation %d was not opened completely: it has no first entry", head.Incarnation))
	case err != nil || first.Kind != kinds.Incarnation.Name:
		s.add(head.Base, FaultIncarnation, "the log's first entry does not say which log it follows")
	default:
		s.compare(stated, verifiers)
	}
	return s
}

func (s *Succession) add(seq int64, code FaultCode, detail string) {
	s.faults = append(s.faults, Fault{Seq: seq, Code: code, Detail: detail})
}

// compare holds what the first entry states against the log before.
func (s *Succession) compare(stated kinds.IncarnationArtifact, verifiers []note.Verifier) {
	seq := s.head.Base
	if stated.Incarnation != s.head.Incarnation {
		s.add(seq, FaultIncarnation, "it names another incarnation")
	}
	if stated.Restored.Size != s.before.Size || !isRoot(stated.Restored.RootHash, s.before) {
		s.add(seq, FaultIncarnation, "the restored state that it names is not the end of the log before")
	}
	signed, err := ledger.OpenCheckpoint([]byte(stated.Previous.Checkpoint), s.before.Origin, verifiers...)
	if err != nil {
		s.add(seq, FaultIncarnation, "the last known checkpoint of the log before is not signed by a given key of that log")
		return
	}
	c := signed.Checkpoint()
	if stated.Previous.Origin != c.Origin || stated.Previous.Size != c.Size || !isRoot(stated.Previous.RootHash, ledger.Head{Root: c.Root}) {
		s.add(seq, FaultIncarnation, "it states the last known checkpoint of the log before otherwise than that does itself")
	}
	s.previous = &c
}

func isRoot(text string, h ledger.Head) bool {
	raw, err := base64.StdEncoding.DecodeString(text)
	return err == nil && bytes.Equal(raw, h.Root[:])
}

// Previous is the checkpoint of the log before that the first entry commits to, nil when none can be believed.
func (s *Succession) Previous() *ledger.Checkpoint { return s.previous }

// Faults lists what is wrong. continued says that the log before has the tree of Previous among its own: then nothing newer
// than it can have been known, or it would have been named. A log that forked from it may well be longer.
func (s *Succession) Faults(continued bool) []Fault {
	if s.previous != nil && continued && s.previous.Size < s.before.Size {
		s.add(s.head.Base, FaultIncarnation, "the last known checkpoint of the log before is older than what was restored of it")
	}
	return s.faults
}

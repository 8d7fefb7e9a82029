package audit

import (
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/ledger"
)

// LogCheck is the part of a full check that goes by order: seqs dense, times never decreasing, and the tree that the leaves
// make held against stored tiles, checkpoints and head. Use: Begin, Entry for each entry in order of seq, Finish.
type LogCheck struct {
	Head      ledger.Head     // claimed
	Verifiers []note.Verifier // of the log's keys
	// Tiles are the full tiles of the head's incarnation, in the order in which a tree fills them (see StoredTile.before).
	Tiles *Ahead[StoredTile]
	// Checkpoints are the kept checkpoints of the incarnation, by size.
	Checkpoints *Ahead[StoredCheckpoint]
	Since       *ledger.Checkpoint // the user's own, verified; nil for none
	Previous    *ledger.Checkpoint // that the next incarnation's log commits to; nil for none
	After       time.Time          // of the newest entry of the log before; none of this one is earlier
	Report      func(Fault)

	frontier ledger.Frontier
	next     int64 // the seq expected next
	last     time.Time
	broken   bool // an entry is missing: the tree can't be followed any further
	had      bool // the tree of Previous
}

// Ahead gives the items of a sequence one by one, with a look at the next.
type Ahead[T any] struct {
	Next func() (T, bool)

	item       T
	have, done bool
}

func (a *Ahead[T]) peek() (T, bool) {
	if !a.have && !a.done {
		a.item, a.have = a.Next()
		a.done = !a.have
	}
	return a.item, a.have
}

func (a *Ahead[T]) drop() { a.have = false }

// Begin checks what can be said before the first entry.
func (l *LogCheck) Begin() {
	l.next, l.last = l.Head.Base, l.After
	signed, err := ledger.OpenCheckpoint([]byte(l.Head.Checkpoint), l.Head.Origin, l.Verifiers...)
	switch c := signed.Checkpoint(); {
	case err != nil:
		l.fault(NoSeq, FaultHead, "its checkpoint is not signed by a given key of the log")
	case c.Size != l.Head.Size || c.Root != l.Head.Root:
		l.fault(NoSeq, FaultHead, "size or root are not those of its checkpoint")
	}
	if s := l.Since; s != nil && s.Origin != l.Head.Origin {
		l.fault(NoSeq, FaultSince, "the given checkpoint is of another log")
		l.Since = nil
	} else if s != nil && s.Size > l.Head.Size {
		l.fault(NoSeq, FaultSince, fmt.Sprintf("the log was truncated: it has %d entries, the given checkpoint covers %d", l.Head.Size, s.Size))
		l.Since = nil
	}
	l.compareRoots()
}

// Entry adds the next entry that is there, by what was derived from it.
func (l *LogCheck) Entry(seq int64, recordedAt time.Time, leaf tlog.Hash) {
	if seq > l.next {
		l.missing(seq)
	}
	l.next = seq + 1
	if recordedAt.Before(l.last) {
		l.fault(seq, FaultTime, "it was recorded before the entry before it")
	}
	l.last = recordedAt
	if l.broken {
		return
	}
	for _, tile := range l.frontier.Append(leaf) {
		l.compareTile(tile)
	}
	l.compareRoots()
}

// missing reports the entries from the expected one up to seq.
func (l *LogCheck) missing(seq int64) {
	detail := "the entry is missing"
	if n := seq - l.next; n > 1 {
		detail = fmt.Sprintf("%d entries from here on are missing", n)
	}
	l.fault(l.next, FaultMissing, detail)
	if !l.broken {
		l.fault(l.next, FaultRoot, "the tree can't be made past the missing entry: root, later tiles and later checkpoints are not shown")
	}
	l.broken = true
}

// Finish checks what can be said after the last entry.
func (l *LogCheck) Finish() {
	if l.next < l.Head.Next() {
		l.missing(l.Head.Next())
	}
	if l.Head.Size > 0 && !l.Head.RecordedAt.Equal(l.last) {
		l.fault(NoSeq, FaultHead, "recorded_at is not that of the newest entry")
	}
	if l.broken {
		return
	}
	if l.frontier.Root() != l.Head.Root {
		l.fault(NoSeq, FaultRoot, "the entries give another root than the head's")
	}
	for t, ok := l.Tiles.peek(); ok; t, ok = l.Tiles.peek() {
		l.fault(NoSeq, FaultTile, t.String()+" is stored and not a full tile of the tree")
		l.Tiles.drop()
	}
	for c, ok := l.Checkpoints.peek(); ok; c, ok = l.Checkpoints.peek() {
		l.fault(NoSeq, FaultCheckpoint, fmt.Sprintf("the kept checkpoint of size %d is beyond the head's size", c.Size))
		l.Checkpoints.drop()
	}
}

// HadPrevious says, after Finish, that the tree of Previous is one of the log's own.
func (l *LogCheck) HadPrevious() bool { return l.had }

func (l *LogCheck) fault(seq int64, code FaultCode, detail string) {
	l.Report(Fault{Seq: seq, Code: code, Detail: detail})
}

package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/note"

	"ledgerd/internal/audit"
	"ledgerd/ledger"
)

// ErrNoKey says that a full check was given no verifier key of one of the logs.
var ErrNoKey = errors.New("the log's verifier key is not among those given")

// checkedLog is one incarnation's log, as a full check knows it beforehand.
type checkedLog struct {
	head      ledger.Head
	verifiers []note.Verifier
	follows   *audit.Succession // nil for the first
}

// loadLogs reads all heads and what later logs say of those before them. There are as many as a ledger was ever restored.
func (f *fsck) loadLogs(ctx context.Context) error {
	heads, err := headRows(ctx, f.control)
	if err != nil {
		return fmt.Errorf("reading the heads: %w", err)
	}
	for i, h := range heads {
		log := &checkedLog{head: h, verifiers: verifiersOf(h, f.options.Verifiers)}
		if i > 0 && f.isNoSuccessor(h, len(log.verifiers) > 0) {
			f.options.Fault(audit.Fault{Seq: audit.NoSeq, Code: audit.FaultHead, Detail: fmt.Sprintf("ledger.head has a row of incarnation %d, which no incarnation of this ledger can be; it is left out", h.Incarnation)})
			continue
		}
		if len(log.verifiers) == 0 {
			return fmt.Errorf("%w: incarnation %d is the log %q", ErrNoKey, h.Incarnation, h.Origin)
		}
		if i > 0 {
			first, err := f.firstEntry(ctx, h.Base)
			if err != nil {
				return fmt.Errorf("reading the first entry of incarnation %d: %w", h.Incarnation, unavailable(err))
			}
			before := f.logs[len(f.logs)-1]
			log.follows = audit.NewSuccession(before.head, before.verifiers, h, first)
		}
		f.logs = append(f.logs, log)
	}
	return nil
}

// isNoSuccessor says that a head can't be that of the log after the last one. The service's own role can write such a row, and it
// must not keep the others from being checked. A log whose key is known is checked whatever its row says.
func (f *fsck) isNoSuccessor(h ledger.Head, known bool) bool {
	before := f.logs[len(f.logs)-1].head
	_, err := ledger.ReadCheckpoint([]byte(h.Checkpoint))
	return !known && (h.Size == 0 || err != nil || h.Incarnation != before.Incarnation+1 || h.Base != before.Next())
}

// verifiersOf are those of the log's name. Where there are none they are those of the name in its checkpoint: that a row was
// given another name is a fault, not a missing key.
func verifiersOf(h ledger.Head, all []note.Verifier) []note.Verifier {
	own := named(h.Origin, all)
	if c, err := ledger.ReadCheckpoint([]byte(h.Checkpoint)); len(own) == 0 && err == nil {
		return named(c.Origin, all)
	}
	return own
}

func named(origin string, all []note.Verifier) []note.Verifier {
	var list []note.Verifier
	for _, v := range all {
		if v.Name() == origin {
			list = append(list, v)
		}
	}
	return list
}

func (f *fsck) firstEntry(ctx context.Context, seq int64) (e audit.FirstEntry, err error) {
	err = f.control.QueryRow(ctx, `SELECT e.kind, c.content FROM ledger.entries e JOIN ledger.contents c USING (seq) WHERE e.seq = $1`, seq).Scan(&e.Kind, &e.Content)
	if errors.Is(err, pgx.ErrNoRows) {
		return audit.FirstEntry{}, nil
	}
	return e, err
}

// logOf is the place in f.logs of the log that has the entry; false when none has.
func (f *fsck) logOf(seq int64) (int, bool) {
	for i := len(f.logs) - 1; i >= 0; i-- {
		if h := f.logs[i].head; h.Base <= seq {
			return i, seq < h.Next()
		}
	}
	return 0, false
}

func (f *fsck) heads() []ledger.Head {
	list := make([]ledger.Head, 0, len(f.logs))
	for _, l := range f.logs {
		list = append(list, l.head)
	}
	return list
}

func (f *fsck) incarnations() []int32 {
	list := make([]int32, 0, len(f.logs))
	for _, l := range f.logs {
		list = append(list, int32(l.head.Incarnation))
	}
	return list
}

// size is the number of entries that the heads state.
func (f *fsck) size() (n int64) {
	for _, l := range f.logs {
		n += l.head.Size
	}
	return n
}

// logWalk goes through the logs one after the other.
type logWalk struct {
	fsck               *fsck
	report             func(audit.Fault)
	tiles, checkpoints *stream

	at    int
	check *audit.LogCheck // of fsck.logs[at]
}

// begin checks what can be said before the first entry of all.
func (w *logWalk) begin() {
	if h := w.fsck.logs[0].head; h.Incarnation != 0 || h.Base != 0 {
		w.report(audit.Fault{Seq: audit.NoSeq, Code: audit.FaultHead, Detail: "the first log is not incarnation 0, or does not begin at entry 0"})
	}
	since := w.fsck.options.Since
	for _, l := range w.fsck.logs {
		if since != nil && since.Origin == l.head.Origin {
			since = nil
		}
	}
	if since != nil {
		w.report(audit.Fault{Seq: audit.NoSeq, Code: audit.FaultSince, Detail: "the given checkpoint is of another log"})
	}
	w.beginLog()
}

// entry adds the next entry that is there. What the log of an entry is never goes back along seq.
func (w *logWalk) entry(seq int64, r checked) {
	for w.at < r.log {
		w.endLog()
		w.beginLog()
	}
	w.check.Entry(seq, r.recordedAt, r.leaf)
}

func (w *logWalk) finish() {
	for w.endLog(); w.at < len(w.fsck.logs); w.endLog() {
		w.beginLog()
	}
}

func (w *logWalk) beginLog() {
	log, incarnation := w.fsck.logs[w.at], w.fsck.logs[w.at].head.Incarnation
	w.check = &audit.LogCheck{
		Head: log.head, Verifiers: log.verifiers, Report: w.report,
		Tiles:       &audit.Ahead[audit.StoredTile]{Next: nextTile(w.tiles, incarnation)},
		Checkpoints: &audit.Ahead[audit.StoredCheckpoint]{Next: nextCheckpoint(w.checkpoints, incarnation)},
	}
	if since := w.fsck.options.Since; since != nil && since.Origin == log.head.Origin {
		w.check.Since = since
	}
	if w.at > 0 {
		w.check.After = w.fsck.logs[w.at-1].head.RecordedAt
	}
	if w.at+1 < len(w.fsck.logs) {
		w.check.Previous = w.fsck.logs[w.at+1].follows.Previous()
	}
	w.check.Begin()
}

// endLog checks what can be said after a log's last entry, and how the next one follows it.
func (w *logWalk) endLog() {
	w.check.Finish()
	w.at++
	if w.at == len(w.fsck.logs) {
		return
	}
	for _, fault := range w.fsck.logs[w.at].follows.Faults(w.check.HadPrevious()) {
		w.report(fault)
	}
}

// rowsOf gives the rows of one incarnation of a stream that is ordered by it, and drops those before.
func rowsOf(s *stream, incarnation int) func() ([][]byte, bool) {
	return func() ([][]byte, bool) {
		for {
			of, ok := s.peek()
			if !ok || of > int64(incarnation) {
				return nil, false
			}
			if row, _ := s.next(); of == int64(incarnation) {
				return row, true
			}
		}
	}
}

func nextTile(s *stream, incarnation int) func() (audit.StoredTile, bool) {
	next := rowsOf(s, incarnation)
	return func() (audit.StoredTile, bool) {
		row, ok := next()
		if !ok {
			return audit.StoredTile{}, false
		}
		return audit.StoredTile{Level: int(binary.BigEndian.Uint64(row[1])), Index: int64(binary.BigEndian.Uint64(row[2])), Root: row[3], Hashes: row[4]}, true
	}
}

func nextCheckpoint(s *stream, incarnation int) func() (audit.StoredCheckpoint, bool) {
	next := rowsOf(s, incarnation)
	return func() (audit.StoredCheckpoint, bool) {
		row, ok := next()
		if !ok {
			return audit.StoredCheckpoint{}, false
		}
		return audit.StoredCheckpoint{Size: int64(binary.BigEndian.Uint64(row[1])), SignedAt: instant(row[2]), Note: row[3]}, true
	}
}

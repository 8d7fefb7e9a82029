package postgres

import (
	"context"
	"encoding/binary"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
)

// Bounds of a batch, the unit of work of a core.
const (
	checkRecords = 256
	checkBytes   = 1 << 20 // of contents
)

// record is everything that the tables hold of one seq.
type record struct {
	seq   int64
	parts [][][][]byte // rows of each of fsck.streams
}

// checked is what checking one record gave.
type checked struct {
	present    bool // there is an entry, of a log
	log        int  // which, of fsck.logs
	recordedAt time.Time
	leaf       tlog.Hash
	claims     []claimCheck
	faults     []audit.Fault
}

// batch is a run of records. done is closed when all of them are checked.
type batch struct {
	records []record
	results []checked
	bytes   int
	done    chan struct{}
}

// merge puts the streams together by seq, as a merge join would, and hands the records out twice: to whoever checks them, and
// in order to the one who collects.
func (f *fsck) merge(ctx context.Context, jobs, ordered chan<- *batch) {
	defer close(jobs)
	defer close(ordered)
	for {
		b := f.nextBatch()
		if len(b.records) == 0 || !send(ctx, ordered, b) || !send(ctx, jobs, b) {
			return
		}
	}
}

func (f *fsck) nextBatch() *batch {
	b := &batch{done: make(chan struct{})}
	for len(b.records) < checkRecords && b.bytes < checkBytes {
		seq, ok := f.lowest()
		if !ok {
			break
		}
		r := record{seq: seq, parts: make([][][][]byte, len(f.streams))}
		for i, s := range f.streams {
			r.parts[i] = s.take(seq)
		}
		for _, row := range r.parts[partContent] {
			b.bytes += len(row[1])
		}
		b.records = append(b.records, r)
	}
	b.results = make([]checked, len(b.records))
	return b
}

// lowest is the smallest seq of which some stream has a row.
func (f *fsck) lowest() (seq int64, ok bool) {
	for _, s := range f.streams {
		if next, some := s.peek(); some && (!ok || next < seq) {
			seq, ok = next, true
		}
	}
	return seq, ok
}

// selectRows is the query of a projection's stream; the names are those of the registry.
func selectRows(t *kinds.Table) string {
	return "SELECT " + strings.Join(columnsOf(t), ", ") + " FROM ledger." + t.Name + " ORDER BY seq"
}

// instant reads a timestamptz in binary form: microseconds since 2000. Infinity becomes some instant that no entry has.
func instant(raw []byte) time.Time {
	const since1970 = 946_684_800_000_000
	return time.UnixMicro(int64(binary.BigEndian.Uint64(raw)) + since1970).UTC()
}

package audit

import (
	"bytes"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/ledger"
)

// StoredTile is a full tile as the store holds it.
type StoredTile struct {
	Level        int   // 0 to 6
	Index        int64 // from 0, of a tile within 2^62 leaves
	Root, Hashes []byte
}

// String names the tile as its C2SP path does, without the grouping of digits.
func (t StoredTile) String() string { return fmt.Sprintf("tile %d/%d", t.Level, t.Index) }

// before is the order in which a growing tree fills its tiles: by the number of leaves that fill it, lower levels first.
func (t StoredTile) before(level int, index int64) bool {
	mine, other := (t.Index+1)<<(8*(t.Level+1)), (index+1)<<(8*(level+1))
	return mine < other || (mine == other && t.Level < level)
}

// compareTile holds a tile that the leaves filled against the stored one.
func (l *LogCheck) compareTile(want ledger.Tile) {
	have, ok := l.Tiles.peek()
	for ; ok && have.before(want.Level, want.Index); have, ok = l.Tiles.peek() {
		l.fault(NoSeq, FaultTile, have.String()+" is stored and not a full tile of the tree")
		l.Tiles.drop()
	}
	if !ok || have.Level != want.Level || have.Index != want.Index {
		l.fault(l.leafOf(want, 0), FaultTile, StoredTile{Level: want.Level, Index: want.Index}.String()+" is missing")
		return
	}
	l.Tiles.drop()
	if !bytes.Equal(have.Hashes, want.Hashes) {
		l.fault(l.leafOf(want, firstDifference(have.Hashes, want.Hashes)), FaultTile, have.String()+" holds another hash than the tree from here on")
	}
	if !bytes.Equal(have.Root, want.Root[:]) {
		l.fault(l.leafOf(want, 0), FaultTile, have.String()+" has another root than the tree")
	}
}

// leafOf is the seq of the first leaf below the i-th hash of a tile.
func (l *LogCheck) leafOf(t ledger.Tile, i int) int64 {
	return l.Head.Base + (t.Index*ledger.TileWidth+int64(i))<<(8*t.Level)
}

// firstDifference is the place of the first hash that differs, also where one of the two ends.
func firstDifference(a, b []byte) int {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return min(i/tlog.HashSize, ledger.TileWidth-1)
}

// StoredCheckpoint is a kept checkpoint as the store holds it.
type StoredCheckpoint struct {
	Size     int64
	SignedAt time.Time
	Note     []byte
}

// compareRoots holds the tree of the present size against the checkpoints of that size.
func (l *LogCheck) compareRoots() {
	size := l.frontier.Size()
	for c, ok := l.Checkpoints.peek(); ok && c.Size <= size; c, ok = l.Checkpoints.peek() {
		l.compareCheckpoint(c)
		l.Checkpoints.drop()
	}
	if p := l.Previous; p != nil && p.Size == size && p.Root == l.frontier.Root() {
		l.had = true
	}
	if s := l.Since; s != nil && s.Size == size && s.Root != l.frontier.Root() {
		l.fault(NoSeq, FaultSince, fmt.Sprintf("history was rewritten: the first %d entries are not those of the given checkpoint", size))
	}
}

func (l *LogCheck) compareCheckpoint(c StoredCheckpoint) {
	seq, size := l.Head.Base+c.Size-1, l.frontier.Size()
	if size == 0 {
		seq = NoSeq
	}
	signed, err := ledger.OpenCheckpoint(c.Note, l.Head.Origin, l.Verifiers...)
	switch stated := signed.Checkpoint(); {
	case err != nil:
		l.fault(seq, FaultCheckpoint, fmt.Sprintf("the kept checkpoint of size %d is not signed by a given key of the log", c.Size))
	case stated.Size != c.Size:
		l.fault(seq, FaultCheckpoint, fmt.Sprintf("the kept checkpoint of size %d states another size", c.Size))
	case stated.Root != l.frontier.Root():
		l.fault(seq, FaultCheckpoint, fmt.Sprintf("the kept checkpoint of size %d states another root than the tree's", c.Size))
	}
	if size > 0 && !c.SignedAt.Equal(l.last) {
		l.fault(seq, FaultCheckpoint, fmt.Sprintf("signed_at of the kept checkpoint of size %d is not the time of its newest entry", c.Size))
	}
}

package ledger_test

import (
	"bytes"
	"testing"

	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/transparency-dev/merkle/testonly"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"ledgerd/ledger"
)

// forest is a tree grown leaf by leaf, beside the reference implementation's, with every full tile kept.
type forest struct {
	frontier  ledger.Frontier
	reference *testonly.Tree
	tiles     map[tlog.Tile][]byte
}

func newForest() *forest {
	return &forest{reference: testonly.New(rfc6962.DefaultHasher), tiles: map[tlog.Tile][]byte{}}
}

func (f *forest) growTo(tb testing.TB, size int64) {
	tb.Helper()
	for i := f.frontier.Size(); i < size; i++ {
		h := leaf(i)
		for _, t := range f.frontier.Append(h) {
			at := tlog.Tile{H: ledger.TileHeight, L: t.Level, N: t.Index, W: ledger.TileWidth}
			if _, ok := f.tiles[at]; ok || len(t.Hashes) != ledger.TileWidth*tlog.HashSize {
				tb.Fatalf("tile %v has %d bytes, made before: %v", at, len(t.Hashes), ok)
			}
			f.tiles[at] = t.Hashes
		}
		f.reference.Append(h[:])
	}
}

func (f *forest) check(tb testing.TB) {
	tb.Helper()
	if root := f.frontier.Root(); !bytes.Equal(root[:], f.reference.Hash()) {
		tb.Fatalf("size %d: the root differs from the reference", f.frontier.Size())
	}
}

func TestFrontierAgainstReference(t *testing.T) {
	f := newForest()
	for size := range int64(1001) {
		f.growTo(t, size)
		f.check(t)
	}
	for _, edge := range []int64{256 * 256} {
		for size := edge - 3; size <= edge+3; size++ {
			f.growTo(t, size)
			f.check(t)
		}
		f.growTo(t, edge+256)
		f.check(t)
	}
	for at, hashes := range f.tiles { // every kept tile holds the reference's nodes
		want, err := tlog.ReadTileData(at, referenceReader{f.reference})
		if err != nil || !bytes.Equal(hashes, want) {
			t.Errorf("tile %v differs from the reference: %v", at, err)
		}
	}
	if full := 257 + 1; len(f.tiles) != full {
		t.Errorf("%d full tiles, want %d", len(f.tiles), full)
	}
}

// referenceReader gives x/mod's tlog the nodes of merkle's reference tree.
type referenceReader struct{ tree *testonly.Tree }

func (r referenceReader) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, 0, len(indexes))
	for _, i := range indexes {
		level, n := tlog.SplitStoredHashIndex(i)
		sub := testonly.New(rfc6962.DefaultHasher)
		for leaf := n << level; leaf < (n+1)<<level; leaf++ {
			sub.Append(r.tree.LeafHash(uint64(leaf)))
		}
		hashes = append(hashes, tlog.Hash(sub.Hash()))
	}
	return hashes, nil
}

// A frontier that was put together from its partial tiles goes on as the one that it was taken from.
func TestNewFrontierRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(0, 1000).Draw(t, "size")
		if rapid.IntRange(0, 49).Draw(t, "large") == 0 {
			size = rapid.Int64Range(65_530, 65_545).Draw(t, "size at the edge")
		}
		var levels [][]tlog.Hash
		original := ledger.Frontier{}
		for i := range size {
			original.Append(leaf(i))
		}
		nodes := make([]tlog.Hash, size) // of the level, made by hashing full tiles only
		for i := range size {
			nodes[i] = leaf(i)
		}
		for rest := size; rest > 0; rest /= ledger.TileWidth {
			full := rest - rest%ledger.TileWidth
			levels = append(levels, nodes[full:])
			var up []tlog.Hash
			for at := int64(0); at < full; at += ledger.TileWidth {
				up = append(up, rootOf(nodes[at:at+ledger.TileWidth]))
			}
			nodes = up
		}
		again, err := ledger.NewFrontier(size, levels)
		if err != nil || again.Size() != size || again.Root() != original.Root() {
			t.Fatalf("size %d: %v", size, err)
		}
		clone := again.Clone()
		for i := range rapid.Int64Range(0, 300).Draw(t, "more") {
			again.Append(leaf(size + i))
			original.Append(leaf(size + i))
		}
		if again.Root() != original.Root() {
			t.Fatalf("size %d: goes on differently", size)
		}
		if clone.Size() != size || (again.Size() > size && clone.Root() == again.Root()) {
			t.Fatal("appending changed the clone")
		}
	})
}

func rootOf(hashes []tlog.Hash) tlog.Hash {
	tree := testonly.New(rfc6962.DefaultHasher)
	for _, h := range hashes {
		tree.Append(h[:])
	}
	return tlog.Hash(tree.Hash())
}

func TestNewFrontierRefusesOtherWidths(t *testing.T) {
	h := func(n int) []tlog.Hash { return make([]tlog.Hash, n) }
	for _, c := range []struct {
		size   int64
		levels [][]tlog.Hash
	}{
		{1, nil}, {1, [][]tlog.Hash{h(2)}}, {0, [][]tlog.Hash{h(1)}}, {256, [][]tlog.Hash{h(0)}}, {256, [][]tlog.Hash{h(256), h(0)}},
		{257, [][]tlog.Hash{h(1), h(1), h(1)}}, {65_536, [][]tlog.Hash{h(0), h(0)}},
	} {
		if _, err := ledger.NewFrontier(c.size, c.levels); err == nil {
			t.Errorf("size %d with %d levels was accepted", c.size, len(c.levels))
		}
	}
}

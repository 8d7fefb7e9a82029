package ledger_test

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"ledgerd/ledger"
)

// ReadTiles serves a forest's tiles as a store would: full ones as kept, partial ones derived.
func (f *forest) ReadTiles(_ context.Context, tiles []tlog.Tile) ([][]byte, error) {
	var data [][]byte
	for _, t := range tiles {
		full := t
		full.W = ledger.TileWidth
		switch kept, ok := f.tiles[full]; {
		case ok:
			data = append(data, kept[:t.W*tlog.HashSize])
		case !ledger.HasTile(t, f.frontier.Size()):
			return nil, errors.New("no such tile")
		default:
			derived, err := tlog.ReadTileData(t, referenceReader{f.reference})
			if err != nil {
				return nil, err
			}
			data = append(data, derived)
		}
	}
	return data, nil
}

// at is what a checkpoint of the forest's first size leaves states.
func (f *forest) at(size int64) ledger.Checkpoint {
	return ledger.Checkpoint{Origin: origin, Size: size, Root: tlog.Hash(f.reference.HashAt(uint64(size)))}
}

// grown is one forest that the proof tests share; 700 leaves cross two tile edges.
func grown(tb testing.TB) *forest {
	tb.Helper()
	f := newForest()
	f.growTo(tb, 700)
	return f
}

func TestInclusionAnySeqAnySize(t *testing.T) {
	f := grown(t)
	tree := ledger.NewTree(f.at(700), f)
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.Int64Range(1, 700), rapid.SampledFrom([]int64{1, 2, 255, 256, 257, 511, 512, 513, 700})).Draw(t, "size")
		index := rapid.Int64Range(0, size-1).Draw(t, "index")
		got, path, err := tree.Inclusion(context.Background(), index, size)
		if err != nil || got != leaf(index) {
			t.Fatalf("leaf %d of %d: %v, %v", index, size, got, err)
		}
		at := f.at(size)
		if err := tlog.CheckRecord(path, at.Size, at.Root, index, leaf(index)); err != nil {
			t.Fatalf("leaf %d of %d: %v", index, size, err)
		}
		if root, err := tree.RootAt(context.Background(), size); err != nil || root != at.Root {
			t.Fatalf("root at %d: %v", size, err)
		}
	})
}

func TestConsistencyAnySizes(t *testing.T) {
	f := grown(t)
	tree := ledger.NewTree(f.at(700), f)
	rapid.Check(t, func(t *rapid.T) {
		to := rapid.Int64Range(1, 700).Draw(t, "to")
		from := rapid.Int64Range(1, to).Draw(t, "from")
		path, err := tree.Consistency(context.Background(), from, to)
		if err != nil {
			t.Fatal(err)
		}
		if err := tlog.CheckTree(path, to, f.at(to).Root, from, f.at(from).Root); err != nil {
			t.Fatalf("%d to %d: %v", from, to, err)
		}
	})
}

func TestLeavesAnyIndexes(t *testing.T) {
	f := grown(t)
	tree := ledger.NewTree(f.at(700), f)
	rapid.Check(t, func(t *rapid.T) {
		indexes := rapid.SliceOf(rapid.Int64Range(0, 699)).Draw(t, "indexes")
		leaves, err := tree.Leaves(context.Background(), indexes)
		if err != nil || len(leaves) != len(indexes) {
			t.Fatalf("%d leaves of %d, %v", len(leaves), len(indexes), err)
		}
		for i, index := range indexes {
			if leaves[i] != leaf(index) {
				t.Fatalf("leaf %d is another", index)
			}
		}
	})
	for _, index := range []int64{-1, 700} {
		if _, err := tree.Leaves(t.Context(), []int64{0, index}); !errors.Is(err, ledger.ErrSize) {
			t.Errorf("leaf %d: %v", index, err)
		}
	}
}

func TestTreeRefusesWhatItHasNot(t *testing.T) {
	f := grown(t)
	tree := ledger.NewTree(f.at(300), f)
	for _, c := range [][2]int64{{0, 0}, {0, 301}, {-1, 5}, {5, 5}, {6, 5}, {0, -1}} {
		if _, _, err := tree.Inclusion(t.Context(), c[0], c[1]); !errors.Is(err, ledger.ErrSize) {
			t.Errorf("leaf %d of %d: %v", c[0], c[1], err)
		}
	}
	for _, c := range [][2]int64{{-1, 5}, {6, 5}, {5, 301}} {
		if _, err := tree.Consistency(t.Context(), c[0], c[1]); !errors.Is(err, ledger.ErrSize) {
			t.Errorf("%d to %d: %v", c[0], c[1], err)
		}
	}
	for _, size := range []int64{-1, 301} {
		if _, err := tree.RootAt(t.Context(), size); !errors.Is(err, ledger.ErrSize) {
			t.Errorf("root at %d: %v", size, err)
		}
	}
	for _, c := range [][2]int64{{0, 0}, {0, 300}, {300, 300}} {
		if path, err := tree.Consistency(t.Context(), c[0], c[1]); err != nil || len(path) != 0 {
			t.Errorf("%d to %d: %d hashes, %v", c[0], c[1], len(path), err)
		}
	}
}

// damaged flips one bit of one byte in everything that its forest reads.
type damaged struct {
	*forest
	tile, at int
}

func (d damaged) ReadTiles(ctx context.Context, tiles []tlog.Tile) ([][]byte, error) {
	data, err := d.forest.ReadTiles(ctx, tiles)
	if err == nil {
		i := d.tile % len(data)
		data[i] = append([]byte(nil), data[i]...)
		data[i][d.at%len(data[i])] ^= 1
	}
	return data, err
}

// A flipped byte in a tile never becomes a proof, nor does a tile that is cut short.
func TestDamagedTilesGiveNoProof(t *testing.T) {
	f := grown(t)
	rapid.Check(t, func(t *rapid.T) {
		bad := damaged{f, rapid.IntRange(0, 9).Draw(t, "tile"), rapid.IntRange(0, 8191).Draw(t, "at")}
		index := rapid.Int64Range(0, 699).Draw(t, "index")
		if _, err := ledger.NewTree(f.at(700), bad).Leaves(context.Background(), []int64{index}); !errors.Is(err, ledger.ErrTree) {
			t.Fatalf("leaf %d by itself: %v", index, err)
		}
		if _, _, err := ledger.NewTree(f.at(700), bad).Inclusion(context.Background(), index, 700); !errors.Is(err, ledger.ErrTree) {
			t.Fatalf("leaf %d: %v", index, err)
		}
	})
	wrong := f.at(700)
	wrong.Root[0] ^= 1
	if _, err := ledger.NewTree(wrong, f).Consistency(t.Context(), 5, 600); !errors.Is(err, ledger.ErrTree) {
		t.Errorf("another root: %v", err)
	}
}

// failing is a reader whose storage is gone.
type failing struct{ err error }

func (r failing) ReadTiles(context.Context, []tlog.Tile) ([][]byte, error) { return nil, r.err }

func TestReaderErrorsArePassedOn(t *testing.T) {
	gone := errors.New("gone")
	_, _, err := ledger.NewTree(grown(t).at(700), failing{gone}).Inclusion(t.Context(), 0, 700)
	if !errors.Is(err, gone) || errors.Is(err, ledger.ErrTree) {
		t.Errorf("got %v", err)
	}
}

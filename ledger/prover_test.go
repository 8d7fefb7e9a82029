package ledger_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"ledgerd/ledger"
)

// A Prover gives what Tree.Inclusion gives, in any order and for any size, and asks for each tile of a pass in order once.
func TestProverIsTheTree(t *testing.T) {
	f := grown(t)
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.Int64Range(1, 700), rapid.SampledFrom([]int64{1, 2, 255, 256, 257, 511, 512, 513, 700})).Draw(t, "size")
		prover, tree := ledger.NewProver(f.at(size), f), ledger.NewTree(f.at(size), f)
		for _, index := range rapid.SliceOfN(rapid.Int64Range(0, size-1), 1, 20).Draw(t, "indexes") {
			leaf, path, err := prover.Inclusion(context.Background(), index)
			wantLeaf, want, wantErr := tree.Inclusion(context.Background(), index, size)
			if err != nil || wantErr != nil || leaf != wantLeaf || !slices.Equal(path, want) {
				t.Fatalf("leaf %d of %d: %v, %v", index, size, err, wantErr)
			}
		}
	})
	counted := &countingTiles{forest: f, asked: map[tlog.Tile]int{}}
	prover := ledger.NewProver(f.at(700), counted)
	for index := range int64(700) {
		if _, _, err := prover.Inclusion(t.Context(), index); err != nil {
			t.Fatal(err)
		}
	}
	for tile, n := range counted.asked {
		if n > 1 {
			t.Errorf("%s was read %d times", ledger.FormatTilePath(tile), n)
		}
	}
}

type countingTiles struct {
	*forest
	asked map[tlog.Tile]int
}

func (c *countingTiles) ReadTiles(ctx context.Context, tiles []tlog.Tile) ([][]byte, error) {
	for _, t := range tiles {
		c.asked[t]++
	}
	return c.forest.ReadTiles(ctx, tiles)
}

func TestProverRefuses(t *testing.T) {
	f := grown(t)
	prover := ledger.NewProver(f.at(300), f)
	for _, index := range []int64{-1, 300} {
		if _, _, err := prover.Inclusion(t.Context(), index); !errors.Is(err, ledger.ErrSize) {
			t.Errorf("leaf %d: %v", index, err)
		}
	}
	damaged := ledger.NewProver(f.at(300), damaged{f, 0, 3})
	if _, _, err := damaged.Inclusion(t.Context(), 7); !errors.Is(err, ledger.ErrTree) {
		t.Errorf("a damaged tile: %v", err)
	}
	lost := errors.New("lost")
	if _, _, err := ledger.NewProver(f.at(300), failing{lost}).Inclusion(t.Context(), 7); !errors.Is(err, lost) {
		t.Errorf("a failing reader: %v", err)
	}
}

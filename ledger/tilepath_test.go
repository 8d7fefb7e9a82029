package ledger_test

import (
	"errors"
	"math"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"ledgerd/ledger"
)

func TestTilePaths(t *testing.T) {
	for path, want := range map[string]tlog.Tile{
		"tile/0/000":                               {H: 8, L: 0, N: 0, W: 256},
		"tile/0/x001/x234/067":                     {H: 8, L: 0, N: 1234067, W: 256}, // the specification's example
		"tile/0/x001/x234/067.p/1":                 {H: 8, L: 0, N: 1234067, W: 1},
		"tile/63/999.p/255":                        {H: 8, L: 63, N: 999, W: 255},
		"tile/5/x001/000":                          {H: 8, L: 5, N: 1000, W: 256},
		"tile/8/000":                               {H: 8, L: 8, N: 0, W: 256},
		"tile/entries/000":                         {H: 8, L: -1, N: 0, W: 256},
		"tile/entries/x123/456.p/7":                {H: 8, L: -1, N: 123456, W: 7},
		"tile/0/x009/x223/x372/x036/x854/x775/807": {H: 8, L: 0, N: math.MaxInt64, W: 256},
		"tile/entries/x009/x223/x372/x036/x854/x775/807.p/9": {H: 8, L: -1, N: math.MaxInt64, W: 9},
	} {
		got, err := ledger.ParseTilePath(path)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", path, got, err)
		}
		if again := ledger.FormatTilePath(want); again != path {
			t.Errorf("%+v is written %s, want %s", want, again, path)
		}
	}
}

func TestParseTilePathRefuses(t *testing.T) {
	for _, path := range []string{
		"", "tile", "tile/", "tile/0", "tile/0/", "tile//000", "0/000", "/tile/0/000", "tile/0/000/", "tile/tile/0/000", "tiles/0/000",
		"tile/00/000", "tile/01/000", "tile/+1/000", "tile/-1/000", "tile/64/000", "tile/99999999999999999999/000", "tile/x/000",
		"tile/data/000", "tile/Entries/000", "tile/entries", "tile/entries/", "tile/8/0/000", "tile/8/data/000",
		"tile/0/0", "tile/0/00", "tile/0/0000", "tile/0/1000", "tile/0/x000", "tile/0/x000/000", "tile/0/x000/001", "tile/0/001/000",
		"tile/0/X001/000", "tile/0/xx01/000", "tile/0/x001/x000", "tile/0/x01/000", "tile/0/x1000/000", "tile/0/-01", "tile/0/+01", "tile/0/x001//000",
		"tile/0/x009/x223/x372/x036/x854/x775/808", "tile/0/x018/x446/x744/x073/x709/x551/616", "tile/0/x999/x999/x999/x999/x999/x999/x999/999",
		"tile/0/000.p", "tile/0/000.p/", "tile/0/000.p/0", "tile/0/000.p/00", "tile/0/000.p/01", "tile/0/000.p/+1", "tile/0/000.p/-1", "tile/0/000.p/256",
		"tile/0/000.p/1/", "tile/0/000.p/1.p/1", "tile/0/000.P/1", "tile/0/000/1", "tile/0/000.p/99999999999999999999", "tile/0/000.p/1 ",
		"tile/0/000?", "tile/0/000#", "tile/0/000%2e", "tile/0/٠٠٠", "tile/0/000\x00", "tile/../0/000", "tile/./0/000", "tile/0/../0/000",
	} {
		if got, err := ledger.ParseTilePath(path); !errors.Is(err, ledger.ErrTilePath) || got != (tlog.Tile{}) {
			t.Errorf("%q is read as %+v, %v", path, got, err)
		}
	}
}

func FuzzParseTilePath(f *testing.F) {
	for _, path := range []string{"tile/0/x001/x234/067.p/1", "tile/entries/x001/234", "tile/63/000.p/255", "tile/data/000"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		tile, err := ledger.ParseTilePath(path)
		switch {
		case err != nil && !errors.Is(err, ledger.ErrTilePath):
			t.Errorf("%q: %v", path, err)
		case err == nil && ledger.FormatTilePath(tile) != path:
			t.Errorf("%q is read as what is written %q", path, ledger.FormatTilePath(tile))
		case err == nil && (tile.L < -1 || tile.L > 63 || tile.N < 0 || tile.W < 1 || tile.W > 256 || tile.H != 8):
			t.Errorf("%q is read as %+v", path, tile)
		}
	})
}

// A tree has exactly the tiles that x/mod says must be published for it, and their narrower forms.
func TestHasTile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(0, 70_000).Draw(t, "size")
		widest := map[[2]int64]int{} // level, index → width
		for _, tile := range tlog.NewTiles(ledger.TileHeight, 0, size) {
			widest[[2]int64{int64(tile.L), tile.N}] = tile.W
		}
		for at, width := range widest {
			tile := tlog.Tile{H: 8, L: int(at[0]), N: at[1], W: width}
			if !ledger.HasTile(tile, size) {
				t.Fatalf("a tree of %d lacks %+v", size, tile)
			}
			tile.W++
			if ledger.HasTile(tile, size) {
				t.Fatalf("a tree of %d has %+v", size, tile)
			}
		}
		tile := tlog.Tile{H: 8, L: rapid.IntRange(0, 3).Draw(t, "level"), N: rapid.Int64Range(0, 300).Draw(t, "index"), W: rapid.IntRange(1, 256).Draw(t, "width")}
		if got, want := ledger.HasTile(tile, size), tile.W <= widest[[2]int64{int64(tile.L), tile.N}]; got != want {
			t.Fatalf("a tree of %d has %+v: %v", size, tile, got)
		}
		bundle := tlog.Tile{H: 8, L: ledger.EntriesLevel, N: tile.N, W: tile.W}
		leaves := bundle
		leaves.L = 0
		if ledger.HasTile(bundle, size) != ledger.HasTile(leaves, size) {
			t.Fatalf("a tree of %d has a bundle without its tile, or the reverse: %+v", size, bundle)
		}
	})
	for _, tile := range []tlog.Tile{
		{H: 8, L: 0, N: math.MaxInt64, W: 256}, {H: 8, L: 63, N: 0, W: 1}, {H: 8, L: 8, N: 0, W: 1}, {H: 8, L: 0, N: -1, W: 1}, {H: 8, L: 0, N: 0, W: 0},
	} {
		if ledger.HasTile(tile, math.MaxInt64) {
			t.Errorf("the largest tree has %+v", tile)
		}
	}
	if !ledger.HasTile(tlog.Tile{H: 8, L: 7, N: 0, W: 127}, math.MaxInt64) {
		t.Error("the largest tree lacks its top tile")
	}
}

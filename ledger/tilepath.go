package ledger

import (
	"errors"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/tlog"
)

// The shape of a tile (C2SP tlog-tiles).
const (
	TileHeight = torchwood.TileHeight // levels of the tree in a tile: 8
	TileWidth  = torchwood.TileWidth  // hashes in a full tile: 256
)

// EntriesLevel is the level of a tlog.Tile that stands for an entry bundle, the leaves themselves.
const EntriesLevel = -1

// maxTileLevel is the highest level that a path may name (C2SP tlog-tiles "Merkle Tree").
const maxTileLevel = 63

// ErrTilePath says that a path is not one of C2SP tlog-tiles.
var ErrTilePath = errors.New("not a path of C2SP tlog-tiles")

// FormatTilePath is the C2SP tlog-tiles path of a tile of height TileHeight, or of an entry bundle, below the log's prefix:
// "tile/<L>/<N>[.p/<W>]" or "tile/entries/<N>[.p/<W>]".
func FormatTilePath(t tlog.Tile) string {
	t.H = TileHeight
	return torchwood.TilePath(t)
}

// ParseTilePath reads a path as FormatTilePath writes it: level 0 to 63 or "entries", index in groups of three digits, all
// but the last with an x before them, width 1 to 255 for a partial tile. Any other spelling is ErrTilePath.
func ParseTilePath(path string) (tlog.Tile, error) {
	t, err := torchwood.ParseTilePath(path)
	if err != nil || t.L > maxTileLevel || FormatTilePath(t) != path {
		return tlog.Tile{}, ErrTilePath
	}
	return t, nil
}

// HasTile says whether a tree of the given size has all hashes (or entries) of a tile. A narrow tile exists as long as a
// wider one does: hashes of a level never change once they are there.
func HasTile(t tlog.Tile, size int64) bool {
	count := size // hashes on the tile's level
	for l := 0; l < t.L && count > 0; l++ {
		count >>= TileHeight
	}
	return t.N >= 0 && t.W >= 1 && t.W <= TileWidth && count >= int64(t.W) && t.N <= (count-int64(t.W))/TileWidth
}

package ledger

import (
	"fmt"
	"slices"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/tlog"
)

// Tile is a full tile: 256 hashes of the tree's level 8·Level, and the root over them, which is also the hash at
// position Index of the tiles one level up.
type Tile struct {
	Level  int
	Index  int64
	Hashes []byte // 256 × 32 bytes
	Root   tlog.Hash
}

// Frontier is the right edge of a tree: per tile level the hashes of the tile that is not full yet. It is all that
// appending needs. The zero value is the empty tree.
type Frontier struct {
	size   int64
	levels [][]tlog.Hash // levels[l] has fewer than TileWidth hashes
}

var factory = compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}

// NewFrontier makes a frontier from stored partial tiles, lowest level first. Their widths must be the digits of size in
// base 256.
func NewFrontier(size int64, levels [][]tlog.Hash) (Frontier, error) {
	rest := size
	for l := 0; l < len(levels) || rest > 0; l++ {
		width := int(rest % TileWidth)
		rest /= TileWidth
		if l >= len(levels) || len(levels[l]) != width {
			return Frontier{}, fmt.Errorf("right edge of a tree of %d: level %d needs %d hashes", size, l, width)
		}
	}
	return Frontier{size: size, levels: levels}, nil
}

// Size is the number of leaves.
func (f Frontier) Size() int64 { return f.size }

// Clone returns a copy that can be appended to while f stays as it is.
func (f Frontier) Clone() Frontier {
	levels := make([][]tlog.Hash, len(f.levels))
	for i, l := range f.levels {
		levels[i] = slices.Clone(l)
	}
	return Frontier{size: f.size, levels: levels}
}

// Append adds a leaf and returns the tiles that it filled, lowest level first (none but every 256th time).
func (f *Frontier) Append(leaf tlog.Hash) []Tile {
	var full []Tile
	hash := leaf
	f.size++
	for l := 0; ; l++ {
		if l == len(f.levels) {
			f.levels = append(f.levels, make([]tlog.Hash, 0, TileWidth))
		}
		f.levels[l] = append(f.levels[l], hash)
		if len(f.levels[l]) < TileWidth {
			return full
		}
		index := f.size>>(8*(l+1)) - 1
		tile := Tile{Level: l, Index: index, Hashes: joinHashes(f.levels[l]), Root: subtreeRoot(f.levels[l])}
		full = append(full, tile)
		f.levels[l] = f.levels[l][:0]
		hash = tile.Root
	}
}

// Root is the tree's root hash; of the empty tree SHA-256 of nothing (RFC 9162 §2.1.1).
func (f Frontier) Root() tlog.Hash {
	if f.size == 0 {
		return tlog.Hash(rfc6962.DefaultHasher.EmptyRoot())
	}
	var peaks [][]byte // left to right, as compact wants them
	for l := len(f.levels) - 1; l >= 0; l-- {
		peaks = appendPeaks(peaks, f.levels[l])
	}
	r, err := factory.NewRange(0, uint64(f.size), peaks)
	if err != nil {
		panic("ledger: frontier widths do not add up: " + err.Error()) // NewFrontier and Append keep them so
	}
	root, err := r.GetRootHash(nil)
	if err != nil {
		panic("ledger: a range from 0 has a root: " + err.Error())
	}
	return tlog.Hash(root)
}

// appendPeaks splits hashes of one level into its perfect subtrees, widest first, and appends their roots.
func appendPeaks(peaks [][]byte, hashes []tlog.Hash) [][]byte {
	for width := TileWidth / 2; width > 0; width /= 2 {
		if len(hashes)&width != 0 {
			root := subtreeRoot(hashes[:width])
			peaks = append(peaks, root[:])
			hashes = hashes[width:]
		}
	}
	return peaks
}

// subtreeRoot is the root over a power of two of hashes.
func subtreeRoot(hashes []tlog.Hash) tlog.Hash {
	level := slices.Clone(hashes)
	for len(level) > 1 {
		for i := range len(level) / 2 {
			level[i] = tlog.NodeHash(level[2*i], level[2*i+1])
		}
		level = level[:len(level)/2]
	}
	return level[0]
}

func joinHashes(hashes []tlog.Hash) []byte {
	b := make([]byte, 0, len(hashes)*tlog.HashSize)
	for _, h := range hashes {
		b = append(b, h[:]...)
	}
	return b
}

package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// TileReader reads tiles of a log: for each asked tile its W hashes, concatenated, in the order asked. Tiles have height
// TileHeight, never EntriesLevel. What it returns need not be trusted. It is asked for a few tiles at once, so that it can
// read them in one round trip.
type TileReader interface {
	ReadTiles(ctx context.Context, tiles []tlog.Tile) ([][]byte, error)
}

// ErrTree says that tiles do not give the root of the tree that they are said to be of.
var ErrTree = errors.New("tiles do not give the tree's root")

// ErrSize says that a proof was asked for that no tree can give: a leaf beyond the tree, or a tree larger than what is read.
var ErrSize = errors.New("no such leaf or tree size")

// Tree reads a tree of known size and root from tiles. Every hash it gives was proven to be in that tree first, so a
// damaged tile yields ErrTree and never a wrong proof. Errors of the reader are passed on.
type Tree struct {
	size  int64
	root  tlog.Hash
	tiles TileReader
}

// NewTree makes a Tree of what a checkpoint states. The statement need not be verified: it is what tiles are held against.
func NewTree(c Checkpoint, tiles TileReader) Tree {
	return Tree{size: c.Size, root: c.Root, tiles: tiles}
}

// Inclusion returns the leaf hash at index and the hashes that prove it to be in the tree's first size leaves, from the
// leaf's sibling upwards (RFC 9162 §2.1.3.1). It reads tiles once.
func (t Tree) Inclusion(ctx context.Context, index, size int64) (leaf tlog.Hash, path []tlog.Hash, err error) {
	if index < 0 || index >= size || size > t.size {
		return leaf, nil, ErrSize
	}
	// The leaf's own hash is read along with its path.
	read := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		hashes, err := t.read(ctx, append(slices.Clone(indexes), tlog.StoredHashIndex(0, index)))
		if err != nil {
			return nil, err
		}
		leaf = hashes[len(indexes)]
		return hashes[:len(indexes)], nil
	})
	if size == 1 { // the path is empty, and ProveRecord reads nothing for it
		_, err = read(nil)
		return leaf, nil, err
	}
	path, err = tlog.ProveRecord(size, index, read)
	return leaf, path, err
}

// Leaves returns the leaf hashes at some indexes, each proven to be in the tree. It reads and proves each tile once, so many
// leaves cost little more than their tiles.
func (t Tree) Leaves(ctx context.Context, indexes []int64) ([]tlog.Hash, error) {
	stored := make([]int64, len(indexes))
	for i, index := range indexes {
		if index < 0 || index >= t.size {
			return nil, ErrSize
		}
		stored[i] = tlog.StoredHashIndex(0, index)
	}
	if len(stored) == 0 {
		return nil, nil
	}
	return t.read(ctx, stored)
}

// Consistency returns the hashes that prove the tree's first from leaves to be the beginning of its first to leaves (RFC
// 9162 §2.1.4.1); none when from is 0 or to.
func (t Tree) Consistency(ctx context.Context, from, to int64) ([]tlog.Hash, error) {
	if from < 0 || from > to || to > t.size {
		return nil, ErrSize
	}
	if from == 0 || from == to {
		return nil, nil
	}
	return tlog.ProveTree(to, from, tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		return t.read(ctx, indexes)
	}))
}

// RootAt is the root of the tree's first size leaves.
func (t Tree) RootAt(ctx context.Context, size int64) (tlog.Hash, error) {
	switch {
	case size < 0 || size > t.size:
		return tlog.Hash{}, ErrSize
	case size == t.size:
		return t.root, nil
	}
	return tlog.TreeHash(size, tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		return t.read(ctx, indexes)
	}))
}

// read returns stored hashes by their index (see tlog.StoredHashIndex), proven against the root.
func (t Tree) read(ctx context.Context, indexes []int64) ([]tlog.Hash, error) {
	var failure error // the reader's own, told apart from tiles that don't prove
	tiles := tileFunc(func(tiles []tlog.Tile) (data [][]byte, err error) {
		data, failure = t.tiles.ReadTiles(ctx, tiles)
		return data, failure
	})
	hashes, err := tlog.TileHashReader(tlog.Tree{N: t.size, Hash: t.root}, tiles).ReadHashes(indexes)
	if err != nil && failure == nil {
		err = fmt.Errorf("%w: %w", ErrTree, err)
	}
	return hashes, err
}

// tileFunc is a tlog.TileReader that keeps nothing.
type tileFunc func(tiles []tlog.Tile) ([][]byte, error)

func (tileFunc) Height() int                                     { return TileHeight }
func (f tileFunc) ReadTiles(tiles []tlog.Tile) ([][]byte, error) { return f(tiles) }
func (tileFunc) SaveTiles(tiles []tlog.Tile, authentic [][]byte) {}

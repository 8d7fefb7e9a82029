package ledger

import (
	"context"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// maxKeptTiles bounds the memory of a Prover: a tile with its inner hashes takes 16 KB.
const maxKeptTiles = 64

// Prover proves many leaves of one tree, best in order of their index. It reads and proves each tile once while it is needed,
// and keeps its inner hashes, which makes a proof some fifty times cheaper than Tree.Inclusion. It is not safe for concurrent
// use.
type Prover struct {
	tree Tree
	kept map[place]*keptTile
}

// place is where a tile is, whatever its width.
type place struct {
	level int
	index int64
}

// keptTile is a proven tile: its bytes, and all hashes of its complete subtrees by height above the tile's own level.
type keptTile struct {
	data  []byte
	nodes [TileHeight][]tlog.Hash
}

// NewProver makes a Prover of what a checkpoint states, as NewTree does.
func NewProver(c Checkpoint, tiles TileReader) *Prover {
	return &Prover{tree: NewTree(c, tiles), kept: map[place]*keptTile{}}
}

// Inclusion returns the leaf hash at index and the hashes that prove it to be in the tree, as Tree.Inclusion does.
func (p *Prover) Inclusion(ctx context.Context, index int64) (leaf tlog.Hash, path []tlog.Hash, err error) {
	if index < 0 || index >= p.tree.size {
		return leaf, nil, ErrSize
	}
	if len(p.kept) > maxKeptTiles {
		clear(p.kept)
	}
	at := []int64{tlog.StoredHashIndex(0, index)}
	hashes, err := p.hashes(ctx, at)
	if err != nil || p.tree.size == 1 {
		if err == nil {
			leaf = hashes[0]
		}
		return leaf, nil, err
	}
	leaf = hashes[0]
	path, err = tlog.ProveRecord(p.tree.size, index, tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		return p.hashes(ctx, indexes)
	}))
	return leaf, path, err
}

// hashes gives stored hashes by their index, after it has read and proven the tiles that are not kept.
func (p *Prover) hashes(ctx context.Context, indexes []int64) ([]tlog.Hash, error) {
	var missing []int64
	for _, x := range indexes {
		if t := tlog.TileForIndex(TileHeight, x); p.kept[place{t.L, t.N}] == nil {
			missing = append(missing, x)
		}
	}
	if err := p.load(ctx, missing); err != nil {
		return nil, err
	}
	out := make([]tlog.Hash, len(indexes))
	for i, x := range indexes {
		t := tlog.TileForIndex(TileHeight, x)
		level, n := tlog.SplitStoredHashIndex(x)
		height := level - t.L*TileHeight
		nodes := p.kept[place{t.L, t.N}].nodes[height]
		n -= t.N << (TileHeight - height)
		if n >= int64(len(nodes)) {
			return nil, fmt.Errorf("%w: a tile is too narrow", ErrTree)
		}
		out[i] = nodes[n]
	}
	return out, nil
}

// load reads the tiles of stored hashes, proves them against the root, and keeps them.
func (p *Prover) load(ctx context.Context, indexes []int64) error {
	if len(indexes) == 0 {
		return nil
	}
	reader := &provenTiles{prover: p, ctx: ctx}
	_, err := tlog.TileHashReader(tlog.Tree{N: p.tree.size, Hash: p.tree.root}, reader).ReadHashes(indexes)
	switch {
	case reader.failure != nil:
		return reader.failure
	case err != nil:
		return fmt.Errorf("%w: %w", ErrTree, err)
	}
	return nil
}

// provenTiles is a Prover's tlog.TileReader for one call.
type provenTiles struct {
	prover  *Prover
	ctx     context.Context //nolint:containedctx // tlog's interface has none, and the reader lives for one call
	failure error           // the reader's own, told apart from tiles that don't prove
}

func (provenTiles) Height() int { return TileHeight }

func (r *provenTiles) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	data := make([][]byte, len(tiles))
	var missing []tlog.Tile
	var places []int
	for i, t := range tiles {
		if kept := r.prover.kept[place{t.L, t.N}]; kept != nil && len(kept.data) == t.W*tlog.HashSize {
			data[i] = kept.data
			continue
		}
		missing, places = append(missing, t), append(places, i)
	}
	if len(missing) == 0 {
		return data, nil
	}
	read, err := r.prover.tree.tiles.ReadTiles(r.ctx, missing)
	if err != nil {
		r.failure = err
		return nil, err
	}
	for i, at := range places {
		data[at] = read[i]
	}
	return data, nil
}

// SaveTiles is told of tiles once they are proven.
func (r *provenTiles) SaveTiles(tiles []tlog.Tile, authentic [][]byte) {
	for i, t := range tiles {
		at := place{t.L, t.N}
		if kept := r.prover.kept[at]; kept == nil || len(kept.data) < len(authentic[i]) {
			r.prover.kept[at] = expand(authentic[i])
		}
	}
}

// expand computes the inner hashes of a tile.
func expand(data []byte) *keptTile {
	k := &keptTile{data: data}
	width := len(data) / tlog.HashSize
	k.nodes[0] = make([]tlog.Hash, width)
	for i := range width {
		k.nodes[0][i] = tlog.Hash(data[i*tlog.HashSize:])
	}
	for h := 1; h < TileHeight; h++ {
		below := k.nodes[h-1]
		k.nodes[h] = make([]tlog.Hash, len(below)/2)
		for i := range k.nodes[h] {
			k.nodes[h][i] = tlog.NodeHash(below[2*i], below[2*i+1])
		}
	}
	return k
}

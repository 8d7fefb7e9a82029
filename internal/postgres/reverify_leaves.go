package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// verifyLeaves proves each leaf to be in the tree that its log's checkpoint states.
func (s *Store) verifyLeaves(ctx context.Context, heads incarnations, examined examination, verifiers []note.Verifier) error {
	of := map[int][]int64{}
	for seq := range examined {
		n := heads.of(seq).Incarnation
		of[n] = append(of[n], seq)
	}
	for _, head := range heads {
		seqs := of[head.Incarnation]
		if len(seqs) == 0 {
			continue
		}
		slices.Sort(seqs)
		anchor := audit.NewAnchor([]byte(head.Checkpoint), verifiers...)
		for _, seq := range seqs {
			examined[seq].Rest(anchor)
		}
		if err := s.verifyLeavesOf(ctx, head, seqs, examined); err != nil {
			return err
		}
	}
	return nil
}

// verifyLeavesOf proves the leaves of one log.
func (s *Store) verifyLeavesOf(ctx context.Context, head ledger.Head, seqs []int64, examined examination) error {
	c, err := ledger.ReadCheckpoint([]byte(head.Checkpoint))
	if err != nil {
		return fmt.Errorf("%w: %w", kinds.ErrReadOnly, err)
	}
	tree := ledger.NewTree(c, &keptTiles{from: tileReader{s, head}, kept: map[tlog.Tile][]byte{}})
	return proveLeaves(ctx, tree, head.Base, seqs, examined)
}

// proveLeaves proves leaves together, and by halves where that fails, so that a damaged tile only fails the leaves below it.
func proveLeaves(ctx context.Context, tree ledger.Tree, base int64, seqs []int64, examined examination) error {
	indexes := make([]int64, len(seqs))
	for i, seq := range seqs {
		indexes[i] = seq - base
	}
	leaves, err := tree.Leaves(ctx, indexes)
	switch {
	case err != nil && !isUnproven(err):
		return err
	case err != nil && len(seqs) > 1:
		half := len(seqs) / 2
		if err := proveLeaves(ctx, tree, base, seqs[:half], examined); err != nil {
			return err
		}
		return proveLeaves(ctx, tree, base, seqs[half:], examined)
	}
	for i, seq := range seqs {
		switch x := examined[seq]; {
		case err != nil:
			x.Included("the stored tiles do not prove its place")
		case leaves[i] != x.Derived.Leaf:
			x.Included("another leaf is in the tree")
		default:
			x.Included("")
		}
	}
	return nil
}

// isUnproven says that what is stored does not prove, as opposed to that it could not be read just now.
func isUnproven(err error) bool {
	return errors.Is(err, ledger.ErrTree) || errors.Is(err, kinds.ErrReadOnly) || errors.Is(err, ledger.ErrSize)
}

// keptTiles remembers tiles over several reads of one tree. It is not safe for concurrent use.
type keptTiles struct {
	from tileReader
	kept map[tlog.Tile][]byte
}

// ReadTiles reads what is not kept.
func (k *keptTiles) ReadTiles(ctx context.Context, tiles []tlog.Tile) ([][]byte, error) {
	var missing []tlog.Tile
	for _, t := range tiles {
		if k.kept[t] == nil {
			missing = append(missing, t)
		}
	}
	if len(missing) > 0 {
		data, err := k.from.ReadTiles(ctx, missing)
		if err != nil {
			return nil, err
		}
		for i, t := range missing {
			k.kept[t] = data[i]
		}
	}
	out := make([][]byte, len(tiles))
	for i, t := range tiles {
		out[i] = k.kept[t]
	}
	return out, nil
}

package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// EntryProof proves an entry of a tenant to be among the log's first size leaves; size 0 stands for the newest signed tree.
// The proof fits the checkpoint that it comes with; that is nil when size is not the newest and no checkpoint of it is
// kept. An erased entry is proven as ever.
//
// An entry of an earlier incarnation is proven in that one's log. kinds.ErrNotFound when there is no such entry or the
// asker may not see it; ledger.ErrSize when the log is shorter than size, or its first size leaves don't have the entry;
// kinds.ErrReadOnly when what is stored does not prove.
func (s *Store) EntryProof(ctx context.Context, tenant string, see kinds.Visibility, seq, size int64) (ledger.InclusionProof, error) {
	leaf, head, err := s.visibleLeaf(ctx, tenant, see, seq)
	if err != nil {
		return ledger.InclusionProof{}, err
	}
	tree, err := s.tree(head)
	if err != nil {
		return ledger.InclusionProof{}, err
	}
	if size == 0 {
		size = head.Size
	}
	p := ledger.InclusionProof{Proof: ledger.Proof{Index: seq - head.Base}, Size: size}
	if p.Leaf, p.Hashes, err = tree.Inclusion(ctx, p.Index, size); err != nil {
		return ledger.InclusionProof{}, damaged(err)
	}
	if p.Leaf != leaf {
		return ledger.InclusionProof{}, fmt.Errorf("%w: the leaf hash of entry %d is not the tree's", kinds.ErrReadOnly, seq)
	}
	p.Checkpoint, err = s.checkpointAt(ctx, tree, head, size)
	return p, err
}

// visibleLeaf reads the leaf hash of an entry that the asker may see, and a head that covers it: entries are committed
// together with the head, so a head that is read after an entry is never behind it.
func (s *Store) visibleLeaf(ctx context.Context, tenant string, see kinds.Visibility, seq int64) (leaf tlog.Hash, head ledger.Head, err error) {
	var kind, tokenID string
	var hash []byte
	b := &pgx.Batch{}
	b.Queue(`SELECT kind, token_id, leaf_hash FROM ledger.entries WHERE seq = $2 AND (tenant = $1 OR (tenant = '' AND kind = ANY($3)))`,
		tenant, seq, see.LogKinds()).QueryRow(func(row pgx.Row) error {
		return row.Scan(&kind, &tokenID, &hash)
	})
	b.Queue(`SELECT `+headColumns+` FROM ledger.head WHERE base <= $1 ORDER BY incarnation DESC LIMIT 1`, seq).QueryRow(func(row pgx.Row) (err error) {
		head, err = scanHead(row)
		return err
	})
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return leaf, head, unavailable(err)
	}
	if !see.Sees(kind, tokenID) || seq < head.Base {
		return leaf, head, kinds.ErrNotFound
	}
	return tlog.Hash(hash), head, nil
}

// Consistency proves the log's first from leaves to be the beginning of its first to leaves; to 0 stands for the newest
// signed tree. The checkpoint is the one of size to, nil when that is not the newest and none of it is kept.
// ledger.ErrSize when from is beyond to, or to beyond the log; kinds.ErrReadOnly when what is stored does not prove.
func (s *Store) Consistency(ctx context.Context, from, to int64) (ledger.ConsistencyProof, error) {
	head, err := s.Head(ctx)
	if err != nil {
		return ledger.ConsistencyProof{}, err
	}
	tree, err := s.tree(head)
	if err != nil {
		return ledger.ConsistencyProof{}, err
	}
	if to == 0 {
		to = head.Size
	}
	p := ledger.ConsistencyProof{From: from, To: to}
	if p.Hashes, err = tree.Consistency(ctx, from, to); err != nil {
		return ledger.ConsistencyProof{}, damaged(err)
	}
	p.Checkpoint, err = s.checkpointAt(ctx, tree, head, to)
	return p, err
}

// tree is the tree that the head's own checkpoint states, so that a proof made from it fits that checkpoint.
func (s *Store) tree(head ledger.Head) (ledger.Tree, error) {
	c, err := checkpointOf(head)
	if err != nil {
		return ledger.Tree{}, err
	}
	return ledger.NewTree(c, tileReader{s, head}), nil
}

// checkpointOf is what a head's own checkpoint states, which is what the head says.
func checkpointOf(head ledger.Head) (ledger.Checkpoint, error) {
	c, err := ledger.ReadCheckpoint([]byte(head.Checkpoint))
	if err != nil {
		return c, fmt.Errorf("%w: %w", kinds.ErrReadOnly, err)
	}
	if c.Size != head.Size || c.Root != head.Root {
		return c, fmt.Errorf("%w: the head row and its checkpoint differ", kinds.ErrReadOnly)
	}
	return c, nil
}

// checkpointAt is the signed checkpoint of one size: the head's, or a kept one that the tree bears out, or nil.
func (s *Store) checkpointAt(ctx context.Context, tree ledger.Tree, head ledger.Head, size int64) ([]byte, error) {
	if size == head.Size {
		return []byte(head.Checkpoint), nil
	}
	var kept string
	err := s.pool.QueryRow(ctx, `SELECT checkpoint FROM ledger.checkpoints WHERE incarnation = $1 AND size = $2`, head.Incarnation, size).Scan(&kept)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, unavailable(err)
	}
	root, err := tree.RootAt(ctx, size)
	if err != nil {
		return nil, damaged(err)
	}
	if c, err := ledger.ReadCheckpoint([]byte(kept)); err != nil || c.Size != size || c.Root != root {
		return nil, fmt.Errorf("%w: the kept checkpoint of size %d is not the tree's", kinds.ErrReadOnly, size)
	}
	return []byte(kept), nil
}

// damaged says that stored tiles don't prove what the head states; other errors pass.
func damaged(err error) error {
	if errors.Is(err, ledger.ErrTree) {
		return fmt.Errorf("%w: %w", kinds.ErrReadOnly, err)
	}
	return err
}

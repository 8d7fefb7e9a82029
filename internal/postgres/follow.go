package postgres

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/note"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// follow brings the tree in memory to the locked head. After another process's appends it folds the gap in; anything it
// can't explain is reloaded and proven from the stored tiles, and what does not prove, or is not signed, is never signed on.
func (a *Appender) follow(ctx context.Context, head ledger.Head) error {
	gap := head.Size - a.edge.frontier.Size()
	if a.loaded && gap == 0 && a.edge.head.Root == head.Root {
		a.edge.head = head
		return nil
	}
	if a.loaded {
		a.wary = waryBatches // somebody else appends
	}
	if a.loaded && gap > 0 && gap <= 4*batchEntries {
		if err := verifyHead(head, a.keys.Verifiers()); err != nil {
			return err
		}
		if folded, err := a.fold(ctx, head); err != nil || folded {
			return err
		}
	}
	if err := a.store.continues(ctx, head, a.keys.Verifiers(), a.promises.newest()); err != nil {
		return err
	}
	f, err := loadFrontier(ctx, a.conn, head)
	if err != nil {
		return err
	}
	a.edge.head, a.edge.frontier, a.loaded = head, f, true
	a.promises.note(head)
	return nil
}

// fold appends what another process did since; false when that does not give the head's root.
func (a *Appender) fold(ctx context.Context, head ledger.Head) (bool, error) {
	f := a.edge.frontier.Clone()
	hashes, err := hashRows(ctx, a.conn, `SELECT leaf_hash FROM ledger.entries WHERE seq >= $1 AND seq < $2 ORDER BY seq`,
		head.Base+a.edge.frontier.Size(), head.Next())
	if err != nil {
		return false, err
	}
	for _, h := range hashes {
		f.Append(h)
	}
	if f.Size() != head.Size || f.Root() != head.Root {
		return false, nil
	}
	a.edge.head, a.edge.frontier = head, f
	a.promises.note(head)
	return true, nil
}

// ErrOlder says that the database holds less than was signed for: it was restored from an older backup, or rolled back. It
// wraps kinds.ErrReadOnly.
var ErrOlder = fmt.Errorf("%w: the database is older than a checkpoint that was signed", kinds.ErrReadOnly)

// continues proves that the log at head is the one that a promise was made about, grown or unchanged, and that head's own
// checkpoint is signed over just what head says. A zero promise promises nothing.
func (s *Store) continues(ctx context.Context, head ledger.Head, verifiers []note.Verifier, promised ledger.Checkpoint) error {
	if err := verifyHead(head, verifiers); err != nil {
		return err
	}
	switch {
	case promised.Size == 0:
		return nil
	case promised.Origin != head.Origin:
		return fmt.Errorf("%w: the known checkpoint is of the log %q, the database holds %q", kinds.ErrReadOnly, promised.Origin, head.Origin)
	case promised.Size > head.Size:
		return fmt.Errorf("%w: it holds %d entries of the log, and %d were signed for", ErrOlder, head.Size, promised.Size)
	}
	tree, err := s.tree(head)
	if err != nil {
		return err
	}
	root, err := tree.RootAt(ctx, promised.Size)
	if err != nil {
		return damaged(err)
	}
	if root != promised.Root {
		return fmt.Errorf("%w: the first %d entries are not those that were signed for", kinds.ErrReadOnly, promised.Size)
	}
	return nil
}

// OpenLog checks, before anything is appended, that the database's log is the key's own and continues a checkpoint that was
// kept outside (nil when none was), and that its right edge gives its root. It makes the log when there is none. The checkpoint that it returns is what may be
// promised on. ErrOrigin for the key of another log; an error that wraps kinds.ErrReadOnly when the log may be read and must
// not be signed on.
func (s *Store) OpenLog(ctx context.Context, keys Keys, kept []byte, now Clock) (ledger.Checkpoint, error) {
	head, err := s.MakeLog(ctx, keys, now())
	if err != nil {
		return ledger.Checkpoint{}, err
	}
	known := ledger.Checkpoint{}
	if kept != nil {
		signed, err := ledger.OpenCheckpoint(kept, head.Origin, keys.Verifiers()...)
		if err != nil {
			return ledger.Checkpoint{}, errors.Join(fmt.Errorf("%w: the checkpoint that was kept outside can't be believed", kinds.ErrReadOnly), err)
		}
		known = signed.Checkpoint()
	}
	if head.Incarnation > 0 && head.Size == 0 {
		return known, fmt.Errorf("%w: incarnation %d was not opened completely; run `ledgerd incarnation open` again", kinds.ErrReadOnly, head.Incarnation)
	}
	if err := s.continues(ctx, head, keys.Verifiers(), known); err != nil {
		return known, err
	}
	_, err = loadFrontier(ctx, s.pool, head)
	return known, err
}

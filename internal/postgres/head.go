package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

const headColumns = `incarnation, origin, base, size, root, recorded_at, checkpoint`

// currentHead selects the head of the newest incarnation, the only one that is appended to.
const currentHead = `SELECT ` + headColumns + ` FROM ledger.head ORDER BY incarnation DESC LIMIT 1`

func scanHead(row pgx.Row) (ledger.Head, error) {
	var h ledger.Head
	var root []byte
	if err := row.Scan(&h.Incarnation, &h.Origin, &h.Base, &h.Size, &root, &h.RecordedAt, &h.Checkpoint); err != nil {
		return ledger.Head{}, err
	}
	h.Root = tlog.Hash(root)
	h.RecordedAt = h.RecordedAt.UTC()
	return h, nil
}

// Head reads the head. ErrNotFound before the log was made.
func (s *Store) Head(ctx context.Context) (ledger.Head, error) {
	h, err := scanHead(s.pool.QueryRow(ctx, currentHead))
	return h, unavailable(err)
}

// Keys is what signs and verifies a log's checkpoints. While the log changes its key, Others has the keys that it is changed
// from, or to: all sign, so that who knows either one can verify, and any one is enough to verify by.
type Keys struct {
	Signer      note.Signer
	Verifier    note.Verifier
	VerifierKey string      // of Verifier, for others: a C2SP signed-note verifier key
	Evidence    note.Signer // the same key under the name that evidence files are signed with: see ledger.EvidenceSigner
	Others      []Keys      // of the same name
}

// signers are all that sign a checkpoint.
func (k Keys) signers() []note.Signer {
	list := []note.Signer{k.Signer}
	for _, o := range k.Others {
		list = append(list, o.Signer)
	}
	return list
}

// Verifiers are all that a checkpoint may be verified by.
func (k Keys) Verifiers() []note.Verifier {
	list := []note.Verifier{k.Verifier}
	for _, o := range k.Others {
		list = append(list, o.Verifier)
	}
	return list
}

// VerifierKeys are those of all keys, the first one's first.
func (k Keys) VerifierKeys() []string {
	list := []string{k.VerifierKey}
	for _, o := range k.Others {
		list = append(list, o.VerifierKey)
	}
	return list
}

// EvidenceSigners are those of all keys, the first one's first.
func (k Keys) EvidenceSigners() []note.Signer {
	list := []note.Signer{k.Evidence}
	for _, o := range k.Others {
		list = append(list, o.Evidence)
	}
	return list
}

// ErrOrigin says that a key is of another log than the database holds.
var ErrOrigin = errors.New("the signing key's name is not the origin of the log in this database")

// MakeLog writes the first head, the signed empty tree, if there is none, and otherwise demands that the log that is there
// is the key's own. now is the server's clock.
func (s *Store) MakeLog(ctx context.Context, keys Keys, now time.Time) (ledger.Head, error) {
	empty := ledger.Checkpoint{Origin: keys.Signer.Name(), Root: ledger.Frontier{}.Root()}
	signed, err := empty.Sign(keys.signers()...)
	if err != nil {
		return ledger.Head{}, err
	}
	_, err = s.pool.Exec(ctx, `
		INSERT INTO ledger.head (incarnation, origin, base, size, root, recorded_at, checkpoint)
		SELECT 0, $1, 0, 0, $2, $3, $4 WHERE NOT EXISTS (SELECT 1 FROM ledger.head) ON CONFLICT DO NOTHING`,
		empty.Origin, empty.Root[:], now.UTC().Truncate(time.Microsecond), string(signed))
	if err != nil {
		return ledger.Head{}, fmt.Errorf("making the log: %w", unavailable(err))
	}
	head, err := s.Head(ctx)
	if err != nil {
		return ledger.Head{}, err
	}
	if head.Origin != keys.Signer.Name() {
		return ledger.Head{}, fmt.Errorf("%w (the log is %q)", ErrOrigin, head.Origin)
	}
	return head, verifyHead(head, keys.Verifiers())
}

// verifyHead checks the head's own checkpoint: signed by the log's key, over just this size and root.
func verifyHead(h ledger.Head, verifiers []note.Verifier) error {
	signed, err := ledger.OpenCheckpoint([]byte(h.Checkpoint), h.Origin, verifiers...)
	if err != nil {
		return fmt.Errorf("%w: %w", kinds.ErrReadOnly, err)
	}
	if c := signed.Checkpoint(); c.Size != h.Size || c.Root != h.Root {
		return fmt.Errorf("%w: the head row and its checkpoint differ", kinds.ErrReadOnly)
	}
	return nil
}

// querier is what reads take: the pool, a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// loadFrontier rebuilds the right edge of the tree from stored tile roots and the newest leaves, and proves it against the
// head's root. It reads at most 255 short rows a level.
func loadFrontier(ctx context.Context, q querier, h ledger.Head) (ledger.Frontier, error) {
	var levels [][]tlog.Hash
	for level, rest := 0, h.Size; rest > 0; level, rest = level+1, rest/ledger.TileWidth {
		hashes, err := partialTile(ctx, q, h, level, rest)
		if err != nil {
			return ledger.Frontier{}, err
		}
		levels = append(levels, hashes)
	}
	f, err := ledger.NewFrontier(h.Size, levels)
	if err != nil {
		return ledger.Frontier{}, fmt.Errorf("%w: %w", kinds.ErrReadOnly, err)
	}
	if f.Root() != h.Root {
		return ledger.Frontier{}, fmt.Errorf("%w: stored tiles and leaves do not give the head's root", kinds.ErrReadOnly)
	}
	return f, nil
}

// partialTile reads the hashes of a level's newest tile; count is the number of hashes on that whole level.
func partialTile(ctx context.Context, q querier, h ledger.Head, level int, count int64) ([]tlog.Hash, error) {
	from := count - count%ledger.TileWidth
	if level == 0 {
		return hashRows(ctx, q, `SELECT leaf_hash FROM ledger.entries WHERE seq >= $1 AND seq < $2 ORDER BY seq`, h.Base+from, h.Base+count)
	}
	return hashRows(ctx, q, `SELECT root FROM ledger.tiles WHERE incarnation = $3 AND level = $4 AND index >= $1 AND index < $2 ORDER BY index`,
		from, count, h.Incarnation, level-1)
}

func hashRows(ctx context.Context, q querier, sql string, args ...any) ([]tlog.Hash, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, unavailable(err)
	}
	hashes, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (tlog.Hash, error) {
		var b []byte
		if err := row.Scan(&b); err != nil {
			return tlog.Hash{}, err
		}
		return tlog.Hash(b), nil
	})
	return hashes, unavailable(err)
}

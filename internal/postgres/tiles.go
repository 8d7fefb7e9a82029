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

// Tile reads one tile of the tree of an incarnation's log: W hashes, concatenated. kinds.ErrNotFound when there is no such
// log, or its tree does not have it (yet).
func (s *Store) Tile(ctx context.Context, incarnation int, t tlog.Tile) ([]byte, error) {
	head, err := s.HeadOf(ctx, incarnation)
	if err != nil {
		return nil, err
	}
	if t.L < 0 || !ledger.HasTile(t, head.Size) {
		return nil, kinds.ErrNotFound
	}
	data, err := tileReader{s, head}.ReadTiles(ctx, []tlog.Tile{t})
	if err != nil {
		return nil, err
	}
	return data[0], nil
}

// EntryBundle reads the envelopes of a tile's W leaves as a C2SP entry bundle. kinds.ErrNotFound when there is no such log,
// or it does not have them (yet).
func (s *Store) EntryBundle(ctx context.Context, incarnation int, t tlog.Tile) ([]byte, error) {
	head, err := s.HeadOf(ctx, incarnation)
	if err != nil {
		return nil, err
	}
	if t.L != ledger.EntriesLevel || !ledger.HasTile(t, head.Size) {
		return nil, kinds.ErrNotFound
	}
	from := head.Base + t.N*ledger.TileWidth
	rows, err := s.pool.Query(ctx, `SELECT envelope FROM ledger.entries WHERE seq >= $1 AND seq < $2 ORDER BY seq`, from, from+int64(t.W))
	if err != nil {
		return nil, unavailable(err)
	}
	envelopes, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		return nil, unavailable(err)
	}
	if len(envelopes) != t.W {
		return nil, fmt.Errorf("%w: %d of %d entries from seq %d on are stored", kinds.ErrReadOnly, len(envelopes), t.W, from)
	}
	var bundle []byte
	for _, e := range envelopes {
		if bundle, err = ledger.AppendBundleEntry(bundle, e); err != nil {
			return nil, err
		}
	}
	return bundle, nil
}

// tileReader reads tiles of the log that head is of, all within head.Size. Full tiles are stored. A partial tile is derived
// from at most 255 short rows: of level 0 from the leaf hashes, above it from the roots of the full tiles one level down.
// Everything up to a committed size is there for good, so no transaction is needed for one consistent view.
type tileReader struct {
	store *Store
	head  ledger.Head
}

// ReadTiles reads all tiles in one round trip.
func (r tileReader) ReadTiles(ctx context.Context, tiles []tlog.Tile) ([][]byte, error) {
	data := make([][]byte, len(tiles))
	b := &pgx.Batch{}
	for i, t := range tiles {
		r.queue(b, t).QueryRow(func(row pgx.Row) error {
			if err := row.Scan(&data[i]); !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
			return nil // a full tile that is missing, found below
		})
	}
	if err := r.store.pool.SendBatch(ctx, b).Close(); err != nil {
		return nil, unavailable(err)
	}
	for i, t := range tiles {
		if len(data[i]) != t.W*tlog.HashSize {
			return nil, fmt.Errorf("%w: %s is not stored whole", kinds.ErrReadOnly, ledger.FormatTilePath(t))
		}
	}
	return data, nil
}

func (r tileReader) queue(b *pgx.Batch, t tlog.Tile) *pgx.QueuedQuery {
	from := t.N * ledger.TileWidth
	switch {
	case t.W == ledger.TileWidth:
		return b.Queue(`SELECT hashes FROM ledger.tiles WHERE incarnation = $1 AND level = $2 AND index = $3`, r.head.Incarnation, t.L, t.N)
	case t.L == 0:
		return b.Queue(`SELECT string_agg(leaf_hash, ''::bytea ORDER BY seq) FROM ledger.entries WHERE seq >= $1 AND seq < $2`,
			r.head.Base+from, r.head.Base+from+int64(t.W))
	default:
		return b.Queue(`SELECT string_agg(root, ''::bytea ORDER BY index) FROM ledger.tiles WHERE incarnation = $1 AND level = $2 AND index >= $3 AND index < $4`,
			r.head.Incarnation, t.L-1, from, from+int64(t.W))
	}
}

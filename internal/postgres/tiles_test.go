package postgres_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

// fill appends n entries in bulk: 32 posters at once, so that batches have many sizes.
func fill(tb testing.TB, l *ledgertest.Ledger, n int) {
	tb.Helper()
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			for i := w; i < n; i += 32 {
				if _, err := l.Appender.Append(tb.Context(), ledgertest.Host, ledgertest.Consent(tb, fmt.Sprintf("k%d", i), "p")); err != nil {
					tb.Errorf("append %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// hashes are the stored hashes of a tree in x/mod's order, recomputed from the leaves as the API gives them.
type hashes []tlog.Hash

func (h hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	var list []tlog.Hash
	for _, i := range indexes {
		list = append(list, h[i])
	}
	return list, nil
}

// recompute reads every entry of the tenant and builds x/mod's own tree of their envelopes.
func recompute(tb testing.TB, l *ledgertest.Ledger) hashes {
	tb.Helper()
	head, err := l.Store.Head(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	var all hashes
	for after, more := head.Base-1, true; more; more = after >= 0 {
		var page []ledger.Entry
		page, after, err = l.Store.Entries(tb.Context(), ledgertest.Tenant, auditor, kinds.EntryQuery{After: after, Size: head.Next(), Limit: 500})
		if err != nil {
			tb.Fatal(err)
		}
		for _, e := range page {
			added, err := tlog.StoredHashes(e.Seq-head.Base, e.Envelope, all)
			if err != nil {
				tb.Fatal(err)
			}
			all = append(all, added...)
		}
	}
	if int64(len(all)) != tlog.StoredHashCount(head.Size) {
		tb.Fatalf("the log of %d has %d stored hashes", head.Size, len(all))
	}
	return all
}

// laterLog makes a ledger whose log is not the first: incarnation 3, its leaf 0 at seq 1000.
func laterLog(t *testing.T) *ledgertest.Ledger {
	t.Helper()
	l := ledgertest.Empty(t)
	var err error
	if l.Store, err = postgres.Open(t.Context(), l.ServiceURL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Store.Close)
	root := ledger.Frontier{}.Root()
	signed, err := ledger.Checkpoint{Origin: l.Keys.Signer.Name(), Root: root}.Sign(l.Keys.Signer)
	if err != nil {
		t.Fatal(err)
	}
	asAdmin(t, l, `INSERT INTO ledger.head (incarnation, origin, base, size, root, recorded_at, checkpoint) VALUES (3, $1, 1000, 0, $2, now(), $3)`,
		l.Keys.Signer.Name(), root[:], string(signed))
	l.AddTenant(t, ledgertest.Tenant)
	l.Appender = l.StartAppender(t, time.Now)
	return l
}

// asAdmin runs one statement as the superuser, with the triggers that guard the tables off.
func asAdmin(t *testing.T, l *ledgertest.Ledger, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), l.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, table := range []string{"entries", "contents", "tiles", "checkpoints"} {
		if _, err := conn.Exec(t.Context(), "ALTER TABLE ledger."+table+" DISABLE TRIGGER ALL"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// Every tile of every width is that of the tree, and every bundle hashes to its tile.
func TestTilesAndBundles(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]*ledgertest.Ledger{"the first log": ledgertest.New(t), "a later log": laterLog(t)} {
		fill(t, l, 700)
		all := recompute(t, l)
		head, err := l.Store.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, widest := range tlog.NewTiles(ledger.TileHeight, 0, 700) {
			want, err := tlog.ReadTileData(widest, all)
			if err != nil {
				t.Fatal(err)
			}
			for _, width := range []int{1, 2, 17, 128, 187, 255, 256} {
				tile := widest
				tile.W = width
				checkTile(t, l, name, head.Incarnation, tile, want, width <= widest.W)
			}
		}
		for _, beyond := range []tlog.Tile{{H: 8, L: 0, N: 3, W: 1}, {H: 8, L: 1, N: 1, W: 1}, {H: 8, L: 2, N: 0, W: 1}, {H: 8, L: 63, N: 0, W: 1}, {H: 8, L: 0, N: 1 << 60, W: 256}} {
			checkTile(t, l, name, head.Incarnation, beyond, nil, false)
		}
	}
}

func checkTile(t *testing.T, l *ledgertest.Ledger, name string, incarnation int, tile tlog.Tile, want []byte, exists bool) {
	t.Helper()
	data, err := l.Store.Tile(t.Context(), incarnation, tile)
	if !exists {
		if !errors.Is(err, kinds.ErrNotFound) {
			t.Errorf("%s: %+v is not in the tree: %v", name, tile, err)
		}
		return
	}
	if err != nil || !bytes.Equal(data, want[:tile.W*tlog.HashSize]) {
		t.Errorf("%s: %+v is not the tree's, %v", name, tile, err)
	}
	if tile.L > 0 {
		return
	}
	tile.L = ledger.EntriesLevel
	bundle, err := l.Store.EntryBundle(t.Context(), incarnation, tile)
	if err != nil {
		t.Errorf("%s: bundle %+v: %v", name, tile, err)
		return
	}
	entries, err := ledger.ParseBundle(bundle)
	if err != nil || len(entries) != tile.W {
		t.Errorf("%s: bundle %+v has %d entries, %v", name, tile, len(entries), err)
	}
	for i, e := range entries {
		if h := ledger.LeafHash(e); !bytes.Equal(h[:], want[i*tlog.HashSize:(i+1)*tlog.HashSize]) {
			t.Errorf("%s: entry %d of %+v does not hash to its leaf", name, i, tile)
		}
	}
}

func TestTilesOfAnEmptyLog(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	if _, err := l.Store.Tile(t.Context(), 0, tlog.Tile{H: 8, L: 0, N: 0, W: 1}); !errors.Is(err, kinds.ErrNotFound) {
		t.Errorf("a tile: %v", err)
	}
	if _, err := l.Store.EntryBundle(t.Context(), 0, tlog.Tile{H: 8, L: ledger.EntriesLevel, N: 0, W: 1}); !errors.Is(err, kinds.ErrNotFound) {
		t.Errorf("a bundle: %v", err)
	}
	fill(t, l, 1)
	if _, err := l.Store.Tile(t.Context(), 0, tlog.Tile{H: 8, L: ledger.EntriesLevel, N: 0, W: 1}); !errors.Is(err, kinds.ErrNotFound) {
		t.Errorf("a bundle as a tile: %v", err)
	}
	if _, err := l.Store.EntryBundle(t.Context(), 0, tlog.Tile{H: 8, L: 0, N: 0, W: 1}); !errors.Is(err, kinds.ErrNotFound) {
		t.Errorf("a tile as a bundle: %v", err)
	}
}

// Rows beyond the head, which the service role could write, are no part of the log.
func TestRowsBeyondTheHeadAreNotServed(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	fill(t, l, 3)
	asAdmin(t, l, `INSERT INTO ledger.entries SELECT seq + 3, recorded_at, tenant, kind, key || 'x', token_id, meta, meta_salt, envelope, leaf_hash FROM ledger.entries`)
	for width, want := range map[int]error{3: nil, 4: kinds.ErrNotFound} {
		if _, err := l.Store.Tile(t.Context(), 0, tlog.Tile{H: 8, L: 0, N: 0, W: width}); !errors.Is(err, want) {
			t.Errorf("width %d: %v", width, err)
		}
	}
	if _, err := l.Store.EntryProof(t.Context(), ledgertest.Tenant, auditor, 4, 0); !errors.Is(err, ledger.ErrSize) {
		t.Errorf("a proof of it: %v", err)
	}
}

// What is missing from the store is said to be missing, and is not taken for the end of the log.
func TestMissingRowsAreNoEnd(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	fill(t, l, 300)
	asAdmin(t, l, `WITH gone AS (DELETE FROM ledger.tiles) DELETE FROM ledger.entries WHERE seq = 280`)
	for _, tile := range []tlog.Tile{{H: 8, L: 0, N: 0, W: 256}, {H: 8, L: 1, N: 0, W: 1}, {H: 8, L: 0, N: 1, W: 44}} {
		if _, err := l.Store.Tile(t.Context(), 0, tile); !errors.Is(err, kinds.ErrReadOnly) {
			t.Errorf("%+v: %v", tile, err)
		}
	}
	if _, err := l.Store.EntryBundle(t.Context(), 0, tlog.Tile{H: 8, L: ledger.EntriesLevel, N: 1, W: 44}); !errors.Is(err, kinds.ErrReadOnly) {
		t.Errorf("a bundle: %v", err)
	}
}

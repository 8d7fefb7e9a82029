package postgres_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

// benchLog is the size of the log that the benchmarks read: past a full tile of level 1, with partial tiles on every level.
const benchLog = 1_000_000

// largeLog fills a log past the append path, as the superuser: what is measured is reading.
func largeLog(b *testing.B) *ledgertest.Ledger {
	b.Helper()
	l := ledgertest.New(b)
	conn, err := pgx.Connect(b.Context(), l.AdminURL)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(b.Context())
	var f ledger.Frontier
	var tiles [][]any
	now := time.Now()
	envelope := make([]byte, 230)
	seq := int64(-1)
	_, err = conn.CopyFrom(b.Context(), pgx.Identifier{"ledger", "entries"},
		[]string{"seq", "recorded_at", "tenant", "kind", "key", "token_id", "meta", "meta_salt", "envelope", "leaf_hash"},
		pgx.CopyFromFunc(func() ([]any, error) {
			if seq++; seq == benchLog {
				return nil, nil
			}
			binary.BigEndian.PutUint64(envelope, uint64(seq))
			h := ledger.LeafHash(envelope)
			for _, t := range f.Append(h) {
				tiles = append(tiles, []any{0, t.Level, t.Index, t.Root[:], t.Hashes})
			}
			return []any{seq, now, ledgertest.Tenant, "consent-receipt", "k", "t", envelope[:110], envelope[:16], envelope, h[:]}, nil
		}))
	if err != nil {
		b.Fatal(err)
	}
	if _, err = conn.CopyFrom(b.Context(), pgx.Identifier{"ledger", "tiles"}, []string{"incarnation", "level", "index", "root", "hashes"}, pgx.CopyFromRows(tiles)); err != nil {
		b.Fatal(err)
	}
	root := f.Root()
	signed, err := ledger.Checkpoint{Origin: l.Keys.Signer.Name(), Size: benchLog, Root: root}.Sign(l.Keys.Signer)
	if err != nil {
		b.Fatal(err)
	}
	if _, err = conn.Exec(b.Context(), `UPDATE ledger.head SET size = $1, root = $2, checkpoint = $3`, benchLog, root[:], string(signed)); err != nil {
		b.Fatal(err)
	}
	if _, err = conn.Exec(b.Context(), `VACUUM ANALYZE ledger.entries, ledger.tiles`); err != nil {
		b.Fatal(err)
	}
	return l
}

// BenchmarkReading measures proofs and tiles of a log of a million, from Postgres, nothing cached here.
func BenchmarkReading(b *testing.B) {
	l := largeLog(b)
	prove := func(b *testing.B, seq, size int64) ledger.InclusionProof {
		b.Helper()
		p, err := l.Store.EntryProof(b.Context(), ledgertest.Tenant, auditor, seq, size)
		if err != nil {
			b.Fatal(err)
		}
		return p
	}
	b.Run("inclusion/newest", func(b *testing.B) {
		var p ledger.InclusionProof
		for b.Loop() {
			p = prove(b, benchLog-1, 0)
		}
		b.ReportMetric(float64(len(p.Hashes)*tlog.HashSize), "hash-bytes")
		b.ReportMetric(float64(len(p.Format())), "text-bytes")
	})
	b.Run("inclusion/any", func(b *testing.B) {
		longest := 0
		for b.Loop() {
			longest = max(longest, len(prove(b, rand.Int64N(benchLog), 0).Format()))
		}
		b.ReportMetric(float64(longest), "text-bytes")
	})
	b.Run("inclusion/any-size", func(b *testing.B) {
		for b.Loop() {
			size := 1 + rand.Int64N(benchLog)
			prove(b, rand.Int64N(size), size)
		}
	})
	b.Run("consistency", func(b *testing.B) {
		for b.Loop() {
			if _, err := l.Store.Consistency(b.Context(), 1+rand.Int64N(benchLog), 0); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, tile := range map[string]tlog.Tile{
		"full": {H: 8, L: 0, N: 1234, W: 256}, "partial-0": {H: 8, L: 0, N: 1235, W: 255}, "partial-1": {H: 8, L: 1, N: 3, W: 255}, "bundle": {H: 8, L: ledger.EntriesLevel, N: 1234, W: 256},
	} {
		b.Run("tile/"+name, func(b *testing.B) {
			for b.Loop() {
				read := l.Store.Tile
				if tile.L == ledger.EntriesLevel {
					read = l.Store.EntryBundle
				}
				if _, err := read(b.Context(), 0, tile); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// VerifyEntries checks entries of a tenant again, as fsck does: each by itself, its own kind's check and the rows derived
// from it included, since answers are made of these; and as a leaf of the tree that head states, proven from stored tiles.
// Entries that are not the tenant's, or not there, are left out of the result. kinds.ErrTooMuch beyond
// audit.MaxVerifiedEntries.
func (s *Store) VerifyEntries(ctx context.Context, tenant string, seqs []int64, head ledger.Head) (audit.Checked, error) {
	if len(seqs) > audit.MaxVerifiedEntries {
		return nil, kinds.ErrTooMuch
	}
	entries, err := s.storedEntries(ctx, tenant, seqs)
	if err != nil {
		return nil, err
	}
	erased, err := s.erasedAmong(ctx, seqs)
	if err != nil {
		return nil, err
	}
	policies, err := recordedPolicies(ctx, s.pool, tenant)
	if err != nil {
		return nil, err
	}
	heads, err := s.headsUpTo(ctx, head)
	if err != nil {
		return nil, err
	}
	result, derived, parts := audit.Checked{}, map[int64]audit.Derived{}, partReader{from: s.pool}
	for _, e := range entries {
		check := audit.EntryCheck{Origin: heads.of(e.Seq).Origin, Erased: erased, Policies: policies}
		d, faults := check.Check(e)
		fault, err := parts.judgedAgain(ctx, d)
		if err != nil {
			return nil, err
		}
		if fault != nil {
			faults = append(faults, *fault)
		}
		d.Judged = nil // it holds the whole record
		derived[e.Seq], result[e.Seq] = d, faults
	}
	if err := s.verifyRows(ctx, derived, result); err != nil {
		return nil, err
	}
	return result, s.verifyLeaves(ctx, heads, derived, result)
}

// incarnations are the heads of a database's logs, the newest first.
type incarnations []ledger.Head

// of is the head of the log that an entry is in.
func (list incarnations) of(seq int64) ledger.Head {
	for _, h := range list {
		if h.Base <= seq {
			return h
		}
	}
	return ledger.Head{}
}

// headsUpTo lists a head and the last ones of the incarnations before it.
func (s *Store) headsUpTo(ctx context.Context, head ledger.Head) (incarnations, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+headColumns+` FROM ledger.head WHERE incarnation < $1 ORDER BY incarnation DESC`, head.Incarnation)
	if err != nil {
		return nil, unavailable(err)
	}
	earlier, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (ledger.Head, error) { return scanHead(row) })
	return append(incarnations{head}, earlier...), unavailable(err)
}

func (s *Store) storedEntries(ctx context.Context, tenant string, seqs []int64) ([]audit.StoredEntry, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT e.seq, e.recorded_at, e.tenant::bytea, e.kind::bytea, e.key::bytea, e.token_id::bytea, e.meta, e.meta_salt, e.envelope, e.leaf_hash,
		       c.content, c.content_salt
		FROM unnest($2::bigint[]) AS want(seq)
		CROSS JOIN LATERAL (SELECT * FROM ledger.entries WHERE seq = want.seq OFFSET 0) e LEFT JOIN ledger.contents c ON c.seq = e.seq
		WHERE e.tenant = $1 ORDER BY e.seq`, tenant, seqs)
	if err != nil {
		return nil, unavailable(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[audit.StoredEntry])
	return list, unavailable(err)
}

// erasedAmong says of which entries an erasure destroyed the content.
func (s *Store) erasedAmong(ctx context.Context, seqs []int64) (map[int64]bool, error) {
	rows, err := s.pool.Query(ctx, `SELECT seq FROM ledger.erased WHERE seq = ANY($1)`, seqs)
	if err != nil {
		return nil, unavailable(err)
	}
	erased := map[int64]bool{}
	var seq int64
	_, err = pgx.ForEachRow(rows, []any{&seq}, func() error { erased[seq] = true; return nil })
	return erased, unavailable(err)
}

// verifyRows compares the projection rows with those that the contents give.
func (s *Store) verifyRows(ctx context.Context, derived map[int64]audit.Derived, result audit.Checked) error {
	check := &recordCheck{types: pgtype.NewMap()}
	for _, table := range tablesOf(derived) {
		have, stored, err := s.storedRows(ctx, table, derived)
		if err != nil {
			return err
		}
		for seq, d := range derived {
			if !d.Known {
				continue
			}
			var want [][]any
			for _, rows := range d.Projection.Rows {
				if rows.Table == table {
					want = append(want, rows.Values...)
				}
			}
			if problem := check.compareRows(have, stored[seq], want, d.Meta.Tenant); problem != "" {
				result[seq] = append(result[seq], audit.Fault{Seq: seq, Code: audit.FaultProjection, Detail: "ledger." + table.Name + problem})
			}
		}
	}
	return nil
}

// tablesOf lists the projection tables of the kinds of what was derived.
func tablesOf(derived map[int64]audit.Derived) []*kinds.Table {
	var tables []*kinds.Table
	for _, d := range derived {
		kind := kinds.Lookup(d.Meta.Kind)
		if kind == nil {
			continue
		}
		for _, t := range kind.Tables {
			if !slices.Contains(tables, t) {
				tables = append(tables, t)
			}
		}
	}
	return tables
}

// storedRows reads the rows of entries in one table as the database sends them, with the table's types and columns.
func (s *Store) storedRows(ctx context.Context, table *kinds.Table, derived map[int64]audit.Derived) (*stream, map[int64][][][]byte, error) {
	seqs := make([]int64, 0, len(derived))
	for seq := range derived {
		seqs = append(seqs, seq)
	}
	rows, err := s.pool.Query(ctx, "SELECT "+strings.Join(columnsOf(table), ", ")+" FROM ledger."+table.Name+" WHERE seq = ANY($1) ORDER BY seq", seqs)
	if err != nil {
		return nil, nil, unavailable(err)
	}
	defer rows.Close()
	as := &stream{}
	for _, f := range rows.FieldDescriptions() {
		as.types, as.columns = append(as.types, f.DataTypeOID), append(as.columns, f.Name)
	}
	all := &block{}
	for rows.Next() {
		all.add(rows.RawValues())
	}
	if err := rows.Err(); err != nil {
		return nil, nil, unavailable(err)
	}
	stored := map[int64][][][]byte{}
	for _, row := range all.rows {
		seq := int64(binary.BigEndian.Uint64(row[0]))
		stored[seq] = append(stored[seq], row)
	}
	return as, stored, nil
}

// verifyLeaves proves each leaf to be in the tree that its log's checkpoint states.
func (s *Store) verifyLeaves(ctx context.Context, heads incarnations, derived map[int64]audit.Derived, result audit.Checked) error {
	trees := map[int]ledger.Tree{}
	for seq, d := range derived {
		head := heads.of(seq)
		tree, known := trees[head.Incarnation]
		if !known {
			c, err := ledger.ReadCheckpoint([]byte(head.Checkpoint))
			if err != nil {
				return fmt.Errorf("%w: %w", kinds.ErrReadOnly, err)
			}
			tree = ledger.NewTree(c, &keptTiles{from: tileReader{s, head}, kept: map[tlog.Tile][]byte{}})
			trees[head.Incarnation] = tree
		}
		leaf, _, err := tree.Inclusion(ctx, seq-head.Base, head.Size)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			result[seq] = append(result[seq], audit.Fault{Seq: seq, Code: audit.FaultTile, Detail: "the stored tiles do not prove its place"})
		case leaf != d.Leaf:
			result[seq] = append(result[seq], audit.Fault{Seq: seq, Code: audit.FaultTile, Detail: "another leaf is in the tree"})
		}
	}
	return nil
}

// keptTiles remembers tiles over the proofs of many leaves of one tree. It is not safe for concurrent use.
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

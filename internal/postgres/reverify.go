package postgres

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"golang.org/x/mod/sumdb/note"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// VerifyEntries checks entries of a tenant again, as fsck does: each by itself, its own kind's check and the rows derived
// from it included, since answers are made of these; and as a leaf of the tree that head states, proven from stored tiles.
// A checkpoint whose log has none of the verifiers is not-checkable. Entries that are not the tenant's, or not there, are left
// out of the result. kinds.ErrTooMuch beyond audit.MaxVerifiedEntries.
func (s *Store) VerifyEntries(ctx context.Context, tenant string, seqs []int64, head ledger.Head, verifiers ...note.Verifier) (audit.Checked, error) {
	if len(seqs) > audit.MaxVerifiedEntries {
		return nil, kinds.ErrTooMuch
	}
	stretches, err := s.stretches(ctx, seqs)
	if err != nil {
		return nil, err
	}
	result := audit.Checked{}
	for _, stretch := range stretches {
		examined, err := s.examine(ctx, tenant, stretch, head, verifiers)
		if err != nil {
			return nil, err
		}
		for seq, x := range examined {
			result[seq] = x.Report()
		}
	}
	return result, nil
}

// Bounds of the entries that are examined at once: their contents are held, and a record that is read takes some times as much.
const (
	stretchEntries = 1_000
	stretchBytes   = 16 << 20
)

// stretches cuts entries by number and by the bytes of their contents, which Postgres knows without reading them.
func (s *Store) stretches(ctx context.Context, seqs []int64) ([][]int64, error) {
	rows, err := s.pool.Query(ctx, `SELECT seq, octet_length(content) FROM ledger.contents WHERE seq = ANY($1) AND content IS NOT NULL`, seqs)
	if err != nil {
		return nil, unavailable(err)
	}
	sizes := make(map[int64]int, len(seqs))
	var seq int64
	var size int
	if _, err := pgx.ForEachRow(rows, []any{&seq, &size}, func() error { sizes[seq] = size; return nil }); err != nil {
		return nil, unavailable(err)
	}
	var list [][]int64
	from, bytes := 0, 0
	for i, seq := range seqs {
		if bytes += sizes[seq]; i > from && (bytes > stretchBytes || i-from == stretchEntries) {
			list, from, bytes = append(list, seqs[from:i]), i, sizes[seq]
		}
	}
	if from < len(seqs) {
		list = append(list, seqs[from:])
	}
	return list, nil
}

// examination is entries that are being checked, by seq.
type examination map[int64]*audit.Examination

// examine does all checks but those that judge by today's state.
func (s *Store) examine(ctx context.Context, tenant string, seqs []int64, head ledger.Head, verifiers []note.Verifier) (examination, error) {
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
	examined := examination{}
	for _, e := range entries {
		examined[e.Seq] = audit.EntryCheck{Origin: heads.of(e.Seq).Origin, Erased: erased, Policies: policies}.Begin(e)
	}
	if err := s.verifyRows(ctx, examined); err != nil {
		return nil, err
	}
	if err := s.rejudge(ctx, tenant, examined); err != nil {
		return nil, err
	}
	return examined, s.verifyLeaves(ctx, heads, examined, verifiers)
}

// rejudge judges context records again with the entries that their verdicts name.
func (s *Store) rejudge(ctx context.Context, tenant string, examined examination) error {
	for _, x := range examined {
		seqs := x.Joins()
		if seqs == nil {
			continue
		}
		found, err := contextPartsAt(ctx, s.pool, tenant, seqs)
		if err != nil {
			return err
		}
		x.Rejudge(found)
	}
	return nil
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
func (s *Store) verifyRows(ctx context.Context, examined examination) error {
	check := &recordCheck{types: pgtype.NewMap()}
	problems := map[int64]string{}
	for _, table := range tablesOf(examined) {
		have, stored, err := s.storedRows(ctx, table, examined)
		if err != nil {
			return err
		}
		for seq, x := range examined {
			if d := x.Derived; d.Known && problems[seq] == "" {
				if problem := check.compareRows(have, stored[seq], d.Projection.Of(table), d.Meta.Tenant); problem != "" {
					problems[seq] = "ledger." + table.Name + problem
				}
			}
		}
	}
	for seq, x := range examined {
		x.Projected(problems[seq])
	}
	return nil
}

// tablesOf lists the projection tables of the kinds of what was derived.
func tablesOf(examined examination) []*kinds.Table {
	var tables []*kinds.Table
	for _, x := range examined {
		kind := kinds.Lookup(x.Derived.Meta.Kind)
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
func (s *Store) storedRows(ctx context.Context, table *kinds.Table, examined examination) (*stream, map[int64][][][]byte, error) {
	seqs := make([]int64, 0, len(examined))
	for seq := range examined {
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

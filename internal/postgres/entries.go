package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

const entryColumns = `e.seq, e.recorded_at, e.meta, e.meta_salt, e.envelope, e.leaf_hash, c.content, c.content_salt`

func scanEntry(row pgx.CollectableRow) (ledger.Entry, error) {
	var e ledger.Entry
	var metaSalt, leaf, contentSalt []byte
	err := row.Scan(&e.Seq, &e.RecordedAt, &e.MetaBytes, &metaSalt, &e.Envelope, &leaf, &e.Content, &contentSalt)
	if err != nil {
		return e, err
	}
	e.RecordedAt = e.RecordedAt.UTC()
	e.MetaSalt, e.LeafHash = ledger.Salt(metaSalt), tlog.Hash(leaf)
	if contentSalt != nil {
		e.ContentSalt = ledger.Salt(contentSalt)
	}
	e.Meta, err = ledger.ParseMeta(e.MetaBytes)
	return e, kinds.Unreadable(e.Seq, err)
}

// Entry reads one entry of a tenant, or of the log itself. ErrNotFound when there is none or the asker may not see it.
func (s *Store) Entry(ctx context.Context, tenant string, see kinds.Visibility, seq int64) (ledger.Entry, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT `+entryColumns+` FROM ledger.entries e JOIN ledger.contents c USING (seq)
		WHERE e.seq = $2 AND (e.tenant = $1 OR (e.tenant = '' AND e.kind = ANY($3)))`, tenant, seq, see.LogKinds())
	if err != nil {
		return ledger.Entry{}, unavailable(err)
	}
	e, err := pgx.CollectExactlyOneRow(rows, scanEntry)
	if err != nil {
		return ledger.Entry{}, unavailable(err)
	}
	if !see.Sees(e.Meta.Kind, e.Meta.Actor.TokenID) {
		return ledger.Entry{}, kinds.ErrNotFound
	}
	found := []ledger.Entry{e}
	err = erasedBy(ctx, s.pool, found)
	return found[0], err
}

// Entries lists a tenant's entries, and those of the log itself, in order of seq, at most q.Limit of them and q.Bytes of their
// contents. next is where to go on, or -1 at the end. An asker that sees only some entries may get short pages, even empty
// ones, before the end: a page reads a bounded number.
func (s *Store) Entries(ctx context.Context, tenant string, see kinds.Visibility, q kinds.EntryQuery) (list []ledger.Entry, next int64, err error) {
	seqs, err := entrySeqs(ctx, s.pool, tenant, see, q)
	if err != nil {
		return nil, -1, err
	}
	return s.page(ctx, see, seqs, q.Limit, q.Bytes)
}

// page reads the entries of one page, given in order; limit is how many were looked for. It ends early where their contents
// exceed a number of bytes (0 for no bound), which Postgres knows without reading them.
func (s *Store) page(ctx context.Context, see kinds.Visibility, seqs []int64, limit int, bytes int64) (list []ledger.Entry, next int64, err error) {
	if len(seqs) == 0 {
		return nil, -1, nil
	}
	rows, err := s.pool.Query(ctx, `
		SELECT `+entryColumns+` FROM (
			SELECT seq, row_number() OVER line AS place, sum(coalesce(octet_length(content), 0)) OVER line AS bytes
			FROM ledger.contents WHERE seq = ANY($1) WINDOW line AS (ORDER BY seq ROWS UNBOUNDED PRECEDING)) AS sized
		JOIN ledger.entries e USING (seq) JOIN ledger.contents c USING (seq)
		WHERE sized.place = 1 OR $2::bigint = 0 OR sized.bytes <= $2 ORDER BY e.seq`, seqs, bytes)
	if err != nil {
		return nil, -1, unavailable(err)
	}
	all, err := pgx.CollectRows(rows, scanEntry)
	if err != nil {
		return nil, -1, unavailable(err)
	}
	if err := erasedBy(ctx, s.pool, all); err != nil {
		return nil, -1, err
	}
	next = -1
	if len(seqs) == limit || len(all) < len(seqs) {
		next = all[len(all)-1].Seq
	}
	return visible(all, see), next, nil
}

// visible drops what the asker may not see.
func visible(all []ledger.Entry, see kinds.Visibility) (list []ledger.Entry) {
	for _, e := range all {
		if see.Sees(e.Meta.Kind, e.Meta.Actor.TokenID) {
			list = append(list, e)
		}
	}
	return list
}

// entrySeqs finds the seqs of one page. Each kind is a range of one index; the ranges are merged by seq.
func entrySeqs(ctx context.Context, db querier, tenant string, see kinds.Visibility, q kinds.EntryQuery) ([]int64, error) {
	names := []string{q.Kind}
	if q.Kind == "" {
		names = names[:0]
		for _, k := range kinds.All() {
			names = append(names, k.Name)
		}
	}
	tenants := make([]string, len(names))
	for i, kind := range names {
		tenants[i] = see.TenantOf(kind, tenant)
	}
	if q.Key != "" {
		return seqsByKey(ctx, db, tenants, names, q)
	}
	rows, err := db.Query(ctx, `
		WITH bound AS MATERIALIZED (
			SELECT greatest($3::bigint + 1, CASE WHEN $4::timestamptz IS NULL THEN 0 ELSE ledger.seq_at($4) END) AS low,
			       least($6::bigint, CASE WHEN $5::timestamptz IS NULL THEN $6::bigint ELSE ledger.seq_at($5) END) AS high)
		SELECT found.seq FROM bound, unnest($1::text[], $2::text[]) AS k(tenant, kind) CROSS JOIN LATERAL (
			SELECT e.seq FROM ledger.entries e
			WHERE e.tenant = k.tenant AND e.kind = k.kind AND e.seq >= bound.low AND e.seq < bound.high
			ORDER BY e.seq LIMIT $7) found
		ORDER BY found.seq LIMIT $7`, tenants, names, q.After, q.From, q.To, q.Size, q.Limit)
	if err != nil {
		return nil, unavailable(err)
	}
	seqs, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	return seqs, unavailable(err)
}

// seqsByKey looks a key up in each kind: a key names at most one entry of a kind.
func seqsByKey(ctx context.Context, db querier, tenants, names []string, q kinds.EntryQuery) ([]int64, error) {
	hashes := make([][16]byte, 0, len(names))
	for i, kind := range names {
		hashes = append(hashes, keyHash(tenants[i], kind, q.Key))
	}
	rows, err := db.Query(ctx, `
		SELECT e.seq FROM ledger.keys k JOIN ledger.entries e USING (seq)
		WHERE k.key_hash = ANY($1) AND e.tenant = ANY($2) AND e.key = $3 AND e.seq > $4 AND e.seq < $5
		  AND ($6::timestamptz IS NULL OR e.recorded_at >= $6) AND ($7::timestamptz IS NULL OR e.recorded_at < $7)
		ORDER BY e.seq LIMIT $8`, hashes, tenants, q.Key, q.After, q.Size, q.From, q.To, q.Limit)
	if err != nil {
		return nil, unavailable(err)
	}
	seqs, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	return seqs, unavailable(err)
}

// TrustPolicy is the tenant's newest trust policy, nil when it never set one.
func (s *Store) TrustPolicy(ctx context.Context, tenant string) (*kinds.TrustPolicy, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT `+entryColumns+` FROM ledger.entries e JOIN ledger.contents c USING (seq)
		WHERE e.tenant = $1 AND e.kind = $2 ORDER BY e.seq DESC LIMIT 1`, tenant, kinds.TrustPolicyKind.Name)
	if err != nil {
		return nil, unavailable(err)
	}
	entries, err := pgx.CollectRows(rows, scanEntry)
	if err != nil || len(entries) == 0 {
		return nil, unavailable(err)
	}
	return kinds.ReadTrustPolicy(entries[0])
}

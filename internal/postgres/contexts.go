package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// ContextParts reads the entries that a context record is joined with, of which any may be missing.
func (s *Store) ContextParts(ctx context.Context, tenant string, n kinds.ContextNeeds) (*kinds.ContextParts, error) {
	joined, err := s.contextJoined(ctx, tenant, n)
	if err != nil {
		return nil, err
	}
	return s.ContextPartsAt(ctx, tenant, joined)
}

// ContextJoined finds them, and says how many bytes their contents have. ContextPartsAt then reads them.
func (s *Store) ContextJoined(ctx context.Context, tenant string, n kinds.ContextNeeds) (joined kinds.ContextJoined, bytes int64, err error) {
	if joined, err = s.contextJoined(ctx, tenant, n); err != nil {
		return joined, 0, err
	}
	seqs, _ := joined.Seqs()
	err = s.pool.QueryRow(ctx, `SELECT coalesce(sum(octet_length(content)), 0) FROM ledger.contents WHERE seq = ANY($1)`, seqs).Scan(&bytes)
	return joined, bytes, unavailable(err)
}

func (s *Store) contextJoined(ctx context.Context, tenant string, n kinds.ContextNeeds) (kinds.ContextJoined, error) {
	joined := kinds.ContextJoined{SeenSeqs: []int64{}, RevisionSeqs: []int64{}}
	rows, err := s.pool.Query(ctx, `
		SELECT seq, snapshot_id, profile_revision_id FROM ledger.context_snapshots WHERE tenant = $1 AND snapshot_id = $2
		UNION SELECT seq, snapshot_id, profile_revision_id FROM ledger.context_snapshots WHERE tenant = $1 AND turn_id = $3
		ORDER BY seq LIMIT $4`, tenant, n.SnapshotID, n.TurnID, kinds.MaxSeen)
	if err != nil {
		return joined, unavailable(err)
	}
	var seq int64
	var id, revision string
	_, err = pgx.ForEachRow(rows, []any{&seq, &id, &revision}, func() error {
		joined.SeenSeqs = append(joined.SeenSeqs, seq)
		if id == n.SnapshotID {
			named := seq
			joined.SnapshotSeq = &named
			if n.RevisionID == "" && n.PlanID == "" { // an operation of the turn names its profile by the snapshot
				n.RevisionID = revision
			}
		}
		return nil
	})
	if err != nil {
		return joined, unavailable(err)
	}
	if joined.RevisionSeqs, err = s.profileSeqs(ctx, tenant, n.Revisions); err != nil {
		return joined, err
	}
	for _, part := range [...]struct {
		kind *kinds.Kind
		id   string
		seq  **int64
	}{{&kinds.ContextProfile, n.RevisionID, &joined.ProfileSeq}, {&kinds.ContextPlan, n.PlanID, &joined.PlanSeq}, {&kinds.ContextAssembly, n.AssemblyID, &joined.AssemblySeq}} {
		if *part.seq, err = s.seqOfKey(ctx, tenant, part.kind, part.id); err != nil {
			return joined, err
		}
	}
	return joined, nil
}

// profileSeqs finds the recorded profiles among some revisions.
func (s *Store) profileSeqs(ctx context.Context, tenant string, revisions []string) ([]int64, error) {
	if len(revisions) == 0 {
		return []int64{}, nil
	}
	rows, err := s.pool.Query(ctx, `
		SELECT seq FROM ledger.context_profiles WHERE tenant = $1 AND profile_revision_id = ANY($2) ORDER BY seq LIMIT $3`, tenant, revisions, kinds.MaxRevisions)
	if err != nil {
		return nil, unavailable(err)
	}
	seqs, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	return seqs, unavailable(err)
}

// seqOfKey finds the entry that holds a key; nil when none does.
func (s *Store) seqOfKey(ctx context.Context, tenant string, kind *kinds.Kind, key string) (*int64, error) {
	if key == "" {
		return nil, nil
	}
	rows, err := s.pool.Query(ctx, `
		SELECT k.seq FROM ledger.keys k JOIN ledger.entries e USING (seq) WHERE k.key_hash = $1 AND e.tenant = $2 AND e.kind = $3 AND e.key = $4`,
		keyHash(tenant, kind.Name, key), tenant, kind.Name, key)
	if err != nil {
		return nil, unavailable(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(found) == 0 {
		return nil, unavailable(err)
	}
	return &found[0], nil
}

// ContextPartsAt reads just the entries that a recorded verdict names. kinds.ErrStored when one is not there or can't be read.
func (s *Store) ContextPartsAt(ctx context.Context, tenant string, j kinds.ContextJoined) (*kinds.ContextParts, error) {
	seqs, ok := j.Seqs()
	if !ok {
		return nil, fmt.Errorf("%w: a verdict names too many entries", kinds.ErrStored)
	}
	found, err := contextPartsAt(ctx, s.pool, tenant, seqs)
	if err != nil {
		return nil, err
	}
	for _, seq := range seqs {
		if found[seq] == nil {
			return nil, kinds.Unreadable(seq, errors.New("a context record is judged with it, and it is not there"))
		}
	}
	return j.Select(found), nil
}

// contextPartsAt reads entries of a tenant as parts. What is not there or can't be read is left out; the rest of an entry is not looked
// at, which may be damaged.
func contextPartsAt(ctx context.Context, q querier, tenant string, seqs []int64) (map[int64]*kinds.ContextPart, error) {
	found := map[int64]*kinds.ContextPart{}
	if len(seqs) == 0 {
		return found, nil
	}
	rows, err := q.Query(ctx, `
		SELECT e.seq, e.recorded_at, c.content, r.erasure_seq FROM ledger.entries e JOIN ledger.contents c USING (seq) LEFT JOIN ledger.erased r USING (seq)
		WHERE e.seq = ANY($2) AND e.tenant = $1`, tenant, seqs)
	if err != nil {
		return nil, unavailable(err)
	}
	var p kinds.ContextPart
	var content []byte
	var erasedBy *int64
	_, err = pgx.ForEachRow(rows, []any{&p.Seq, &p.RecordedAt, &content, &erasedBy}, func() error {
		part := p
		part.RecordedAt = part.RecordedAt.UTC()
		if c, err := ledger.ParseContent(content); err == nil {
			part.Artifact = c.Artifact
		} else if content != nil || erasedBy == nil {
			return nil
		}
		if erasedBy != nil {
			part.ErasedBy = *erasedBy
		}
		content = nil // the part keeps what was read
		found[part.Seq] = &part
		return nil
	})
	return found, unavailable(err)
}

// entriesAt reads a tenant's entries by seq, in order of seq.
func (s *Store) entriesAt(ctx context.Context, tenant string, seqs []int64) ([]ledger.Entry, error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	rows, err := s.pool.Query(ctx, `
		SELECT `+entryColumns+` FROM ledger.entries e JOIN ledger.contents c USING (seq) WHERE e.seq = ANY($2) AND e.tenant = $1 ORDER BY e.seq`, tenant, seqs)
	if err != nil {
		return nil, unavailable(err)
	}
	entries, err := pgx.CollectRows(rows, scanEntry)
	if err != nil {
		return nil, unavailable(err)
	}
	return entries, erasedBy(ctx, s.pool, entries)
}

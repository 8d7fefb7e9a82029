package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// maxSeen bounds the snapshots that one record is held against. A turn has one by its claim, so more are of other turns
// under the same id, which the key rules out.
const maxSeen = 8

// ContextParts reads the entries that a context record is joined with, of which any may be missing.
func (s *Store) ContextParts(ctx context.Context, tenant string, n kinds.ContextNeeds) (*kinds.ContextParts, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT seq, snapshot_id, profile_revision_id FROM ledger.context_snapshots WHERE tenant = $1 AND snapshot_id = $2
		UNION SELECT seq, snapshot_id, profile_revision_id FROM ledger.context_snapshots WHERE tenant = $1 AND turn_id = $3
		ORDER BY seq LIMIT $4`, tenant, n.SnapshotID, n.TurnID, maxSeen)
	if err != nil {
		return nil, unavailable(err)
	}
	joined := kinds.ContextJoined{SeenSeqs: []int64{}, RevisionSeqs: []int64{}}
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
		return nil, unavailable(err)
	}
	if joined.RevisionSeqs, err = s.profileSeqs(ctx, tenant, n.Revisions); err != nil {
		return nil, err
	}
	for _, part := range [...]struct {
		kind *kinds.Kind
		id   string
		seq  **int64
	}{{&kinds.ContextProfile, n.RevisionID, &joined.ProfileSeq}, {&kinds.ContextPlan, n.PlanID, &joined.PlanSeq}, {&kinds.ContextAssembly, n.AssemblyID, &joined.AssemblySeq}} {
		if *part.seq, err = s.seqOfKey(ctx, tenant, part.kind, part.id); err != nil {
			return nil, err
		}
	}
	return s.ContextPartsAt(ctx, tenant, joined)
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

// ContextPartsAt reads just the entries that a recorded verdict names.
func (s *Store) ContextPartsAt(ctx context.Context, tenant string, j kinds.ContextJoined) (*kinds.ContextParts, error) {
	seqs := slices.Concat(j.SeenSeqs, j.RevisionSeqs)
	for _, seq := range []*int64{j.ProfileSeq, j.SnapshotSeq, j.PlanSeq, j.AssemblySeq} {
		if seq != nil {
			seqs = append(seqs, *seq)
		}
	}
	found, err := s.contextEntries(ctx, tenant, seqs)
	if err != nil {
		return nil, err
	}
	parts := &kinds.ContextParts{
		Profile: found.at(j.ProfileSeq), Snapshot: found.at(j.SnapshotSeq), Plan: found.at(j.PlanSeq), Assembly: found.at(j.AssemblySeq),
	}
	parts.Seen, parts.Revisions = found.all(j.SeenSeqs), found.all(j.RevisionSeqs)
	return parts, nil
}

type foundParts map[int64]*kinds.ContextPart

func (f foundParts) at(seq *int64) *kinds.ContextPart {
	if seq == nil {
		return nil
	}
	return f[*seq]
}

func (f foundParts) all(seqs []int64) (list []kinds.ContextPart) {
	for _, seq := range seqs {
		if p := f[seq]; p != nil {
			list = append(list, *p)
		}
	}
	return list
}

func (s *Store) contextEntries(ctx context.Context, tenant string, seqs []int64) (foundParts, error) {
	found := foundParts{}
	entries, err := s.entriesAt(ctx, tenant, seqs)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		p := &kinds.ContextPart{Seq: e.Seq, RecordedAt: e.RecordedAt, ErasedBy: e.ErasedBy}
		if !e.Erased() {
			c, err := ledger.ParseContent(e.Content)
			if err != nil {
				return nil, kinds.Unreadable(e.Seq, err)
			}
			p.Artifact = c.Artifact
		}
		found[e.Seq] = p
	}
	return found, nil
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
	return entries, s.erasedBy(ctx, entries)
}

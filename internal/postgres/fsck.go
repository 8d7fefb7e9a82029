package postgres

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/note"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// FsckOptions say what a full check knows from outside, and whom it tells what it finds. The functions are called by one
// goroutine, in order of seq; both are required.
type FsckOptions struct {
	Verifiers []note.Verifier    // of the keys of all incarnations' logs; their names are the origins
	Since     *ledger.Checkpoint // of any of the logs, verified earlier; nil for none
	Paranoid  bool               // canonicalise contents with the second encoder too
	Fault     func(audit.Fault)
	Progress  func(done, size int64) // entries checked so far, and the heads' sizes
}

// Fsck derives everything in schema ledger again from what must be believed, contents, salts and envelopes, and reports
// whatever differs: each incarnation's log with its own tree, and each held against the one before. It returns the heads that
// it checked, in order; an error says that the check could not be completed. ErrNoKey when a log has no verifier.
//
// It reads each table once, in order of seq, over a connection of its own, all in one snapshot, so that it can run beside a
// live service: what is appended or erased meanwhile is not seen. Memory does not grow with the log. Like any long reader's,
// its snapshot keeps Postgres from pruning dead versions of the head row, which every append walks over: appends slow down
// the longer it lasts, and recover when it ends.
func (s *Store) Fsck(ctx context.Context, o FsckOptions) ([]ledger.Head, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	snap, err := s.openSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snap.close(context.WithoutCancel(ctx))
	f := &fsck{options: o, control: snap.control, tables: projectionTables(), cancel: cancel}
	if f.parts.from, err = snap.connect(ctx); err != nil {
		return nil, err
	}
	if err := f.loadLogs(ctx); err != nil {
		return nil, err
	}
	if err := f.loadErased(ctx); err != nil {
		return nil, fmt.Errorf("reading the erasures: %w", unavailable(err))
	}
	if f.policies, err = recordedPolicies(ctx, snap.control, ""); err != nil {
		return nil, fmt.Errorf("reading the trust policies: %w", err)
	}
	if err := f.run(ctx, snap); err != nil {
		return nil, fmt.Errorf("checking the log: %w", unavailable(err))
	}
	return f.heads(), nil
}

// fsck is one run.
type fsck struct {
	options  FsckOptions
	logs     []*checkedLog // in order of incarnation
	control  *pgx.Conn     // for look-ups, used by the collecting goroutine only
	tables   []*kinds.Table
	erased   map[int64]bool // by the log's erasures
	policies map[int64]audit.RecordedPolicy
	parts    partReader
	streams  []*stream // those of a record, in the order of its parts
	cancel   context.CancelCauseFunc
}

// The parts of a record before its projections, one per table.
const (
	partEntry = iota
	partContent
	partKey
	partClaim
	partProjections // and on, as in fsck.tables
)

// projectionTables lists each projection table of the registry once.
func projectionTables() []*kinds.Table {
	var tables []*kinds.Table
	seen := map[*kinds.Table]bool{}
	for _, k := range kinds.All() {
		for _, t := range k.Tables {
			if !seen[t] {
				seen[t] = true
				tables = append(tables, t)
			}
		}
	}
	return tables
}

// run reads, merges, checks and collects: a goroutine per table, one that puts together what belongs to one seq, one per
// core that checks, and the caller's that goes through the results in order.
func (f *fsck) run(ctx context.Context, snap *snapshot) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer f.cancel(nil)
	f.streams = f.recordStreams()
	tiles, checkpoints := newStream("tiles", tilesSQL), newStream("checkpoints", checkpointsSQL)
	for _, s := range append([]*stream{tiles, checkpoints}, f.streams...) {
		conn, err := snap.connect(ctx)
		if err != nil {
			return err
		}
		wg.Go(func() {
			if err := s.read(ctx, conn); err != nil {
				f.cancel(fmt.Errorf("reading ledger.%s: %w", s.table, err))
			}
			close(s.blocks) // after cancel: whoever sees rows end early finds the run failed, and reports no fault
		})
	}
	jobs, ordered := make(chan *batch, 2*runtime.GOMAXPROCS(0)), make(chan *batch, 2*runtime.GOMAXPROCS(0))
	wg.Go(func() { f.merge(ctx, jobs, ordered) })
	for range runtime.GOMAXPROCS(0) {
		c := newRecordCheck(f)
		wg.Go(func() {
			for b := range jobs {
				c.check(ctx, b)
			}
		})
	}
	return f.collect(ctx, ordered, tiles, checkpoints)
}

// recordStreams are the streams whose rows belong to single entries. Only the key and claim tables have no index by seq: the
// server sorts them, in work_mem and on its disk.
func (f *fsck) recordStreams() []*stream {
	streams := []*stream{
		newStream("entries", `SELECT seq, recorded_at, tenant, kind, key, token_id, meta, meta_salt, envelope, leaf_hash FROM ledger.entries ORDER BY seq`),
		newStream("contents", `SELECT seq, content, content_salt FROM ledger.contents ORDER BY seq`),
		newStream("keys", `SELECT seq, key_hash FROM ledger.keys ORDER BY seq`),
		newStream("claims", `SELECT seq, tenant, space, name, value FROM ledger.claims ORDER BY seq`),
	}
	for _, t := range f.tables {
		streams = append(streams, newStream(t.Name, selectRows(t)))
	}
	return streams
}

// The tiles of each log come in the order in which a growing tree fills them. What no tree of 2^62 leaves has is left to straysSQL, so
// that no bogus row can overflow the order.
const (
	inTree         = `level BETWEEN 0 AND 6 AND index >= 0 AND index < (4611686018427387904 >> (8 * (level + 1)))`
	tilesSQL       = `SELECT incarnation::int8, level::int8, index, root, hashes FROM ledger.tiles WHERE ` + inTree + ` ORDER BY incarnation, (index + 1) << (8 * (level + 1)), level`
	checkpointsSQL = `SELECT incarnation::int8, size, signed_at, checkpoint FROM ledger.checkpoints ORDER BY incarnation, size`
	straysSQL      = `SELECT 'tiles', count(*) FROM ledger.tiles WHERE incarnation <> ALL($1) OR NOT (` + inTree + `)
		UNION ALL SELECT 'checkpoints', count(*) FROM ledger.checkpoints WHERE incarnation <> ALL($1)`
)

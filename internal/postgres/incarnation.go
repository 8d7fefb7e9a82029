package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// IncarnationOrigin is the name of a log's n-th incarnation, n from 1 on, given the name of any earlier one.
func IncarnationOrigin(origin string, n int) string {
	if n > 1 {
		origin = strings.TrimSuffix(origin, "/"+strconv.Itoa(n-1))
	}
	return origin + "/" + strconv.Itoa(n)
}

// OpenIncarnationOptions say how a new log takes the place of one that can't be signed on.
type OpenIncarnationOptions struct {
	// NewKeys makes the keys of the new log, or finds those that an earlier run made; they must be kept for good when it
	// returns. begun says that the log's head is there already, so that only the same keys will do. It is called under the
	// lock of the head, and only once nothing else speaks against a new log.
	NewKeys  func(origin string, begun bool) (Keys, error)
	Old      Keys   // of the log before
	Previous []byte // its newest known checkpoint
	Force    bool   // open it even though the log before could be signed on
	Reason   string
	Now      Clock
	Log      *slog.Logger
}

// ErrUsable says that a log needs no other to take its place.
var ErrUsable = errors.New("the log is whole: it continues the checkpoint that was kept outside, and can be signed on")

// OpenIncarnation opens a new, empty log after the entries that the database holds, and appends its first entry, which
// commits to the last known checkpoint of the log before. It returns the new log's head.
//
// What a crash means after each step; with the same options the next run goes on from there:
//
//  1. head inserted — the old log is closed for good: whoever waited for its head finds a newer one and signs nothing.
//     The new log is not appended to by the service before it has its first entry.
//  2. first entry   — the new log is open. The next run finds it complete and changes nothing.
//
// ErrUsable when the old log can be signed on and Force is not set.
func (s *Store) OpenIncarnation(ctx context.Context, o OpenIncarnationOptions) (ledger.Head, error) {
	head, err := s.Head(ctx)
	if err != nil {
		return ledger.Head{}, err
	}
	if head.Origin == o.Old.Verifier.Name() {
		keys, err := s.addIncarnation(ctx, o)
		if err != nil {
			return ledger.Head{}, err
		}
		return s.firstEntry(ctx, keys, o)
	}
	if want := IncarnationOrigin(o.Old.Verifier.Name(), head.Incarnation); head.Incarnation == 0 || head.Origin != want {
		return ledger.Head{}, fmt.Errorf("%w (the log is %q)", ErrOrigin, head.Origin)
	}
	keys, err := o.NewKeys(head.Origin, true)
	if err != nil {
		return ledger.Head{}, err
	}
	if err := verifyHead(head, keys.Verifiers()); err != nil {
		return ledger.Head{}, fmt.Errorf("the incarnation was begun with another key: %w", err)
	}
	if head.Size > 0 {
		return head, nil
	}
	return s.firstEntry(ctx, keys, o)
}

// addIncarnation closes the old log and adds the new one's head, the signed empty tree, in one transaction. It holds the old
// head from before it is looked at, so that the new log begins just where the old one ends, whoever else appends.
func (s *Store) addIncarnation(ctx context.Context, o OpenIncarnationOptions) (Keys, error) {
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return Keys{}, unavailable(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after a commit it does nothing
	old, err := scanHead(tx.QueryRow(ctx, currentHead+` FOR UPDATE`))
	if err != nil {
		return Keys{}, unavailable(err)
	}
	if err := s.unusable(ctx, old, o); err != nil {
		return Keys{}, err
	}
	if _, err := s.entryAfter(ctx, old, o); err != nil { // what can't be recorded must not close the old log
		return Keys{}, err
	}
	keys, err := o.NewKeys(IncarnationOrigin(old.Origin, old.Incarnation+1), false)
	if err != nil {
		return Keys{}, err
	}
	if err := insertIncarnation(ctx, tx, old, keys, o.Now()); err != nil {
		return Keys{}, err
	}
	return keys, unavailable(tx.Commit(ctx))
}

// kept is the checkpoint of the old log that was kept outside.
func (o OpenIncarnationOptions) kept(old ledger.Head) (ledger.SignedCheckpoint, error) {
	kept, err := ledger.OpenCheckpoint(o.Previous, old.Origin, o.Old.Verifiers()...)
	if err != nil {
		return kept, fmt.Errorf("the last known checkpoint of the log before: %w", err)
	}
	return kept, nil
}

// unusable is nil when the old log can't be signed on, or the operator does not mind.
func (s *Store) unusable(ctx context.Context, old ledger.Head, o OpenIncarnationOptions) error {
	kept, err := o.kept(old)
	if err != nil || o.Force {
		return err
	}
	err = s.continues(ctx, old, o.Old.Verifiers(), kept.Checkpoint())
	if err == nil {
		_, err = loadFrontier(ctx, s.pool, old)
	}
	switch {
	case err == nil:
		return ErrUsable
	case errors.Is(err, kinds.ErrReadOnly):
		return nil
	}
	return err
}

func insertIncarnation(ctx context.Context, tx pgx.Tx, old ledger.Head, keys Keys, now time.Time) error {
	n := old.Incarnation + 1
	empty := ledger.Checkpoint{Origin: IncarnationOrigin(old.Origin, n), Root: ledger.Frontier{}.Root()}
	signed, err := empty.Sign(keys.Signer)
	if err != nil {
		return err
	}
	at := now.UTC().Truncate(time.Microsecond)
	if at.Before(old.RecordedAt) { // time never goes back along seq, over incarnations too
		at = old.RecordedAt
	}
	_, err = tx.Exec(ctx, `INSERT INTO ledger.head (incarnation, origin, base, size, root, recorded_at, checkpoint) VALUES ($1, $2, $3, 0, $4, $5, $6)`,
		n, empty.Origin, old.Next(), empty.Root[:], at, string(signed))
	if isUnique(err) {
		return errors.New("another process opened the incarnation just now")
	}
	return unavailable(err)
}

// lastKnown is the newest checkpoint that is known of the old log: what was kept outside, or the head's own where that
// continues it.
func (s *Store) lastKnown(ctx context.Context, old ledger.Head, o OpenIncarnationOptions) (ledger.SignedCheckpoint, error) {
	kept, err := o.kept(old)
	if err != nil {
		return kept, err
	}
	err = s.continues(ctx, old, o.Old.Verifiers(), kept.Checkpoint())
	if errors.Is(err, kinds.ErrReadOnly) {
		return kept, nil
	}
	if err != nil {
		return kept, err
	}
	return ledger.OpenCheckpoint([]byte(old.Checkpoint), old.Origin, o.Old.Verifiers()...)
}

// entryAfter is the new log's first entry, given how the old log ends.
func (s *Store) entryAfter(ctx context.Context, old ledger.Head, o OpenIncarnationOptions) (*kinds.Accepted, error) {
	previous, err := s.lastKnown(ctx, old, o)
	if err != nil {
		return nil, err
	}
	return kinds.NewIncarnation(old.Incarnation+1, o.Reason, previous, old)
}

func (s *Store) firstEntry(ctx context.Context, keys Keys, o OpenIncarnationOptions) (ledger.Head, error) {
	head, err := s.Head(ctx)
	if err != nil {
		return ledger.Head{}, err
	}
	before, err := s.HeadOf(ctx, head.Incarnation-1)
	if err != nil {
		return ledger.Head{}, err
	}
	accepted, err := s.entryAfter(ctx, before, o)
	if err != nil {
		return ledger.Head{}, err
	}
	a := StartAppender(AppenderOptions{Store: s, Keys: keys, Log: o.Log, Now: o.Now})
	_, err = a.Append(ctx, kinds.Poster{Role: kinds.Operator, TokenID: "incarnation"}, accepted)
	if err = errors.Join(err, a.Close(ctx)); err != nil {
		return ledger.Head{}, err
	}
	return s.Head(ctx)
}

// HeadOf reads the newest head of one incarnation's log, which stays as it is once there is a later incarnation.
func (s *Store) HeadOf(ctx context.Context, incarnation int) (ledger.Head, error) {
	h, err := scanHead(s.pool.QueryRow(ctx, `SELECT `+headColumns+` FROM ledger.head WHERE incarnation = $1`, incarnation))
	return h, unavailable(err)
}

// Heads reads the heads of all logs, in order of incarnation; that of the newest log is the last. ErrNotFound before the
// first was made.
func (s *Store) Heads(ctx context.Context) ([]ledger.Head, error) { return headRows(ctx, s.pool) }

func headRows(ctx context.Context, q querier) ([]ledger.Head, error) {
	rows, err := q.Query(ctx, `SELECT `+headColumns+` FROM ledger.head ORDER BY incarnation`)
	if err != nil {
		return nil, unavailable(err)
	}
	heads, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (ledger.Head, error) { return scanHead(row) })
	if err == nil && len(heads) == 0 {
		err = pgx.ErrNoRows
	}
	return heads, unavailable(err)
}

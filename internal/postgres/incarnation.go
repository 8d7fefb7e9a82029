package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

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
	Keys     Keys          // of the new log; the name must be IncarnationOrigin's
	Old      note.Verifier // of the log before
	Previous []byte        // its newest known checkpoint
	Reason   string
	Now      Clock
	Log      *slog.Logger
}

// OpenIncarnation opens a new, empty log after the entries that the database holds, and appends its first entry, which
// commits to the last known checkpoint of the log before. Opening again after a crash in between completes it. It returns
// the new log's head.
func (s *Store) OpenIncarnation(ctx context.Context, o OpenIncarnationOptions) (ledger.Head, error) {
	head, err := s.Head(ctx)
	if err != nil {
		return ledger.Head{}, err
	}
	if head.Origin != o.Keys.Signer.Name() {
		if head, err = s.addIncarnation(ctx, head, o); err != nil {
			return ledger.Head{}, err
		}
	}
	if head.Size > 0 {
		return ledger.Head{}, fmt.Errorf("incarnation %d is open already", head.Incarnation)
	}
	return s.firstEntry(ctx, head, o)
}

// addIncarnation adds the new log's head, the signed empty tree.
func (s *Store) addIncarnation(ctx context.Context, old ledger.Head, o OpenIncarnationOptions) (ledger.Head, error) {
	n := old.Incarnation + 1
	if want := IncarnationOrigin(old.Origin, n); o.Keys.Signer.Name() != want {
		return ledger.Head{}, fmt.Errorf("the new log's key must be named %q", want)
	}
	empty := ledger.Checkpoint{Origin: o.Keys.Signer.Name(), Root: ledger.Frontier{}.Root()}
	signed, err := empty.Sign(o.Keys.Signer)
	if err != nil {
		return ledger.Head{}, err
	}
	at := o.Now().UTC().Truncate(time.Microsecond)
	if at.Before(old.RecordedAt) { // time never goes back along seq, over incarnations too
		at = old.RecordedAt
	}
	_, err = s.pool.Exec(ctx, `INSERT INTO ledger.head (incarnation, origin, base, size, root, recorded_at, checkpoint) VALUES ($1, $2, $3, 0, $4, $5, $6)`,
		n, empty.Origin, old.Next(), empty.Root[:], at, string(signed))
	if isUnique(err) {
		return ledger.Head{}, errors.New("another process opened the incarnation just now")
	}
	if err != nil {
		return ledger.Head{}, unavailable(err)
	}
	return s.Head(ctx)
}

func (s *Store) firstEntry(ctx context.Context, head ledger.Head, o OpenIncarnationOptions) (ledger.Head, error) {
	before, err := s.HeadOf(ctx, head.Incarnation-1)
	if err != nil {
		return ledger.Head{}, err
	}
	previous, err := ledger.OpenCheckpoint(o.Previous, before.Origin, o.Old)
	if err != nil {
		return ledger.Head{}, fmt.Errorf("the last known checkpoint of the log before: %w", err)
	}
	accepted, err := kinds.NewIncarnation(head.Incarnation, o.Reason, previous, before)
	if err != nil {
		return ledger.Head{}, err
	}
	a := StartAppender(AppenderOptions{Store: s, Keys: o.Keys, Log: o.Log, Now: o.Now})
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

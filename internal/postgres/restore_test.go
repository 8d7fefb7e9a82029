package postgres_test

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

func appendConsents(t *testing.T, a *postgres.Appender, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if _, err := a.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, fmt.Sprintf("k%d", i), "p")); err != nil {
			t.Fatal(err)
		}
	}
}

// restore takes the log back to an earlier size, as a restored backup would, behind all triggers.
func restore(t *testing.T, l *ledgertest.Ledger, backup ledger.Head) {
	t.Helper()
	super := connect(t, l.AdminURL)
	for _, table := range ledgerTables(t, super) {
		if _, err := super.Exec(t.Context(), "ALTER TABLE ledger."+table+" DISABLE TRIGGER USER"); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{"entries", "contents", "keys", "claims", "consents"} {
		if _, err := super.Exec(t.Context(), "DELETE FROM ledger."+table+" WHERE seq >= $1", backup.Next()); err != nil {
			t.Fatal(err)
		}
	}
	_, err := super.Exec(t.Context(), `UPDATE ledger.head SET size = $1, root = $2, checkpoint = $3, recorded_at = $4`,
		backup.Size, backup.Root[:], backup.Checkpoint, backup.RecordedAt)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := super.Exec(t.Context(), `DELETE FROM ledger.checkpoints WHERE size > $1`, backup.Size); err != nil {
		t.Fatal(err)
	}
	enable(t, super)
}

func enable(t *testing.T, super *pgx.Conn) {
	t.Helper()
	for _, table := range ledgerTables(t, super) {
		if _, err := super.Exec(t.Context(), "ALTER TABLE ledger."+table+" ENABLE ALWAYS TRIGGER USER"); err != nil {
			// USER takes no ALWAYS: each trigger by its name.
			for _, name := range []string{"append_only", "never_emptied", "forward_only"} {
				super.Exec(t.Context(), "ALTER TABLE ledger."+table+" ENABLE ALWAYS TRIGGER "+name) //nolint:errcheck // not every table has each
			}
		}
	}
}

// A database that was restored from an older backup is never signed on: not by a process that starts, which knows a newer
// checkpoint from outside, nor by one that lived through the restore.
func TestRestoredDatabaseIsNeverSignedOn(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	appendConsents(t, l.Appender, 0, 3)
	backup, err := l.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	appendConsents(t, l.Appender, 3, 7)
	newest, err := l.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Store.OpenLog(t.Context(), l.Keys, []byte(newest.Checkpoint), time.Now); err != nil {
		t.Errorf("the checkpoint of just now: %v", err)
	}
	if _, err := l.Store.OpenLog(t.Context(), l.Keys, []byte(backup.Checkpoint), time.Now); err != nil {
		t.Errorf("an older checkpoint: %v", err)
	}
	restore(t, l, backup)
	if _, err := l.Store.OpenLog(t.Context(), l.Keys, []byte(newest.Checkpoint), time.Now); !errors.Is(err, postgres.ErrOlder) || !errors.Is(err, kinds.ErrReadOnly) {
		t.Errorf("a start after the restore: %v", err)
	}
	if _, err := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "after", "p")); !errors.Is(err, kinds.ErrReadOnly) {
		t.Errorf("the process that lived through it: %v", err)
	}
	if err := l.Appender.Refusal(); !errors.Is(err, kinds.ErrReadOnly) {
		t.Errorf("it does not say that it is read-only: %v", err)
	}
	if head, err := l.Store.Head(t.Context()); err != nil || head.Size != backup.Size {
		t.Errorf("the log has %d entries, want %d: %v", head.Size, backup.Size, err)
	}
}

// A log with other entries of the same number is a fork, and is not signed on either.
func TestForkedDatabaseIsNeverSignedOn(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	appendConsents(t, l.Appender, 0, 3)
	backup, err := l.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	appendConsents(t, l.Appender, 3, 5)
	first, err := l.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	restore(t, l, backup)
	appendConsents(t, l.StartAppender(t, time.Now), 100, 104) // a process that knew nothing from outside
	if _, err := l.Store.OpenLog(t.Context(), l.Keys, []byte(first.Checkpoint), time.Now); !errors.Is(err, kinds.ErrReadOnly) || errors.Is(err, postgres.ErrOlder) {
		t.Errorf("a fork: %v", err)
	}
	_, other := ledgertest.NewKeys(t, l.Keys.Signer.Name())
	foreign, err := ledger.Checkpoint{Origin: first.Origin, Size: 1, Root: first.Root}.Sign(other.Signer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Store.OpenLog(t.Context(), l.Keys, foreign, time.Now); !errors.Is(err, kinds.ErrReadOnly) {
		t.Errorf("a kept checkpoint that nobody of ours signed: %v", err)
	}
}

// After a restore an operator opens a new log: it commits to what was lost, goes on with the seqs, and everything verifies.
func TestIncarnation(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	appendConsents(t, l.Appender, 0, 3)
	backup, err := l.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	appendConsents(t, l.Appender, 3, 7)
	lost, err := l.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	restore(t, l, backup)

	origin := postgres.IncarnationOrigin(l.Keys.Signer.Name(), 1)
	_, keys := ledgertest.NewKeys(t, origin)
	options := postgres.OpenIncarnationOptions{
		NewKeys: only(keys), Old: l.Keys, Previous: []byte(lost.Checkpoint), Reason: "a disk was lost", Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}
	head, err := l.Store.OpenIncarnation(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if head.Incarnation != 1 || head.Origin != origin || head.Base != 3 || head.Size != 1 {
		t.Fatalf("the new log's head: %+v", head)
	}
	if again, err := l.Store.OpenIncarnation(t.Context(), options); err != nil || again != head {
		t.Errorf("opening it again must find it open: %+v, %v", again, err)
	}
	if _, err := l.Store.OpenLog(t.Context(), keys, []byte(head.Checkpoint), time.Now); err != nil {
		t.Errorf("starting on the new log: %v", err)
	}
	if _, err := l.Store.OpenLog(t.Context(), l.Keys, nil, time.Now); !errors.Is(err, postgres.ErrOrigin) {
		t.Errorf("starting with the old key: %v", err)
	}
	old := l.Keys.Verifier
	l.Keys = keys
	appendConsents(t, l.StartAppender(t, time.Now), 3, 7) // what was lost is posted again
	e, err := l.Store.Entry(t.Context(), ledgertest.Tenant, auditor, 4)
	if err != nil || e.Check() != nil || e.Meta.Key != "k3" {
		t.Errorf("the first entry that was posted again: %+v, %v", e.Meta, err)
	}
	for seq, size := range map[int64]int64{1: 3, 4: 5} { // one of the old log, one of the new
		p, err := l.Store.EntryProof(t.Context(), ledgertest.Tenant, auditor, seq, 0)
		if err != nil || p.Size != size {
			t.Errorf("proving entry %d: size %d, %v", seq, p.Size, err)
		}
	}
	if _, faults := fsck(t, l, knowing(old)); len(faults) > 0 {
		t.Errorf("fsck of both logs: %v", faults)
	}
	if head, err = l.Store.Head(t.Context()); err != nil {
		t.Fatal(err)
	}
	of := []int64{0, 1, 2, 4, 5} // of both logs, without the new one's own first entry
	checked, err := l.Store.VerifyEntries(t.Context(), ledgertest.Tenant, of, head)
	if err != nil {
		t.Fatal(err)
	}
	for _, seq := range of {
		if !checked.Verifies(seq) {
			t.Errorf("entry %d behind an answer: %v", seq, checked[seq])
		}
	}
	if origin := postgres.IncarnationOrigin(origin, 2); origin != backup.Origin+"/2" {
		t.Errorf("the next origin is %s", origin)
	}
}

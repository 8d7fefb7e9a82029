package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

// watching starts an appender that looks at the log all the time, and what it hands out to be kept.
func watching(t *testing.T, l *ledgertest.Ledger) (*postgres.Appender, <-chan ledger.Checkpoint) {
	t.Helper()
	kept := make(chan ledger.Checkpoint, 100)
	a := postgres.StartAppender(postgres.AppenderOptions{
		Store: l.Store, Keys: l.Keys, Log: slog.New(slog.DiscardHandler), Now: time.Now, Watch: time.Millisecond,
		Publish: func(note []byte) {
			if c, err := ledger.ReadCheckpoint(note); err == nil {
				kept <- c
			}
		},
	})
	t.Cleanup(func() {
		if err := a.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return a, kept
}

func wantKept(t *testing.T, kept <-chan ledger.Checkpoint, size int64) {
	t.Helper()
	for last := int64(-1); ; {
		select {
		case c := <-kept:
			if c.Size <= last {
				t.Fatalf("a checkpoint of %d after one of %d", c.Size, last)
			}
			if last = c.Size; last == size {
				return
			}
		case <-t.Context().Done():
			t.Fatalf("nobody told of size %d", size)
		}
	}
}

// A process that appends nothing knows, and keeps, what others sign; so it refuses a database that was restored beneath it,
// without waiting for an append, as does one that only starts.
func TestIdleProcessNoticesARestore(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	idle, kept := watching(t, l)
	appendConsents(t, l.Appender, 0, 3)
	wantKept(t, kept, 3)
	backup, err := l.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	appendConsents(t, l.Appender, 3, 7)
	wantKept(t, kept, 7)
	restore(t, l, backup)
	for idle.Refusal() == nil && t.Context().Err() == nil {
		runtime.Gosched()
	}
	if err := idle.Refusal(); !errors.Is(err, postgres.ErrOlder) {
		t.Errorf("after the restore: %v", err)
	}
	if _, err := idle.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "fork", "p")); !errors.Is(err, kinds.ErrReadOnly) {
		t.Errorf("an append: %v", err)
	}
	if head, err := l.Store.Head(t.Context()); err != nil || head.Size != backup.Size {
		t.Errorf("the log has %d entries, want %d: %v", head.Size, backup.Size, err)
	}
}

// What another process appended is known, and kept, once an append has followed it, replays included.
func TestFollowingKeepsWhatOthersSigned(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	var kept []int64
	a := postgres.StartAppender(postgres.AppenderOptions{
		Store: l.Store, Keys: l.Keys, Log: slog.New(slog.DiscardHandler), Now: time.Now, Watch: time.Hour,
		Publish: func(note []byte) {
			if c, err := ledger.ReadCheckpoint(note); err == nil {
				kept = append(kept, c.Size)
			}
		},
	})
	appendConsents(t, a, 0, 2)
	appendConsents(t, l.Appender, 2, 5)
	appendConsents(t, a, 4, 5) // a replay
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(kept); n == 0 || kept[n-1] != 5 {
		t.Errorf("kept the checkpoints of %v, want that of 5 at last", kept)
	}
}

// strayRow writes an entry at a seq as the service may, without the head.
func strayRow(t *testing.T, l *ledgertest.Ledger, seq int64, envelope []byte) {
	t.Helper()
	leaf := ledger.LeafHash(envelope)
	_, err := connect(t, l.ServiceURL).Exec(t.Context(), `INSERT INTO ledger.entries (seq, recorded_at, tenant, kind, key, token_id, meta, meta_salt, envelope, leaf_hash)
		VALUES ($1, now(), 'acme', 'x', 'k', 't', '\x00', $2, $3, $4)`, seq, bytes.Repeat([]byte{1}, 16), envelope, leaf[:])
	if err != nil {
		t.Fatal(err)
	}
}

// A head that fits its leaves and that nobody signed is not signed on, also by a process that knows the log before it.
func TestForgedHeadIsNotSignedOn(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	a := l.StartAppender(t, time.Now)
	appendConsents(t, a, 0, 1)
	head, err := l.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	envelope := []byte(`{"forged":true}`)
	strayRow(t, l, 1, envelope)
	f, err := ledger.NewFrontier(1, [][]tlog.Hash{{head.Root}})
	if err != nil {
		t.Fatal(err)
	}
	f.Append(ledger.LeafHash(envelope))
	root := f.Root()
	if _, err := connect(t, l.ServiceURL).Exec(t.Context(), `UPDATE ledger.head SET size = 2, root = $1`, root[:]); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "after", "p")); !errors.Is(err, kinds.ErrReadOnly) {
		t.Errorf("on a forged head: %v", err)
	}
	if err := a.Refusal(); err == nil {
		t.Error("it does not say that it is read-only")
	}
}

// A row where the next entry belongs was written by somebody else: nothing is signed until an operator has looked.
func TestRowsBeyondTheHeadAreLoud(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"an entry":     `INSERT INTO ledger.entries SELECT 1, recorded_at, tenant, kind, 'other', token_id, meta, meta_salt, envelope, leaf_hash FROM ledger.entries`,
		"a content":    `INSERT INTO ledger.contents SELECT 1, content, content_salt FROM ledger.contents`,
		"a projection": `INSERT INTO ledger.consents SELECT (jsonb_populate_record(c, '{"seq":1}')).* FROM ledger.consents c`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := ledgertest.New(t)
			appendConsents(t, l.Appender, 0, 1)
			if _, err := connect(t, l.ServiceURL).Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
			outcomes := l.Appender.Submit(t.Context(), ledgertest.Host, consents(t, "after", 3))()
			for _, o := range outcomes {
				if !errors.Is(o.Err, kinds.ErrReadOnly) || !strings.Contains(o.Err.Error(), "fsck") {
					t.Errorf("%+v", o)
				}
			}
			if err := l.Appender.Refusal(); !errors.Is(err, kinds.ErrReadOnly) {
				t.Errorf("it does not say that it is read-only: %v", err)
			}
		})
	}
}

// The right edge is looked at before the first append: a damaged leaf in the newest tile is found at the start.
func TestStartComparesTheRightEdge(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	appendConsents(t, l.Appender, 0, 3)
	head, err := l.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	start := func() error {
		_, err := l.Store.OpenLog(t.Context(), l.Keys, []byte(head.Checkpoint), time.Now)
		return err
	}
	if err := start(); err != nil {
		t.Fatal(err)
	}
	_, err = connect(t, l.AdminURL).Exec(t.Context(), `ALTER TABLE ledger.entries DISABLE TRIGGER USER; UPDATE ledger.entries SET leaf_hash = sha256('') WHERE seq = 1`)
	if err != nil {
		t.Fatal(err)
	}
	if err := start(); !errors.Is(err, kinds.ErrReadOnly) {
		t.Errorf("with a damaged leaf: %v", err)
	}
}

// A server that takes no writes, such as a standby after a failover, is one that is not available: what it says is no fault of
// an entry, and the outcome is unknown.
func TestStandbyIsUnavailable(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	admin := connect(t, l.AdminURL)
	for _, sql := range []string{
		`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$`,
		`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
	} {
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range l.Appender.Submit(t.Context(), ledgertest.Host, consents(t, "k", 2))() {
		if !errors.Is(o.Err, kinds.ErrUnavailable) {
			t.Errorf("%+v", o)
		}
	}
	if err := l.Appender.Refusal(); err != nil {
		t.Errorf("it refuses for good: %v", err)
	}
}

package postgres_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
)

// A process that stops in the middle of a batch, with the head's lock in its hand and the server waiting for the rest of a
// COPY, or for room for its answers, does not stop the others: they end its session.
func TestPausedHolderOfTheHeadIsEnded(t *testing.T) {
	t.Parallel()
	for waits, query := range map[string]string{
		"ClientRead":  "COPY ledger.keys FROM STDIN (FORMAT binary)",
		"ClientWrite": "SELECT repeat('answer', 1000) FROM generate_series(1, 100000)",
	} {
		t.Run(waits, func(t *testing.T) {
			t.Parallel()
			l := ledgertest.New(t)
			paused := connect(t, l.ServiceURL)
			for _, sql := range []string{"BEGIN", "SELECT size FROM ledger.head FOR UPDATE"} {
				if _, err := paused.Exec(t.Context(), sql); err != nil {
					t.Fatal(err)
				}
			}
			out := paused.PgConn().Frontend()
			out.SendQuery(&pgproto3.Query{String: query})
			if err := out.Flush(); err != nil { // and nothing follows, nor is anything read
				t.Fatal(err)
			}
			start := time.Now()
			if _, err := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "k", "p")); err != nil {
				t.Fatal(err)
			}
			t.Logf("the other process was held up for %v", time.Since(start))
			checkLog(t, l)
		})
	}
}

// The database goes away in the middle of everything: whatever was acknowledged is there, each post has exactly one
// entry, and the same appender goes on.
func TestTerminatedSessionsLoseNothing(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	admin := connect(t, l.AdminURL)
	const posts = 400
	var wg sync.WaitGroup
	acknowledged := make([]int64, posts)
	for w := range 16 {
		wg.Go(func() {
			for i := w; i < posts; i += 16 {
				// A caller that is told "unknown" asks again, as clients do.
				acknowledged[i] = appendUntilKnown(t, l, fmt.Sprintf("k%d", i))
			}
		})
	}
	for range 12 {
		_, err := admin.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'ledger_svc' AND datname = current_database()`)
		if err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	dropDead(t, l)
	for i, seq := range acknowledged {
		e, err := l.Store.Entry(t.Context(), ledgertest.Tenant, auditor, seq)
		if err != nil || e.Meta.Key != fmt.Sprintf("k%d", i) {
			t.Errorf("k%d was acknowledged as %d, which holds %q: %v", i, seq, e.Meta.Key, err)
		}
	}
	if head := checkLog(t, l); head.Size != posts {
		t.Errorf("the log has %d entries, want %d", head.Size, posts)
	}
}

// dropDead empties the pool of connections whose sessions were ended: each that is asked fails once and is dropped.
func dropDead(t *testing.T, l *ledgertest.Ledger) {
	t.Helper()
	for range 50 {
		if l.Store.Ping(t.Context()) == nil {
			break
		}
	}
}

func appendUntilKnown(t *testing.T, l *ledgertest.Ledger, key string) int64 {
	t.Helper()
	var err error
	for range 50 {
		r, failed := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, key, "p"))
		if failed == nil {
			return r.Seq
		}
		err = failed
	}
	t.Errorf("%s: never recorded: %v", key, err)
	return -1
}

// A database that does not answer in time is not the fault of an entry: the whole batch is told that its outcome is unknown
// after its attempts, rather than each entry being tried alone for as long again.
func TestDeadlineOfABatchIsNobodysFault(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	var said bytes.Buffer // read once the loop has ended
	a := postgres.StartAppender(postgres.AppenderOptions{Store: l.Store, Keys: l.Keys, Log: slog.New(slog.NewTextHandler(&said, nil)), Now: time.Now})
	a.SetTimeout(50 * time.Millisecond)
	holder := connect(t, l.ServiceURL)
	for _, sql := range []string{"BEGIN", "SELECT size FROM ledger.head FOR UPDATE"} {
		if _, err := holder.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	list := []*kinds.Accepted{ledgertest.Consent(t, "a", "p"), ledgertest.Consent(t, "b", "p"), ledgertest.Consent(t, "c", "p")}
	for i, o := range a.Submit(t.Context(), ledgertest.Host, list)() {
		if !errors.Is(o.Err, kinds.ErrUnavailable) {
			t.Errorf("outcome %d: %+v", i, o)
		}
	}
	if _, err := holder.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(said.String(), "alone") || strings.Count(said.String(), "again") != 2 {
		t.Errorf("the attempts were\n%s", said.String())
	}
	checkLog(t, l)
}

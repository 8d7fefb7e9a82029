package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

var auditor = kinds.Visibility{All: true}

func TestAppendIsSealedAndReadBack(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	r, err := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "k1", "north-llm"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Seq != 0 || r.Kind != "consent-receipt" || r.Key != "k1" || r.Replayed {
		t.Fatalf("recorded %+v", r)
	}
	e, err := l.Store.Entry(t.Context(), ledgertest.Tenant, auditor, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Check(); err != nil {
		t.Error(err)
	}
	if e.LeafHash != r.LeafHash || !e.RecordedAt.Equal(r.RecordedAt) {
		t.Errorf("read back %v at %v, acknowledged %v at %v", e.LeafHash, e.RecordedAt, r.LeafHash, r.RecordedAt)
	}
	checkLog(t, l)
}

func TestAppendReplaysAndRefusesOtherContent(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	first, err := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "k1", "north-llm"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "k1", "north-llm"))
	if err != nil || !again.Replayed || again.Seq != first.Seq || again.LeafHash != first.LeafHash {
		t.Errorf("replay: %+v, %v", again, err)
	}
	_, err = l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "k1", "other-llm"))
	var conflict *kinds.ConflictError
	if !errors.As(err, &conflict) || conflict.Seq != first.Seq {
		t.Errorf("other content under the key: %v", err)
	}
	l.AddTenant(t, "umbrella")
	other := ledgertest.Host
	other.Tenant = "umbrella"
	r, err := l.Appender.Append(t.Context(), other, ledgertest.Consent(t, "k1", "other-llm"))
	if err != nil || r.Seq != 1 || r.Replayed {
		t.Errorf("the same key of another tenant: %+v, %v", r, err)
	}
	checkLog(t, l)
}

func TestAppendWithoutKeyFindsItself(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	a, err := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "", "north-llm"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "", "north-llm"))
	if err != nil || b.Seq != a.Seq || !b.Replayed {
		t.Errorf("again: %+v, %v", b, err)
	}
	l.AddTenant(t, "umbrella")
	other := ledgertest.Host
	other.Tenant = "umbrella"
	c, err := l.Appender.Append(t.Context(), other, ledgertest.Consent(t, "", "north-llm"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Key == a.Key {
		t.Error("two tenants derive the same key, so one could test guesses of the other's contents")
	}
}

// Fifty posts at once with one key and two bodies make exactly one entry, in one process and over two.
func TestAppendRace(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	twin := l.StartAppender(t, time.Now)
	var wg sync.WaitGroup
	var mu sync.Mutex
	won, replayed, refused := 0, 0, 0
	for i := range 50 {
		appender := l.Appender
		if i%4 >= 2 {
			appender = twin
		}
		acc := ledgertest.Consent(t, "k", fmt.Sprintf("provider-%d", i%2))
		wg.Go(func() {
			r, err := appender.Append(t.Context(), ledgertest.Host, acc)
			mu.Lock()
			defer mu.Unlock()
			var conflict *kinds.ConflictError
			switch {
			case errors.As(err, &conflict):
				refused++
			case err != nil:
				t.Errorf("append: %v", err)
			case r.Replayed:
				replayed++
			default:
				won++
			}
		})
	}
	wg.Wait()
	if won != 1 || replayed != 24 || refused != 25 {
		t.Errorf("%d recorded, %d replayed, %d refused; want 1, 24, 25", won, replayed, refused)
	}
	if head := checkLog(t, l); head.Size != 1 {
		t.Errorf("the log has %d entries", head.Size)
	}
}

// Two processes append at once, past a tile's edge: no gap, no fork, every answer true.
func TestTwoAppendersOneLog(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	appenders := []*postgres.Appender{l.Appender, l.StartAppender(t, time.Now)}
	const each = 20
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			for i := range each {
				key := fmt.Sprintf("w%d-%d", w, i)
				r, err := appenders[w%2].Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, key, "p"))
				if err != nil {
					t.Errorf("%s: %v", key, err)
					return
				}
				e, err := l.Store.Entry(t.Context(), ledgertest.Tenant, auditor, r.Seq)
				if err != nil || e.Meta.Key != key || e.LeafHash != r.LeafHash {
					t.Errorf("%s was acknowledged as %d, which holds %q: %v", key, r.Seq, e.Meta.Key, err)
				}
			}
		})
	}
	wg.Wait()
	if head := checkLog(t, l); head.Size != 32*each {
		t.Errorf("the log has %d entries, want %d", head.Size, 32*each)
	}
}

func TestAppendClockNeverGoesBack(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	if _, err := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "a", "p")); err != nil {
		t.Fatal(err)
	}
	slow := l.StartAppender(t, func() time.Time { return time.Now().Add(-time.Hour) })
	if _, err := slow.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "b", "p")); err != nil {
		t.Fatal(err)
	}
	checkLog(t, l)
}

// checkLog recomputes the whole log from what is stored: entries dense and consistent, times never decreasing, tiles and
// root as the leaves give them, the checkpoint signed over just that.
func checkLog(t *testing.T, l *ledgertest.Ledger) ledger.Head {
	t.Helper()
	head, err := l.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	leaves := make(map[int64]tlog.Hash, head.Size)
	var last time.Time
	f := ledger.Frontier{}
	tiles := 0
	for seq := range head.Size {
		e := anyTenantEntry(t, l, seq)
		if err := e.Check(); err != nil {
			t.Errorf("entry %d: %v", seq, err)
		}
		if e.RecordedAt.Before(last) {
			t.Errorf("entry %d was recorded before the one before it", seq)
		}
		last = e.RecordedAt
		leaves[seq] = e.LeafHash
		tiles += len(f.Append(e.LeafHash))
	}
	if f.Root() != head.Root {
		t.Error("the head's root is not that of the leaves")
	}
	if n := l.Count(t, "ledger.tiles"); n != tiles {
		t.Errorf("%d full tiles are stored, want %d", n, tiles)
	}
	if n := l.Count(t, "ledger.entries"); int64(n) != head.Size {
		t.Errorf("%d entries are stored, the head says %d", n, head.Size)
	}
	signed, err := ledger.OpenCheckpoint([]byte(head.Checkpoint), head.Origin, l.Keys.Verifier)
	if err != nil || signed.Checkpoint().Size != head.Size || signed.Checkpoint().Root != head.Root {
		t.Errorf("checkpoint of the head: %+v, %v", signed.Checkpoint(), err)
	}
	return head
}

func anyTenantEntry(t *testing.T, l *ledgertest.Ledger, seq int64) ledger.Entry {
	t.Helper()
	for _, tenant := range []string{ledgertest.Tenant, "umbrella"} {
		e, err := l.Store.Entry(t.Context(), tenant, auditor, seq)
		if err == nil {
			return e
		}
		if !errors.Is(err, kinds.ErrNotFound) {
			t.Fatal(err)
		}
	}
	t.Fatalf("seq %d is missing", seq)
	return ledger.Entry{}
}

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

// Outcomes are in the order of submissions, and an earlier one wins over a later one with its key.
func TestSubmitKeepsOrder(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	list := []*kinds.Accepted{
		ledgertest.Consent(t, "a", "p"), ledgertest.Consent(t, "b", "p"), ledgertest.Consent(t, "a", "p"),
		ledgertest.Consent(t, "b", "q"), ledgertest.Consent(t, "c", "p"),
	}
	first := l.Appender.Submit(t.Context(), ledgertest.Host, slices.Clone(list))
	second := l.Appender.Submit(t.Context(), ledgertest.Host, list[3:])
	got := first()
	for i, want := range []struct {
		seq      int64
		replayed bool
	}{{0, false}, {1, false}, {0, true}, {-1, false}, {2, false}} {
		if i == 3 {
			wantConflict(t, got[i], 1)
			continue
		}
		if r := got[i].Recorded; got[i].Err != nil || r.Seq != want.seq || r.Replayed != want.replayed || r.Key == "" || r.RecordedAt.IsZero() {
			t.Errorf("outcome %d: %+v, want seq %d, replayed %v", i, got[i], want.seq, want.replayed)
		}
	}
	got = second()
	wantConflict(t, got[0], 1)
	if got[1].Err != nil || !got[1].Recorded.Replayed || got[1].Recorded.Seq != 2 {
		t.Errorf("the same again in a later group: %+v", got[1])
	}
	checkLog(t, l)
}

func wantConflict(t *testing.T, o kinds.Outcome, seq int64) {
	t.Helper()
	var conflict *kinds.ConflictError
	if !errors.As(o.Err, &conflict) || conflict.Seq != seq {
		t.Errorf("%+v, want a conflict with %d", o, seq)
	}
}

// A group larger than all bounds of queue and batch is one transaction.
func TestAppendAllIsOneTransaction(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	const n = 3000
	list := make([]*kinds.Accepted, n)
	for i := range list {
		list[i] = ledgertest.Consent(t, fmt.Sprintf("k%d", i), "p")
	}
	for i, o := range l.Appender.AppendAll(t.Context(), ledgertest.Host, list) {
		if o.Err != nil || o.Recorded.Seq != int64(i) || o.Recorded.Replayed {
			t.Fatalf("outcome %d: %+v", i, o)
		}
	}
	if got := l.Count(t, "(SELECT DISTINCT xmin, recorded_at FROM ledger.entries) AS transactions"); got != 1 {
		t.Errorf("recorded in %d transactions", got)
	}
	var more []*kinds.Accepted
	for i := range n + 1 {
		more = append(more, ledgertest.Consent(t, fmt.Sprintf("k%d", i), "p"))
	}
	for i, o := range l.Appender.AppendAll(t.Context(), ledgertest.Host, more) {
		if o.Err != nil || o.Recorded.Seq != int64(i) || o.Recorded.Replayed != (i < n) {
			t.Fatalf("again, outcome %d: %+v", i, o)
		}
	}
	checkLog(t, l)
}

// What is refused leaves nothing: no entry, and no trace that decides about what comes after it in the same batch.
func TestAppendAllOrNothing(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	if _, err := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "held", "p")); err != nil {
		t.Fatal(err)
	}
	got := l.Appender.AppendAll(t.Context(), ledgertest.Host, []*kinds.Accepted{
		ledgertest.Consent(t, "a", "p"), ledgertest.Consent(t, "held", "p"), ledgertest.Consent(t, "a", "p"),
		ledgertest.Consent(t, "held", "other"), ledgertest.Consent(t, "a", "other"), ledgertest.Consent(t, "b", "p"),
	})
	for _, i := range []int{0, 1, 2, 5} {
		if !errors.Is(got[i].Err, kinds.ErrNotRecorded) || got[i].Recorded.Seq != 0 {
			t.Errorf("outcome %d: %+v, want that it was not recorded", i, got[i])
		}
	}
	wantConflict(t, got[3], 0)
	wantConflict(t, got[4], -1) // with one of the group, which is not in the log
	if head := checkLog(t, l); head.Size != 1 {
		t.Errorf("a refused group left %d entries", head.Size-1)
	}
	r, err := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "a", "another"))
	if err != nil || r.Seq != 1 || r.Replayed {
		t.Errorf("after the refused group: %+v, %v", r, err)
	}
	checkLog(t, l)
}

// Groups that race with single posts for one key each time: either the group is there wholly, or the single post is and
// nothing of the group.
func TestAppendAllRacesWithAppend(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	twin := l.StartAppender(t, time.Now)
	const rounds = 40
	var wg sync.WaitGroup
	for i := range rounds {
		key := fmt.Sprintf("contended-%d", i)
		group := []*kinds.Accepted{
			ledgertest.Consent(t, fmt.Sprintf("x-%d", i), "p"), ledgertest.Consent(t, key, "group"), ledgertest.Consent(t, fmt.Sprintf("y-%d", i), "p"),
		}
		single, other := ledgertest.Consent(t, key, "single"), l.Appender
		if i%2 == 1 {
			other = twin
		}
		wg.Go(func() {
			var inner sync.WaitGroup
			var all []kinds.Outcome
			var err error
			inner.Go(func() { all = l.Appender.AppendAll(t.Context(), ledgertest.Host, group) })
			inner.Go(func() { _, err = other.Append(t.Context(), ledgertest.Host, single) })
			inner.Wait()
			var conflict *kinds.ConflictError
			groupWon := all[0].Err == nil && all[1].Err == nil && all[2].Err == nil && errors.As(err, &conflict)
			singleWon := errors.Is(all[0].Err, kinds.ErrNotRecorded) && errors.As(all[1].Err, &conflict) && errors.Is(all[2].Err, kinds.ErrNotRecorded) && err == nil
			if groupWon == singleWon {
				t.Errorf("round %d: group %v %v %v, single %v", i, all[0].Err, all[1].Err, all[2].Err, err)
			}
		})
	}
	wg.Wait()
	checkLog(t, l)
}

// Many groups at once wait for room instead of failing, and single posts are not refused meanwhile.
func TestSubmitWaitsForRoom(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	l.AddTenant(t, "umbrella")
	var wg sync.WaitGroup
	for w := range 16 {
		who := ledgertest.Host
		if w%2 == 1 {
			who.Tenant = "umbrella"
		}
		list := make([]*kinds.Accepted, 1000)
		for i := range list {
			list[i] = ledgertest.Consent(t, fmt.Sprintf("w%d-%d", w, i), "p")
		}
		wg.Go(func() {
			for i, o := range l.Appender.Submit(t.Context(), who, list)() {
				if o.Err != nil || o.Recorded.Key != fmt.Sprintf("w%d-%d", w, i) {
					t.Errorf("group %d: %+v", w, o)
				}
			}
			if _, err := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, fmt.Sprintf("single-%d", w), "p")); err != nil {
				t.Errorf("a single post: %v", err)
			}
		})
	}
	wg.Wait()
	if n := l.Count(t, "ledger.entries"); n != 16*1001 {
		t.Errorf("%d entries", n)
	}
}

// A caller that has gone gets ctx's error; what no batch has taken is dropped, and the appender goes on.
func TestSubmitCancelled(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	list := []*kinds.Accepted{ledgertest.Consent(t, "a", "p"), ledgertest.Consent(t, "b", "p")}
	for _, o := range l.Appender.Submit(ctx, ledgertest.Host, slices.Clone(list))() {
		if o.Err != nil && !errors.Is(o.Err, context.Canceled) {
			t.Errorf("cancelled: %v", o.Err)
		}
	}
	for _, o := range l.Appender.AppendAll(ctx, ledgertest.Host, slices.Clone(list)) {
		if o.Err != nil && !errors.Is(o.Err, context.Canceled) {
			t.Errorf("cancelled: %v", o.Err)
		}
	}
	for _, o := range l.Appender.Submit(t.Context(), ledgertest.Host, list)() {
		if o.Err != nil {
			t.Error(o.Err)
		}
	}
	if got := l.Appender.Submit(t.Context(), ledgertest.Host, nil)(); len(got) != 0 {
		t.Errorf("nothing submitted: %v", got)
	}
	if head := checkLog(t, l); head.Size != 2 {
		t.Errorf("%d entries", head.Size)
	}
}

package relay_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledgerd/internal/devstack/chtest"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/internal/relay"
)

func TestEverythingIsShippedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.post(t, 100)
	if _, err := r.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "k", "p")); err != nil {
		t.Fatal(err)
	}
	r.drain(t, r.shipper("a", 30))
	if n := r.equal(t); n != 200 || r.net.inserts < 6 {
		t.Fatalf("%d lines by %d inserts", n, r.net.inserts)
	}
}

// A crash, a reset connection or a lost answer at any step: the batch is sent again and counts once.
func TestFaultsOnTheWay(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][]fault{
		"not written": {notWritten}, "answer lost": {answerLost}, "again and again": {notWritten, answerLost, answerLost, notWritten},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.post(t, 20)
			r.net.faults = faults
			s := r.shipper("a", 10)
			if _, err := s.Step(t.Context()); err == nil {
				t.Fatal("the fault went unnoticed")
			}
			if v, err := r.Store.Shipping(t.Context()); err != nil || v.Attempts != 1 || v.LastError == "" || v.LagEntries != 20 {
				t.Fatalf("%+v, %v", v, err)
			}
			r.drain(t, s)
			if n := r.equal(t); n != 40 {
				t.Fatalf("%d lines", n)
			}
		})
	}
}

// The process dies between the insert and the cursor, and another one goes on once the lease is over or given back.
func TestKilledBetweenInsertAndCursor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.post(t, 20)
	held, err := r.Store.HoldShipping(t.Context(), "dead", time.Minute)
	if err != nil || !held {
		t.Fatal(held, err)
	}
	batch, err := r.Store.NextBatch(t.Context(), "dead", 10, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.client.Insert(t.Context(), "by the dead", batch.Lines); err != nil {
		t.Fatal(err)
	}
	next := r.shipper("next", 10)
	if more, err := next.Step(t.Context()); more || err != nil || r.net.inserts != 0 {
		t.Fatalf("two ship at once: %v, %v", more, err)
	}
	if err := r.Store.ReleaseShipping(t.Context(), "dead"); err != nil {
		t.Fatal(err)
	}
	r.drain(t, next)
	if n := r.equal(t); n != 40 {
		t.Fatalf("%d lines", n)
	}
	if err := r.Store.CloseBatch(t.Context(), "dead", batch, nil); err == nil {
		t.Fatal("the dead moved the cursor")
	}
}

func TestOneBadRowIsQuarantinedAndReplayed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.post(t, 5000)
	chtest.Exec(t, r.dsn, "ALTER TABLE usage_events ADD CONSTRAINT bad CHECK NOT (request_id = 'req-1234' AND provider_id = 'north')")
	r.drain(t, r.shipper("a", 10_000))
	list, err := r.Store.Quarantined(t.Context())
	if err != nil || len(list) != 1 || list[0].Seq != 1234 || list[0].ProviderID != "north" || list[0].Reason == "" {
		t.Fatalf("%+v, %v", list, err)
	}
	if n := r.equal(t); n != 9999 || r.net.inserts > 30 {
		t.Fatalf("%d lines by %d inserts", n, r.net.inserts)
	}
	if n, err := relay.Replay(t.Context(), r.Store, r.client, rejects); err != nil || n != 0 {
		t.Fatalf("a row that is still bad: %d, %v", n, err)
	}
	chtest.Exec(t, r.dsn, "ALTER TABLE usage_events DROP CONSTRAINT bad")
	if n, err := relay.Replay(t.Context(), r.Store, r.client, rejects); err != nil || n != 1 {
		t.Fatalf("%d, %v", n, err)
	}
	if n := r.equal(t); n != 10_000 {
		t.Fatalf("%d lines", n)
	}
}

func TestErasedPersonsLeaveTheProjectionToo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.post(t, 10)
	s := r.shipper("a", 100)
	r.drain(t, s)
	r.erase(t, 3, 4)
	r.equal(t) // what is erased and not shipped yet is no drift
	r.net.faults = []fault{answerLost, notWritten}
	r.post(t, 5)
	r.erase(t, 11) // before it was ever shipped
	r.drain(t, s)
	if n := r.equal(t); n != 30 {
		t.Fatalf("%d lines", n)
	}
	chtest.Exec(t, r.dsn, "SELECT throwIf(count() != 0) FROM usage_events WHERE entry_seq IN (3, 4, 11) AND (customer_id != '' OR turn_id != '' OR notEmpty(frames.frame_id))")
}

func TestDriftIsFoundAndRepaired(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.post(t, 60)
	r.drain(t, r.shipper("a", 100))
	chtest.Exec(t, r.dsn, "ALTER TABLE usage_events DELETE WHERE entry_seq % 7 = 0 SETTINGS mutations_sync = 2")
	chtest.Exec(t, r.dsn, "ALTER TABLE usage_events UPDATE tokens = tokens + 1 WHERE entry_seq = 1 SETTINGS mutations_sync = 2")
	chtest.Exec(t, r.dsn, "INSERT INTO usage_events (tenant, as_of, request_id, provider_id, entry_seq) VALUES ('nobody', now64(6), 'r', 'p', 1)")
	drifts, err := relay.Reconcile(t.Context(), r.Store, r.client, rejects, true)
	if err != nil || len(drifts) < 3 {
		t.Fatalf("%s, %v", describe(drifts), err)
	}
	if n := r.equal(t); n != 120 {
		t.Fatalf("%d lines", n)
	}
	if v, err := r.Store.Shipping(t.Context()); err != nil || v.DriftedDays != 0 || v.ReconciledAt == nil {
		t.Fatalf("%+v, %v", v, err)
	}
}

// A rebuild beside a shipper that is in the middle of a batch.
func TestRebuild(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.post(t, 40)
	s := r.shipper("a", 10)
	if _, err := s.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	batch, err := r.Store.NextBatch(t.Context(), "a", 10, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Store.BeginRebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.client.Empty(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Store.RestartShipping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Store.CloseBatch(t.Context(), "a", batch, nil); err == nil {
		t.Fatal("a batch of the old epoch moved the new one's cursor")
	}
	r.drain(t, s)
	if n := r.equal(t); n != 80 {
		t.Fatalf("%d lines", n)
	}
}

// The engine dies under load, with two processes shipping: the loops go on by themselves.
func TestTheServerDiesUnderLoad(t *testing.T) {
	t.Parallel()
	e := chtest.NewEngine(t)
	r := newRigOn(t, chtest.Database(t, e))
	ctx, cancel := context.WithCancel(t.Context())
	var loops sync.WaitGroup
	for _, holder := range []string{"a", "b"} {
		s := relay.NewShipper(relay.Options{
			Log: r.Store, Projection: r.client, Rejects: rejects, Holder: holder, Logger: quiet, MaxLines: 20, Poll: 5 * time.Millisecond,
		})
		loops.Go(func() { s.Run(ctx) })
	}
	for range 10 {
		r.post(t, 30)
		if err := e.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	r.settle(t, time.Minute)
	cancel()
	loops.Wait()
	if n := r.equal(t); n != 600 {
		t.Fatalf("%d lines", n)
	}
}

// For any interleaving of posts, corrections, erasures, crashes, faults, takeovers and rebuilds both stores hold the same in the end.
func TestWhateverHappensTheSumsAgree(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rapid.Check(t, func(rt *rapid.T) {
		shippers := []*relay.Shipper{r.shipper("a", 7), r.shipper("b", 50)}
		for range rapid.IntRange(1, 8).Draw(rt, "events") {
			switch rapid.IntRange(0, 11).Draw(rt, "event") {
			case 0, 1, 2:
				r.post(t, rapid.IntRange(1, 12).Draw(rt, "reports"))
			case 3:
				if r.posted > 0 {
					r.erase(t, r.someReport(t, rapid.IntRange(0, r.posted-1).Draw(rt, "erased")))
				}
			case 4:
				r.net.faults = rapid.SliceOfN(rapid.SampledFrom([]fault{none, notWritten, answerLost}), 0, 4).Draw(rt, "faults")
			case 5, 6, 7, 8:
				_, _ = shippers[rapid.IntRange(0, 1).Draw(rt, "shipper")].Step(t.Context()) // a fault is what we want
				if rapid.Bool().Draw(rt, "takeover") {
					r.release(t)
				}
			case 9:
				if r.posted > 0 {
					r.postAgain(t, r.Appender, rapid.IntRange(0, r.posted-1).Draw(rt, "again"))
				}
			case 10:
				if r.posted > 0 {
					r.correct(t, rapid.IntRange(0, r.posted-1).Draw(rt, "corrected"))
				}
			case 11:
				if err := r.Store.BeginRebuild(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := r.client.Empty(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := r.Store.RestartShipping(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		r.release(t)
		r.drain(t, r.shipper("a", 5000))
		if is, _ := r.changing(t); is {
			rt.Fatal("a change does not end")
		}
		if n := r.equal(t); n != int64(2*(r.posted+len(r.corrected))) {
			rt.Fatalf("%d lines of %d reports and %d corrections", n, r.posted, len(r.corrected))
		}
	})
}

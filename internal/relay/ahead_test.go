package relay_test

import (
	"fmt"
	"testing"
	"time"

	"ledgerd/internal/devstack/chtest"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/metering"
)

// One entry has more lines than a batch may have: it is a batch by itself.
func TestEntriesThatAreLargerThanABatch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.post(t, 5)
	r.drain(t, r.shipper("a", 1))
	if n := r.equal(t); n != 10 || r.net.inserts != 5 {
		t.Fatalf("%d lines by %d inserts", n, r.net.inserts)
	}
}

// readAhead takes the lease and reads a batch of ten lines and what follows it.
func (r *rig) readAhead(t *testing.T) (batch, ahead *metering.Batch) {
	t.Helper()
	if held, err := r.Store.HoldShipping(t.Context(), "a", time.Minute); err != nil || !held {
		t.Fatal(held, err)
	}
	batch, err := r.Store.NextBatch(t.Context(), "a", 10, nil)
	if err != nil || !batch.Cut || len(batch.Lines) != 10 {
		t.Fatalf("%+v, %v", batch, err)
	}
	ahead, err = r.Store.ReadAhead(t.Context(), batch, 10)
	if err != nil || ahead.First != batch.End || len(ahead.Lines) != 10 {
		t.Fatalf("%+v, %v", ahead, err)
	}
	return batch, ahead
}

func (r *rig) ship(t *testing.T, b *metering.Batch) {
	t.Helper()
	if err := r.client.Insert(t.Context(), fmt.Sprint("by hand ", b.First), b.Lines); err != nil {
		t.Fatal(err)
	}
	if err := r.Store.CloseBatch(t.Context(), "a", b, nil); err != nil {
		t.Fatal(err)
	}
}

// What is read ahead is erased before it is sent: the erasure's own batch destroys it.
func TestWhatWasReadAheadIsErased(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.post(t, 20)
	batch, ahead := r.readAhead(t)
	r.erase(t, 7)
	r.ship(t, batch)
	next, err := r.Store.NextBatch(t.Context(), "a", 10, ahead)
	if err != nil || next != ahead || next.ID == 0 {
		t.Fatalf("%+v, %v", next, err)
	}
	r.ship(t, next)
	r.drain(t, r.shipper("a", 10))
	if n := r.equal(t); n != 40 {
		t.Fatalf("%d lines", n)
	}
	chtest.Exec(t, r.dsn, "SELECT throwIf(count() != 0) FROM usage_events WHERE entry_seq = 7 AND (customer_id != '' OR turn_id != '' OR notEmpty(frames.frame_id))")
}

// A rebuild begins meanwhile, or another process got further: what was read ahead is not what comes next, and is read anew.
func TestWhatWasReadAheadIsNotWhatComesNext(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.post(t, 20)
	_, ahead := r.readAhead(t)
	if err := r.Store.RestartShipping(t.Context()); err != nil {
		t.Fatal(err)
	}
	next, err := r.Store.NextBatch(t.Context(), "a", 10, ahead)
	if err != nil || next == ahead || next.First != 0 || next.Epoch == ahead.Epoch {
		t.Fatalf("%+v, %v", next, err)
	}
}

// A batch has a bounded number of frames, unless one entry alone has more.
func TestEntriesOfManyFrames(t *testing.T) {
	t.Parallel()
	for _, frames := range []int{30_000, 60_000} {
		r := newRig(t)
		ledgertest.FillUsage(t, r.AdminURL, 3, frames)
		r.drain(t, r.shipper("a", 0))
		if n := r.equal(t); n != 3 || r.net.inserts != 3 {
			t.Errorf("%d frames: %d lines by %d inserts", frames, n, r.net.inserts)
		}
	}
}

// A batch has the lines of a bounded number of erased entries, unless one erasure alone has more.
func TestManyErasures(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.post(t, 12)
	r.drain(t, r.shipper("a", 0))
	r.erase(t, 0, 1, 2)
	r.erase(t, 3, 4, 5)
	r.erase(t, 6, 7, 8, 9, 10)
	if held, err := r.Store.HoldShipping(t.Context(), "a", time.Minute); err != nil || !held {
		t.Fatal(held, err)
	}
	var erased []int
	for range 3 {
		b, err := r.Store.NextBatch(t.Context(), "a", 4, nil)
		if err != nil || b == nil {
			t.Fatal(b, err)
		}
		erased = append(erased, len(b.Erased))
		if err := r.client.Delete(t.Context(), b.Erased); err != nil {
			t.Fatal(err)
		}
		r.ship(t, b)
	}
	if fmt.Sprint(erased) != "[3 3 5]" {
		t.Errorf("%d", erased)
	}
	r.drain(t, r.shipper("a", 0))
	if n := r.equal(t); n != 24 {
		t.Fatalf("%d lines", n)
	}
}

package relay_test

import (
	"testing"

	"ledgerd/internal/relay"
)

func (r *rig) changing(t *testing.T) (bool, int64) {
	t.Helper()
	v, err := r.Store.Shipping(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v.Changing, v.Changes
}

// From before erased lines are destroyed until they are there again, whatever fails between, the projection is known to be short.
func TestAnErasureIsAChangeUntilItsLinesAreBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.post(t, 10)
	s := r.shipper("a", 100)
	r.drain(t, s)
	if is, begun := r.changing(t); is || begun != 0 {
		t.Fatalf("shipping is a change: %v, %d", is, begun)
	}
	r.erase(t, 3, 4)
	for _, faults := range [][]fault{{notWritten}, {answerLost}, {none, notWritten}, {none, answerLost}} { // destroying, sending
		r.net.faults = faults
		if _, err := s.Step(t.Context()); err == nil {
			t.Fatal("the fault is not noticed")
		}
		if is, _ := r.changing(t); !is {
			t.Fatalf("%v: not known to be short", faults)
		}
	}
	r.drain(t, s)
	if is, begun := r.changing(t); is || begun != 5 {
		t.Fatalf("after it: %v, %d", is, begun)
	}
}

// A repair that stopped in the middle leaves it known until one comes to its end, and a comparison that finds more changes nothing.
func TestARepairIsAChangeUntilNothingDiffers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.post(t, 10)
	r.drain(t, r.shipper("a", 100))
	if err := r.client.Empty(t.Context()); err != nil {
		t.Fatal(err)
	}
	reconcile := func(repair bool, faults ...fault) error {
		r.net.faults = faults
		_, err := relay.Reconcile(t.Context(), r.Store, r.net, rejects, repair)
		return err
	}
	for _, c := range []struct {
		name     string
		repair   bool
		faults   []fault
		changing bool
		begun    int64
	}{
		{"a comparison", false, nil, false, 0},
		{"a repair that fails", true, []fault{notWritten}, true, 1},
		{"a comparison that finds what is missing", false, nil, true, 1},
		{"a repair", true, nil, false, 2},
		{"a comparison that finds nothing", false, nil, false, 2},
	} {
		if err := reconcile(c.repair, c.faults...); (err != nil) != (c.faults != nil) {
			t.Fatalf("%s: %v", c.name, err)
		}
		if is, begun := r.changing(t); is != c.changing || begun != c.begun {
			t.Errorf("%s: %v, %d", c.name, is, begun)
		}
	}
	if n := r.equal(t); n != 20 {
		t.Fatalf("%d lines", n)
	}
}

// A rebuild is a change until the cursor says that nothing is covered.
func TestARebuildIsAChangeUntilTheCursorIsBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if err := r.Store.BeginRebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	if is, _ := r.changing(t); !is {
		t.Fatal("not known to be short")
	}
	if err := r.Store.RestartShipping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if is, begun := r.changing(t); is || begun != 1 {
		t.Fatalf("%v, %d", is, begun)
	}
}

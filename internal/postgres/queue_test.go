package postgres

import (
	"errors"
	"testing"

	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// single is a single submission with a content of the given length.
func single(bytes int) *unit {
	p := pending{prepared: ledger.Prepare(ledger.Meta{Tenant: "acme"}, make([]byte, bytes), ledger.Salt{}, ledger.Salt{})}
	return newUnit("acme", []pending{p})
}

// Single submissions are bounded by what they hold, too, and what a batch took makes room again. Bulk has its own share.
func TestQueueIsBoundedByBytes(t *testing.T) {
	t.Parallel()
	q := newQueue()
	large := make([]byte, ledger.MaxContent)
	for i := range queueBytes / len(large) {
		if err := q.put(single(len(large))); err != nil {
			t.Fatalf("submission %d: %v", i, err)
		}
	}
	if err := q.put(single(1)); !errors.Is(err, kinds.ErrBusy) {
		t.Errorf("beyond the bound: %v", err)
	}
	if err := q.putBulk(t.Context(), single(len(large))); err != nil {
		t.Errorf("bulk: %v", err)
	}
	taken := len(q.take())
	for i := range taken {
		if err := q.put(single(len(large))); err != nil {
			t.Fatalf("submission %d after a batch of %d: %v", i, taken, err)
		}
	}
	if err := q.put(single(1)); !errors.Is(err, kinds.ErrBusy) {
		t.Errorf("beyond the bound once more: %v", err)
	}
	for len(q.take()) > 0 {
	}
	if q.bytes != 0 || q.singles != 0 {
		t.Errorf("an empty queue counts %d submissions of %d bytes", q.singles, q.bytes)
	}
}

// A submission whose caller has gone makes room without being recorded.
func TestQueueForgetsWhoHasGone(t *testing.T) {
	t.Parallel()
	q := newQueue()
	u := single(queueBytes)
	if err := q.put(u); err != nil {
		t.Fatal(err)
	}
	u.gone.Store(true)
	if batch := q.take(); len(batch) != 0 || q.bytes != 0 {
		t.Errorf("took %d, %d bytes are counted", len(batch), q.bytes)
	}
}

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

// Single submissions are bounded by their number, and one batch makes room for as many as it took.
func TestQueueIsBoundedByNumber(t *testing.T) {
	t.Parallel()
	q := newQueue()
	for i := range queueEntries {
		if err := q.put(single(1)); err != nil {
			t.Fatalf("submission %d: %v", i, err)
		}
	}
	if err := q.put(single(1)); !errors.Is(err, kinds.ErrBusy) {
		t.Errorf("beyond the bound: %v", err)
	}
	if n := len(q.take()); n != batchEntries {
		t.Errorf("a batch of %d, want %d", n, batchEntries)
	}
	for i := range batchEntries {
		if err := q.put(single(1)); err != nil {
			t.Fatalf("submission %d after a batch: %v", i, err)
		}
	}
	if err := q.put(single(1)); !errors.Is(err, kinds.ErrBusy) {
		t.Errorf("beyond the bound once more: %v", err)
	}
}

// A batch has a share of each tenant: whoever comes behind another's flood is in the very next batch, and a flood of one tenant
// and a stream of another fill a batch evenly.
func TestQueueServesTenantsInTurn(t *testing.T) {
	t.Parallel()
	q := newQueue()
	of := func(tenant string, n int) *unit {
		return newUnit(tenant, make([]pending, n))
	}
	for range 3000 {
		if err := q.put(of("flood", 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.putBulk(t.Context(), of("stream", 2*batchEntries)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := q.put(of("small", 1)); err != nil {
			t.Fatal(err)
		}
	}
	counts := func() map[string]int {
		n := map[string]int{}
		for _, p := range q.take() {
			n[p.unit.tenant]++
		}
		return n
	}
	first := counts()
	if first["small"] != 3 || first["flood"]+first["stream"] != batchEntries-3 || first["flood"]-first["stream"] > 3 || first["stream"]-first["flood"] > 3 {
		t.Errorf("the first batch holds %v", first)
	}
	if second := counts(); second["flood"] != batchEntries/2 || second["stream"] != batchEntries/2 {
		t.Errorf("the second batch holds %v", second)
	}
}

package postgres

import (
	"context"
	"sync"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
)

// partReader reads what context records were judged with. Goroutines share its one connection: such records are few, and to
// judge one takes longer than to read its parts. It holds one record's parts for each of them, which kinds.MaxSeen and
// kinds.MaxRevisions bound.
type partReader struct {
	mu   sync.Mutex
	from querier
}

// judgedAgain says what is wrong with the verdict on a context record, nil for nothing and for every other entry.
func (r *partReader) judgedAgain(ctx context.Context, d audit.Derived) (*audit.Fault, error) {
	if d.Judged == nil {
		return nil, nil
	}
	seqs, _ := d.Judged.Receiver.Joined.Seqs() // too many of them are a fault, and are not read
	found, err := r.read(ctx, d.Meta.Tenant, seqs)
	if err != nil {
		return nil, err
	}
	return audit.JudgedAgain(d.Judged, found), nil
}

func (r *partReader) read(ctx context.Context, tenant string, seqs []int64) (map[int64]*kinds.ContextPart, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return contextPartsAt(ctx, r.from, tenant, seqs)
}

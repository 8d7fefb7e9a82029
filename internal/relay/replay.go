package relay

import (
	"context"
	"crypto/rand"

	"ledgerd/metering"
)

// Ward is the quarantine.
type Ward interface {
	Quarantined(ctx context.Context) ([]metering.Rejected, error)
	QuarantinedLine(ctx context.Context, r metering.Rejected) (metering.Line, error)
	// EntryLines reads all lines of an entry, quarantined or not.
	EntryLines(ctx context.Context, seq int64) ([]metering.Line, error)
	// BeginRepair notes, before anything is destroyed, that the projection may be short until a comparison finds no drift.
	BeginRepair(ctx context.Context) error
	Acquit(ctx context.Context, r metering.Rejected) error
}

// Replay sends each quarantined line again and returns how many were taken. The others stay where they are.
func Replay(ctx context.Context, w Ward, p Projection, rejects func(error) bool) (taken int, err error) {
	list, err := w.Quarantined(ctx)
	if err != nil {
		return 0, err
	}
	for _, r := range list {
		refused, err := replay(ctx, w, p, rejects, r)
		if err == nil && refused {
			continue
		}
		if err == nil {
			err = w.Acquit(ctx, r)
		}
		if err != nil {
			return taken, err
		}
		taken++
	}
	return taken, nil
}

// replay sends one line. It does not wait for the lease, which a service that ships never gives back; so an erasure may be
// recorded and shipped between the reading and the sending, and what is sent then brings the erased person back. Hence the line
// is read again: an erasure that is not seen there is shipped later, and destroys what was sent. A crash before the second
// reading leaves the line in quarantine, and the next replay destroys what this one sent.
func replay(ctx context.Context, w Ward, p Projection, rejects func(error) bool, r metering.Rejected) (refused bool, err error) {
	line, err := w.QuarantinedLine(ctx, r)
	if err != nil {
		return false, err
	}
	if line.ErasedBy == 0 {
		list, err := insert(ctx, p, rejects, "replay:"+rand.Text()+":", []metering.Line{line})
		if err != nil || len(list) > 0 {
			return len(list) > 0, err
		}
		// Whether it is in quarantine no longer matters: another replay may have taken it meanwhile.
		if now, err := w.EntryLines(ctx, r.Seq); err != nil || len(now) == 0 || now[0].ErasedBy == 0 {
			return false, err
		}
	}
	return replayErased(ctx, w, p, rejects, r)
}

// replayErased destroys what the projection may hold of an erased entry, and sends what is left of it.
func replayErased(ctx context.Context, w Ward, p Projection, rejects func(error) bool, r metering.Rejected) (refused bool, err error) {
	if err := w.BeginRepair(ctx); err != nil {
		return false, err
	}
	if err := p.Delete(ctx, []int64{r.Seq}); err != nil {
		return false, err
	}
	lines, err := w.EntryLines(ctx, r.Seq)
	if err != nil {
		return false, err
	}
	list, err := insert(ctx, p, rejects, "replay:"+rand.Text()+":", lines)
	for _, l := range list {
		refused = refused || l.ProviderID == r.ProviderID
	}
	return refused, err
}

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
	Acquit(ctx context.Context, r metering.Rejected) error
}

// Replay sends each quarantined line again and returns how many were taken. The others stay where they are.
func Replay(ctx context.Context, w Ward, p Projection, rejects func(error) bool) (taken int, err error) {
	list, err := w.Quarantined(ctx)
	if err != nil {
		return 0, err
	}
	for _, r := range list {
		line, err := w.QuarantinedLine(ctx, r)
		if err != nil {
			return taken, err
		}
		err = p.Insert(ctx, "replay:"+rand.Text(), []metering.Line{line})
		if err != nil && rejects(err) {
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

package api

import (
	"context"
	"errors"

	"ledgerd/internal/kinds"
)

// keeper is an appender that keeps a second content under a known id as a conflict entry, for the kinds that demand it. The
// refusal stays what it is. An atomic request that is refused records nothing, conflicts included.
type keeper struct{ appender }

func (k keeper) Append(ctx context.Context, who kinds.Poster, acc *kinds.Accepted) (kinds.Recorded, error) {
	recorded, err := k.appender.Append(ctx, who, acc)
	return recorded, k.keep(ctx, who, acc, err)
}

func (k keeper) Submit(ctx context.Context, who kinds.Poster, list []*kinds.Accepted) (wait func() []kinds.Outcome) {
	kept := make([]*kinds.Accepted, len(list)) // the appender lets go of the list on its way
	for i, acc := range list {
		if acc.Kind.KeepsConflicts {
			kept[i] = acc
		}
	}
	inner := k.appender.Submit(ctx, who, list)
	return func() []kinds.Outcome {
		outcomes := inner()
		for i := range outcomes {
			if kept[i] != nil {
				outcomes[i].Err = k.keep(ctx, who, kept[i], outcomes[i].Err)
			}
		}
		return outcomes
	}
}

// keep records what was refused, and gives the refusal back; or the error that kept it from being recorded. The first number
// that is free takes it, and the same content again finds its own. Beyond kinds.MaxConflicts nothing more is kept.
func (k keeper) keep(ctx context.Context, who kinds.Poster, acc *kinds.Accepted, refusal error) error {
	var held *kinds.ConflictError
	if !acc.Kind.KeepsConflicts || !errors.As(refusal, &held) || held.Seq < 0 {
		return refusal
	}
	for n := 1; n <= kinds.MaxConflicts; n++ {
		conflict, err := kinds.NewConflict(acc, held, n)
		if err != nil {
			return err
		}
		_, err = k.appender.Append(ctx, who, conflict)
		if taken := (*kinds.ConflictError)(nil); errors.As(err, &taken) {
			continue
		}
		var erased *kinds.ErasedError
		if err != nil && !errors.As(err, &erased) {
			return err
		}
		kept := *held
		kept.Kept = err == nil
		return &kept
	}
	return refusal
}

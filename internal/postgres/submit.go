package postgres

import (
	"context"
	"errors"

	"ledgerd/internal/kinds"
)

// Append records an accepted submission and returns when it is committed under a signed checkpoint. It is idempotent by
// the entry's key. Errors: *kinds.ConflictError, *kinds.ErasedError, *kinds.Rejection, kinds.ErrBusy, kinds.ErrReadOnly; on
// kinds.ErrUnavailable or ctx's error the outcome is unknown, and appending the same again finds out.
func (a *Appender) Append(ctx context.Context, who kinds.Poster, acc *kinds.Accepted) (kinds.Recorded, error) {
	p, err := a.prepare(ctx, who, acc)
	if err != nil {
		return kinds.Recorded{}, err
	}
	u := newUnit(who.Tenant, []pending{p})
	if err := a.queue.put(u); err != nil {
		return kinds.Recorded{}, err
	}
	if err := u.wait(ctx); err != nil {
		return kinds.Recorded{}, err
	}
	return u.members[0].result, u.members[0].err
}

// Submit queues submissions in their order and returns; each is recorded on its own, as by Append. When the queue is full
// it waits for room. wait returns an outcome for each, in their order, once all are decided; those that are not when ctx
// ends have its error. kinds.ErrBusy when ctx's deadline came before there was room: nothing was recorded. The list is
// emptied on the way, so that of what waits one copy is held and not two.
func (a *Appender) Submit(ctx context.Context, who kinds.Poster, list []*kinds.Accepted) (wait func() []kinds.Outcome) {
	outcomes := make([]kinds.Outcome, len(list))
	members, at := make([]pending, 0, len(list)), make([]int, 0, len(list))
	for i, acc := range list {
		p, err := a.prepare(ctx, who, acc)
		if err != nil {
			outcomes[i].Err = err
			continue
		}
		list[i] = nil
		members, at = append(members, p), append(at, i)
	}
	u := newUnit(who.Tenant, members)
	err := a.enqueue(ctx, u)
	return func() []kinds.Outcome {
		if err == nil {
			err = u.wait(ctx)
		}
		for i, place := range at {
			if err != nil {
				outcomes[place].Err = err
				continue
			}
			outcomes[place] = kinds.Outcome{Recorded: members[i].result, Err: members[i].err}
		}
		return outcomes
	}
}

// AppendAll records all submissions in one transaction or none of them, and returns an outcome for each. When one can't be
// recorded it has its error, and the others have kinds.ErrNotRecorded. Replays are no hindrance. Otherwise it is as Submit.
func (a *Appender) AppendAll(ctx context.Context, who kinds.Poster, list []*kinds.Accepted) []kinds.Outcome {
	outcomes := failAll(len(list), kinds.ErrNotRecorded)
	members, refused := make([]pending, 0, len(list)), false
	for i, acc := range list {
		p, err := a.prepare(ctx, who, acc)
		if err != nil {
			outcomes[i].Err, refused = err, true
			continue
		}
		list[i] = nil
		members = append(members, p)
	}
	if refused {
		return outcomes
	}
	u := newUnit(who.Tenant, members)
	u.whole = true
	err := a.enqueue(ctx, u)
	if err == nil {
		err = u.wait(ctx)
	}
	if err != nil {
		return failAll(len(list), err)
	}
	for i := range members {
		outcomes[i] = kinds.Outcome{Recorded: members[i].result, Err: members[i].err}
	}
	return outcomes
}

func (a *Appender) prepare(ctx context.Context, who kinds.Poster, acc *kinds.Accepted) (pending, error) {
	if err := a.Refusal(); err != nil {
		return pending{}, err
	}
	secret, err := a.keySecret(ctx, who.Tenant, acc)
	if err != nil {
		return pending{}, err
	}
	return newPending(who, acc, secret)
}

func (a *Appender) enqueue(ctx context.Context, u *unit) error {
	if len(u.members) == 0 {
		close(u.done)
		return nil
	}
	err := a.queue.putBulk(ctx, u)
	if errors.Is(err, context.DeadlineExceeded) {
		return kinds.ErrBusy
	}
	return err
}

func (a *Appender) keySecret(ctx context.Context, tenant string, acc *kinds.Accepted) ([]byte, error) {
	if acc.Key != "" {
		return nil, nil
	}
	if secret, ok := a.secrets.Load(tenant); ok {
		return secret.([]byte), nil
	}
	secret, err := a.store.keySecret(ctx, tenant)
	if err != nil {
		return nil, err
	}
	a.secrets.Store(tenant, secret)
	return secret, nil
}

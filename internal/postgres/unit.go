package postgres

import (
	"context"
	"sync/atomic"

	"ledgerd/internal/kinds"
)

// unit is what one caller waits for: a single submission, some of a stream's, or a group that is recorded wholly or not at
// all.
type unit struct {
	tenant  string
	members []pending
	whole   bool  // all are recorded in one transaction, or none
	weight  int64 // its part of the queue's bulk share; 0 for a single submission
	taken   int   // members that a batch has; the queue's
	open    int   // members without an answer; the loop's once the unit is queued
	gone    atomic.Bool
	done    chan struct{}
}

func newUnit(tenant string, members []pending) *unit {
	u := &unit{tenant: tenant, members: members, open: len(members), done: make(chan struct{})}
	for i := range members {
		members[i].unit = u
	}
	return u
}

// wait returns once every member is answered, or fails with ctx's error; then the outcome is unknown, since a batch may
// have the unit already, and what no batch has is dropped.
func (u *unit) wait(ctx context.Context) error {
	select {
	case <-u.done:
		return nil
	default:
	}
	select {
	case <-u.done:
		return nil
	case <-ctx.Done():
		u.gone.Store(true)
		return ctx.Err()
	}
}

// next is what a batch takes of the unit at once: one member, or all of a whole one.
func (u *unit) next() []pending {
	if u.whole {
		return u.members
	}
	return u.members[u.taken : u.taken+1]
}

// bytes is the length of the members' contents.
func (u *unit) bytes() (sum int) {
	for i := range u.members {
		sum += u.members[i].bytes()
	}
	return sum
}

// rest is the number of members that no batch has taken.
func (u *unit) rest() int { return len(u.members) - u.taken }

// apart splits a batch into what can be tried alone: single members, and whole units.
func apart(batch []*pending) [][]*pending {
	var parts [][]*pending
	for len(batch) > 0 {
		n := 1
		if u := batch[0].unit; u.whole {
			n = len(u.members)
		}
		parts = append(parts, batch[:n])
		batch = batch[n:]
	}
	return parts
}

// failAll is one error for each of n submissions.
func failAll(n int, err error) []kinds.Outcome {
	list := make([]kinds.Outcome, n)
	for i := range list {
		list[i].Err = err
	}
	return list
}

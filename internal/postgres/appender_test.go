package postgres

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"ledgerd/internal/kinds"
)

// What nobody waits for any more is not tried again; a whole unit stays whole.
func TestWaitedForDropsWhoHasGone(t *testing.T) {
	t.Parallel()
	group := newUnit("acme", make([]pending, 3))
	group.whole = true
	gone, here := single(1), single(1)
	gone.gone.Store(true)
	var batch []*pending
	for _, u := range []*unit{gone, group, here} {
		for i := range u.members {
			batch = append(batch, &u.members[i])
		}
	}
	rest := waitedFor(batch, kinds.ErrUnavailable)
	if len(rest) != 4 || rest[0].unit != group || rest[3].unit != here {
		t.Errorf("%d are left", len(rest))
	}
	select {
	case <-gone.done:
	default:
		t.Error("the one that is left out has no answer")
	}
	if err := gone.members[0].err; !errors.Is(err, kinds.ErrUnavailable) {
		t.Errorf("it was answered with %v", err)
	}
}

// Whichever unique index a batch violates first, it is done again under the lock, where its keys are looked up: a submission
// that is recorded again violates several.
func TestEveryViolationIsAMisprediction(t *testing.T) {
	t.Parallel()
	for _, constraint := range []string{"keys_pkey", "claims_pkey", "billing_claimed_once", "billing_replaced_once"} {
		if !isMispredicted(unavailable(&pgconn.PgError{Code: uniqueViolation, ConstraintName: constraint})) {
			t.Errorf("%s is taken for the answer", constraint)
		}
	}
}

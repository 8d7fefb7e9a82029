package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
)

// queued is a charged account with a dispute that is too large to be decided at once.
func queued(t *testing.T) (*charged, kinds.DisputeRequest) {
	t.Helper()
	c := newCharged(t, 3)
	c.disputes.AtOnce = 1
	r := kinds.DisputeRequest{ID: "dsp_job", Question: c.question(), Reason: "too much"}
	raised, err := c.disputes.Raise(t.Context(), disputant, r)
	if err != nil || raised.Recorded != nil {
		t.Fatalf("%+v, %v", raised, err)
	}
	return c, r
}

func (c *charged) job() kinds.DisputeJob {
	c.t.Helper()
	j, err := c.Store.DisputeJob(c.t.Context(), ledgertest.Tenant, "dsp_job")
	if err != nil {
		c.t.Fatal(err)
	}
	return j
}

// lapse ends every lease, as time would.
func (c *charged) lapse() {
	c.t.Helper()
	if _, err := connect(c.t, c.AdminURL).Exec(c.t.Context(), `UPDATE work.dispute_jobs SET lease_until = '-infinity'`); err != nil {
		c.t.Fatal(err)
	}
}

// forgotten says that nothing is kept of whom a job is about.
func (c *charged) forgotten() bool {
	c.t.Helper()
	return c.Count(c.t, "work.dispute_jobs WHERE customer_id || request_id || receipt_id || reason <> ''") == 0
}

// with is the same work with another way to record.
func (c *charged) with(appending func(context.Context, kinds.Poster, *kinds.Accepted) (kinds.Recorded, error)) *postgres.Disputes {
	d := *c.disputes
	d.Append = appending
	return &d
}

// Whoever dies while it works leaves the dispute to the next, who records it once, as the one who raised it.
func TestDisputeJobIsTakenOver(t *testing.T) {
	t.Parallel()
	c, r := queued(t)
	again, err := c.disputes.Raise(t.Context(), disputant, r)
	if err != nil || !again.Replayed || again.Recorded != nil {
		t.Errorf("raised again: %+v, %v", again, err)
	}
	dead := c.with(func(ctx context.Context, who kinds.Poster, acc *kinds.Accepted) (kinds.Recorded, error) {
		if worked, err := c.disputes.Work(ctx, "other"); worked || err != nil {
			t.Errorf("two work on one: %v, %v", worked, err)
		}
		c.lapse() // and is not heard of for long
		if worked, err := c.disputes.Work(ctx, "other"); !worked || err != nil {
			t.Errorf("nobody takes over: %v, %v", worked, err)
		}
		return c.Appender.Append(ctx, who, acc)
	})
	if worked, err := dead.Work(t.Context(), "dead"); !worked || err != nil {
		t.Errorf("%v, %v", worked, err)
	}
	if n := c.Count(t, "ledger.disputes"); n != 1 || c.job().State != "done" {
		t.Errorf("%d disputes, %+v", n, c.job())
	}
	e, a, err := c.Store.Dispute(t.Context(), ledgertest.Tenant, "dsp_job")
	if err != nil || a.Result != kinds.DisputeExplained || e.Meta.Actor.Role != "auditor" || e.Meta.Actor.TokenID != disputant.TokenID {
		t.Errorf("%+v, %+v, %v", e.Meta, a, err)
	}
}

// What is away is tried again, after a pause; what can't be is given up, and says so.
func TestDisputeJobFails(t *testing.T) {
	t.Parallel()
	c, r := queued(t)
	away := c.with(func(context.Context, kinds.Poster, *kinds.Accepted) (kinds.Recorded, error) {
		return kinds.Recorded{}, kinds.ErrUnavailable
	})
	if worked, err := away.Work(t.Context(), "a"); !worked || !errors.Is(err, kinds.ErrUnavailable) || c.job().State != kinds.DisputeQueued || c.forgotten() {
		t.Errorf("%v, %v, %+v", worked, err, c.job())
	}
	if worked, err := c.disputes.Work(t.Context(), "a"); worked || err != nil {
		t.Errorf("without a pause: %v, %v", worked, err)
	}
	c.lapse()
	broken := c.with(func(context.Context, kinds.Poster, *kinds.Accepted) (kinds.Recorded, error) {
		return kinds.Recorded{}, kinds.ErrStored
	})
	if _, err := broken.Work(t.Context(), "a"); !errors.Is(err, kinds.ErrStored) {
		t.Error(err)
	}
	if j := c.job(); j.State != kinds.DisputeFailed || j.Problem != "internal" || !c.forgotten() {
		t.Errorf("%+v", j)
	}
	if raised, err := c.disputes.Raise(t.Context(), disputant, r); err != nil || !raised.Replayed || raised.Recorded != nil {
		t.Errorf("raised again: %+v, %v", raised, err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if worked, err := c.disputes.Work(stopped, "a"); worked || err == nil {
		t.Errorf("%v, %v", worked, err)
	}
}

// A dispute that another one was recorded under the id of, while it was decided, is refused, and nothing else happens.
func TestDisputeOfATakenID(t *testing.T) {
	t.Parallel()
	c, r := queued(t)
	other := r
	other.Reason = "something else"
	late := c.with(func(ctx context.Context, who kinds.Poster, acc *kinds.Accepted) (kinds.Recorded, error) {
		theirs := acc.Content
		theirs.Artifact = bytes.Replace(theirs.Artifact, []byte(r.Reason), []byte(other.Reason), 1)
		before := *acc
		before.Content = theirs
		if _, err := c.Appender.Append(ctx, who, &before); err != nil {
			t.Error(err)
		}
		return c.Appender.Append(ctx, who, acc)
	})
	var conflict *kinds.ConflictError
	if worked, err := late.Work(t.Context(), "a"); !worked || !errors.As(err, &conflict) {
		t.Errorf("%v, %v", worked, err)
	}
	if j := c.job(); j.State != kinds.DisputeFailed || j.Problem != "conflict" || !c.forgotten() {
		t.Errorf("%+v", j)
	}
}

// Two that are queued under one id at once are one dispute, or a conflict.
func TestDisputeQueuedTwice(t *testing.T) {
	t.Parallel()
	c, r := queued(t)
	other := r
	other.Reason = "something else"
	var conflict *kinds.ConflictError
	if _, err := c.disputes.Queue(t.Context(), disputant, other); !errors.As(err, &conflict) {
		t.Errorf("another: %v", err)
	}
	if raised, err := c.disputes.Queue(t.Context(), disputant, r); err != nil || raised.Recorded != nil {
		t.Errorf("the same: %+v, %v", raised, err)
	}
}

// A dispute that its processes die of is given up at last.
func TestDisputeJobIsGivenUp(t *testing.T) {
	t.Parallel()
	c, _ := queued(t)
	taken := 0
	dying := c.with(func(context.Context, kinds.Poster, *kinds.Accepted) (kinds.Recorded, error) {
		taken++
		panic("as if the process died")
	})
	for range 30 {
		func() {
			defer func() { _ = recover() }()
			if worked, err := dying.Work(t.Context(), "a"); worked || err != nil {
				t.Errorf("%v, %v", worked, err)
			}
		}()
		c.lapse()
	}
	if j := c.job(); j.State != kinds.DisputeFailed || j.Problem != "unavailable" || taken != 20 || !c.forgotten() {
		t.Errorf("taken %d times, %+v", taken, j)
	}
}

// One that is tried in vain as often as any may be is given up by whoever tries it last, and forgets too.
func TestDisputeJobIsTriedInVain(t *testing.T) {
	t.Parallel()
	c, _ := queued(t)
	away := c.with(func(context.Context, kinds.Poster, *kinds.Accepted) (kinds.Recorded, error) {
		return kinds.Recorded{}, kinds.ErrUnavailable
	})
	for range 20 {
		if worked, err := away.Work(t.Context(), "a"); !worked || !errors.Is(err, kinds.ErrUnavailable) {
			t.Fatalf("%v, %v", worked, err)
		}
		c.lapse()
	}
	if j := c.job(); j.State != kinds.DisputeFailed || j.Problem != "unavailable" || !c.forgotten() {
		t.Errorf("%+v", j)
	}
}

// What a recorded dispute says is nowhere but in its entry, where it can be erased; it can be decided again all the same.
func TestDisputeJobForgets(t *testing.T) {
	t.Parallel()
	c, r := queued(t)
	if worked, err := c.disputes.Work(t.Context(), "a"); !worked || err != nil {
		t.Fatalf("%v, %v", worked, err)
	}
	if j := c.job(); j.State != "done" || j.Reason != "" || j.Question.CustomerID != "" {
		t.Errorf("%+v", j)
	}
	if raised, err := c.disputes.Raise(t.Context(), disputant, r); err != nil || !raised.Replayed || raised.Recorded == nil {
		t.Errorf("raised again: %+v, %v", raised, err)
	}
	if recorded, err := c.disputes.Reverify(t.Context(), disputant, r.ID, "rev_1"); err != nil || recorded != nil {
		t.Fatalf("%+v, %v", recorded, err)
	}
	if worked, err := c.disputes.Work(t.Context(), "a"); !worked || err != nil || c.job().State != "done" || c.Count(t, "ledger.reverifications") != 1 {
		t.Errorf("%v, %v, %+v", worked, err, c.job())
	}
}

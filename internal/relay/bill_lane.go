package relay

import (
	"context"
	"math/rand/v2"
	"time"

	"ledgerd/metering/billing"
)

// laneWork is one pass over a lane that is held.
type laneWork struct {
	b       *Biller
	t       *terms
	lane    billing.Lane
	run     *billing.Run
	blocked map[int64]bool // minutes of timestamps with an event of which it is unknown whether it counts
	batch   []billing.Pending

	heldAt   time.Time     // by this process's clock, when the lease was last prolonged
	failures int           // calls in a row without a known outcome
	last     billing.Reply // of the newest of them
}

// stampedFor is how long after an attempt was stamped its call may begin.
const stampedFor = laneLease / 2

// finishLimit is what recording may take of a pass that has to end.
const finishLimit = 10 * time.Second

func minuteOf(p billing.Pending) int64 { return p.Intent.Event.Timestamp.Unix() / 60 }

func seqsOf(list []billing.Pending) []int64 {
	seqs := make([]int64, len(list))
	for i, p := range list {
		seqs[i] = p.Seq
	}
	return seqs
}

// all goes through the lane's planned intents in the order of the log.
func (w *laneWork) all(ctx context.Context) error {
	after, seen := int64(-1), 0
	for {
		w.heldAt = time.Now()
		if held, err := w.b.o.Books.HoldLane(ctx, w.lane, w.t.holder, laneLease); err != nil || !held {
			return err
		}
		page, err := w.b.o.Books.LaneIntents(ctx, w.lane, after, lanePage)
		if err != nil {
			return err
		}
		for _, p := range page {
			after = p.Seq
			goOn, err := w.one(ctx, p)
			if err != nil || !goOn {
				return err
			}
		}
		if goOn, err := w.flush(ctx); err != nil || !goOn {
			return err
		}
		if seen += len(page); len(page) < lanePage {
			return nil
		}
		if seen >= laneLimit {
			w.run.More = true
			return nil
		}
	}
}

// one does about an intent what the table of attempts says. It returns false when the lane is to be left for now.
func (w *laneWork) one(ctx context.Context, p billing.Pending) (goOn bool, err error) {
	if p.Seq < w.t.Base {
		// It is from before a restore: whatever the backup says, it may have been sent since, and its identifier be forgotten.
		p.Attempts.Count, p.Attempts.First = max(p.Attempts.Count, 1), time.Time{}
	}
	d := billing.Decide(w.t.Config, p.Intent, p.State, p.Attempts, w.b.o.Now())
	minute := minuteOf(p)
	switch d.Action {
	case billing.Send:
		if w.blocked[minute] {
			return true, nil // its arrival would make the summary of the other one unreadable
		}
		w.batch = append(w.batch, p)
		if len(w.batch) < laneBatch {
			return true, nil
		}
		return w.flush(ctx)
	case billing.Wait:
		w.blocked[minute] = w.blocked[minute] || p.Attempts.Count > 0
	case billing.AskSummary:
		w.blocked[minute] = true
		if goOn, err := w.flush(ctx); err != nil || !goOn {
			return goOn, err
		}
		return w.askSummary(ctx, p)
	case billing.Replace:
		return w.replaceUnsent(ctx, p, d.Cause)
	case billing.Leave:
	}
	return true, nil
}

// flush sends the batch: the attempts are stamped and committed first, so that a crash from here on is known to have sent
// perhaps; then each call is made by itself; then what came of them is recorded. A crash before the last step sends the same
// identifiers again.
func (w *laneWork) flush(ctx context.Context) (goOn bool, err error) {
	batch := w.batch
	w.batch = nil
	if len(batch) == 0 {
		return true, nil
	}
	now := w.b.o.Now()
	if err := w.b.o.Books.StampAttempts(ctx, w.lane.Tenant, seqsOf(batch), now); err != nil {
		return false, err
	}
	var done []billing.Closing
	var unsent []billing.Pending
	goOn = true
	for _, p := range batch {
		if goOn && err == nil {
			goOn, err = w.mayCall(ctx)
		}
		if goOn && w.b.o.Now().Sub(now) > stampedFor { // the machine slept, or calls are slow: others may have gone on from here
			goOn, w.run.More = false, true
		}
		if !goOn || err != nil || w.blocked[minuteOf(p)] {
			unsent = append(unsent, p)
			continue
		}
		p.Attempts = p.Attempts.With(now)
		closing, known := w.send(ctx, p)
		if known {
			w.failures = 0
			done = append(done, closing)
			continue
		}
		w.blocked[minuteOf(p)] = true
		w.failures++
		goOn, err = w.later(ctx, p)
	}
	return goOn && err == nil, w.finish(ctx, seqsOf(unsent), done, err)
}

// mayCall says whether another call may be begun. False: the run's time is over, the lane is another's, or ctx has ended.
func (w *laneWork) mayCall(ctx context.Context) (bool, error) {
	if w.t.over() {
		w.run.More = true
		return false, nil
	}
	return w.hold(ctx)
}

// hold waits for a turn, and prolongs the lease when work takes long. False: the lane is another's, or ctx has ended.
func (w *laneWork) hold(ctx context.Context) (bool, error) {
	if !w.b.pace.wait(ctx) {
		return false, nil
	}
	if time.Since(w.heldAt) < laneLease/4 {
		return true, nil
	}
	w.heldAt = time.Now()
	return w.b.o.Books.HoldLane(ctx, w.lane, w.t.holder, laneLease)
}

// finish keeps what a batch came to, also when ctx has ended meanwhile: what was sent was sent.
func (w *laneWork) finish(ctx context.Context, unsent []int64, done []billing.Closing, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishLimit)
	defer cancel()
	if len(unsent) > 0 {
		if e := w.b.o.Books.UnstampAttempts(ctx, w.lane.Tenant, unsent); err == nil {
			err = e
		}
	}
	if len(done) > 0 {
		if e := w.b.o.Books.RecordOutcomes(ctx, w.lane.Tenant, done); err == nil {
			err = e
		}
	}
	return err
}

// send makes one call. False: nothing is known, or the processor is busy, and the lane rests.
func (w *laneWork) send(ctx context.Context, p billing.Pending) (billing.Closing, bool) {
	// A call that was begun is waited for although the process is to end, as long as the processor's own deadline lets it: every restart
	// would else leave an event of which nobody knows whether it counts.
	r := w.t.processor.CreateMeterEvent(context.WithoutCancel(ctx), p.Intent.Event)
	w.run.Attempts++
	state, cause := billing.Judge(r)
	switch state {
	case billing.Confirmed:
		w.run.Confirmed++
	case billing.Parked:
		w.run.Parked++
		w.b.o.Logger.Error("the payment processor refuses an event for good; it is parked, see ledgerd bill park list", "tenant", w.lane.Tenant,
			"intent", p.Seq, "status", r.Status, "code", r.Code, "detail", r.Detail)
	default:
		w.run.Unresolved++
		w.b.o.Logger.Warn("the payment processor did not say whether it has an event; it is sent again", "tenant", w.lane.Tenant,
			"intent", p.Seq, "class", string(r.Class), "status", r.Status, "detail", r.Detail)
		w.last = r
		return billing.Closing{}, false
	}
	return billing.Closing{Outcome: p.Outcome(state, cause, r)}, true
}

// later keeps when an event whose answer says nothing is to be sent again. It returns false when the lane rests until then, too:
// the processor is busy, or several calls in a row got no answer. Half of the delay is drawn, so that lanes do not come back
// in step.
func (w *laneWork) later(ctx context.Context, p billing.Pending) (goOn bool, err error) {
	const patience = 3
	asked := w.last.RetryAfter
	d := billing.Delay(p.Attempts.Count, asked)
	next := w.b.o.Now().Add(max(asked, d/2+rand.N(d/2+1)))
	goOn = w.last.Class != billing.Busy && w.failures < patience
	if !goOn {
		w.b.pause(w.lane, next)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishLimit)
	defer cancel()
	return goOn, w.b.o.Books.NoteAttempt(ctx, w.lane.Tenant, p.Seq, next, time.Time{}, w.last.Detail)
}

func (w *laneWork) record(ctx context.Context, closings ...billing.Closing) error {
	return w.b.o.Books.RecordOutcomes(ctx, w.lane.Tenant, closings)
}

// replaceUnsent replaces an intent that was never sent, and can't be any more. Its page may have been read a while ago: it is read
// again under the lease, since an event that another process has sent meanwhile would count beside the replacement.
func (w *laneWork) replaceUnsent(ctx context.Context, p billing.Pending, c billing.Cause) (goOn bool, err error) {
	if held, err := w.hold(ctx); err != nil || !held {
		return false, err
	}
	if p, err = w.b.o.Books.Intent(ctx, w.lane.Tenant, p.Seq); err != nil {
		return false, err
	}
	if p.State != billing.Planned || p.Attempts.Count > 0 {
		return true, nil
	}
	return true, w.replace(ctx, p, c)
}

// replace lets another intent stand for one that never will count. The other is sent by the next pass.
func (w *laneWork) replace(ctx context.Context, p billing.Pending, c billing.Cause) error {
	done, err := w.b.replace(ctx, &w.t.Terms, p, c)
	if done {
		w.run.Replaced++
		w.run.More = true
	}
	return err
}

// replace closes an intent by another with today's terms. False: what it takes back does not fit into its period yet, and nothing
// was recorded.
func (b *Biller) replace(ctx context.Context, t *billing.Terms, p billing.Pending, c billing.Cause) (bool, error) {
	m, _ := t.Config.Of(p.Intent.Event.Customer) // a lane that is worked on is of a mapped customer
	i := billing.Replacement(p.Intent, p.Seq, t.Origin, t.Revision, t.Config, m, b.o.Now())
	closing := billing.Closing{Outcome: p.Outcome(billing.Replaced, c, billing.Reply{}), Replacement: &i}
	if err := b.o.Books.RecordOutcomes(ctx, t.Tenant, []billing.Closing{closing}); err != nil {
		return false, err
	}
	now, err := b.o.Books.Intent(ctx, t.Tenant, p.Seq)
	return now.State == billing.Replaced, err
}

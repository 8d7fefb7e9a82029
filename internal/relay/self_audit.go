package relay

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"ledgerd/internal/audit"
)

// Auditable is a log that is re-verified stretch by stretch. It keeps the places, so that a restart goes on where the last
// process was, and records what it finds. Its methods are safe for several processes at once; only the holder of the lease
// checks.
type Auditable interface {
	Hold(ctx context.Context, holder string, lease time.Duration) (bool, error)
	Release(ctx context.Context, holder string) error
	State(ctx context.Context) (audit.SelfAuditState, error)
	// BeginFull begins a pass over all that is recorded by now; NextFull checks its next entries, at most limit.
	BeginFull(ctx context.Context) error
	NextFull(ctx context.Context, limit int) (n int, news []audit.SelfAuditNews, err error)
	// NextSample checks the entries after those of the sample before; Sampled notes that a sample is over.
	NextSample(ctx context.Context, limit int) (n int, news []audit.SelfAuditNews, err error)
	Sampled(ctx context.Context) error
}

// SelfAuditOptions are a SelfAuditor's parts.
type SelfAuditOptions struct {
	Log         Auditable
	SampleEvery time.Duration // 0 for no samples
	Sample      int           // entries of a sample
	FullEvery   time.Duration // from the begin of one full pass to the next; 0 for none
	Rate        int           // entries a second at most
	Holder      string        // names this process among all
	Logger      *slog.Logger
	Poll        time.Duration // pause when nothing is due; 0 for defaultAuditPoll, or less where a pass is due more often
}

const (
	defaultAuditPoll = 5 * time.Second
	auditStretch     = 250 // entries checked at once
	// auditLease is longer than a stretch takes, however slow the database is.
	auditLease = time.Minute
)

// SelfAuditor is the loop that verifies what is recorded again, slowly. One goroutine runs it.
type SelfAuditor struct {
	o      SelfAuditOptions
	status atomic.Pointer[audit.SelfAuditState]
	left   int // entries of the sample under way
}

// NewSelfAuditor makes the loop, which checks nothing until Run.
func NewSelfAuditor(o SelfAuditOptions) *SelfAuditor {
	if o.Poll == 0 {
		o.Poll = defaultAuditPoll
		for _, every := range []time.Duration{o.SampleEvery, o.FullEvery} {
			if every > 0 {
				o.Poll = min(o.Poll, every)
			}
		}
	}
	a := &SelfAuditor{o: o}
	a.status.Store(&audit.SelfAuditState{})
	return a
}

// Status is how far the passes were when the loop last looked, whichever process makes them.
func (a *SelfAuditor) Status() audit.SelfAuditState { return *a.status.Load() }

// Run checks until ctx ends. Neither an error nor a database that is away ends it.
func (a *SelfAuditor) Run(ctx context.Context) {
	defer a.release(ctx)
	var wait backoff
	for ctx.Err() == nil {
		n, err := a.Step(ctx)
		if err != nil && ctx.Err() == nil {
			pause := wait.next()
			a.o.Logger.Warn("verifying the log again", "error", err, "retry_in", pause)
			sleep(ctx, pause)
			continue
		}
		wait.reset()
		sleep(ctx, a.pause(n))
	}
}

// pause keeps to the rate; when nothing was due it is Poll.
func (a *SelfAuditor) pause(n int) time.Duration {
	if n == 0 {
		return a.o.Poll
	}
	return time.Duration(n) * time.Second / time.Duration(max(a.o.Rate, 1))
}

func (a *SelfAuditor) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := a.o.Log.Release(ctx, a.o.Holder); err != nil {
		a.o.Logger.Debug("giving the lease back", "error", err) // it ends by itself
	}
}

// Step checks one stretch, if one is due and no other process does, and says how many entries it had.
func (a *SelfAuditor) Step(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, auditLease)
	defer cancel()
	state, err := a.o.Log.State(ctx)
	if err != nil {
		return 0, err
	}
	a.status.Store(&state)
	full, begin, sample := a.due(state)
	if !full && !begin && !sample {
		return 0, nil
	}
	if held, err := a.o.Log.Hold(ctx, a.o.Holder, auditLease); err != nil || !held {
		return 0, err
	}
	switch {
	case begin:
		return 0, a.o.Log.BeginFull(ctx)
	case full:
		n, news, err := a.o.Log.NextFull(ctx, a.stretch())
		a.tell(news)
		return n, err
	}
	return a.sample(ctx)
}

// due says what is to be done next: going on with a full pass, beginning one, or a sample.
func (a *SelfAuditor) due(s audit.SelfAuditState) (full, begin, sample bool) {
	full = a.o.FullEvery > 0 && s.FullNext < s.FullEnd
	begin = !full && a.o.FullEvery > 0 && s.SinceFullBegan >= a.o.FullEvery
	sample = !begin && a.o.SampleEvery > 0 && (a.left > 0 || s.SinceSample >= a.o.SampleEvery)
	return full && !sample, begin, sample
}

// sample checks one stretch of a sample, which also ends where the log does. A process that stops in it leaves the rest to
// the next sample.
func (a *SelfAuditor) sample(ctx context.Context) (int, error) {
	if a.left <= 0 {
		a.left = a.o.Sample
	}
	limit := min(a.left, a.stretch())
	n, news, err := a.o.Log.NextSample(ctx, limit)
	a.tell(news)
	if err != nil {
		return n, err
	}
	if a.left -= n; n < limit {
		a.left = 0
	}
	if a.left > 0 {
		return n, nil
	}
	return n, a.o.Log.Sampled(ctx)
}

// stretch is how many entries are checked at once: no more than the rate allows in a second, so that the pauses are short.
func (a *SelfAuditor) stretch() int { return min(auditStretch, max(a.o.Rate, 1)) }

func (a *SelfAuditor) tell(news []audit.SelfAuditNews) {
	for _, n := range news {
		switch {
		case n.Ended:
			a.o.Logger.Warn("an entry that did not verify does so again", "seq", n.Seq)
		case n.Unrecorded:
			a.o.Logger.Error("AN ENTRY OF THE LOG DOES NOT VERIFY, and the log is read-only, so no entry says so: look at GET /v1/entries/SEQ/verification and run ledgerd fsck", "seq", n.Seq, "failed", n.Failures)
		default:
			a.o.Logger.Error("AN ENTRY OF THE LOG DOES NOT VERIFY: look at GET /v1/entries/SEQ/verification and run ledgerd fsck", "seq", n.Seq, "failed", n.Failures)
		}
	}
}

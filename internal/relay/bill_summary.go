package relay

import (
	"context"
	"time"

	"ledgerd/metering/billing"
)

// moment is the minute that a timestamp lies in: the narrowest stretch that a summary can be asked for.
func moment(at time.Time) billing.Period {
	start := at.UTC().Truncate(time.Minute)
	return billing.Period{Start: start, End: start.Add(time.Minute)}
}

// askSummary finds out what became of an event that can't be sent again: what its minute holds, with and without it.
func (w *laneWork) askSummary(ctx context.Context, p billing.Pending) (goOn bool, err error) {
	if held, err := w.hold(ctx); err != nil || !held {
		return false, err
	}
	now := w.b.o.Now()
	minute := moment(p.Intent.Event.Timestamp)
	balance, err := w.b.o.Books.Moment(ctx, w.lane, minute)
	if err != nil {
		return false, err
	}
	settled := balance.LastConfirmed.Add(billing.SummaryLag)
	if own := p.Attempts.Last.Add(billing.SummaryLag); own.After(settled) {
		settled = own
	}
	if now.Before(settled) {
		return true, w.lookAgain(ctx, p, settled, p.Attempts.AbsentSince, "waiting for the summary to settle")
	}
	total, err := w.b.total(ctx, w.t.processor, w.lane, minute)
	if err != nil {
		w.run.Unresolved++
		return true, w.lookAgain(ctx, p, now.Add(billing.Delay(p.Attempts.Count, 0)), p.Attempts.AbsentSince, err.Error())
	}
	seen := billing.Unclear
	if total.exact {
		seen = billing.See(balance.Confirmed, p.Intent.Event.Value, total.tokens)
	}
	r := billing.Resolve(seen, p.Attempts, now)
	switch r.State {
	case billing.Planned:
		w.run.Unresolved++
		return true, w.lookAgain(ctx, p, r.Until, r.AbsentSince, "absent from the summary")
	case billing.Replaced:
		w.b.o.Logger.Warn("an event never arrived at the payment processor; another one stands for it", "tenant", w.lane.Tenant, "intent", p.Seq)
		return true, w.replace(ctx, p, r.Cause)
	case billing.Stopped:
		w.run.Stopped++
		w.b.o.Logger.Error("whether an event counts can't be told; nothing more is sent for this customer until somebody has looked, see ledgerd bill park list",
			"tenant", w.lane.Tenant, "customer", w.lane.Customer, "intent", p.Seq)
	default:
		w.run.Confirmed++
	}
	return r.State != billing.Stopped, w.record(ctx, billing.Closing{Outcome: p.Outcome(r.State, r.Cause, billing.Reply{})})
}

func (w *laneWork) lookAgain(ctx context.Context, p billing.Pending, at, absentSince time.Time, detail string) error {
	return w.b.o.Books.NoteAttempt(ctx, w.lane.Tenant, p.Seq, at, absentSince, detail)
}

// total is what the processor has of a lane in a stretch of time.
type total struct {
	tokens int64
	exact  bool // false: its floating-point sum does not tell a whole number of tokens
}

func (b *Biller) total(ctx context.Context, p Processor, l billing.Lane, of billing.Period) (total, error) {
	if !b.pace.wait(ctx) {
		return total{}, ctx.Err()
	}
	list, err := p.Summaries(ctx, billing.SummaryQuestion{MeterID: l.MeterID, Customer: l.Customer, From: of.Start, To: of.End})
	sum := total{exact: true}
	for _, s := range list {
		tokens, exact := s.Tokens()
		sum.tokens += tokens
		sum.exact = sum.exact && exact
	}
	return sum, err
}

package billing

import "time"

// Period is a half-open stretch of UTC time, of whole minutes: a billing period or a window.
type Period struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
}

// Contains says whether the instant lies in the period.
func (p Period) Contains(t time.Time) bool { return !t.Before(p.Start) && t.Before(p.End) }

// Equal says whether both are the same stretch.
func (p Period) Equal(o Period) bool { return p.Start.Equal(o.Start) && p.End.Equal(o.End) }

// PeriodAt is the monthly billing period that the instant lies in, given an anchor: an instant at which a period begins. Periods
// go on before the anchor as they do after it. Where a month does not have the anchor's day, its last day stands for it, and the
// next month has the anchor's day again (https://docs.stripe.com/billing/subscriptions/billing-cycle). Seconds of the
// anchor are dropped.
func PeriodAt(anchor, t time.Time) Period {
	anchor, t = anchor.UTC().Truncate(time.Minute), t.UTC()
	n := (t.Year()-anchor.Year())*12 + int(t.Month()) - int(anchor.Month())
	if t.Before(occurrence(anchor, n)) {
		n--
	}
	return Period{occurrence(anchor, n), occurrence(anchor, n+1)}
}

// occurrence is the anchor n months on.
func occurrence(anchor time.Time, n int) time.Time {
	first := time.Date(anchor.Year(), anchor.Month()+time.Month(n), 1, anchor.Hour(), anchor.Minute(), 0, 0, time.UTC)
	last := time.Date(first.Year(), first.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
	return first.AddDate(0, 0, min(anchor.Day(), last)-1)
}

// Length is what windows are cut into.
type Length string

// The lengths of windows, of UTC.
const (
	Hour Length = "hour"
	Day  Length = "day"
)

func (l Length) duration() time.Duration {
	if l == Day {
		return 24 * time.Hour
	}
	return time.Hour
}

// WindowAt is the window of a customer that the instant lies in: an hour or a day of UTC, or the part of it that lies in one
// billing period.
func (c Config) WindowAt(anchor, t time.Time) Period {
	start := t.UTC().Truncate(c.Window.duration())
	w := Period{start, start.Add(c.Window.duration())}
	p := PeriodAt(anchor, t)
	if w.Start.Before(p.Start) {
		w.Start = p.Start
	}
	if p.End.Before(w.End) {
		w.End = p.End
	}
	return w
}

// DeliveryMargin is how long before an invoice becomes final its period stops taking new events, so that what is planned
// last still arrives in time.
const DeliveryMargin = 5 * time.Minute

// Final says whether the invoice of the period is final at now, or so nearly that nothing can be added to it safely.
func (c Config) Final(p Period, now time.Time) bool {
	return !now.Before(p.End.Add(max(c.InvoiceGrace-DeliveryMargin, 0)))
}

// carriedTo is the timestamp of an event that is carried into the period open at now: the last second before now's minute,
// or the period's first.
func carriedTo(anchor, now time.Time) time.Time {
	open := PeriodAt(anchor, now)
	at := now.UTC().Truncate(time.Minute).Add(-time.Second)
	if at.Before(open.Start) {
		return open.Start
	}
	return at
}

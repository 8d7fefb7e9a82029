package billing

import (
	"cmp"
	"slices"
	"time"
)

// MaxAge is how far an event's timestamp may lie back: a day less than the payment processor takes, which leaves time to retry.
const MaxAge = 34 * 24 * time.Hour

// Reason is why a line is not planned.
type Reason string

// The reasons. A line waits for the first and the last two; it never leaves the others by itself.
const (
	WindowOpen  Reason = "window-open"          // its window is not over, or not yet by the settle time
	BeforeStart Reason = "before-start"         // it was used before the configured start
	NotCounted  Reason = "provider-not-counted" // the configuration does not bill its provider
	TooOld      Reason = "too-old"              // its window ended more than MaxAge ago: to be invoiced, or credited, by hand
	TooLarge    Reason = "too-large"            // its tokens have more than 15 digits
	Capped      Reason = "exceeds-period"       // it takes back more than its billing period is known to hold
	Unmapped    Reason = "unmapped"             // its customer is mapped to none of the payment processor's
)

// Waiting is a line that is not planned, and why.
type Waiting struct {
	Line
	Reason Reason
}

// Held is what a billing period is known to hold at the payment processor, in tokens, less what it was or will be told to take back.
type Held struct {
	Period Period
	Tokens int64
}

// Ask is what a plan is made from: unclaimed lines of one customer.
type Ask struct {
	Origin   string // of the log
	Revision int64  // of Config
	Config   Config
	Mapping  Mapping
	Lines    []Line
	Held     []Held // of the periods that Config.OpenPeriods lists; one that is absent holds nothing
	Now      time.Time
}

// PlannedFrom is an instant of which nothing earlier can be planned at now: it is too old, or from before the start. So what is too old
// is not read in each pass, and can't keep what is not from being read.
func (c Config) PlannedFrom(now time.Time) time.Time {
	if from := now.Add(-MaxAge - c.Window.duration()); from.After(c.Start) {
		return from
	}
	return c.Start
}

// Plan is what follows from an Ask: each of its lines is in one of the two lists, once.
type Plan struct {
	Intents []Intent
	Waiting []Waiting
}

// OpenPeriods are the customer's billing periods to which something may be added at now, the oldest first.
func (c Config) OpenPeriods(m Mapping, now time.Time) []Period {
	list := []Period{PeriodAt(m.BillingAnchor, now)}
	for {
		before := PeriodAt(m.BillingAnchor, list[0].Start.Add(-time.Minute))
		if c.Final(before, now) {
			return list
		}
		list = append([]Period{before}, list...)
	}
}

// comparedFor is how long after its end a period is still compared: until what went missing on its last day is known to be missing.
const comparedFor = AbsentFor + MaxSettle + 24*time.Hour

// ComparedPeriods are the customer's billing periods that are compared with the processor's totals, the oldest first: those that are open,
// and those that ended lately. What is found to be missing in the latter is carried.
func (c Config) ComparedPeriods(m Mapping, now time.Time) []Period {
	list := c.OpenPeriods(m, now)
	for {
		before := PeriodAt(m.BillingAnchor, list[0].Start.Add(-time.Minute))
		if !now.Before(before.End.Add(c.InvoiceGrace + comparedFor)) {
			return list
		}
		list = append([]Period{before}, list...)
	}
}

// Make plans. The same Ask gives the same plan, and the order of its lines means nothing.
func Make(a Ask) Plan {
	var p planner
	p.Ask, p.Held = a, slices.Clone(a.Held)
	windows := map[time.Time][]Line{}
	for _, l := range a.Lines {
		if reason := p.waits(l); reason != "" {
			p.plan.Waiting = append(p.plan.Waiting, Waiting{l, reason})
			continue
		}
		start := a.Config.WindowAt(a.Mapping.BillingAnchor, l.AsOf).Start
		windows[start] = append(windows[start], l)
	}
	starts := make([]time.Time, 0, len(windows))
	for start := range windows {
		starts = append(starts, start)
	}
	slices.SortFunc(starts, time.Time.Compare)
	for _, start := range starts {
		p.window(a.Config.WindowAt(a.Mapping.BillingAnchor, start), windows[start])
	}
	slices.SortFunc(p.plan.Waiting, func(a, b Waiting) int { return cmp.Or(a.AsOf.Compare(b.AsOf), compareLines(a.Line, b.Line)) })
	return p.plan
}

type planner struct {
	Ask
	plan Plan
}

// waits says why a line can't be planned now, "" when it can.
func (p *planner) waits(l Line) Reason {
	w := p.Config.WindowAt(p.Mapping.BillingAnchor, l.AsOf)
	switch {
	case l.AsOf.Before(p.Config.Start):
		return BeforeStart
	case !p.Config.Counts(l.ProviderID):
		return NotCounted
	case l.Tokens > MaxValue || l.Tokens < -MaxValue:
		return TooLarge
	case p.Now.Before(w.End.Add(p.Config.Settle)):
		return WindowOpen
	case w.End.Add(-time.Second).Before(p.Now.Add(-MaxAge)):
		return TooOld
	}
	return ""
}

// window plans the lines of one window. What adds comes before what takes back, so that an intent takes back only what
// the same one or its period holds.
func (p *planner) window(w Period, lines []Line) {
	slices.SortFunc(lines, func(a, b Line) int { return cmp.Or(boolCompare(a.Tokens < 0, b.Tokens < 0), compareLines(a, b)) })
	i := p.intent(w)
	part := part{providers: map[string]bool{}}
	for _, l := range lines {
		if !part.fits(l) {
			p.add(i, part)
			part.reset()
		}
		if l.Tokens < 0 && part.value+l.Tokens+p.held(i.Period) < 0 {
			p.plan.Waiting = append(p.plan.Waiting, Waiting{l, Capped})
			continue
		}
		part.take(l)
	}
	p.add(i, part)
}

// intent is what all intents of a window have in common.
func (p *planner) intent(w Period) Intent {
	i := Intent{Origin: p.Origin, Revision: p.Revision, MeterID: p.Config.MeterID, Window: w, Event: p.Config.event(p.Mapping)}
	i.Event.Timestamp, i.Period = p.Config.stamp(p.Mapping, w.End.Add(-time.Second), p.Now)
	return i
}

// event is the frozen part of a customer's events.
func (c Config) event(m Mapping) MeterEvent {
	return MeterEvent{EventName: c.EventName, CustomerKey: c.CustomerKey, Customer: m.Customer, ValueKey: c.ValueKey}
}

// stamp is the timestamp of an event that ought to have the given one, and the billing period that it counts in: carried into the
// open period when the invoice is final or the processor would not take it any more.
func (c Config) stamp(m Mapping, at, now time.Time) (time.Time, Period) {
	period := PeriodAt(m.BillingAnchor, at)
	if c.Final(period, now) || at.Before(now.Add(-MaxAge)) {
		at = carriedTo(m.BillingAnchor, now)
		period = PeriodAt(m.BillingAnchor, at)
	}
	return at, period
}

// add makes an intent of the lines that were taken, if there are any.
func (p *planner) add(i Intent, part part) {
	if len(part.claims) == 0 {
		return
	}
	i.Event.Value, i.Claims = part.value, slices.Clone(part.claims)
	if part.value < 0 {
		p.hold(i.Period, part.value)
	}
	p.plan.Intents = append(p.plan.Intents, i.sealed())
}

func (p *planner) held(period Period) int64 {
	for _, h := range p.Held {
		if h.Period.Equal(period) {
			return h.Tokens
		}
	}
	return 0
}

func (p *planner) hold(period Period, tokens int64) {
	for n := range p.Held {
		if p.Held[n].Period.Equal(period) {
			p.Held[n].Tokens += tokens
			return
		}
	}
}

// part is what one intent takes of a window.
type part struct {
	value     int64
	claims    []Claim
	bytes     int
	providers map[string]bool
}

// Bytes of JSON that a claim takes at most: seq and tokens with their punctuation, and once for each provider its name,
// whose quotes and backslashes are escaped.
const (
	claimBytes    = 40
	providerBytes = 40
)

func (p *part) cost(l Line) int {
	if p.providers[l.ProviderID] {
		return claimBytes
	}
	return claimBytes + providerBytes + 2*len(l.ProviderID)
}

// fits says whether a line can be taken beside those that were. An empty part takes any.
func (p *part) fits(l Line) bool {
	sum := p.value + l.Tokens // both have 15 digits at most
	return len(p.claims) == 0 || len(p.claims) < MaxClaims && p.bytes+p.cost(l) <= MaxClaimBytes && sum <= MaxValue && sum >= -MaxValue
}

func (p *part) take(l Line) {
	p.bytes += p.cost(l)
	p.providers[l.ProviderID] = true
	p.value += l.Tokens
	p.claims = append(p.claims, Claim{l.Seq, l.ProviderID, l.Tokens})
}

func (p *part) reset() {
	clear(p.providers)
	p.value, p.bytes, p.claims = 0, 0, p.claims[:0]
}

func compareLines(a, b Line) int {
	return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ProviderID, b.ProviderID))
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Replacement is the intent that stands for one that will never count: the same tokens under today's configuration,
// with a timestamp that can still be billed.
func Replacement(old Intent, oldSeq int64, origin string, revision int64, c Config, m Mapping, now time.Time) Intent {
	i := Intent{Origin: origin, Revision: revision, MeterID: c.MeterID, Window: old.Window, Event: c.event(m), Replaces: oldSeq}
	i.Event.Value = old.Event.Value
	i.Event.Timestamp, i.Period = c.stamp(m, old.Event.Timestamp, now)
	return i.sealed()
}

// Fits says whether a replacement may be recorded: what it takes back must be held by the period that it counts in, as for every
// intent. held is of that period, and counts the intent that it replaces if that is of the period too and not settled. What does not fit waits.
func Fits(replacement, old Intent, held int64) bool {
	if replacement.Event.Value >= 0 {
		return true
	}
	if old.Period.Equal(replacement.Period) {
		held -= old.Event.Value
	}
	return held+replacement.Event.Value >= 0
}

package billing

import "time"

// How long an identifier, and an absence, are relied on.
const (
	// RetryFor is how long after its first attempt an event is sent again under its identifier. The processor keeps identifiers
	// for at least 24 hours; later a retry could count twice.
	RetryFor = 20 * time.Hour
	// AbsentFor is how long an event must have been seen to be absent from the summaries before it is taken to be lost.
	AbsentFor = 24 * time.Hour
	// SummaryLag is how long after a delivery a summary may not show it yet.
	SummaryLag = time.Hour
	// MaxAhead is how far ahead of now a timestamp may lie. The processor takes five minutes.
	MaxAhead = 4 * time.Minute
)

// Attempts are the calls that were made for an intent.
type Attempts struct {
	Count       int
	First       time.Time // zero before the first
	Last        time.Time
	NextTry     time.Time // no call before it; zero for at once
	AbsentSince time.Time // when it was first seen to be absent, zero while it wasn't
}

// Action is what to do next about an intent.
type Action string

// The actions.
const (
	Send       Action = "send"        // tell the processor, with the identifier as the request's key
	Wait       Action = "wait"        // nothing, until the decision's time
	AskSummary Action = "ask-summary" // read the summary, and then Resolve
	Replace    Action = "replace"     // record it as replaced, and its Replacement, together
	Leave      Action = "leave"       // it is done, or a person must look
)

// Decision is what to do next about an intent.
type Decision struct {
	Action Action
	Until  time.Time // of Wait
	Cause  Cause     // of Replace
}

// Decide is the table of attempts: what to do about an intent in a state, after some attempts, at now.
func Decide(c Config, i Intent, s State, a Attempts, now time.Time) Decision {
	at := i.Event.Timestamp
	// From here on the event would no longer be billed, although it may be taken: on an invoice that is final, or not at all.
	closed := at.Before(now.Add(-MaxAge)) || c.Final(i.Period, now)
	switch {
	case s != Planned || !i.Sends():
		return Decision{Action: Leave}
	case now.Before(a.NextTry):
		return Decision{Action: Wait, Until: a.NextTry}
	case a.Count == 0 && closed:
		return Decision{Action: Replace, Cause: ByInvoice}
	case at.After(now.Add(MaxAhead)):
		return Decision{Action: Wait, Until: at.Add(-MaxAhead)}
	case a.Count == 0, now.Before(a.First.Add(RetryFor)) && !closed:
		return Decision{Action: Send}
	}
	return Decision{Action: AskSummary}
}

// Seen is what a summary says about events whose answer was lost.
type Seen string

// What a summary can say.
const (
	SeenAll  Seen = "all"     // all of them are in it
	SeenNone Seen = "none"    // none is in it
	Unclear  Seen = "unclear" // it is neither: nothing is done but to alert
)

// See compares a summary's total with what it would be without and with the unresolved events in its stretch of time, all in
// tokens. They must not add up to zero, or nothing can be told.
func See(confirmed, unresolved, total int64) Seen {
	with, ok := add(confirmed, unresolved, true)
	switch {
	case !ok || unresolved == 0:
		return Unclear
	case total == with:
		return SeenAll
	case total == confirmed:
		return SeenNone
	}
	return Unclear
}

// Resolution is what a summary means for an intent.
type Resolution struct {
	State State // Planned: nothing yet, look again after Until
	Cause Cause
	Until time.Time
	// AbsentSince is to be kept with the attempts.
	AbsentSince time.Time
}

// lookAgain is the pause between two looks at a summary.
const lookAgain = time.Hour

// Resolve decides about an intent that can't be sent again any more (Decide said AskSummary) by what a summary says.
func Resolve(seen Seen, a Attempts, now time.Time) Resolution {
	switch {
	case seen == SeenAll:
		return Resolution{State: Confirmed, Cause: BySummary}
	case seen == Unclear:
		return Resolution{State: Stopped, Cause: ByDoubt}
	case a.AbsentSince.IsZero():
		return Resolution{State: Planned, Until: now.Add(lookAgain), AbsentSince: now}
	case now.Before(a.AbsentSince.Add(AbsentFor)):
		return Resolution{State: Planned, Until: now.Add(lookAgain), AbsentSince: a.AbsentSince}
	}
	return Resolution{State: Replaced, Cause: ByAbsence, AbsentSince: a.AbsentSince}
}

// Delay is how long to wait after the given number of attempts, before jitter: from two seconds, doubling, up to a quarter of an
// hour, and never less than the processor asks, of which at most an hour is believed.
func Delay(attempts int, asked time.Duration) time.Duration {
	const first, most = 2 * time.Second, 15 * time.Minute
	d := most
	if attempts < 10 {
		d = min(most, first<<max(attempts-1, 0))
	}
	return max(d, min(asked, time.Hour))
}

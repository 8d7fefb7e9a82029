package metering

import (
	"time"

	"ledgerd/frames"
)

// How far a recorded report's as_of may be from the time at which it is recorded. Windows, partitions and billing depend
// on it.
const (
	// MaxAge is how long before, inclusive.
	MaxAge = 400 * 24 * time.Hour
	// MaxAhead is how long after, inclusive: a host's clock may be off.
	MaxAhead = 5 * time.Minute
)

// AsOfError says why a report's as_of can't be recorded. It does not repeat as_of.
type AsOfError struct {
	// Problem is one of AsOfMalformed, AsOfTooOld and AsOfAhead.
	Problem string
}

// What can be wrong with an as_of at the ledger's door.
const (
	AsOfMalformed = "as_of is not a protocol timestamp"
	AsOfTooOld    = "as_of is more than 400 days before the time of recording"
	AsOfAhead     = "as_of is more than 5 minutes after the time of recording"
)

// Pointer is the place, from the report's root.
func (e *AsOfError) Pointer() string { return "/as_of" }

func (e *AsOfError) Error() string { return "checking as_of: " + e.Problem }

// CheckAsOf is the rule of the ledger's door that the protocol does not have: as_of is a protocol timestamp within
// [recordedAt − MaxAge, recordedAt + MaxAhead]. It returns that instant; an error is an *AsOfError. The stateless verifier
// does not apply it.
func CheckAsOf(r UsageReport, recordedAt time.Time) (time.Time, error) {
	at, ok := frames.ParseInstant(r.AsOf)
	switch {
	case !ok:
		return time.Time{}, &AsOfError{AsOfMalformed}
	case at.Before(recordedAt.Add(-MaxAge)):
		return time.Time{}, &AsOfError{AsOfTooOld}
	case at.After(recordedAt.Add(MaxAhead)):
		return time.Time{}, &AsOfError{AsOfAhead}
	}
	return at, nil
}

package metering

import (
	"errors"
	"slices"
)

// ErrUnverified refuses a Verified that Verify did not make.
var ErrUnverified = errors.New("using a usage report: it was not verified")

// Verified is a report whose arithmetic holds. Only Verify makes one; the zero value is refused wherever it is used.
type Verified struct {
	report UsageReport
	ok     bool
}

// Verify checks a report and keeps a copy that later changes of r can't reach. The error is Check's.
func Verify(r UsageReport) (Verified, error) {
	if err := Check(r); err != nil {
		return Verified{}, err
	}
	return Verified{clone(r), true}, nil
}

// Report is a copy of what was verified, or ErrUnverified.
func (v Verified) Report() (UsageReport, error) {
	if !v.ok {
		return UsageReport{}, ErrUnverified
	}
	return clone(v.report), nil
}

func clone(r UsageReport) UsageReport {
	r.Providers = slices.Clone(r.Providers)
	for i := range r.Providers {
		r.Providers[i].ServedFrames = slices.Clone(r.Providers[i].ServedFrames)
	}
	r.unknownAt = slices.Clone(r.unknownAt)
	return r
}

// Event is what one request used of one provider: the row that is projected, summed and billed. Its numbers are signed,
// since a correction takes them back; see Negated.
type Event struct {
	// ProviderID is the host's key of the provider, unique among the events of one report.
	ProviderID string `json:"provider_id"`
	// FramesServed and FramesRejected are counts.
	FramesServed   int64 `json:"frames_served"`
	FramesRejected int64 `json:"frames_rejected"`
	// Tokens is the metered quantity.
	Tokens int64 `json:"tokens"`
	// AsOf is the report's snapshot time, as written.
	AsOf string `json:"as_of"`
	// Frames is the drill-down behind Tokens, in the report's order. It is evidence and never billed on its own.
	Frames []ServedFrame `json:"frames,omitempty"`
}

// Events turns a report into one event per provider, in order of the providers' first rows (context-reuse §2, the worked
// example). Rows of one provider are merged, since projection and billing claims are keyed by (entry, provider). A
// provider that served nothing has its event too: the query reached it. The tokens of all events add up to the report's
// budget_consumed. The error is ErrUnverified.
func Events(v Verified) ([]Event, error) {
	if !v.ok {
		return nil, ErrUnverified
	}
	events := make([]Event, 0, len(v.report.Providers))
	index := make(map[string]int, len(v.report.Providers))
	for _, p := range v.report.Providers {
		i, known := index[p.ProviderID]
		if !known {
			i = len(events)
			index[p.ProviderID] = i
			events = append(events, Event{ProviderID: p.ProviderID, AsOf: v.report.AsOf})
		}
		events[i].add(p)
	}
	return events, nil
}

// add can't overflow: in a verified row the cost is a sum of 32-bit costs of frames that are held in memory, 2^31 of which
// would be needed.
func (e *Event) add(p ProviderUsage) {
	e.FramesServed += int64(p.FramesServed)
	e.FramesRejected += int64(p.FramesRejected)
	e.Tokens += int64(p.TokenCost)
	e.Frames = append(e.Frames, p.ServedFrames...)
}

// Negated is the event that takes e back: the same identity and frames, opposite numbers.
func (e Event) Negated() Event {
	e.FramesServed, e.FramesRejected, e.Tokens = -e.FramesServed, -e.FramesRejected, -e.Tokens
	e.Frames = slices.Clone(e.Frames)
	return e
}

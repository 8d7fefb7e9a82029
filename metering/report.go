package metering

import (
	"time"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
)

// UsageReport is one request's roll-up as a host claims it (context-reuse §2). Nothing about it is checked yet: see Check
// and Verify.
type UsageReport struct {
	// BudgetRequested is the query's max_tokens, in tokens.
	BudgetRequested uint32 `json:"budget_requested"`
	// BudgetConsumed is the claimed sum of the token costs of all served frames, in tokens.
	BudgetConsumed uint64 `json:"budget_consumed"`
	// AsOf is when the host took this snapshot, as written. It need not be a timestamp: see AsOfInstant.
	AsOf string `json:"as_of"`
	// Providers has a row for each provider that the query reached, served or not.
	Providers []ProviderUsage `json:"providers,omitempty"`

	unknownAt []string // where unknown members stood in the document it was read from
}

// ProviderUsage is one provider's row.
type ProviderUsage struct {
	// ProviderID is the host's key of the provider.
	ProviderID string `json:"provider_id"`
	// FramesServed is the claimed number of accepted frames.
	FramesServed uint32 `json:"frames_served"`
	// FramesRejected counts frames that were offered and dropped; no sum depends on it.
	FramesRejected uint32 `json:"frames_rejected"`
	// TokenCost is the row's claimed part of BudgetConsumed, in tokens.
	TokenCost uint64 `json:"token_cost"`
	// ServedFrames itemises the accepted frames, in the provider's order.
	ServedFrames []ServedFrame `json:"served_frames,omitempty"`
}

// ServedFrame is a frame that was served and what it cost.
type ServedFrame struct {
	// Frame is the frame's identity; its provider should be the row's, which is not part of the identity check.
	Frame frames.FrameID `json:"frame"`
	// TokenCost is the frame's declared cost, in tokens.
	TokenCost uint32 `json:"token_cost"`
}

// ParseUsageReport reads a report that is the whole document. An error is a *strictjson.Error: the reference
// implementation would not read the document either, or it has a duplicate member.
func ParseUsageReport(src []byte) (UsageReport, error) {
	return strictjson.Parse(src, strictjson.Open, DecodeUsageReport)
}

// DecodeUsageReport reads a report where d stands, inside a larger document. Unknown members are accepted in it, whatever
// d's mode, and become findings. After an error of d the result means nothing.
func DecodeUsageReport(d *strictjson.Decoder) UsageReport {
	var r UsageReport
	r.unknownAt = d.Artifact(func() {
		d.Object(
			strictjson.Req("budget_requested", func() { r.BudgetRequested = d.Uint32() }),
			strictjson.Req("budget_consumed", func() { r.BudgetConsumed = d.Uint64() }),
			strictjson.Req("as_of", func() { r.AsOf = d.String() }),
			strictjson.Opt("providers", func() {
				d.Array(func(int) { r.Providers = append(r.Providers, decodeRow(d)) })
			}),
		)
	})
	return r
}

func decodeRow(d *strictjson.Decoder) ProviderUsage {
	var p ProviderUsage
	d.Object(
		strictjson.Req("provider_id", func() { p.ProviderID = d.String() }),
		strictjson.Req("frames_served", func() { p.FramesServed = d.Uint32() }),
		strictjson.Req("frames_rejected", func() { p.FramesRejected = d.Uint32() }),
		strictjson.Req("token_cost", func() { p.TokenCost = d.Uint64() }),
		strictjson.Opt("served_frames", func() {
			d.Array(func(int) { p.ServedFrames = append(p.ServedFrames, decodeServed(d)) })
		}),
	)
	return p
}

func decodeServed(d *strictjson.Decoder) ServedFrame {
	var s ServedFrame
	d.Object(
		strictjson.Req("frame", func() { s.Frame = frames.DecodeFrameID(d) }),
		strictjson.Req("token_cost", func() { s.TokenCost = d.Uint32() }),
	)
	return s
}

// WithinBudget says whether no more was consumed than requested. An honest report can be over: a flat fan-out gives every
// provider the whole budget. So this is a finding and no part of Check.
func (r UsageReport) WithinBudget() bool { return r.BudgetConsumed <= uint64(r.BudgetRequested) }

// AsOfInstant is AsOf as an instant, if it is a protocol timestamp (SPEC F4).
func (r UsageReport) AsOfInstant() (time.Time, bool) { return frames.ParseInstant(r.AsOf) }

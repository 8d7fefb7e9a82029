package audit

import (
	"time"

	"ledgerd/frames"
	"ledgerd/receipts"
	"ledgerd/receipts/air"
)

// What one question may read. Beyond it the answer is that the question covers too much, never a part of it.
const (
	MaxEgressLines   = 50_000 // usage lines
	MaxConsentEvents = 50_000 // grants, revocations and boolean consents

	// MaxLookBack is how many usage lines before a period findings are held against. It is a limit and not a refusal.
	MaxLookBack = 20_000
)

// EgressQuery is the auditor's question. From and To are instants of as_of, half-open; empty strings select all. Provider,
// customer and frame select what left; grantor and scope select lines by who agreed and to what.
type EgressQuery struct {
	From, To      time.Time
	ProviderID    string
	CustomerID    string
	FrameID       string
	ContentDigest string
	Grantor       string
	GrantorKind   string // human or policy
	Scope         string
	Size          int64 // entries from this seq on are left out
}

// UsageLine is one provider's part of a recorded usage report.
type UsageLine struct {
	Seq          int64 // of the usage-report entry
	RecordedAt   time.Time
	RequestID    string
	ProviderID   string
	AsOf         time.Time
	FramesServed int64
	Tokens       int64
	Frames       []ServedFrame // nil once erased
}

// ServedFrame is one served frame and its cost in tokens.
type ServedFrame struct {
	ID     frames.FrameID
	Tokens int64
}

// Grant is a recorded consent receipt.
type Grant struct {
	Seq        int64
	RecordedAt time.Time
	Receipt    receipts.ConsentReceipt
	Erased     bool // who agreed was erased
}

// Revocation is a recorded revocation of consent.
type Revocation struct {
	Seq        int64
	RecordedAt time.Time
	Event      receipts.Revocation
	Erased     bool // who revoked was erased
}

// Record is a recorded boolean consent.
type Record struct {
	Seq        int64
	RecordedAt time.Time
	Record     receipts.ConsentRecord
}

// Consents is what was recorded of consent, each list in order of seq.
type Consents struct {
	Grants      []Grant
	Revocations []Revocation
	Records     []Record
}

// Count is the number of events.
func (c Consents) Count() int { return len(c.Grants) + len(c.Revocations) + len(c.Records) }

// Declaration is a recorded declaration of a provider. DeclaredAt is its event's instant.
type Declaration struct {
	Seq        int64
	RecordedAt time.Time
	DeclaredAt time.Time
	Event      receipts.Declaration
}

// Exchange is what a recorded receipt bundle says about one exchange with a model, and what that does not prove.
type Exchange struct {
	Seq            int64
	ExchangedAt    time.Time
	RequestID      string
	EndpointHost   string
	ModelID        string
	Provider       string
	RetentionClass string
	WitnessMode    string
	Status         string
	Disclosures    []air.Disclosure // nil once erased
}

// Evidence is all that an egress question is answered from.
type Evidence struct {
	Usage        []UsageLine // in any order
	Consents     Consents
	Declarations []Declaration
	Exchanges    []Exchange
	Erased       Erased
}

// Erased counts entries of a question's period whose personal part was erased. They can't be found any more by the frame or
// the customer that they named, nor by the request that they belonged to, so an answer without them does not say that there
// was nothing.
type Erased struct {
	Reports   int `json:"reports" jsonschema:"usage reports that served frames; their sums still count, except in a question about a frame or a customer"`
	Exchanges int `json:"exchanges" jsonschema:"receipts, by the time of their exchange; no line shows them"`
}

// recordedBy says whether something was recorded by the instant of an egress. Hosts stamp whole seconds and the ledger
// microseconds: an instant in whole seconds names that second, so what was recorded within it is not held to be late.
func recordedBy(recorded, at time.Time) bool {
	if at.Nanosecond() == 0 {
		return recorded.Before(at.Add(time.Second))
	}
	return !recorded.After(at)
}

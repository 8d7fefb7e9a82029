package billing

import (
	"slices"
	"time"

	"ledgerd/internal/strictjson"
)

// State is what is known of an intent: that of its newest outcome.
type State string

// The states. Replaced is final, and so is Confirmed, unless the processor says later that the event did not count, or lacks it for
// AbsentFor.
const (
	Planned   State = "planned"   // without an outcome: it is still to be sent, or its answer was lost
	Confirmed State = "confirmed" // the processor has it
	Parked    State = "parked"    // the processor will never count it; a person must look, and retry it
	Stopped   State = "stopped"   // whether it counts can't be told; a person must look
	Replaced  State = "replaced"  // it does not count; another intent stands for it
	Settled   State = "settled"   // it adds up to zero: there is nothing to send. No outcome says so
)

// follows lists the states that an outcome may bring about.
var follows = map[State][]State{
	Planned:   {Confirmed, Parked, Stopped, Replaced},
	Confirmed: {Parked, Replaced},
	Parked:    {Confirmed, Replaced},
	Stopped:   {Confirmed, Parked, Replaced},
}

// CanFollow says whether an outcome may take an intent from one state to another.
func CanFollow(from, to State) bool { return slices.Contains(follows[from], to) }

// Open says whether something is still to be done about an intent in the state, by the ledger or by a person.
func (s State) Open() bool { return s == Planned || s == Parked || s == Stopped }

// Cause is why an intent changed its state.
type Cause string

// The causes.
const (
	ByDelivery   Cause = "delivered"          // confirmed: the processor took it
	ByIdentifier Cause = "already-exists"     // confirmed: the processor had it
	BySummary    Cause = "summary"            // confirmed: it is in the processor's summary
	ByPerson     Cause = "person"             // confirmed or replaced: somebody looked and said so
	ByRefusal    Cause = "rejected"           // parked: the processor refused it for good
	ByReport     Cause = "reported-not-count" // parked: the processor reported afterwards that it did not count
	ByDoubt      Cause = "unclear"            // stopped: the summary is neither what it is with it nor what it is without it
	ByAbsence    Cause = "missing"            // replaced: absent from the summary for AbsentFor
	ByInvoice    Cause = "invoice-final"      // replaced: never sent, and the invoice of its period is final
)

var causes = map[State][]Cause{
	Confirmed: {ByDelivery, ByIdentifier, BySummary, ByPerson},
	Parked:    {ByRefusal, ByReport},
	Stopped:   {ByDoubt},
	Replaced:  {ByPerson, ByAbsence, ByInvoice},
}

// Outcome is a change of an intent's state, as it is recorded.
type Outcome struct {
	Intent     int64  // seq
	Identifier string // of the intent
	Number     int    // 1 for an intent's first outcome
	State      State
	Cause      Cause
	Attempts   int        // calls until then
	FirstTry   *time.Time // of the first of them, nil for none
	Status     int        // of HTTP, 0 for none
	Code       string     // the processor's
	RequestID  string     // the processor's
	Detail     string     // for people, without secrets
}

// MaxDetail bounds the texts of an outcome, in bytes.
const MaxDetail = 512

// Judge is what an answer of the processor means for an intent: the state that it brings about and its cause. Planned where
// nothing is known yet: the same event is sent again, later.
func Judge(r Reply) (State, Cause) {
	switch r.Class {
	case Delivered:
		return Confirmed, ByDelivery
	case AlreadyExists:
		return Confirmed, ByIdentifier
	case Rejected:
		return Parked, ByRefusal
	}
	return Planned, ""
}

// Valid says whether the outcome is one that can be recorded.
func (o Outcome) Valid() bool {
	return o.Intent >= 0 && o.Number >= 1 && o.Attempts >= 0 && o.Status >= 0 && o.Status < 1000 && slices.Contains(causes[o.State], o.Cause)
}

type outcomeJSON struct {
	Intent     int64      `json:"intent"`
	Identifier string     `json:"identifier"`
	Number     int        `json:"number"`
	State      State      `json:"state"`
	Cause      Cause      `json:"cause"`
	Attempts   int        `json:"attempts"`
	FirstTry   *time.Time `json:"first_attempt_at"`
	Status     int        `json:"status"`
	Code       string     `json:"code"`
	RequestID  string     `json:"request_id"`
	Detail     string     `json:"detail"`
}

// JSON is the outcome as its entry holds it.
//
//	{"intent":17,"identifier":"led1_…","number":1,"state":"confirmed","cause":"delivered","attempts":2,
//	 "first_attempt_at":"2026-12-01T09:10:00Z","status":200,"code":"","request_id":"req_…","detail":""}
func (o Outcome) JSON() ([]byte, error) {
	out := outcomeJSON(o)
	if o.FirstTry != nil {
		first := o.FirstTry.UTC().Truncate(time.Second)
		out.FirstTry = &first
	}
	out.Code, out.RequestID, out.Detail = cut(o.Code), cut(o.RequestID), cut(o.Detail)
	return marshal(out)
}

// DecodeOutcome reads an outcome where d stands. After an error of d the result means nothing.
func DecodeOutcome(d *strictjson.Decoder) Outcome {
	var o Outcome
	text := func(to *string) func() {
		return func() {
			if *to = d.String(); len(*to) > MaxDetail {
				d.Fail(strictjson.RuleRange, "a text of an outcome has at most 512 bytes")
			}
		}
	}
	d.Object(
		strictjson.Req("intent", func() { o.Intent = decodeCount(d) }),
		strictjson.Req("identifier", text(&o.Identifier)),
		strictjson.Req("number", func() { o.Number = int(d.Uint32()) }),
		strictjson.Req("state", func() { o.State = State(d.String()) }),
		strictjson.Req("cause", func() { o.Cause = Cause(d.String()) }),
		strictjson.Req("attempts", func() { o.Attempts = int(d.Uint32()) }),
		strictjson.Req("first_attempt_at", func() {
			if !d.Null() {
				first := decodeInstant(d)
				o.FirstTry = &first
			}
		}),
		strictjson.Req("status", func() { o.Status = int(d.Uint32()) }),
		strictjson.Req("code", text(&o.Code)),
		strictjson.Req("request_id", text(&o.RequestID)),
		strictjson.Req("detail", text(&o.Detail)),
	)
	if !d.Failed() && !o.Valid() {
		d.Fail(strictjson.RuleValue, "no outcome has this state and cause")
	}
	return o
}

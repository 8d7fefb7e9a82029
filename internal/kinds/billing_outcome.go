package kinds

import (
	"strconv"
	"time"

	"ledgerd/internal/strictjson"
	"ledgerd/ledger"
	"ledgerd/metering/billing"
)

// BillingOutcome is what became known of an intent. Only the server appends it. The key is the intent's identifier and the
// outcome's number among those of the intent, so that of two who go on from one state only one is heard.
var BillingOutcome = Kind{
	Name:     "billing-outcome",
	Core:     "the state and its cause are ones that an intent can come to",
	Unjudged: "what the payment processor answered",
	ReadBy:   []Role{Billing, Admin},
	MaxBytes: 16 << 10,
	Tables:   []*Table{&billingOutcomes},
	check:    checkBillingOutcome,
	project:  projectBillingOutcome,
	refers:   referencesOfOutcome,
}

var billingOutcomes = Table{Name: "billing_outcomes", Columns: []Column{{Name: "intent_seq"}, {Name: "number"}, {Name: "state"}, {Name: "cause"}}}

// NewBillingOutcome makes an outcome ready to append.
func NewBillingOutcome(o billing.Outcome) (*Accepted, error) {
	raw, err := o.JSON()
	if err != nil {
		return nil, err
	}
	return BillingOutcome.Accept(Submission{Artifact: raw}, Env{})
}

func checkBillingOutcome(s Submission, _ Env) (*Accepted, error) {
	p, err := readOutcome(s)
	if err != nil {
		return nil, err
	}
	return plainContext(s, p)
}

func projectBillingOutcome(c ledger.Content) (Projection, error) { return readOutcome(recorded(c)) }

func readOutcome(s Submission) (Projection, error) {
	o, err := parseOutcome(s)
	if err != nil {
		return Projection{}, err
	}
	rows := []Rows{{Table: &billingOutcomes, Values: [][]any{{o.Intent, int32(o.Number), string(o.State), string(o.Cause)}}}}
	return Projection{Key: o.Identifier + "/" + strconv.Itoa(o.Number), Rows: rows}, nil
}

func parseOutcome(s Submission) (billing.Outcome, error) {
	if err := noContext(s); err != nil {
		return billing.Outcome{}, err
	}
	d := strictjson.NewDecoder(s.Artifact, strictjson.Closed)
	o := billing.DecodeOutcome(d)
	return o, finish(d, s.ArtifactAt)
}

// RecordedOutcome is an outcome and its entry.
type RecordedOutcome struct {
	Seq        int64
	RecordedAt time.Time
	billing.Outcome
}

// ReadBillingOutcome reads a recorded outcome from its entry. ErrStored when it is none.
func ReadBillingOutcome(e ledger.Entry) (billing.Outcome, error) {
	c, err := ledger.ParseContent(e.Content)
	if err != nil {
		return billing.Outcome{}, Unreadable(e.Seq, err)
	}
	o, err := parseOutcome(recorded(c))
	return o, Unreadable(e.Seq, err)
}

package audit

import (
	"errors"
	"slices"
	"time"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
	"ledgerd/receipts"
)

// livenessCase is {"receipt":…,"now":…,"live":…,"live_by_instant":…}. The verdict is the reference's byte comparison.
type livenessCase struct {
	receipt             receipts.ConsentReceipt
	now                 string
	live, liveByInstant bool
}

func decodeLivenessCase(d *strictjson.Decoder) livenessCase {
	var c livenessCase
	d.Object(
		strictjson.Req("receipt", func() { c.receipt = receipts.DecodeConsentReceipt(d) }),
		strictjson.Req("now", func() { c.now = d.String() }),
		strictjson.Req("live", func() { c.live = d.Bool() }),
		strictjson.Req("live_by_instant", func() { c.liveByInstant = d.Bool() }),
	)
	return c
}

var errNotLive = errors.New("the receipt is not live")

func (c livenessCase) judge() judgement {
	live, findings := c.receipt.LivenessAt(c.now)
	var err error
	if !live.Reference {
		err = errNotLive
	}
	j := checked(err, findings)
	j.expect(live.Reference == c.live, "live differs")
	j.expect(live.Instant == c.liveByInstant, "live_by_instant differs")
	return j
}

// gateCase is one question to the gate, with the decision by presence and the decision at now. The verdict is the one by
// presence.
type gateCase struct {
	providerID   string
	provider     receipts.ProviderInfo
	store        receipts.ConsentStore
	now          time.Time
	expected     decision
	expectedLive decision
}

type decision struct {
	outcome receipts.Outcome
	missing []receipts.EgressScope
}

func decodeGateCase(d *strictjson.Decoder) *gateCase {
	c := &gateCase{}
	d.Object(
		strictjson.Req("provider_id", func() { c.providerID = d.String() }),
		strictjson.Req("provider", func() { c.provider = receipts.DecodeProviderInfo(d) }),
		strictjson.Req("records", func() {
			d.Array(func(int) { c.store.Record(receipts.DecodeConsentRecord(d)) })
		}),
		strictjson.Req("receipts", func() {
			d.Array(func(int) { c.store.RecordReceipt(receipts.DecodeConsentReceipt(d)) })
		}),
		strictjson.Req("expected", func() { c.expected = decodeDecision(d) }),
		strictjson.Req("now", func() { c.now = decodeNow(d) }),
		strictjson.Req("expected_with_expiry", func() { c.expectedLive = decodeDecision(d) }),
	)
	return c
}

func decodeNow(d *strictjson.Decoder) time.Time {
	t, ok := frames.ParseRFC3339(d.String())
	if !ok {
		d.Fail(strictjson.RuleValue, "an RFC 3339 timestamp is required")
	}
	return t
}

func decodeDecision(d *strictjson.Decoder) decision {
	var e decision
	d.Object(
		strictjson.Req("decision", func() { e.outcome = receipts.Outcome(d.String()) }),
		strictjson.Opt("missing", func() {
			d.Array(func(int) { e.missing = append(e.missing, receipts.EgressScope(d.String())) })
		}),
	)
	return e
}

func (e decision) is(got receipts.Decision) bool {
	return got.Outcome() == e.outcome && slices.Equal(got.Missing(), e.missing)
}

func (c *gateCase) judge() judgement {
	byPresence := c.store.Evaluate(c.providerID, c.provider)
	atNow := c.store.EvaluateAt(c.providerID, c.provider, c.now)
	j := checked(byPresence.Err(), c.store.FindingsAt(c.providerID, c.provider, c.now))
	j.expect(c.expected.is(byPresence), "expected differs: "+describeDecision(byPresence))
	j.expect(c.expectedLive.is(atNow), "expected_with_expiry differs: "+describeDecision(atNow))
	return j
}

func describeDecision(d receipts.Decision) string {
	s := string(d.Outcome())
	for _, scope := range d.Missing() {
		s += " " + string(scope)
	}
	return s
}

package billing

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"ledgerd/internal/strictjson"
)

// Bounds of an intent, so that its entry stays well below 1 MiB.
const (
	MaxClaims     = 5_000
	MaxClaimBytes = 768 << 10 // of the claims as JSON, estimated from above
)

// Line is what one entry used of one provider of a customer: what is claimed whole, or not at all.
type Line struct {
	Seq        int64 // of the entry: a usage report or a correction
	ProviderID string
	AsOf       time.Time
	Tokens     int64 // negative where a correction takes back
}

// Claim says that an intent bills a line.
type Claim struct {
	Seq        int64
	ProviderID string
	Tokens     int64
}

// Intent is what a payment processor is to be told, frozen, with the lines that it is made of.
type Intent struct {
	Origin   string // of the log: which ledger says so
	Revision int64  // of the configuration that it was planned under
	MeterID  string
	Event    MeterEvent // its identifier is Identify's
	Window   Period     // of the usage
	Period   Period     // billing period of the event's timestamp
	Claims   []Claim    // by provider and seq; none where Replaces is set
	Replaces int64      // seq of an intent that will never count, whose claims this one stands for; 0 for none
}

// Carried says that the event counts in a later billing period than its usage, since the invoice of the usage's own was
// final.
func (i Intent) Carried() bool { return !i.Period.Contains(i.Window.Start) }

// Sends says whether there is anything to tell. An intent of zero tokens only claims.
func (i Intent) Sends() bool { return i.Event.Value != 0 }

// identifierPrefix names the version of what Identify hashes.
const identifierPrefix = "led1_"

// Identify is the intent's identifier: at most MaxIdentifier characters, a digest of everything in it. It changes when anything
// does; whoever plans the same intent gets the same.
func (i Intent) Identify() string {
	h := sha256.New()
	number := func(n int64) { _ = binary.Write(h, binary.BigEndian, n) } // a hash takes everything
	text := func(s string) {
		number(int64(len(s)))
		h.Write([]byte(s))
	}
	e := i.Event
	for _, s := range []string{"ledgerd/billing-intent/v1", i.Origin, i.MeterID, e.EventName, e.CustomerKey, e.Customer, e.ValueKey} {
		text(s)
	}
	for _, n := range []int64{i.Revision, e.Value, e.Timestamp.Unix(), i.Window.Start.Unix(), i.Window.End.Unix(), i.Period.Start.Unix(), i.Period.End.Unix(), i.Replaces} {
		number(n)
	}
	for _, c := range i.Claims {
		text(c.ProviderID)
		number(c.Seq)
		number(c.Tokens)
	}
	return identifierPrefix + hex.EncodeToString(h.Sum(nil))
}

// sealed is the intent in its one order, with its identifier.
func (i Intent) sealed() Intent {
	slices.SortFunc(i.Claims, compareClaims)
	i.Event.Identifier = i.Identify()
	return i
}

func compareClaims(a, b Claim) int {
	return cmp.Or(cmp.Compare(a.ProviderID, b.ProviderID), cmp.Compare(a.Seq, b.Seq))
}

// ErrIntent says that an intent does not hold together, and so was never planned.
var ErrIntent = errors.New("checking a billing intent: it does not hold together")

// Check demands what every planned intent has: an identifier that is its own, claims in order that add up to the value, a
// timestamp in its period, and bounds kept.
func (i Intent) Check() error {
	sum, ok := int64(0), true
	for n, c := range i.Claims {
		ok = ok && (n == 0 || compareClaims(i.Claims[n-1], c) < 0) && c.Tokens != 0
		sum, ok = add(sum, c.Tokens, ok)
	}
	replacing := i.Replaces != 0
	if !ok || replacing == (len(i.Claims) > 0) || !replacing && sum != i.Event.Value || len(i.Claims) > MaxClaims ||
		i.Event.Value > MaxValue || i.Event.Value < -MaxValue || replacing && !i.Sends() ||
		!i.Period.Contains(i.Event.Timestamp) || !i.Window.Start.Before(i.Window.End) || i.Event.Identifier != i.Identify() {
		return ErrIntent
	}
	return nil
}

// add is an overflow-checked sum.
func add(a, b int64, ok bool) (int64, bool) {
	sum := a + b
	return sum, ok && (sum > a) == (b > 0)
}

// The JSON form of an intent: see Intent.JSON.
type (
	intentJSON struct {
		Origin         string          `json:"origin"`
		ConfigRevision int64           `json:"config_revision"`
		MeterID        string          `json:"meter_id"`
		Identifier     string          `json:"identifier"`
		Event          eventJSON       `json:"event"`
		Window         Period          `json:"window"`
		Period         Period          `json:"billing_period"`
		Claims         []providerClaim `json:"claims"`
		Replaces       *int64          `json:"replaces,omitzero"`
	}
	eventJSON struct {
		EventName      string    `json:"event_name"`
		CustomerKey    string    `json:"customer_key"`
		StripeCustomer string    `json:"stripe_customer"`
		ValueKey       string    `json:"value_key"`
		Value          int64     `json:"value"`
		Timestamp      time.Time `json:"timestamp"`
	}
	providerClaim struct {
		ProviderID string     `json:"provider_id"`
		Usage      [][2]int64 `json:"usage"` // seq and tokens
	}
)

// JSON is the intent as its entry holds it. Claims are grouped by provider: what an intent of 5,000 lines repeats, it says once.
//
//	{"origin":"…","config_revision":1,"meter_id":"mtr_…","identifier":"led1_…","event":{"event_name":"…","customer_key":"…",
//	 "stripe_customer":"cus_…","value_key":"value","value":403,"timestamp":"2026-12-01T08:59:59Z"},"window":{"start":"…","end":"…"},
//	 "billing_period":{"start":"…","end":"…"},"claims":[{"provider_id":"north-llm","usage":[[17,311],[18,92]]}],"replaces":16?}
func (i Intent) JSON() ([]byte, error) {
	e := i.Event
	out := intentJSON{
		Origin: i.Origin, ConfigRevision: i.Revision, MeterID: i.MeterID, Identifier: e.Identifier, Window: i.Window, Period: i.Period, Claims: []providerClaim{},
		Event: eventJSON{e.EventName, e.CustomerKey, e.Customer, e.ValueKey, e.Value, e.Timestamp},
	}
	if i.Replaces != 0 {
		out.Replaces = &i.Replaces
	}
	for n, c := range i.Claims {
		if n == 0 || i.Claims[n-1].ProviderID != c.ProviderID {
			out.Claims = append(out.Claims, providerClaim{ProviderID: c.ProviderID})
		}
		last := &out.Claims[len(out.Claims)-1]
		last.Usage = append(last.Usage, [2]int64{c.Seq, c.Tokens})
	}
	return marshal(out)
}

// DecodeIntent reads an intent where d stands. Use Check afterwards. After an error of d the result means nothing.
func DecodeIntent(d *strictjson.Decoder) Intent {
	var i Intent
	d.Object(
		strictjson.Req("origin", func() { i.Origin = d.String() }),
		strictjson.Req("config_revision", func() { i.Revision = decodeCount(d) }),
		strictjson.Req("meter_id", func() { i.MeterID = d.String() }),
		strictjson.Req("identifier", func() { i.Event.Identifier = d.String() }),
		strictjson.Req("event", func() { decodeEvent(d, &i.Event) }),
		strictjson.Req("window", func() { i.Window = decodePeriod(d) }),
		strictjson.Req("billing_period", func() { i.Period = decodePeriod(d) }),
		strictjson.Req("claims", func() { d.Array(func(int) { i.Claims = decodeClaims(d, i.Claims) }) }),
		strictjson.Opt("replaces", func() { i.Replaces = decodeCount(d) }),
	)
	return i
}

func decodeEvent(d *strictjson.Decoder, e *MeterEvent) {
	d.Object(
		strictjson.Req("event_name", func() { e.EventName = d.String() }),
		strictjson.Req("customer_key", func() { e.CustomerKey = d.String() }),
		strictjson.Req("stripe_customer", func() { e.Customer = d.String() }),
		strictjson.Req("value_key", func() { e.ValueKey = d.String() }),
		strictjson.Req("value", func() { e.Value = decodeTokens(d) }),
		strictjson.Req("timestamp", func() { e.Timestamp = decodeInstant(d) }),
	)
}

func decodePeriod(d *strictjson.Decoder) Period {
	var p Period
	d.Object(
		strictjson.Req("start", func() { p.Start = decodeMinute(d) }),
		strictjson.Req("end", func() { p.End = decodeMinute(d) }),
	)
	return p
}

func decodeClaims(d *strictjson.Decoder, claims []Claim) []Claim {
	var provider string
	from := len(claims)
	d.Object(
		strictjson.Req("provider_id", func() { provider = d.String() }),
		strictjson.Req("usage", func() {
			d.Array(func(int) {
				var pair [2]int64
				n := 0
				d.Array(func(at int) {
					switch n++; at {
					case 0:
						pair[0] = decodeCount(d)
					case 1:
						pair[1] = decodeTokens(d)
					default:
						d.Skip()
					}
				})
				if n != 2 {
					d.Fail(strictjson.RuleRange, "a claim is a pair of seq and tokens")
				}
				claims = append(claims, Claim{Seq: pair[0], Tokens: pair[1]})
			})
		}),
	)
	for n := from; n < len(claims); n++ {
		claims[n].ProviderID = provider
	}
	return claims
}

func decodeCount(d *strictjson.Decoder) int64 { return int64(d.Uint64() & strictjson.MaxInteger) }

// decodeTokens reads a signed integer literal.
func decodeTokens(d *strictjson.Decoder) int64 { return d.Int64() }

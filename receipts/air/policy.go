package air

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// MaxSkewSeconds is the largest max_future_skew_seconds (seed §5.6).
	MaxSkewSeconds = 86400
	// MaxPins bounds trusted_key_refs.
	MaxPins = 4096
)

// ErrPolicy is wrapped by every error about a malformed policy (R120).
var ErrPolicy = errors.New("malformed verification policy (" + string(R120) + ")")

// Policy is what the relying party trusts, and the instant at which it judges (seed §5.6). It comes from the caller's
// configuration, never from the bundle. It is immutable; ParsePolicy and NewPolicy make one, and Verify takes the zero
// Policy for a malformed one.
type Policy struct {
	pins        []string // sorted
	verifiedAt  int64    // Unix seconds
	skew        int64    // seconds
	operator    string
	hasOperator bool
	made        bool
}

// PolicyFields are the parts of a policy.
type PolicyFields struct {
	// MaxFutureSkewSeconds is 0 to 86400.
	MaxFutureSkewSeconds int
	// TrustedKeyRefs pins keys by KeyRef. Order and repetition mean nothing.
	TrustedKeyRefs []string
	// VerifiedAt is the instant of evaluation, in whole seconds: a policy is recorded to the second, and must judge the
	// same when it is read back.
	VerifiedAt time.Time
	// IssuerOperator is the operator of the receipt's issuer, "" when the caller can't say (profile v1.1).
	IssuerOperator string
}

// NewPolicy makes a policy, or returns an error that wraps ErrPolicy.
func NewPolicy(f PolicyFields) (*Policy, error) {
	p := &Policy{
		pins: slices.Clone(f.TrustedKeyRefs), verifiedAt: f.VerifiedAt.Unix(), skew: int64(f.MaxFutureSkewSeconds),
		operator: f.IssuerOperator, hasOperator: f.IssuerOperator != "", made: true,
	}
	switch year := f.VerifiedAt.UTC().Year(); {
	case f.VerifiedAt.Nanosecond() != 0 || year < 0 || year > 9999:
		return nil, fmt.Errorf("verified_at is not a whole second of the years 0 to 9999: %w", ErrPolicy)
	case p.skew < 0 || p.skew > MaxSkewSeconds:
		return nil, fmt.Errorf("max_future_skew_seconds is not from 0 to 86400: %w", ErrPolicy)
	case len(p.pins) > MaxPins || slices.ContainsFunc(p.pins, func(s string) bool { return !isKeyRef(s) }):
		return nil, fmt.Errorf("trusted_key_refs are not at most 4096 key references: %w", ErrPolicy)
	case p.hasOperator && !isIdentifier(p.operator):
		return nil, fmt.Errorf("issuer_operator is not an identifier: %w", ErrPolicy)
	}
	p.sortPins()
	return p, nil
}

// ParsePolicy reads the closed policy object of seed §5.6, as strictly as a bundle. Its error wraps ErrPolicy and is a
// *PolicyError with the places that are wrong.
func ParsePolicy(src []byte) (*Policy, error) {
	p, faults := parsePolicy(src)
	if faults != nil {
		return nil, &PolicyError{Findings: faults}
	}
	return p, nil
}

// PolicyError says where a policy is malformed, in at least one finding. Like every finding it names no value of the
// document.
type PolicyError struct{ Findings []Finding }

func (e *PolicyError) Error() string {
	return fmt.Sprintf("%v at %q", ErrPolicy, e.Findings[0].Path)
}

// Unwrap returns ErrPolicy.
func (e *PolicyError) Unwrap() error { return ErrPolicy }

func parsePolicy(src []byte) (*Policy, []Finding) {
	if len(src) > MaxBundleBytes {
		return nil, []Finding{finding(R120, "")}
	}
	d := newDecoder(src)
	p := d.policy()
	if !d.stopped {
		d.finish()
	}
	if len(d.found) > 0 {
		for i := range d.found { // the syntax of a policy is its own rule, not the bundle's
			d.found[i] = finding(R120, d.found[i].Path)
		}
		return nil, d.found
	}
	p.sortPins()
	return p, nil
}

func (d *decoder) policy() *Policy {
	p := &Policy{made: true}
	o := d.object(R120)
	for o.next() {
		switch o.name {
		case "max_future_skew_seconds":
			n := d.number()
			p.skew = n.n
			d.demand(n.upTo(MaxSkewSeconds))
		case "trusted_key_refs":
			d.each(R120, MaxPins, func() {
				t := d.text()
				p.pins = append(p.pins, t.s)
				d.demand(t.is(isKeyRef))
			})
		case "verified_at":
			t := d.text()
			seconds, ok := parseTimestamp(t.s)
			p.verifiedAt = seconds
			d.demand(t.ok && ok)
		case "issuer_operator": // optional
			o.known--
			t := d.text()
			p.operator, p.hasOperator = t.s, true
			d.demand(t.is(isIdentifier))
		default:
			o.unknown()
		}
	}
	o.close(3)
	return p
}

// demand notes a malformed policy member at the current place.
func (d *decoder) demand(ok bool) {
	if !ok {
		d.note(R120)
	}
}

func (p *Policy) sortPins() {
	slices.Sort(p.pins)
	p.pins = slices.Compact(p.pins)
}

// Trusts says whether the policy pins the key reference.
func (p *Policy) Trusts(keyRef string) bool {
	_, ok := slices.BinarySearch(p.pins, keyRef)
	return ok
}

// latest is the last instant that a receipt or appraisal may bear, in Unix seconds.
func (p *Policy) latest() int64 { return p.verifiedAt + p.skew }

// VerifiedAt is the instant of evaluation, in UTC.
func (p *Policy) VerifiedAt() time.Time { return time.Unix(p.verifiedAt, 0).UTC() }

// IssuerOperator is the operator of the receipt's issuer, and false when the policy has none.
func (p *Policy) IssuerOperator() (string, bool) { return p.operator, p.hasOperator }

// MarshalJSON writes the policy so that ParsePolicy reads the same policy back: members in order, pins sorted.
func (p *Policy) MarshalJSON() ([]byte, error) {
	if !p.made {
		return nil, ErrPolicy
	}
	pins := p.pins
	if pins == nil {
		pins = []string{}
	}
	return json.Marshal(struct {
		IssuerOperator string   `json:"issuer_operator,omitempty"`
		Skew           int64    `json:"max_future_skew_seconds"`
		Pins           []string `json:"trusted_key_refs"`
		VerifiedAt     string   `json:"verified_at"`
	}{p.operator, p.skew, pins, p.VerifiedAt().Format(time.RFC3339)})
}

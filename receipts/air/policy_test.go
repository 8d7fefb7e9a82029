package air

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestPolicyRoundTrip holds that a recorded policy judges like the one that was used.
func TestPolicyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := PolicyFields{
			MaxFutureSkewSeconds: rapid.IntRange(0, MaxSkewSeconds).Draw(t, "skew"),
			VerifiedAt:           time.Unix(rapid.Int64Range(-62167219200, 253402300799).Draw(t, "at"), 0),
			IssuerOperator:       rapid.StringMatching(`([A-Za-z0-9][A-Za-z0-9._:/-]{0,20})?`).Draw(t, "operator"),
			TrustedKeyRefs:       rapid.SliceOfN(rapid.StringMatching(`ed25519:sha256:[a-f0-9]{64}`), 0, 4).Draw(t, "pins"),
		}
		p, err := NewPolicy(f)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParsePolicy(b)
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		for _, ref := range f.TrustedKeyRefs {
			if !back.Trusts(ref) {
				t.Fatalf("%s lost a pin", b)
			}
		}
		operator, known := back.IssuerOperator()
		if !back.VerifiedAt().Equal(f.VerifiedAt) || back.latest() != p.latest() || operator != f.IssuerOperator || known != (operator != "") {
			t.Fatalf("%s reads back as %+v", b, back)
		}
	})
}

func TestPolicyRefused(t *testing.T) {
	good := pinEverything()
	for name, change := range map[string]func(*PolicyFields){
		"negative skew": func(f *PolicyFields) { f.MaxFutureSkewSeconds = -1 },
		"long skew":     func(f *PolicyFields) { f.MaxFutureSkewSeconds = MaxSkewSeconds + 1 },
		"pin":           func(f *PolicyFields) { f.TrustedKeyRefs = []string{"ed25519:sha256:00"} },
		"many pins":     func(f *PolicyFields) { f.TrustedKeyRefs = make([]string, MaxPins+1) },
		"fraction":      func(f *PolicyFields) { f.VerifiedAt = f.VerifiedAt.Add(1) },
		"year":          func(f *PolicyFields) { f.VerifiedAt = f.VerifiedAt.AddDate(9000, 0, 0) },
		"operator":      func(f *PolicyFields) { f.IssuerOperator = "a b" },
	} {
		f := good
		change(&f)
		if p, err := NewPolicy(f); p != nil || !errors.Is(err, ErrPolicy) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
	for _, src := range []string{"", "null", "[]", "{", `{"a":1,"a":2}`, strings.Repeat(" ", MaxBundleBytes+1)} {
		p, err := ParsePolicy([]byte(src))
		var detail *PolicyError
		if p != nil || !errors.Is(err, ErrPolicy) || !errors.As(err, &detail) || len(detail.Findings) == 0 || err.Error() == "" || detail.Findings[0].Rule != R120 {
			t.Errorf("%.20q: %v, %v", src, p, err)
		}
	}
	if _, err := json.Marshal(&Policy{}); !errors.Is(err, ErrPolicy) {
		t.Errorf("the zero policy marshals: %v", err)
	}
}

// TestZeroPolicy holds that a policy nobody made is a malformed one, not an absent one.
func TestZeroPolicy(t *testing.T) {
	bundle := must(fixture(ProviderSigns, "openai").JSON())
	if r := Verify(bundle, &Policy{}); r.Status != Invalid || r.Errors[0] != finding(R120, "") {
		t.Errorf("zero policy: %s %v", r.Status, r.Errors)
	}
	for _, absent := range []string{"", "null", " null\n"} {
		if r := VerifyJSON(bundle, []byte(absent)); r.Status != Indeterminate || r.Indeterminate[0] != finding(R120, "") {
			t.Errorf("%q: %s %v", absent, r.Status, r.Indeterminate)
		}
	}
}

package air

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func pinEverything() PolicyFields {
	return PolicyFields{
		TrustedKeyRefs: []string{refFor(providerKey), refFor(notaryKeyA), refFor(notaryKeyB), refFor(appraiserKey)},
		VerifiedAt:     time.Date(2026, 9, 4, 12, 5, 0, 0, time.UTC),
	}
}

// TestClaims checks what a verified and an unverified receipt hand on, and that an invalid bundle hands on nothing.
func TestClaims(t *testing.T) {
	b := fixture(MPCTLS, "anthropic")
	src := must(b.JSON())
	r := Verify(src, must(NewPolicy(pinEverything())))
	receipt, ok := r.ProviderReceipt()
	want := Claims{
		Profile: ProfileV1, ReceiptID: "air1_mpc-tls", ReceiptDigest: must(b.Receipt.Digest()),
		RequestDigest: digestOf("request"), ResponseDigest: digestOf("response"),
		Endpoint: "https://api.anthropic.com/v1/exchange", EndpointHost: "api.anthropic.com", ModelID: "anthropic/fixture-model",
		Provider: "anthropic", RetentionClass: "anthropic-covered-model-30d", Timestamp: time.Date(2026, 9, 4, 12, 0, 0, 0, time.UTC),
		WitnessMode: MPCTLS, TrustModel: ModelThreshold, TerminatingParty: "provider",
	}
	if !ok || receipt.IsZero() || receipt.Claims() != want {
		t.Errorf("verified claims %+v, want %+v", receipt.Claims(), want)
	}
	if _, ok := r.UnverifiedReceipt(); ok {
		t.Error("a valid bundle hands on an unverified receipt")
	}
	r = Verify(src, nil)
	if u, ok := r.UnverifiedReceipt(); !ok || u.Claims() != want {
		t.Errorf("unverified claims %+v, want %+v", u.Claims(), want)
	}
	if receipt, ok := r.ProviderReceipt(); ok || !receipt.IsZero() {
		t.Error("an indeterminate bundle hands on a verified receipt")
	}
	if _, ok := (Result{}).ProviderReceipt(); ok {
		t.Error("the zero Result hands on a receipt")
	}
}

// TestTypesStayApart holds seed §7.1: no conversion leads from one of these types to another.
func TestTypesStayApart(t *testing.T) {
	types := []reflect.Type{reflect.TypeFor[ProviderReceipt](), reflect.TypeFor[UnverifiedReceipt](),
		reflect.TypeFor[SessionRecordRef](), reflect.TypeFor[Claims](), reflect.TypeFor[Receipt]()}
	for _, a := range types {
		for _, b := range types {
			if a != b && a.ConvertibleTo(b) {
				t.Errorf("%v converts to %v", a, b)
			}
		}
	}
	if ref, ok := ParseSessionRecordRef(digestOf("session")); !ok || ref.Digest() != digestOf("session") {
		t.Error("a digest names no session record")
	}
	if _, ok := ParseSessionRecordRef("air1_fixture"); ok {
		t.Error("a receipt id names a session record")
	}
}

// TestUnreadable separates what is no bundle from a bundle that breaks a rule.
func TestUnreadable(t *testing.T) {
	for _, v := range committed(t).all() {
		want := v.Rule == R001 || v.Rule == R002
		if got := v.verify().Unreadable(); got != want {
			t.Errorf("%s: unreadable %v, want %v", v.ID, got, want)
		}
	}
}

// TestFindingsEchoNothing marks every string and name that a sender can choose and looks for the mark in the result.
func TestFindingsEchoNothing(t *testing.T) {
	for _, v := range committed(t).all() {
		r := v.verify()
		for _, f := range slices.Concat(r.Errors, r.Indeterminate) {
			for _, name := range strings.Split(f.Path, "/")[1:] {
				if strings.Trim(name, "0123456789") != "" && !slices.Contains(knownNames(), name) {
					t.Errorf("%s: path %q has the name %q", v.ID, f.Path, name)
				}
			}
		}
	}
	const mark = "c0ffee-mark"
	for _, src := range []string{
		`{"` + mark + `":1}`, `{"receipt":{"` + mark + `":{"` + mark + `":1,"` + mark + `":2}}}`,
		`{"` + mark + `":{"x":[}`, `{"verification_keys":[{"key_ref":"` + mark + `","` + mark + `":[` + strings.Repeat("0,", 5000) + `0]}]}`,
		`{"proofs":{"ots":{"` + mark + `":` + strings.Repeat("[", 50) + `}}}`, `{"profile":"` + mark + `"}`,
	} {
		if b := must(json.Marshal(Verify([]byte(src), nil))); strings.Contains(string(b), mark) {
			t.Errorf("%s is echoed: %s", src, b)
		}
	}
}

func knownNames() []string {
	var names []string
	var walk func(any)
	walk = func(tree any) {
		switch tree := tree.(type) {
		case map[string]any:
			for name, v := range tree {
				names = append(names, name)
				walk(v)
			}
		case []any:
			for _, v := range tree {
				walk(v)
			}
		}
	}
	full := fixture(TEE, "openai")
	tee := full.Proofs.TEEQuote
	full = fixture(MPCTLS, "openai")
	quorum := full.Proofs.NotaryQuorum
	full.Proofs = auxiliaries(digestOf("any"))
	full.Proofs.TEEQuote, full.Proofs.NotaryQuorum = tee, quorum
	full.Proofs.ProviderSignature = &ProviderSignature{}
	walk(treeOf(full))
	walk(fixturePolicy())
	return append(names, "issuer_operator")
}

// TestPaths pins the exact places of some findings.
func TestPaths(t *testing.T) {
	all := committed(t).all()
	for _, c := range []struct{ id, path string }{
		{"top-level-unknown", ""},
		{"unreadable-duplicate", ""},
		{"unreadable-duplicate-nested", "/receipt"},
		{"receipt-unknown", "/receipt"},
		{"trust-notary-unknown", "/receipt/trust_statement/notaries/0"},
		{"request-digest-1", "/receipt/request_digest"},
		{"notaries-17", "/receipt/trust_statement/notaries"},
		{"signatures-17", "/proofs/notary_quorum/signatures"},
		{"keys-33", "/verification_keys"},
		{"key-of-another", "/verification_keys/0/key_ref"},
		{"pins-provider", "/proofs/provider_signature/key_ref"},
		{"policy-skew-86401", "/max_future_skew_seconds"},
		{"policy-pin-malformed", "/trusted_key_refs/0"},
		{"inclusion-operator-same-1", "/proofs/multi_operator_inclusion/entries/1/operator"},
	} {
		i := slices.IndexFunc(all, func(v vector) bool { return v.ID == c.id })
		if i < 0 {
			t.Errorf("no vector %s", c.id)
			continue
		}
		r := all[i].verify()
		if got := slices.Concat(r.Errors, r.Indeterminate)[0].Path; got != c.path {
			t.Errorf("%s: path %q, want %q", c.id, got, c.path)
		}
	}
}

// TestRuleMessages demands one distinct fixed text for every rule.
func TestRuleMessages(t *testing.T) {
	seen := map[string]Rule{"": "no rule"}
	for _, r := range append(Rules(), CodeIssuerUnknown) {
		if other, ok := seen[r.Message()]; ok {
			t.Errorf("%s has the message of %s", r, other)
		}
		seen[r.Message()] = r
	}
	if !slices.IsSorted(Rules()) {
		t.Error("rules are not in rule order")
	}
}

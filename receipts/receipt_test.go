package receipts

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"ledgerd/frames"
	"ledgerd/internal/strictjson"
)

const worked = `{"provider_id":"north-llm","scope":"third-party-model","provider_name":"North LLM gateway","provider_version":"4.2.0",` +
	`"grantor":{"kind":"human","id":"maria@north.example"},"granted_at":"2031-01-10T08:00:00Z","expires_at":"2031-07-10T08:00:00Z"}`

func edit(t *testing.T, src, old, by string) string {
	t.Helper()
	s := strings.Replace(src, old, by, 1)
	if s == src {
		t.Fatalf("%q is not in %s", old, src)
	}
	return s
}

func receipt(t *testing.T, src string) ConsentReceipt {
	t.Helper()
	r, err := ParseConsentReceipt([]byte(src))
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return r
}

func instant(t *testing.T, s string) time.Time {
	t.Helper()
	at, ok := frames.ParseInstant(s)
	if !ok {
		t.Fatalf("%s is no instant", s)
	}
	return at
}

func TestScopes(t *testing.T) {
	for _, tt := range []struct {
		scope                     EgressScope
		valid, offMachine, schema bool
	}{
		{LocalOnly, true, false, true}, {OrgTenant, true, true, true}, {ThirdPartyIndex, true, true, true}, {ThirdPartyModel, true, true, true},
		{"northco:eu-vault", true, true, true}, {"a:b:c", true, true, true}, {"a:b:", true, true, true}, {"third-party-model:eu", true, true, true},
		{"local-only:x", true, true, true}, {"a::b", true, true, false}, {"a::", true, true, false},
		{"a:", false, true, true}, {":b", false, true, true}, {":", false, true, true}, {"::", false, true, true}, {"", false, true, true}, {"foo", false, true, true},
		{"LOCAL-ONLY", false, true, true}, {"local_only", false, true, true}, {"local-only ", false, true, true},
	} {
		s := tt.scope
		if s.IsValid() != tt.valid || s.IsOffMachine() != tt.offMachine || s.schemaDisagrees() == tt.schema {
			t.Errorf("%q: valid %v, off-machine %v, schema disagrees %v", s, s.IsValid(), s.IsOffMachine(), s.schemaDisagrees())
		}
		r := receipt(t, worked)
		r.Scope = s
		if (r.Check() == nil) != tt.valid {
			t.Errorf("a receipt for %q: %v", s, r.Check())
		}
	}
}

func TestReceiptKeepsEveryMember(t *testing.T) {
	for _, src := range []string{worked, edit(t, worked, `,"expires_at":"2031-07-10T08:00:00Z"`, ``)} {
		out, err := json.Marshal(receipt(t, src))
		if err != nil || string(out) != src {
			t.Errorf("written back: %s, %v", out, err)
		}
	}
	if r := receipt(t, edit(t, worked, `"2031-07-10T08:00:00Z"`, `null`)); r.ExpiresAt != nil {
		t.Error("a null expiry is one")
	}
}

func TestReceiptRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		old, new, pointer string
		rule              strictjson.Rule
	}{
		"grantor kind":     {`"human"`, `"robot"`, "/grantor/kind", strictjson.RuleValue},
		"grantor case":     {`"human"`, `"Human"`, "/grantor/kind", strictjson.RuleValue},
		"grantor string":   {`{"kind":"human","id":"maria@north.example"}`, `"maria"`, "/grantor", strictjson.RuleType},
		"grantor array":    {`{"kind":"human","id":"maria@north.example"}`, `["human","maria"]`, "/grantor", strictjson.RuleType},
		"grantor id null":  {`"maria@north.example"`, `null`, "/grantor/id", strictjson.RuleNull},
		"grantor id gone":  {`,"id":"maria@north.example"`, ``, "/grantor", strictjson.RuleMissing},
		"scope number":     {`"third-party-model"`, `3`, "/scope", strictjson.RuleType},
		"scope null":       {`"third-party-model"`, `null`, "/scope", strictjson.RuleNull},
		"no granted_at":    {`"granted_at":"2031-01-10T08:00:00Z",`, ``, "", strictjson.RuleMissing},
		"null granted_at":  {`"2031-01-10T08:00:00Z"`, `null`, "/granted_at", strictjson.RuleNull},
		"expires_at twice": {`"expires_at"`, `"expires_at":null,"expires_at"`, "", strictjson.RuleDuplicate},
		"expiry a number":  {`"2031-07-10T08:00:00Z"`, `0`, "/expires_at", strictjson.RuleType},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseConsentReceipt([]byte(edit(t, worked, tt.old, tt.new)))
			var e *strictjson.Error
			if !errors.As(err, &e) || e.Rule != tt.rule || e.Pointer != tt.pointer {
				t.Errorf("got %v, want %s at %q", err, tt.rule, tt.pointer)
			}
		})
	}
}

func TestReceiptFindings(t *testing.T) {
	for name, tt := range map[string]struct {
		old, new string
		want     []frames.Finding
	}{
		"none":                           {`4.2.0`, `4.2.1`, nil},
		"unknown members":                {`"id":"maria@north.example"}`, `"id":"maria@north.example","via":"sso"},"ticket":1`, []frames.Finding{{Code: frames.UnknownMember, Pointer: "/grantor", Document: "SPEC U1"}, {Code: frames.UnknownMember, Pointer: "", Document: "SPEC U1"}}},
		"empty id":                       {`"north-llm"`, `""`, []frames.Finding{{Code: frames.EmptyID, Pointer: "/provider_id"}}},
		"empty grantor":                  {`"maria@north.example"`, `""`, []frames.Finding{{Code: EmptyGrantorID, Pointer: "/grantor/id"}}},
		"schema":                         {`third-party-model`, `a::b`, []frames.Finding{{Code: SchemaDisagrees, Pointer: "/scope", Document: "SPEC U3"}}},
		"lower t":                        {`2031-01-10T`, `2031-01-10t`, []frames.Finding{{Code: GrantedAtNotF4, Pointer: "/granted_at", Document: "SPEC F4"}}},
		"offset":                         {`2031-07-10T08:00:00Z`, `2031-07-10T08:00:00+00:00`, []frames.Finding{{Code: ExpiresAtNotF4, Pointer: "/expires_at", Document: "SPEC F4"}}},
		"fraction":                       {`2031-07-10T08:00:00Z`, `2031-07-10T08:00:00.5Z`, []frames.Finding{{Code: FractionalBreaksByteCompare, Pointer: "/expires_at", Document: "SPEC F4"}}},
		"at once":                        {`2031-07-10T08:00:00Z`, `2031-01-10T08:00:00Z`, []frames.Finding{{Code: ExpiresNotAfterGranted, Pointer: "/expires_at"}}},
		"offset expiry before the grant": {`2031-07-10T08:00:00Z`, `2031-01-10T09:00:00+02:00`, []frames.Finding{{Code: ExpiresAtNotF4, Pointer: "/expires_at", Document: "SPEC F4"}, {Code: ExpiresNotAfterGranted, Pointer: "/expires_at"}}},
		"no time":                        {`2031-07-10T08:00:00Z`, ``, []frames.Finding{{Code: ExpiresAtNotF4, Pointer: "/expires_at", Document: "SPEC F4"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := receipt(t, edit(t, worked, tt.old, tt.new)).Findings(); !slices.Equal(got, tt.want) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestLiveness(t *testing.T) {
	for _, tt := range []struct {
		granted, expires, now string
		reference, instant    bool
	}{
		{"2031-01-10T08:00:00Z", "2031-07-10T08:00:00Z", "2031-07-10T07:59:59Z", true, true},
		{"2031-01-10T08:00:00Z", "2031-07-10T08:00:00Z", "2031-07-10T08:00:00Z", false, false},
		{"2031-01-10T08:00:00Z", "2031-07-10T08:00:00Z", "2031-07-10T08:00:00.5Z", true, false},
		{"2031-01-10T08:00:00Z", "2031-07-10T08:00:00.5Z", "2031-07-10T08:00:00Z", false, true},
		{"2031-01-10T08:00:00Z", "2031-07-10T10:00:00+02:00", "2031-07-10T09:00:00Z", true, false},
		{"2031-01-10T08:00:00Z", "2031-07-10T10:00:00+02:00", "2031-07-10T07:00:00Z", true, true},
		{"2031-01-10T08:00:00Z", "2031-07-10T08:00:00z", "2031-07-10T08:00:00Z", true, false},
		{"2031-01-10T08:00:00Z", "", "2031-07-10T08:00:00Z", false, false},
		{"2031-01-10T08:00:00Z", "never", "2031-07-10T08:00:00Z", true, false},
		{"2031-01-10T08:00:00Z", "2031-06-30T23:59:60Z", "2031-06-30T23:59:59.999Z", true, true},
		{"2031-01-10T08:00:00Z", "2031-06-30T23:59:60Z", "2031-06-30T23:59:60Z", false, false},
		{"2031-01-10T08:00:00Z", "-", "2031-01-10T07:59:59Z", true, false}, // before the grant
		{"2031-01-10T08:00:00Z", "-", "2031-01-10T08:00:00Z", true, true},  // at the grant
		{"2031-01-10T08:00:00Z", "-", "9999-12-31T23:59:59Z", true, true},
		{"some day", "-", "2031-01-10T08:00:00Z", true, false},
		{"2031-01-10T08:00:00Z", "-", "tomorrow", true, false},
	} {
		r := ConsentReceipt{GrantedAt: tt.granted, ExpiresAt: &tt.expires}
		if tt.expires == "-" {
			r.ExpiresAt = nil
		}
		live, findings := r.LivenessAt(tt.now)
		if live.Reference != tt.reference || live.Instant != tt.instant || (len(findings) == 1) != (tt.reference != tt.instant) {
			t.Errorf("%+v: got %+v, %v", tt, live, findings)
		}
	}
}

func FuzzParseConsentReceipt(f *testing.F) {
	f.Add([]byte(worked), "2031-07-10T08:00:00Z")
	f.Fuzz(func(t *testing.T, src []byte, now string) {
		r, err := ParseConsentReceipt(src)
		if err != nil {
			return
		}
		r.Findings()
		live, _ := r.LivenessAt(now)
		if at, ok := frames.ParseRFC3339(now); ok && live.Instant != r.IsLive(at) {
			t.Errorf("two answers at %s: %s", now, src)
		}
		out, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if again := receipt(t, string(out)); again.Scope != r.Scope || again.Grantor != r.Grantor || (again.Check() == nil) != (r.Check() == nil) {
			t.Errorf("another receipt after a round trip: %s", out)
		}
	})
}

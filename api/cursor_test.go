package api_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"ledgerd/internal/kinds"
)

// A cursor is not a secret, and somebody will try other numbers: what the log never had is refused, not echoed.
func TestForgedCursorsAreRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	key := signingKey("k")
	for i := range 3 {
		s.as(t, kinds.Host, "POST", "/v1/consent-receipts", consent, "Idempotency-Key", fmt.Sprint(i))
		s.postBundle(t, bundle(t, fmt.Sprint(i), "q", key, nil))
	}
	for _, path := range []string{"/v1/entries", "/v1/receipt-bundles"} {
		var page struct {
			Next string `json:"next_cursor"`
			Size int64  `json:"tree_size"`
		}
		s.as(t, kinds.Auditor, "GET", path+"?limit=1", "").into(t, &page)
		for name, change := range map[string]map[string]any{
			"a place beyond its tree":         {"a": page.Size},
			"the last place there is":         {"a": int64(math.MaxInt64)},
			"the last place of the last tree": {"a": int64(math.MaxInt64 - 1), "s": int64(math.MaxInt64)},
			"a place before the log":          {"a": -1},
			"a tree that is not there yet":    {"s": page.Size + 1},
			"a tree that will never be":       {"s": int64(1) << 62},
			"an empty tree":                   {"s": 0},
			"a negative tree":                 {"s": -1},
			"a fraction":                      {"a": 0.5},
			"a string":                        {"a": "0"},
		} {
			s.refusesCursor(t, path, forged(t, page.Next, change), name)
		}
		again := s.as(t, kinds.Auditor, "GET", path+"?limit=1&cursor="+forged(t, page.Next, nil), "")
		if again.status != http.StatusOK {
			t.Errorf("%s: the genuine cursor: %d %s", path, again.status, again.body)
		}
	}
}

func TestForgedPlacesOfTokensAndTenantsAreRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	tomorrow := time.Now().Add(24 * time.Hour).UnixMicro()
	for _, cursor := range []string{"9223372036854775807.tok_x", fmt.Sprintf("%d.tok_x", tomorrow), "-1.tok_x", "+1.tok_x", "01.tok_x", "1", ".tok_x", "1.a\x00b", "1.\xff"} {
		s.refusesCursor(t, "/v1/tokens", cursor, "forged")
	}
	for _, cursor := range []string{"a\x00b", "\xff", strings.Repeat("x", 600)} {
		s.refusesCursor(t, "/v1/tenants", cursor, "forged")
	}
	if got := s.as(t, kinds.Admin, "GET", "/v1/tokens?cursor=0.tok_x", ""); got.status != http.StatusOK {
		t.Errorf("a place before all tokens: %d %s", got.status, got.body)
	}
}

func (s *service) refusesCursor(t *testing.T, path, cursor, name string) {
	t.Helper()
	role := map[string]kinds.Role{"/v1/tokens": kinds.Admin, "/v1/tenants": kinds.Operator}[path]
	if role == "" {
		role = kinds.Auditor
	}
	got := s.as(t, role, "GET", path+"?cursor="+url.QueryEscape(cursor), "")
	if got.status != http.StatusBadRequest {
		t.Errorf("%s, %s (%q): %d %s", path, name, cursor, got.status, got.body)
		return
	}
	if p := got.problem(t); p.Code != "invalid-parameter" || p.Param != "cursor" {
		t.Errorf("%s, %s (%q): %+v", path, name, cursor, p)
	}
}

// Of two faulty filters the same is named each time.
func TestFaultyFiltersAreNamedInOrder(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for path, want := range map[string]string{
		"/v1/receipt-bundles?receipt_id=&model=":                                            "model",
		"/v1/usage?" + yearOf("group_by", "provider", "provider_id", "", "customer_id", ""): "customer_id",
		"/v1/audit/egress?" + yearOf("scope", "", "customer_id", ""):                        "customer_id",
		"/v1/consents?scope=&grantor=":                                                      "grantor",
	} {
		for range 8 {
			if got := s.as(t, kinds.Auditor, "GET", path, ""); got.status != http.StatusBadRequest || got.problem(t).Param != want {
				t.Fatalf("%s: %d %s", path, got.status, got.body)
			}
		}
	}
}

// forged is a cursor with other members.
func forged(t *testing.T, genuine string, change map[string]any) string {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(genuine)
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]any{}
	if err := json.Unmarshal(raw, &members); err != nil {
		t.Fatal(err)
	}
	for name, v := range change {
		members[name] = v
	}
	if raw, err = json.Marshal(members); err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Nothing has a second address.
func TestNumbersHaveOneSpelling(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.postBundle(t, bundle(t, "r", "q", signingKey("k"), nil))
	for _, path := range []string{"/v1/entries/%s", "/v1/receipt-bundles/%s", "/v1/receipt-bundles/%s/verification", "/v1/entries/%s/proof"} {
		for _, text := range []string{"+0", "00", "-0", "0x0", "0.0", "%20", "9223372036854775808", "٠"} {
			got := s.as(t, kinds.Auditor, "GET", fmt.Sprintf(path, text), "")
			if got.status != http.StatusBadRequest || got.problem(t).Param != "seq" {
				t.Errorf(path+": %d %s", text, got.status, got.body)
			}
		}
	}
	for _, question := range []string{"/v1/entries?limit=%2B5", "/v1/entries?limit=05", "/v1/receipt-bundles/0/verification?policy=00", "/v1/entries/0/proof?size=01"} {
		if got := s.as(t, kinds.Auditor, "GET", question, ""); got.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", question, got.status, got.body)
		}
	}
}

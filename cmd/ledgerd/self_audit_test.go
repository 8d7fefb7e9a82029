package main

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/devstack/pgtest"
	"ledgerd/internal/kinds"
)

// ask sends a request and returns its answer.
func (s *realService) ask(t *testing.T, method, path, token, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(raw)
}

// until polls an answer until it holds, for 30 seconds at most.
func (s *realService) until(t *testing.T, path, token string, holds func(string) bool) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		_, body := s.ask(t, http.MethodGet, path, token, "")
		if holds(body) {
			return body
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			t.Fatalf("%s still answers %s", path, body)
		}
	}
}

// counter reads a metric; 0 before it is there.
func counter(body, name string) float64 {
	for line := range strings.Lines(body) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err == nil {
				return n
			}
		}
	}
	return 0
}

// The running service finds what was changed behind its back, says it in an entry and in its metrics, and goes on after a
// restart without saying it again.
func TestServeAuditsItself(t *testing.T) {
	t.Parallel()
	cluster := pgtest.NewCluster(t)
	s := newRealService(t, cluster.AdminURL("postgres"))
	s.more = []string{"LEDGERD_SELF_AUDIT_EVERY=0", "LEDGERD_SELF_AUDIT_FULL=100ms", "LEDGERD_SELF_AUDIT_RATE=5000"}
	s.start(t)
	host, auditor, operator := s.Tokens[kinds.Host], s.Tokens[kinds.Auditor], s.Tokens[kinds.Operator]
	for _, scope := range []string{"third-party-model", "org-tenant"} {
		if status, body := s.ask(t, http.MethodPost, "/v1/consent-receipts", host, `{"provider_id":"p","scope":"`+scope+`","provider_name":"P","provider_version":"1",`+
			`"grantor":{"kind":"human","id":"maria"},"granted_at":"2026-01-10T08:00:00Z"}`); status != http.StatusCreated {
			t.Fatal(body)
		}
	}
	metric := regexp.MustCompile(`(?m)^ledgerd_self_audit_failing_entries (\d+)$`)
	failing := func(want string) func(string) bool {
		return func(body string) bool {
			m := metric.FindStringSubmatch(body)
			return m != nil && m[1] == want && !strings.Contains(body, "ledgerd_self_audit_full_pass_age_seconds -1")
		}
	}
	s.until(t, "/metrics", operator, failing("0"))
	admin, err := pgx.Connect(t.Context(), cluster.AdminURL("ledger"))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(t.Context())
	if _, err := admin.Exec(t.Context(), `ALTER TABLE ledger.consents DISABLE TRIGGER USER; UPDATE ledger.consents SET scope = 'local-only' WHERE seq = 1`); err != nil {
		t.Fatal(err)
	}
	s.until(t, "/metrics", operator, failing("1"))
	list := s.until(t, "/v1/entries?kind=reverification", auditor, func(body string) bool { return strings.Contains(body, `"of_seq":1`) })
	if !strings.Contains(list, `"result":"failed"`) || !strings.Contains(list, `"check":"projection"`) {
		t.Error(list)
	}
	var passes float64
	s.stop(t)
	s.start(t)
	s.until(t, "/metrics", operator, func(body string) bool {
		now := counter(body, "ledgerd_self_audit_entries_total")
		if passes == 0 {
			passes = now
		}
		return passes > 0 && now > passes+6 // at least one more pass
	})
	if status, body := s.ask(t, http.MethodGet, "/v1/entries?kind=reverification", auditor, ""); status != http.StatusOK || strings.Count(body, `"cause":"self-audit"`) != 1 {
		t.Errorf("it is not recorded once: %s", body)
	}
	s.stop(t)
}

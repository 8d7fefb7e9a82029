package api_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"ledgerd/api"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
)

// openIncarnation opens the next log, as a drill.
func (s *service) openIncarnation(t *testing.T) {
	t.Helper()
	head, err := s.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, keys := ledgertest.NewKeys(t, postgres.IncarnationOrigin(head.Origin, 1))
	_, err = s.Store.OpenIncarnation(t.Context(), postgres.OpenIncarnationOptions{
		NewKeys: func(string, bool) (postgres.Keys, error) { return keys, nil },
		Old:     s.Keys, Previous: []byte(head.Checkpoint), Force: true, Reason: "a drill", Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The first entry of a later log belongs to the log: operators and every tenant's auditors read, list and prove it, and
// nobody else; operators see nothing of a tenant.
func TestWhoReadsIncarnations(t *testing.T) {
	t.Parallel()
	s := newService(t)
	if got := s.as(t, kinds.Host, "POST", "/v1/consent-receipts", consent); got.status != 201 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	s.openIncarnation(t)
	s.AddTenant(t, "umbrella")
	for _, c := range []struct {
		who, token string
		sees       bool
		listed     int
	}{
		{"the operator", s.tokens[kinds.Operator], true, 1},
		{"the auditor", s.tokens[kinds.Auditor], true, 2},
		{"another tenant's auditor", s.token(t, "umbrella", kinds.Auditor, time.Now(), time.Hour), true, 1},
		{"the host", s.tokens[kinds.Host], false, 1},
		{"billing", s.tokens[kinds.Billing], false, 0},
		{"the admin", s.tokens[kinds.Admin], false, 0},
		{"another tenant's host", s.token(t, "umbrella", kinds.Host, time.Now(), time.Hour), false, 0},
	} {
		status := map[bool]int{true: 200, false: 404}[c.sees]
		for _, path := range []string{"/v1/entries/1", "/v1/entries/1/proof"} {
			if got := s.do(t, "GET", path, c.token, ""); got.status != status {
				t.Errorf("%s: %s: %d, want %d", c.who, path, got.status, status)
			}
		}
		for path, want := range map[string]int{"/v1/entries": c.listed, "/v1/entries?kind=incarnation": map[bool]int{true: 1}[c.sees], "/v1/entries?key=1": map[bool]int{true: 1}[c.sees]} {
			var list api.EntryListBody
			s.do(t, "GET", path, c.token, "").into(t, &list)
			if len(list.Entries) != want {
				t.Errorf("%s lists %d entries of %s, want %d", c.who, len(list.Entries), path, want)
			}
		}
	}
	for _, path := range []string{"/v1/entries/0", "/v1/entries/0/proof"} {
		if got := s.as(t, kinds.Operator, "GET", path, ""); got.status != 404 {
			t.Errorf("an operator reads a tenant's %s: %d", path, got.status)
		}
	}
	var e api.EntryBody
	s.as(t, kinds.Operator, "GET", "/v1/entries/1", "").into(t, &e)
	if e.Kind != kinds.Incarnation.Name || !strings.Contains(string(e.Content), "a drill") {
		t.Errorf("the entry: %+v", e)
	}
}

// The log's description lists every log, each as it ended.
func TestLogListsIncarnations(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.as(t, kinds.Host, "POST", "/v1/consent-receipts", consent)
	var before, after api.LogBody
	s.as(t, kinds.Auditor, "GET", "/v1/log", "").into(t, &before)
	if len(before.Incarnations) != 1 || before.Incarnations[0].Checkpoint != before.Checkpoint {
		t.Errorf("one log: %+v", before.Incarnations)
	}
	s.openIncarnation(t)
	s.as(t, kinds.Operator, "GET", "/v1/log", "").into(t, &after)
	if len(after.Incarnations) != 2 || after.Incarnations[0] != before.Incarnations[0] {
		t.Fatalf("two logs: %+v", after.Incarnations)
	}
	want := api.IncarnationBody{Incarnation: 1, Origin: before.Origin + "/1", Base: 1, Size: 1, RootHash: after.RootHash, Checkpoint: after.Checkpoint}
	if after.Incarnations[1] != want || after.Base != 1 || after.Incarnation != 1 {
		t.Errorf("the newest: %+v of %+v", after.Incarnations[1], after)
	}
}

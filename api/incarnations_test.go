package api_test

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ledgerd/api"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
)

// openIncarnation opens the next log, as a drill, and returns the ledger with that log's keys.
func (s *service) openIncarnation(t *testing.T) *ledgertest.Ledger {
	t.Helper()
	head, err := s.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l := *s.Ledger
	l.SignerKey, l.Keys = ledgertest.NewKeys(t, postgres.IncarnationOrigin(head.Origin, 1))
	_, err = s.Store.OpenIncarnation(t.Context(), postgres.OpenIncarnationOptions{
		NewKeys: func(string, bool) (postgres.Keys, error) { return l.Keys, nil },
		Old:     s.Keys, Previous: []byte(head.Checkpoint), Force: true, Reason: "a drill", Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &l
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

// What was recorded in an earlier log is proven in that one when it is posted again, by its checkpoint and key.
func TestReplayOfAnEarlierIncarnationIsProven(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.post(t, kinds.Host, "/v1/consent-receipts", consent)
	later := s.openIncarnation(t)
	later.Appender = later.StartAppender(t, time.Now)
	server := httptest.NewServer(newAPI(t, later, later.Store, nil).Handler())
	t.Cleanup(server.Close)
	s.url = server.URL
	var r api.RecordedBody
	got := s.as(t, kinds.Host, "POST", "/v1/consent-receipts?proof=true", consent)
	if got.into(t, &r); got.status != 200 || r.Proof == nil || r.Proof.Seq != 0 || r.Proof.TreeSize != 1 || r.Proof.LeafHash != r.LeafHash {
		t.Fatalf("%d %s", got.status, got.body)
	}
	s.fits(t, *r.Proof) // s has the keys of the earlier log
	got = s.as(t, kinds.Host, "POST", "/v1/consent-receipts?proof=true", consent, "Idempotency-Key", "later")
	if got.into(t, &r); got.status != 201 || r.Proof == nil || r.Proof.Seq != 2 || r.Proof.TreeSize != 2 {
		t.Fatalf("in the later log: %d %s", got.status, got.body)
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

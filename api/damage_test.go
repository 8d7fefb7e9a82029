package api_test

import (
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

// What is wrong with stored bytes is not the asker's fault: whatever reads a damaged entry answers 500, or says that it does
// not verify, and never names a place in a request that had none.
func TestDamagedEntriesAreTheServersFault(t *testing.T) {
	t.Parallel()
	s := newService(t)
	key := signingKey("k")
	s.pin(t, key) // entry 0
	body := bundle(t, "r", "q", key, nil)
	s.postBundle(t, body)
	grant := func() answer {
		return s.as(t, kinds.Host, "POST", "/v1/consent-receipts", consent, "Idempotency-Key", "k")
	}
	if got := grant(); got.status != http.StatusCreated {
		t.Fatalf("%d %s", got.status, got.body)
	}
	asOf := time.Now()
	s.as(t, kinds.Host, "POST", "/v1/usage-reports", usageOf("req/1", report(asOf, 1, 2, 3)))
	get := func(path string) func() answer {
		return func() answer { return s.as(t, kinds.Auditor, "GET", path, "") }
	}
	egress := get("/v1/audit/egress?from=2000-01-01T00:00:00Z&to=2100-01-01T00:00:00Z")
	for name, c := range map[string]struct {
		table, column, value string
		asks                 map[string]func() answer
	}{
		"a content that is no content": {"contents", "content", `{"artifact":1}`, map[string]func() answer{
			"entry 2": get("/v1/entries/2"), "the list": get("/v1/entries"), "bundle": get("/v1/receipt-bundles/1"), "bundles": get("/v1/receipt-bundles"),
			"verification": get("/v1/receipt-bundles/1/verification"), "policy": get("/v1/trust-policy"), "policy at": get("/v1/receipt-bundles/1/verification?policy=0"),
			"egress": egress, "replay": func() answer { _, got := s.postBundle(t, body); return got }, "judging": func() answer {
				return s.as(t, kinds.Host, "POST", "/v1/verify/receipt-bundle", body)
			},
		}},
		"a content that is no JSON": {"contents", "content", `{`, map[string]func() answer{"entry": get("/v1/entries/1"), "policy": get("/v1/trust-policy")}},
		"parts of other shapes": {"contents", "content", `{"artifact":{},"context":{"x":1},"receiver":[]}`, map[string]func() answer{
			"entry": get("/v1/entries/2"), "bundle": get("/v1/receipt-bundles/1"), "policy": get("/v1/trust-policy"),
		}},
		"a meta that is none": {"entries", "meta", `{"actor":0}`, map[string]func() answer{
			"entry": get("/v1/entries/2"), "the list": get("/v1/entries"), "bundle": get("/v1/receipt-bundles/1"), "policy": get("/v1/trust-policy"),
		}},
	} {
		restore := s.damaged(t, c.table, c.column, c.value, "true")
		for what, ask := range c.asks {
			got := ask()
			if got.status != http.StatusInternalServerError {
				t.Errorf("%s, %s: %d %s", name, what, got.status, got.body)
				continue
			}
			if p := got.problem(t); p.Code != "internal" || p.Pointer != nil || p.Detail != "" {
				t.Errorf("%s, %s: %s", name, what, got.body)
			}
		}
		restore()
	}
	if got := grant(); got.status != http.StatusOK {
		t.Errorf("restored: %d %s", got.status, got.body)
	}
}

// So is what is wrong with a stored turn: its own answers, what is judged again and what would be joined with it.
func TestDamagedTurnsAreTheServersFault(t *testing.T) {
	t.Parallel()
	s := newService(t)
	turn := ledgertest.NewTurn(t, 1)
	seqs := s.recordTurn(t, turn)
	get := func(path string) func() answer {
		return func() answer { return s.as(t, kinds.Auditor, "GET", path, "") }
	}
	post := func(path string, body ledgertest.Tree) func() answer {
		return func() answer { return s.as(t, kinds.Host, "POST", path, string(ledgertest.JSON(t, body))) }
	}
	judged := map[string]func() answer{
		"assembly": get(fmt.Sprintf("/v1/context-assemblies/%d/verification", seqs[3])), "compaction": get(fmt.Sprintf("/v1/context-compactions/%d/verification", seqs[8])),
		"recovery": get(fmt.Sprintf("/v1/context-recoveries/%d/verification", seqs[9])), "by seq": post("/v1/verify/context-assembly", ledgertest.Tree{"seq": seqs[3]}),
	}
	whole := maps.Clone(judged)
	whole["turn"] = get("/v1/turns/" + turn.ID)
	turn.Assemblies[0]["identity"].(ledgertest.Tree)["context_assembly_id"] = "asm-next" // names parts that are damaged
	whole["joined"] = post("/v1/context-assemblies", turn.Assemblies[0])
	for name, c := range map[string]struct {
		value, where string
		asks         map[string]func() answer
	}{
		"contents that are none":       {`{"artifact":1}`, "true", whole},
		"contents that are no JSON":    {`{`, "true", whole},
		"parts of other shapes":        {`{"artifact":{},"context":{},"receiver":[]}`, "true", whole},
		"a snapshot of another shape":  {`{"artifact":{"snapshot_id":"s"},"context":{},"receiver":{}}`, fmt.Sprint("seq = ", seqs[1]), whole},
		"a snapshot that is no JSON":   {`{`, fmt.Sprint("seq = ", seqs[1]), judged},
		"a plan that is another entry": {`{"artifact":{"plan_id":"p"},"context":{},"receiver":{}}`, fmt.Sprint("seq = ", seqs[2]), map[string]func() answer{"assembly": judged["assembly"], "turn": whole["turn"]}},
	} {
		restore := s.damaged(t, "contents", "content", c.value, c.where)
		for what, ask := range c.asks {
			got := ask()
			if got.status != http.StatusInternalServerError {
				t.Errorf("%s, %s: %d %s", name, what, got.status, got.body)
				continue
			}
			if p := got.problem(t); p.Code != "internal" || p.Pointer != nil || p.Detail != "" {
				t.Errorf("%s, %s: %s", name, what, got.body)
			}
		}
		restore()
	}
	if got := whole["turn"](); got.status != http.StatusOK {
		t.Errorf("restored: %d %s", got.status, got.body)
	}
}

// damaged puts a value into a column of the rows where a condition holds, as only a superuser can, and returns what puts the old
// ones back.
func (s *service) damaged(t *testing.T, table, column, value, where string) (restore func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	exec := func(statements ...string) {
		t.Helper()
		for _, sql := range statements {
			if _, err := conn.Exec(t.Context(), sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
	}
	exec("ALTER TABLE ledger."+table+" DISABLE TRIGGER USER", "CREATE TEMP TABLE kept AS SELECT seq, "+column+" AS old FROM ledger."+table,
		"UPDATE ledger."+table+" SET "+column+" = '"+value+"' WHERE "+where)
	return func() {
		defer conn.Close(t.Context())
		exec("UPDATE ledger." + table + " t SET " + column + " = kept.old FROM kept WHERE kept.seq = t.seq")
	}
}

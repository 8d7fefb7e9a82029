package api_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

// Answers that may be large share the memory that there is for them: what finds no room is told to come again, small answers go
// on, and room that is given back serves who waits.
func TestLargeAnswersShareMemory(t *testing.T) {
	t.Parallel()
	s := newService(t)
	turn := ledgertest.NewTurn(t, 1)
	s.recordTurn(t, turn)
	path := "/v1/turns/" + turn.ID
	giveBack := s.api.TakeReads(time.Millisecond, 100) // less than a turn takes, and more than a list
	got := s.as(t, kinds.Auditor, "GET", path, "")
	if p := got.problem(t); got.status != 503 || p.Code != "busy" || got.header.Get("Retry-After") == "" {
		t.Errorf("without room: %d %s", got.status, got.body)
	}
	for _, small := range []string{"/v1/entries", "/v1/entries/1", "/v1/entries?limit=1", "/v1/entries"} {
		if got := s.as(t, kinds.Auditor, "GET", small, ""); got.status != 200 {
			t.Errorf("%s: %d %s", small, got.status, got.body)
		}
	}
	giveBack()

	giveBack = s.api.TakeReads(time.Millisecond, 0)
	wide := ledgertest.NewWideTurn(t, 2, 16, 64)
	for i, body := range []ledgertest.Tree{wide.Profile, wide.Snapshot, wide.Plans[0], wide.Assemblies[0]} {
		at := []string{"profiles", "snapshots", "plans", "assemblies"}[i]
		want := 201
		if i == 3 {
			want = 503
		}
		if got := s.as(t, kinds.Host, "POST", "/v1/context-"+at, string(ledgertest.JSON(t, body))); got.status != want {
			t.Errorf("%s of a wide turn: %d %s", at, got.status, got.body)
		}
	}
	giveBack()
	s.post(t, kinds.Host, "/v1/context-assemblies", string(ledgertest.JSON(t, wide.Assemblies[0])))

	// A small record may name large parts.
	resumed := ledgertest.NewTurn(t, 3)
	s.post(t, kinds.Host, "/v1/context-snapshots", string(ledgertest.JSON(t, resumed.Snapshot)))
	resumed.RecoveryContext["context_assembly_id"] = wide.Assemblies[0]["identity"].(ledgertest.Tree)["context_assembly_id"]
	giveBack = s.api.TakeReads(time.Millisecond, 4) // less than the wide assembly takes
	post := string(wrapped(t, resumed.RecoveryContext, "recovery", resumed.Recovery))
	if got := s.as(t, kinds.Host, "POST", "/v1/context-recoveries", post); got.status != 503 || got.problem(t).Code != "busy" {
		t.Errorf("a small record of large parts: %d %s", got.status, got.body)
	}
	line := `{"kind":"context-recovery","artifact":` + string(ledgertest.JSON(t, resumed.Recovery)) + `,"context":` + string(ledgertest.JSON(t, resumed.RecoveryContext)) + "}"
	if got := s.bulk(t, kinds.Host, "", line); len(got) != 1 || got[0].Status != 503 || got[0].Error.Code != "busy" {
		t.Errorf("and as a line: %+v", got)
	}
	giveBack()
	if got := s.as(t, kinds.Host, "POST", "/v1/context-recoveries", post); got.status != 422 || got.problem(t).Code != "context-part-mismatch" { // it is of another turn
		t.Errorf("once there is room: %d %s", got.status, got.body)
	}

	giveBack = s.api.TakeReads(time.Minute, 0)
	var asked sync.WaitGroup
	for range 20 { // more at once than have room
		asked.Go(func() {
			if got := s.as(t, kinds.Auditor, "GET", path, ""); got.status != 200 {
				t.Errorf("while others wait: %d %s", got.status, got.body)
			}
		})
	}
	giveBack()
	asked.Wait()
	if got := s.as(t, kinds.Auditor, "GET", path, ""); got.status != 200 {
		t.Errorf("afterwards: %d", got.status)
	}
}

// A tenant whose readers are slow has its share of the memory and no more: the others' answers find room.
func TestTenantsShareMemory(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.AddTenant(t, "umbrella")
	other := s.token(t, "umbrella", kinds.Auditor, time.Now(), time.Hour)
	giveBack := s.api.TakeReads(time.Millisecond, 1<<10)
	var slow []func()
	for { // as much as it gets
		leave, err := s.api.EnterMemory(t.Context(), "acme", 128)
		if err != nil {
			break
		}
		slow = append(slow, leave)
	}
	if got := s.as(t, kinds.Auditor, "GET", "/v1/entries", ""); got.status != 503 || got.problem(t).Code != "busy" {
		t.Errorf("more than its share: %d %s", got.status, got.body)
	}
	for range 2 {
		if got := s.do(t, "GET", "/v1/audit/egress?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z", other, ""); got.status != 200 {
			t.Errorf("another tenant: %d %s", got.status, got.body)
		}
	}
	for _, leave := range slow {
		leave()
	}
	giveBack()
	if got := s.as(t, kinds.Auditor, "GET", "/v1/entries", ""); got.status != 200 {
		t.Errorf("once it was given back: %d %s", got.status, got.body)
	}
}

// A question whose body is still on its way takes no memory from those that can be answered.
func TestSlowQuestionHoldsNoMemory(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.api.TakeReads(time.Millisecond, 100) // more than one of these answers takes, and less than two
	for role, path := range map[kinds.Role]string{kinds.Host: "/v1/verify/context-assembly", kinds.Auditor: "/v1/disputes"} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: ledger\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n", path, s.tokens[role])
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, " 100 ") { // which is sent once the body is asked for
			t.Fatalf("%s: %q, %v", path, line, err)
		}
	}
	if got := s.as(t, kinds.Auditor, "GET", "/v1/entries", ""); got.status != 200 {
		t.Errorf("while others still ask: %d %s", got.status, got.body)
	}
	if got := s.as(t, kinds.Host, "POST", "/v1/verify/context-assembly", `{"seq":1}`); got.status != 404 {
		t.Errorf("a question that is whole: %d %s", got.status, got.body)
	}
}

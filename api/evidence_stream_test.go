package api_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/audit"
	"ledgerd/internal/audit/evidence"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

// askUnread sends a request for evidence and reads nothing of the answer.
func (s *service) askUnread(t *testing.T) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET /v1/evidence HTTP/1.1\r\nHost: ledger\r\nAuthorization: Bearer %s\r\n\r\n", s.tokens[kinds.Auditor]); err != nil {
		t.Fatal(err)
	}
	return conn
}

// Callers who read no further hold their share of the slots for a while, and then lose it.
func TestEvidenceNobodyReads(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.api.SetProgressTimeout(2 * time.Second)
	s.recordNotes(t, 300, 60<<10) // more than the buffers of a connection take
	stalled := []net.Conn{s.askUnread(t), s.askUnread(t)}
	for _, conn := range stalled {
		if _, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err != nil { // its answer has begun, so it has its slot
			t.Fatal(err)
		}
	}
	if p := s.as(t, kinds.Auditor, "GET", "/v1/evidence", "").problem(t); p.Status != 503 || p.Code != "busy" {
		t.Errorf("beside two others: %+v", p)
	}
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for tries := 0; s.as(t, kinds.Auditor, "GET", "/v1/evidence?seq=1", "").status != 200; tries++ {
		if tries == 600 {
			t.Fatal("the slots were not freed")
		}
		<-poll.C
	}
}

// What can't be read in the middle of a file ends the answer, so that a part is not taken for the whole. What can be read and
// is wrong is in the file as it is, and the verifier finds it.
func TestEvidenceOfDamage(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.recordNotes(t, 200, 30<<10)
	admin, err := pgx.Connect(t.Context(), s.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(t.Context())
	damage := func(sql string) {
		t.Helper()
		if _, err := admin.Exec(t.Context(), `ALTER TABLE ledger.contents DISABLE TRIGGER USER; `+sql); err != nil {
			t.Fatal(err)
		}
	}
	damage(`UPDATE ledger.contents SET content_salt = decode(repeat('00', 16), 'hex') WHERE seq = 3`)
	if failed := s.failing(t); !slices.Equal(failed, []int64{3}) {
		t.Errorf("a changed salt: entries %v fail", failed)
	}
	damage(`UPDATE ledger.contents SET content = 'gone' WHERE seq = 190`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/v1/evidence", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.tokens[kinds.Auditor])
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if n, err := io.Copy(io.Discard, res.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the answer has %d bytes and ends with %v", n, err)
	}
	if got := s.as(t, kinds.Auditor, "GET", "/v1/evidence?seq=190", ""); got.problem(t).Status != 500 {
		t.Errorf("it alone: %d", got.status)
	}
}

// failing lists the entries of a file of everything that fail.
func (s *service) failing(t *testing.T) (seqs []int64) {
	t.Helper()
	for _, m := range s.report(t, s.evidence(t, kinds.Auditor, "")).Remarks {
		if m.Result == audit.Failed && m.Seq != nil {
			seqs = append(seqs, *m.Seq)
		}
	}
	return seqs
}

// A file is of one moment: what is appended and erased while it is read is not in it.
func TestEvidenceIsOfOneMoment(t *testing.T) {
	t.Parallel()
	const entries = 200
	s := newService(t)
	s.recordNotes(t, entries, 30<<10) // more than one member
	read, write := io.Pipe()
	failed := make(chan error, 1)
	go func() {
		w := evidence.NewWriter(write, evidence.Subject{Title: "Evidence", Tenant: ledgertest.Tenant, Question: []evidence.Field{}, Statements: []evidence.Field{}}, nil, s.Keys.EvidenceSigners()...)
		err := s.Store.Evidence(t.Context(), ledgertest.Tenant, kinds.Visibility{All: true}, evidence.Selection{Entries: &kinds.EntryQuery{}}, w)
		write.CloseWithError(err)
		failed <- err
	}()
	begun := make([]byte, 1)
	if _, err := io.ReadFull(read, begun); err != nil {
		t.Fatal(err)
	}
	a, err := kinds.Erasure.Accept(kinds.Submission{Artifact: fmt.Appendf(nil, `{"reason":"asked","seqs":[%d]}`, entries-1), Key: "erasure"}, kinds.Env{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	s.record(t, a)
	rest, err := io.ReadAll(read)
	if err := errors.Join(err, <-failed); err != nil {
		t.Fatal(err)
	}
	r := s.verify(t, slices.Concat(begun, rest))
	if r.Entries != entries || r.Manifest.TreeSize != entries || r.Check("content").Passed != entries {
		t.Errorf("%d entries of %d, %+v", r.Entries, r.Manifest.TreeSize, r.Check("content"))
	}
}

func TestEvidenceOfNothing(t *testing.T) {
	t.Parallel()
	s := newService(t)
	r := s.verify(t, s.evidence(t, kinds.Auditor, ""))
	if r.Entries != 0 || r.Manifest.TreeSize != 0 {
		t.Errorf("%+v", r.Manifest)
	}
}

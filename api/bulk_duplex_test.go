package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/api"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

// conversation is a bulk request whose lines are written one by one while its results are read.
type conversation struct {
	t       *testing.T
	lines   *io.PipeWriter
	answer  chan *http.Response
	results *bufio.Reader
	stop    context.CancelFunc
}

func (s *service) converse(t *testing.T, query string, headers ...string) *conversation {
	t.Helper()
	body, lines := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/entries"+query, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.tokens[kinds.Host])
	req.Header.Set("Content-Type", ndjson)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	c := &conversation{t: t, lines: lines, answer: make(chan *http.Response, 1), stop: stop}
	// A connection of its own: one that another conversation left may be closed by the server just as this one takes it.
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	go func() {
		defer close(c.answer)
		res, err := (&http.Client{Transport: transport}).Do(req) //nolint:bodyclose // whoever takes the answer closes it
		if err == nil {
			c.answer <- res
		}
	}()
	return c
}

func (c *conversation) say(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.lines, text); err != nil {
		c.t.Fatal(err)
	}
}

// hear waits for the next result.
func (c *conversation) hear() api.BulkResultBody {
	c.t.Helper()
	text, err := c.read()
	if err != nil {
		c.t.Fatalf("%q: %v", text, err)
	}
	return results(c.t, []byte(text))[0]
}

func (c *conversation) read() (string, error) {
	c.t.Helper()
	if c.results == nil {
		res, ok := <-c.answer
		if !ok || res.StatusCode != http.StatusOK {
			c.t.Fatalf("no answer: %+v", res)
		}
		c.t.Cleanup(func() { res.Body.Close() })
		c.results = bufio.NewReader(res.Body)
	}
	return c.results.ReadString('\n')
}

// end closes the body and demands that no more results come.
func (c *conversation) end() {
	c.t.Helper()
	c.lines.Close()
	if text, err := c.read(); !errors.Is(err, io.EOF) {
		c.t.Errorf("after the last result: %q, %v", text, err)
	}
}

// Each line is answered before the next is sent, part of which comes with it.
func TestBulkAnswersWhileTheBodyComes(t *testing.T) {
	t.Parallel()
	c := newService(t).converse(t, "")
	next := consentLine("k0", "1") + "\n"
	for i := range 5 {
		after := consentLine(fmt.Sprintf("k%d", i+1), "1") + "\n"
		c.say(next + after[:20])
		next = after[20:]
		if r := c.hear(); r.Line != int64(i+1) || r.Seq == nil || *r.Seq != int64(i) {
			t.Fatalf("result %d: %+v", i, r)
		}
	}
	c.say(next)
	c.hear()
	c.end()
}

// A token that is revoked while its stream is open records nothing more, and the stream ends and says so.
func TestBulkTokenRevokedMidStream(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.tokens[kinds.Host] = s.token(t, ledgertest.Tenant, kinds.Host, time.Now(), time.Hour) // the newest is the one that revoke takes
	each, all := s.converse(t, ""), s.converse(t, "?mode=atomic")
	each.say(consentLine("a", "1") + "\n")
	each.hear()
	all.say(consentLine("b", "1") + "\n")
	s.revoke(t, s.tokens[kinds.Host])
	each.say("\n" + consentLine("c", "1") + "\n")
	if r := each.hear(); r.Line != 3 || r.Status != http.StatusUnauthorized || r.Error.Code != "unauthorized" {
		t.Errorf("the line after it: %+v", r)
	}
	each.end()
	all.say(consentLine("d", "1") + "\n")
	all.lines.Close()
	if res, ok := <-all.answer; !ok || res.StatusCode != http.StatusUnauthorized {
		t.Errorf("an atomic request: %+v", res)
	} else {
		res.Body.Close()
	}
	if n := s.Count(t, "ledger.entries"); n != 1 {
		t.Errorf("%d entries", n)
	}
}

// When the service stops, a stream answers what came whole and says that it ends; so does one that comes after that.
func TestBulkServiceStops(t *testing.T) {
	t.Parallel()
	s := newService(t)
	each, all, whole := s.converse(t, ""), s.converse(t, "?mode=atomic"), consentLine("a", "1")+"\n"
	all.say(whole)
	each.say(whole + whole[:30])
	if r := each.hear(); r.Status != http.StatusCreated {
		t.Errorf("%+v", r)
	}
	s.api.EndStreams()
	if r := each.hear(); r.Line != 2 || r.Status != http.StatusServiceUnavailable || r.Error.Code != "unavailable" {
		t.Errorf("the line that was cut: %+v", r)
	}
	each.end()
	late := s.converse(t, "", "Content-Encoding", "gzip")
	for name, c := range map[string]*conversation{"atomic": all, "late": late} {
		if res, ok := <-c.answer; !ok || res.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s: %+v", name, res)
		} else {
			res.Body.Close()
		}
	}
	if n := s.Count(t, "ledger.entries"); n != 1 {
		t.Errorf("%d entries", n)
	}
}

// A line that is too long is skipped as it comes; those around it are recorded.
func TestBulkOversizedLine(t *testing.T) {
	t.Parallel()
	s := newService(t)
	c := s.converse(t, "")
	c.say(consentLine("a", "1") + "\n")
	c.hear()
	c.say(`{"kind":"usage-report","artifact":"`)
	megabyte := strings.Repeat("x", 1<<20)
	for range 20 {
		c.say(megabyte)
	}
	c.say("\"}\n" + consentLine("b", "1") + "\n")
	if r := c.hear(); r.Line != 2 || r.Status != http.StatusRequestEntityTooLarge || r.Error.Code != "body-too-large" {
		t.Errorf("the long line: %+v", r)
	}
	if r := c.hear(); r.Line != 3 || r.Seq == nil || *r.Seq != 1 {
		t.Errorf("the line after it: %+v", r)
	}
	c.end()
}

// Lines that come while the database is away get 503; the stream goes on when it is back.
func TestBulkDatabaseDiesMidStream(t *testing.T) {
	t.Parallel()
	s := newService(t)
	c := s.converse(t, "")
	c.say(consentLine("a", "1") + "\n")
	c.hear()
	s.allowConnections(t, false)
	c.say(consentLine("b", "1") + "\n" + `{"kind":"receipt-bundle","artifact":{}}` + "\nevil\n")
	for _, want := range []struct {
		status int
		code   string
	}{{503, "unavailable"}, {503, "unavailable"}, {400, "invalid-json"}} {
		if r := c.hear(); r.Status != want.status || r.Error.Code != want.code {
			t.Errorf("%+v, want %d %s", r, want.status, want.code)
		}
	}
	s.allowConnections(t, true)
	c.say(consentLine("c", "1") + "\n")
	if r := c.hear(); r.Status != http.StatusCreated || *r.Seq != 1 {
		t.Errorf("when it is back: %+v", r)
	}
	c.end()
}

// allowConnections lets the database be reached or not, by anybody but a superuser, and cuts what is connected.
func (s *service) allowConnections(t *testing.T, allow bool) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	limit := "-1"
	if !allow {
		limit = "0"
	}
	name := pgx.Identifier{conn.Config().Database}.Sanitize()
	if _, err := conn.Exec(t.Context(), "ALTER DATABASE "+name+" CONNECTION LIMIT "+limit); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`); err != nil {
		t.Fatal(err)
	}
}

// A client that breaks off: what it was told is durable, and nothing of the request is left behind.
func TestBulkClientAborts(t *testing.T) {
	t.Parallel()
	s := newService(t)
	ended := s.watchHandler(t)
	c := s.converse(t, "")
	acknowledged := map[int64]string{}
	for i := range 300 {
		key := fmt.Sprintf("k%d", i)
		c.say(consentLine(key, "1") + "\n")
		if i%100 == 0 {
			for len(acknowledged) <= i {
				r := c.hear()
				acknowledged[*r.Seq] = fmt.Sprintf("k%d", r.Line-1)
			}
		}
	}
	c.say(consentLine("half", "1")[:30])
	c.stop()
	<-ended
	for seq, key := range acknowledged {
		e, err := s.Store.Entry(t.Context(), "acme", kinds.Visibility{All: true}, seq)
		if err != nil || e.Meta.Key != key {
			t.Errorf("entry %d is %q, %q was acknowledged: %v", seq, e.Meta.Key, key, err)
		}
	}
	if got := s.as(t, kinds.Host, "POST", "/v1/consent-receipts", consent); got.status != http.StatusCreated {
		t.Errorf("a post after it: %d %s", got.status, got.body)
	}
}

// watchHandler serves the API anew, and tells when a request's handler has returned.
func (s *service) watchHandler(t *testing.T) <-chan struct{} {
	t.Helper()
	ended := make(chan struct{}, 100)
	handler := s.api.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { ended <- struct{}{} }()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return ended
}

// A request takes as long as it makes progress, whatever the server allows a whole request.
func TestBulkOutlivesTheServersTimeouts(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const timeout = 200 * time.Millisecond
	server := httptest.NewUnstartedServer(s.api.Handler())
	server.Config.ReadTimeout, server.Config.WriteTimeout = timeout, timeout
	server.Start()
	t.Cleanup(server.Close)
	s.url = server.URL
	c := s.converse(t, "")
	for start, n := time.Now(), 0; time.Since(start) < 3*timeout; n++ {
		c.say(consentLine(fmt.Sprint(n), "1") + "\n")
		if r := c.hear(); r.Status != http.StatusCreated {
			t.Fatalf("%+v", r)
		}
	}
	c.end()
}

// A body that stalls ends its request with a result that says so.
func TestBulkBodyStalls(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.api.SetProgressTimeout(300 * time.Millisecond)
	c := s.converse(t, "")
	c.say(consentLine("a", "1") + "\n" + `{"kind":`)
	if r := c.hear(); r.Status != http.StatusCreated {
		t.Errorf("%+v", r)
	}
	if r := c.hear(); r.Line != 2 || r.Status != http.StatusRequestTimeout || r.Error.Code != "body-stalled" {
		t.Errorf("%+v", r)
	}
	c.end()
	quiet := s.converse(t, "")
	quiet.say(" ")
	if res, ok := <-quiet.answer; !ok || res.StatusCode != http.StatusRequestTimeout {
		t.Errorf("a body that stalls before its first line: %+v", res)
	} else {
		res.Body.Close()
	}
}

// A client that sends and never reads is not read from for ever: its results fill the buffers, then its request ends.
func TestBulkClientDoesNotRead(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.api.SetProgressTimeout(300 * time.Millisecond)
	ended := s.watchHandler(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/entries HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: 1000000000\r\n\r\n", s.tokens[kinds.Host], ndjson)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		short := strings.Repeat("x\n", 1<<15) // each has an answer a hundred times as long
		for {
			if _, err := io.WriteString(conn, short); err != nil {
				return
			}
		}
	}()
	<-ended
	<-sent
}

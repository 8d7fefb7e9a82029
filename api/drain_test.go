package api_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

// A client that sends all before it reads gets the answer to a body that is too large.
func TestTooLargeIsAnsweredReadably(t *testing.T) {
	t.Parallel()
	s := newService(t)
	if status := s.sendAllThenRead(t, "/v1/usage-reports", s.tokens[kinds.Host], "application/json", " "); status != http.StatusRequestEntityTooLarge {
		t.Errorf("%d", status)
	}
}

// So does one whose bulk request is refused before it was read.
func TestRefusedBulkIsAnsweredReadably(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, c := range []struct {
		name, query, token, media string
		status                    int
	}{
		{"no such token", "", "ldg_unknown", ndjson, http.StatusUnauthorized},
		{"another role", "", s.tokens[kinds.Auditor], ndjson, http.StatusForbidden},
		{"another type", "", s.tokens[kinds.Host], "application/json", http.StatusUnsupportedMediaType},
		{"no such mode", "?mode=evil", s.tokens[kinds.Host], ndjson, http.StatusBadRequest},
		{"no such parameter", "?evil=1", s.tokens[kinds.Host], ndjson, http.StatusBadRequest},
		{"too many lines", "?mode=atomic", s.tokens[kinds.Host], ndjson, http.StatusRequestEntityTooLarge},
	} {
		if status := s.sendAllThenRead(t, "/v1/entries"+c.query, c.token, c.media, "x\n"); status != c.status {
			t.Errorf("%s: %d, want %d", c.name, status, c.status)
		}
	}
	s.api.TakeStreams(ledgertest.Tenant)
	if status := s.sendAllThenRead(t, "/v1/entries", s.tokens[kinds.Host], ndjson, "x\n"); status != http.StatusServiceUnavailable {
		t.Errorf("busy: %d", status)
	}
	waits := s.converse(t, "") // for the answer, before it ends its body
	waits.say("x\n")
	if res, ok := <-waits.answer; !ok || res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a client that waits: %+v", res)
	} else {
		res.Body.Close()
	}
	waits.stop()
}

// sendAllThenRead posts a body of 12 MB, made of a text over and over, and reads nothing before all is sent.
func (s *service) sendAllThenRead(t *testing.T, path, token, media, text string) (status int) {
	t.Helper()
	const size = 12 << 20
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(s.url, "http://"), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", path, token, media, size)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(bytes.Repeat([]byte(text), size/len(text))); err != nil {
		t.Fatalf("%s with %.8s as %s: %v", path, token, media, err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%s with %.8s as %s: %v", path, token, media, err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

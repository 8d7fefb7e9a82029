package api_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"ledgerd/internal/kinds"
)

// flusher is an encoder that can be told to send what it has.
type flusher interface {
	io.WriteCloser
	Flush() error
}

func encoder(t *testing.T, name string, w io.Writer) flusher {
	t.Helper()
	if name == "gzip" {
		return gzip.NewWriter(w)
	}
	e, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func encode(t *testing.T, name, text string) string {
	t.Helper()
	var b bytes.Buffer
	e := encoder(t, name, &b)
	if _, err := io.WriteString(e, text); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestEncodedBodies(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for i, encoding := range []string{"gzip", "zstd"} {
		single := s.as(t, kinds.Host, "POST", "/v1/consent-receipts", encode(t, encoding, consent), "Content-Encoding", encoding, "Idempotency-Key", encoding)
		if single.status != http.StatusCreated {
			t.Errorf("%s: single post: %d %s", encoding, single.status, single.body)
		}
		lines := consentLine(encoding, "4.2.0") + "\n" + consentLine(encoding+"-2", "1")
		if got := s.bulk(t, kinds.Host, "", encode(t, encoding, lines), "Content-Encoding", strings.ToUpper(encoding)); len(got) != 2 || !got[0].Replayed || got[1].Status != http.StatusCreated {
			t.Errorf("%s: %s", encoding, statuses(got))
		}
		if n := s.Count(t, "ledger.entries"); n != 2*(i+1) {
			t.Errorf("%s: %d entries", encoding, n)
		}
	}
}

// An encoder that flushes after a line has it answered before the next.
func TestBulkEncodedAnswersWhileTheBodyComes(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, encoding := range []string{"gzip", "zstd"} {
		c := s.converse(t, "", "Content-Encoding", encoding)
		e := encoder(t, encoding, c.lines)
		for i := range 3 {
			if _, err := io.WriteString(e, consentLine(encoding+strings.Repeat("x", i), "1")+"\n"); err != nil {
				t.Fatal(err)
			}
			if err := e.Flush(); err != nil {
				t.Fatal(err)
			}
			if r := c.hear(); r.Line != int64(i+1) || r.Status != http.StatusCreated {
				t.Errorf("%s: %+v", encoding, r)
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		c.end()
	}
}

// What a small body becomes is bounded: in all, by its ratio, and line by line.
func TestBombs(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, encoding := range []string{"gzip", "zstd"} {
		bomb := encode(t, encoding, strings.Repeat(" ", 2<<20))
		if got := s.as(t, kinds.Host, "POST", "/v1/consent-receipts", bomb, "Content-Encoding", encoding); got.status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: single post: %d %s", encoding, got.status, got.body)
		}
		blank := encode(t, encoding, strings.Repeat(strings.Repeat(" ", 1000)+"\n", 40<<10))
		if got := s.as(t, kinds.Host, "POST", "/v1/entries", blank, "Content-Type", ndjson, "Content-Encoding", encoding); got.status != http.StatusRequestEntityTooLarge || got.problem(t).Code != "body-too-large" {
			t.Errorf("%s: blank lines: %d %s", encoding, got.status, got.body)
		}
		line := encode(t, encoding, consentLine(encoding, "1")+"\n"+strings.Repeat("x", 17<<20))
		got := s.bulk(t, kinds.Host, "", line, "Content-Encoding", encoding)
		if len(got) != 2 || got[0].Status != http.StatusCreated || got[1].Line != 2 || got[1].Status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: one long line: %+v", encoding, got)
		}
	}
}

// A body that is damaged on the way: the lines before it stand, then comes one result that says so.
func TestBulkDamagedEncoding(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, encoding := range []string{"gzip", "zstd"} {
		var b bytes.Buffer
		e := encoder(t, encoding, &b)
		if _, err := io.WriteString(e, consentLine(encoding, "1")+"\n"); err != nil {
			t.Fatal(err)
		}
		if err := e.Flush(); err != nil {
			t.Fatal(err)
		}
		got := s.bulk(t, kinds.Host, "", b.String()+strings.Repeat("\xff", 1000), "Content-Encoding", encoding)
		if len(got) != 2 || got[0].Status != http.StatusCreated || got[1].Line != 2 || got[1].Error.Code != "invalid-encoding" {
			t.Errorf("%s: damaged: %+v", encoding, got)
		}
		got = s.bulk(t, kinds.Host, "", b.String(), "Content-Encoding", encoding)
		if len(got) != 2 || !got[0].Replayed || got[1].Error.Code != "invalid-encoding" {
			t.Errorf("%s: cut off: %+v", encoding, got)
		}
		if got := s.as(t, kinds.Host, "POST", "/v1/entries?mode=atomic", b.String(), "Content-Type", ndjson, "Content-Encoding", encoding); got.status != http.StatusBadRequest {
			t.Errorf("%s: atomic and cut off: %d %s", encoding, got.status, got.body)
		}
	}
}

package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerd/internal/kinds"
)

// stalledBody sends something, then nothing until the end, and says so.
type stalledBody struct {
	io.Reader
	stalled func()
	end     <-chan struct{}
}

func (b *stalledBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		b.stalled()
		<-b.end
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

func (b *stalledBody) Close() error { return nil }

// stall has n requests wait for the rest of their bodies, and counts the statuses once end was called.
func (s *service) stall(t *testing.T, n int, path, encoding, sent string) (end func() map[int]int) {
	t.Helper()
	var settled, answered sync.WaitGroup
	settled.Add(n)
	ended := make(chan struct{})
	statuses := make(chan int, n)
	for range n {
		answered.Go(func() {
			settle := sync.OnceFunc(settled.Done)
			defer settle()
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, &stalledBody{strings.NewReader(sent), settle, ended})
			req.ContentLength = 4 << 20
			req.Header.Set("Authorization", "Bearer "+s.tokens[kinds.Host])
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Content-Encoding", encoding)
			w := httptest.NewRecorder()
			s.api.Handler().ServeHTTP(w, req)
			statuses <- w.Code
		})
	}
	settled.Wait()
	return func() map[int]int {
		close(ended)
		answered.Wait()
		close(statuses)
		count := map[int]int{}
		for status := range statuses {
			count[status]++
		}
		return count
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Bodies whose rest does not come hold little more than what came of them, whatever they say that they will be; and of what came no
// more than a tenant's share of the memory for bodies. It runs alone, since it measures the whole process.
func TestStalledBodiesHoldLittle(t *testing.T) {
	const (
		senders = 100
		large   = "/v1/context-assemblies"
	)
	s := newService(t)
	s.AddTenant(t, "umbrella")
	other := s.token(t, "umbrella", kinds.Host, time.Now(), time.Hour)
	giveBack := s.api.TakeBodies(100*time.Millisecond, 256<<10)
	defer giveBack()
	bomb := encode(t, "gzip", strings.Repeat(" ", 4<<20-200<<10))
	for _, c := range []struct {
		name, path, encoding, sent string
		bound                      int64
		refused                    bool // some of them
	}{
		{"nothing", large, "", "", 8 << 20, false},
		{"a window", "/v1/consent-receipts", "zstd", "\x28\xb5\x2f\xfd\x00\x68\x14\x00\x00{ ", 8 << 20, false}, // RFC 8878 §3.1.1.1.2: 8 MiB
		{"a bomb without its fuse", large, "gzip", bomb[:len(bomb)-8], 8 << 20, false},
		{"much", large, "", strings.Repeat(" ", 3<<20), 160 << 20, true},
	} {
		before := heap()
		end := s.stall(t, senders, c.path, c.encoding, c.sent)
		if held := heap() - before; held > c.bound {
			t.Errorf("%s: %d senders hold %d KiB", c.name, senders, held>>10)
		}
		if got := s.do(t, "POST", large, other, strings.Repeat("x", 1<<20)); got.status != 422 {
			t.Errorf("%s: another tenant meanwhile: %d %s", c.name, got.status, got.body)
		}
		if got := s.as(t, kinds.Host, "POST", "/v1/consent-receipts", consent, "Idempotency-Key", c.name); got.status != 201 { // which needs no share
			t.Errorf("%s: a small body meanwhile: %d %s", c.name, got.status, got.body)
		}
		got := end()
		if got[400]+got[503] != senders || (got[503] > 0) != c.refused {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if got := s.as(t, kinds.Host, "POST", large, strings.Repeat("x", 3<<20)); got.status != 422 {
		t.Errorf("once all was given back: %d %s", got.status, got.body)
	}
}

// What finds no room, as it comes or as what it becomes, is told to come again; what is small goes on.
func TestBodiesShareMemory(t *testing.T) {
	t.Parallel()
	s := newService(t)
	text := strings.Repeat(" ", 200<<10) + "x"
	giveBack := s.api.TakeBodies(time.Millisecond, 100)
	for _, encoding := range []string{"", "gzip", "zstd"} {
		sent := text
		if encoding != "" {
			sent = encode(t, encoding, text)
		}
		got := s.as(t, kinds.Host, "POST", "/v1/usage-reports", sent, "Content-Encoding", encoding)
		if got.status != 503 || got.problem(t).Code != "busy" || got.header.Get("Retry-After") == "" {
			t.Errorf("%q without room: %d %s", encoding, got.status, got.body)
		}
	}
	s.post(t, kinds.Host, "/v1/consent-receipts", consent)
	giveBack()
	for _, encoding := range []string{"", "gzip", "zstd"} {
		sent, cut := text, text[:0]
		if encoding != "" {
			sent = encode(t, encoding, text)
			cut = sent[:len(sent)-2]
		}
		if got := s.as(t, kinds.Host, "POST", "/v1/usage-reports", sent, "Content-Encoding", encoding); got.status != 400 || got.problem(t).Code != "invalid-json" {
			t.Errorf("%q with room: %d %s", encoding, got.status, got.body)
		}
		if encoding == "" {
			continue
		}
		if got := s.as(t, kinds.Host, "POST", "/v1/usage-reports", cut, "Content-Encoding", encoding); got.status != 400 || got.problem(t).Code != "invalid-encoding" {
			t.Errorf("%q cut off: %d %s", encoding, got.status, got.body)
		}
	}
}

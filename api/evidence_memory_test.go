package api_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerd/internal/audit/evidence"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

// A file is never whole in memory, neither where it is made nor where it is verified. It runs alone, since it measures the
// whole process.
func TestEvidenceMemoryIsBounded(t *testing.T) {
	const (
		entries = 4_000
		bound   = 64 << 20
	)
	s := newService(t)
	s.recordNotes(t, entries, 25<<10)
	peak := watchHeap()
	path := filepath.Join(t.TempDir(), "evidence.zip")
	size := s.downloadTo(t, path)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := evidence.Verify(t.Context(), f, size, evidence.Options{Keys: []string{s.vkey(t)}})
	if err != nil || r.Failed() || r.Entries != entries {
		t.Fatalf("%d entries, %v", r.Entries, err)
	}
	if most := peak(); most > bound || size < entries*25<<10 {
		t.Errorf("%d MB of heap for a file of %d MB", most>>20, size>>20)
	} else {
		t.Logf("a file of %d MB, at most %d MB of heap", size>>20, most>>20)
	}
}

// recordNotes records consents with a member that the protocol does not know, and which is kept.
func (s *service) recordNotes(t *testing.T, entries, size int) {
	t.Helper()
	note := strings.Repeat("n", size)
	next := make(chan int)
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for n := range next {
				artifact := fmt.Sprintf(`{"note":%q,"provider_id":"p-%d","scope":"third-party-model","provider_name":"N","provider_version":"1","grantor":{"kind":"human","id":"m"},"granted_at":"2026-01-10T08:00:00Z"}`, note, n)
				a, err := kinds.ConsentReceipt.Accept(kinds.Submission{Artifact: []byte(artifact), Key: fmt.Sprint(n)}, kinds.Env{Now: time.Now()})
				if err == nil {
					_, err = s.Appender.Append(t.Context(), ledgertest.Host, a)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range entries {
		next <- n
	}
	close(next)
	wg.Wait()
}

// downloadTo writes evidence of everything into a file.
func (s *service) downloadTo(t *testing.T, path string) int64 {
	t.Helper()
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
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n, err := io.Copy(f, res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%d, after %d bytes: %v", res.StatusCode, n, err)
	}
	return n
}

// watchHeap reads the size of the heap again and again until the function that it returns is called, which says how large it
// was at most.
func watchHeap() (most func() uint64) {
	runtime.GC() // what was before is not to count
	done, peak := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-tick.C:
			case <-done:
				peak <- most
				return
			}
		}
	}()
	return func() uint64 {
		close(done)
		return <-peak
	}
}

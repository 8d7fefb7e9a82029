package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"ledgerd/internal/kinds"
)

// What a stream holds does not depend on its length. It runs alone, since it measures the whole process: the client, the
// server and what the test itself keeps.
func TestBulkMemoryIsBounded(t *testing.T) {
	const (
		total = 200 << 20
		bound = 100 << 20
	)
	runtime.GC() // what tests before this one left would else be collected only when as much again has come
	s := newService(t)
	body, lines := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/entries", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.tokens[kinds.Host])
	req.Header.Set("Content-Type", ndjson)
	sent := make(chan int, 1)
	go func() {
		n := 0
		note := strings.Repeat("n", 20<<10)
		for size := 0; size < total; n++ {
			line := strings.Replace(consentLine(fmt.Sprintf("k%d", n), "1"), `"artifact":{`, `"artifact":{"note":"`+note+`",`, 1) + "\n"
			if n%50 == 3 {
				line = strings.Repeat("x", 2<<20) + "\n" // longer than any line may be
			}
			if _, err := io.WriteString(lines, line); err != nil {
				break
			}
			size += len(line)
		}
		lines.Close()
		sent <- n
	}()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var peak uint64
	n := 0
	for results := bufio.NewScanner(res.Body); results.Scan(); n++ {
		if want := `"status":201`; !strings.Contains(results.Text(), want) != (n%50 == 3) {
			t.Fatalf("result %d: %s", n, results.Text())
		}
		if n%16 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
	}
	if want := <-sent; n != want {
		t.Errorf("%d results of %d lines", n, want)
	}
	if peak > bound {
		t.Errorf("%d MB of heap for a body of %d MB", peak>>20, total>>20)
	}
	t.Logf("%d lines, at most %d MB of heap", n, peak>>20)
}

package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ledgerd/internal/kinds"
)

// What a stream holds does not depend on its length. It runs alone, since it measures the whole process: the client, the
// server and what the test itself keeps.
func TestBulkMemoryIsBounded(t *testing.T) {
	const (
		total = 200 << 20
		bound = 100 << 20
	)
	note := strings.Repeat("n", 20<<10)
	tooLong := func(n int) bool { return n%50 == 3 }
	peak := bulkPeak(t, 1, total, tooLong, func(n int) string {
		if tooLong(n) {
			return strings.Repeat("x", 2<<20) + "\n"
		}
		return strings.Replace(consentLine(fmt.Sprintf("k%d", n), "1"), `"artifact":{`, `"artifact":{"note":"`+note+`",`, 1) + "\n"
	})
	if peak > bound {
		t.Errorf("%d MB of heap for a body of %d MB", peak>>20, total>>20)
	}
}

// Nor on what its lines become: usage reports with as many frames as a line holds, which take a dozen times their bytes. Four
// streams at once hold no more than the room that all streams share.
func TestBulkMemoryOfLargeLinesIsBounded(t *testing.T) {
	const total = 60 << 20
	report := wideReport(9500)
	for _, c := range []struct{ streams, bound int }{{1, 100 << 20}, {4, 280 << 20}} {
		peak := bulkPeak(t, c.streams, total/c.streams, func(int) bool { return false }, func(n int) string {
			return usageLine(fmt.Sprintf("r%d", n), report) + "\n"
		})
		if peak > uint64(c.bound) {
			t.Errorf("%d streams: %d MB of heap", c.streams, peak>>20)
		}
	}
}

// wideReport is a usage report with so many frames of a hundred bytes each.
func wideReport(frames int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"budget_requested":%d,"budget_consumed":%d,"as_of":%q,"providers":[{"provider_id":"p","frames_served":%d,"frames_rejected":0,"token_cost":%d,"served_frames":[`,
		frames, frames, time.Now().UTC().Format("2006-01-02T15:04:05Z"), frames, frames)
	for i := range frames {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"frame":{"provider_id":"p","frame_id":"%036d"},"token_cost":1}`, i)
	}
	b.WriteString(`]}]}`)
	return b.String()
}

// bulkPeak sends bodies of total bytes each, all at once, and returns the most heap that was seen meanwhile.
func bulkPeak(t *testing.T, streams, total int, refused func(n int) bool, line func(n int) string) uint64 {
	t.Helper()
	runtime.GC() // what tests before this one left would else be collected only when as much again has come
	s := newService(t)
	var peak atomic.Uint64
	var wg sync.WaitGroup
	for i := range streams {
		wg.Go(func() {
			if err := s.sendMeasured(t, total, &peak, refused, func(n int) string { return line(i*total + n) }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	t.Logf("%d streams of %d MB: at most %d MB of heap", streams, total>>20, peak.Load()>>20)
	return peak.Load()
}

func (s *service) sendMeasured(t *testing.T, total int, peak *atomic.Uint64, refused func(n int) bool, line func(n int) string) error {
	t.Helper()
	body, lines := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/entries", body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.tokens[kinds.Host])
	req.Header.Set("Content-Type", ndjson)
	sent := make(chan int, 1)
	go func() {
		n := 0
		for size := 0; size < total; n++ {
			text := line(n)
			if _, err := io.WriteString(lines, text); err != nil {
				break
			}
			size += len(text)
		}
		lines.Close()
		sent <- n
	}()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	n := 0
	for results := bufio.NewScanner(res.Body); results.Scan(); n++ {
		if !strings.Contains(results.Text(), `"status":201`) != refused(n) {
			return fmt.Errorf("result %d: %s", n, results.Text())
		}
		var m runtime.MemStats
		if n%16 == 0 || total/(n+1) > 1<<18 { // of large lines each
			runtime.ReadMemStats(&m)
		}
		for old := peak.Load(); m.HeapAlloc > old && !peak.CompareAndSwap(old, m.HeapAlloc); old = peak.Load() {
		}
	}
	if want := <-sent; n != want {
		return fmt.Errorf("%d results of %d lines", n, want)
	}
	return nil
}

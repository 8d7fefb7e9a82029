package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ledgerd/api"
	"ledgerd/internal/kinds"
)

// However large the entries are, an answer is not: a page ends early, and its cursor leads to the rest.
func TestPagesAreBoundedByBytes(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const reports = 12
	pad := `{"padding":"` + strings.Repeat("x", 900_000) + `",`
	for i := range reports {
		body := usageOf(fmt.Sprint(i), strings.Replace(report(time.Now(), 1, 2, 3), "{", pad, 1))
		if got := s.as(t, kinds.Host, "POST", "/v1/usage-reports", body); got.status != http.StatusCreated {
			t.Fatalf("%d %.300s", got.status, got.body)
		}
	}
	seen, pages := 0, 0
	for cursor := ""; ; pages++ {
		got := s.as(t, kinds.Auditor, "GET", "/v1/entries?limit=200"+cursor, "")
		if len(got.body) > 24<<20 {
			t.Errorf("page %d has %d bytes", pages, len(got.body))
		}
		var page api.EntryListBody
		got.into(t, &page)
		for _, e := range page.Entries {
			if e.Seq != int64(seen) {
				t.Errorf("entry %d where %d was expected", e.Seq, seen)
			}
			seen++
		}
		if page.NextCursor == nil {
			break
		}
		cursor = "&cursor=" + *page.NextCursor
	}
	if seen != reports || pages != 1 {
		t.Errorf("%d entries, %d pages before the last", seen, pages)
	}
}

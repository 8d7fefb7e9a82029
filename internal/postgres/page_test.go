package postgres_test

import (
	"slices"
	"testing"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

// A page ends by the bytes of its contents, too, holds one entry at least, and the pages together are the whole list.
func TestPagesEndByBytes(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	fillKinds(t, l, 60)
	r, err := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "gone", "p"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Appender.Append(t.Context(), admin, erasure(t, r.Seq)); err != nil {
		t.Fatal(err)
	}
	lists := map[string]func(after int64, limit int, bytes int64) ([]ledger.Entry, int64, error){
		"entries": func(after int64, limit int, bytes int64) ([]ledger.Entry, int64, error) {
			return l.Store.Entries(t.Context(), ledgertest.Tenant, auditor, kinds.EntryQuery{After: after, Size: r.Seq + 2, Limit: limit, Bytes: bytes})
		},
		"bundles": func(after int64, limit int, bytes int64) ([]ledger.Entry, int64, error) {
			return l.Store.ReceiptBundles(t.Context(), ledgertest.Tenant, auditor, kinds.BundleQuery{After: after, Size: r.Seq + 2, Limit: limit, Bytes: bytes})
		},
	}
	for name, list := range lists {
		all, next, err := list(-1, 100, 0)
		if err != nil || next != -1 || len(all) < 2 {
			t.Fatalf("%s: %d in one page, then %d, %v", name, len(all), next, err)
		}
		for _, bytes := range []int64{1, 2000, 6000} {
			got, pages := pagesOf(t, list, bytes)
			if !slices.EqualFunc(got, all, func(a, b ledger.Entry) bool { return a.Seq == b.Seq }) {
				t.Errorf("%s by %d bytes: %d entries, want %d", name, bytes, len(got), len(all))
			}
			if bytes == 1 && pages != len(all) {
				t.Errorf("%s, one at a time: %d pages of %d entries", name, pages, len(all))
			}
		}
	}
}

// pagesOf follows a list to its end and holds each page to the bound.
func pagesOf(t *testing.T, list func(int64, int, int64) ([]ledger.Entry, int64, error), bytes int64) (all []ledger.Entry, pages int) {
	t.Helper()
	for after := int64(-1); ; {
		page, next, err := list(after, 7, bytes)
		if err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		for _, e := range page {
			sum += int64(len(e.Content))
		}
		if sum > bytes && len(page) > 1 {
			t.Errorf("a page of %d entries has %d bytes, allowed are %d", len(page), sum, bytes)
		}
		if len(page) > 0 {
			all, pages = append(all, page...), pages+1
		}
		if next < 0 {
			return all, pages
		}
		if next <= after {
			t.Fatalf("after %d the list goes on at %d", after, next)
		}
		after = next
	}
}

package postgres_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

// Every kind's entries pass every check that the store can make, and nothing is said of what it can't.
func TestVerifyEntryOfEveryKind(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	const size = 60
	fillKinds(t, l, size)
	all := kinds.Visibility{All: true}
	seen := map[string]bool{}
	for seq := range int64(size) {
		r, err := l.Store.VerifyEntry(t.Context(), ledgertest.Tenant, all, seq, time.Now(), l.Keys.Verifier)
		if err != nil {
			t.Fatalf("entry %d: %v", seq, err)
		}
		seen[r.Kind] = true
		for _, c := range r.Checks {
			if c.Result != audit.Passed && c.Name != audit.CheckConsent && c.Name != audit.CheckCurrent {
				t.Errorf("entry %d, %s: %+v", seq, r.Kind, c)
			}
		}
		if r.Against == nil || r.Against.TreeSize != size || r.Against.Key == "" || len(r.NotChecked) < 3 {
			t.Errorf("entry %d: %+v", seq, r)
		}
		if judged := r.Kind == kinds.UsageReport.Name; judged != hasCheck(r, audit.CheckConsent) {
			t.Errorf("entry %d, %s: consent is judged %v", seq, r.Kind, !judged)
		}
	}
	for _, k := range ledgertest.Harmless() {
		if !k.OfLog && !seen[k.Name] {
			t.Errorf("no %s was verified", k.Name)
		}
	}
	if _, err := l.Store.VerifyEntry(t.Context(), ledgertest.Tenant, all, size, time.Now()); !errors.Is(err, kinds.ErrNotFound) {
		t.Errorf("beyond the log: %v", err)
	}
	l.AddTenant(t, "other")
	if _, err := l.Store.VerifyEntry(t.Context(), "other", all, 1, time.Now()); !errors.Is(err, kinds.ErrNotFound) {
		t.Errorf("another tenant's: %v", err)
	}
	if _, err := l.Store.VerifyEntry(t.Context(), ledgertest.Tenant, kinds.Visibility{TokenID: "tok_other"}, 1, time.Now()); !errors.Is(err, kinds.ErrNotFound) {
		t.Errorf("not visible: %v", err)
	}
}

func hasCheck(r audit.Report, name audit.CheckName) bool {
	for _, c := range r.Checks {
		if c.Name == name {
			return true
		}
	}
	return false
}

// Entries are examined in stretches that the bytes of their contents bound, and each is examined once.
func TestVerifyEntriesOfManyBytes(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	var seqs []int64
	for i := range 40 {
		a := paddedConsent(t, fmt.Sprint("k", i), 60<<10)
		if i == 20 {
			a = ledgertest.Consent(t, "small", "p")
		}
		r, err := l.Appender.Append(t.Context(), ledgertest.Host, a)
		if err != nil {
			t.Fatal(err)
		}
		for range 12 { // as if it were twelve
			seqs = append(seqs, r.Seq)
		}
	}
	head, err := l.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checked, err := l.Store.VerifyEntries(t.Context(), ledgertest.Tenant, append(seqs, 1_000_000), head, l.Keys.Verifier)
	if err != nil || len(checked) != 40 {
		t.Fatalf("%d entries, %v", len(checked), err)
	}
	for seq, r := range checked {
		if r.Result != audit.Passed {
			t.Errorf("entry %d: %+v", seq, r)
		}
	}
}

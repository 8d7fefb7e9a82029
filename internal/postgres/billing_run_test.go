package postgres_test

import (
	"errors"
	"testing"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
)

// Nothing is billed from a database that was restored under the process, or that another process found to be so: what is planned there
// may long be sent, and what is sent could not be recorded.
func TestNoTermsFromAnOlderDatabase(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	backup, err := a.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a.use("r1", "a", 10*time.Minute, 5)
	for range 2 {
		if terms, err := a.books.BillingTerms(t.Context(), ledgertest.Tenant); err != nil || terms == nil {
			t.Fatal(err)
		}
	}
	restore(t, a.Ledger, backup)
	if _, err := a.books.BillingTerms(t.Context(), ledgertest.Tenant); !errors.Is(err, kinds.ErrReadOnly) {
		t.Errorf("the process that lived through it: %v", err)
	}
	if _, err := a.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "k", "p")); !errors.Is(err, kinds.ErrReadOnly) {
		t.Fatal(err)
	}
	other := postgres.NewBooks(a.Store, a.Appender)
	if _, err := other.BillingTerms(t.Context(), ledgertest.Tenant); !errors.Is(err, kinds.ErrReadOnly) {
		t.Errorf("a log that is not signed on: %v", err)
	}
}

// A configuration of the log before a restore is one under which nothing may be sent; one that was set since is not.
func TestTermsOfARestoredLog(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	admin := kinds.Poster{Tenant: ledgertest.Tenant, Role: kinds.Admin, TokenID: "tok_admin"}
	set := func(customers ...string) {
		t.Helper()
		have, err := l.Store.BillingConfig(t.Context(), ledgertest.Tenant)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Appender.Append(t.Context(), admin, ledgertest.BillingConfig(t, have, customers...)); err != nil {
			t.Fatal(err)
		}
		if terms, err := l.Store.BillingTerms(t.Context(), ledgertest.Tenant); err != nil || terms.Restored {
			t.Fatalf("%+v, %v", terms, err)
		}
	}
	set("a")
	options, keys := drill(t, l)
	if _, err := l.Store.OpenIncarnation(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	if terms, err := l.Store.BillingTerms(t.Context(), ledgertest.Tenant); err != nil || !terms.Restored {
		t.Fatalf("%+v, %v", terms, err)
	}
	l.Keys = keys
	l.Appender = l.StartAppender(t, time.Now)
	set("a", "b")
}

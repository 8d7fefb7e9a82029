package postgres_test

import (
	"testing"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres/ledgertest"
)

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

// Package ledgertest gives tests a ledger on a real Postgres: a migrated database of their own with the three roles, a
// store as the service, and an appender with a fresh signing key. Its users need pgtest.Main in their TestMain.
package ledgertest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/note"

	"ledgerd/internal/devstack/pgtest"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/ledger"
	"ledgerd/receipts"
)

const password = "test-only"

var template = pgtest.NewTemplate("ledger", func(ctx context.Context, adminURL string) error {
	if err := postgres.Bootstrap(ctx, adminURL, databaseOf(adminURL), password, password); err != nil {
		return err
	}
	owner, err := postgres.LoginURL(adminURL, databaseOf(adminURL), postgres.OwnerRole, password)
	if err != nil {
		return err
	}
	m, err := postgres.OpenMigrator(owner)
	if err != nil {
		return err
	}
	defer m.Close()
	_, err = m.Up(ctx)
	return err
})

func databaseOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Path, "/")
}

// Ledger is a database with a log that holds nothing yet.
type Ledger struct {
	AdminURL   string // superuser
	OwnerURL   string
	ServiceURL string
	Keys       postgres.Keys
	SignerKey  string // the note signer key, secret
	Store      *postgres.Store
	Appender   *postgres.Appender
}

// Tenant exists in every Ledger.
const Tenant = "acme"

// Host is a poster of that tenant.
var Host = kinds.Poster{Tenant: Tenant, Role: kinds.Host, TokenID: "tok_host"}

// New makes a ledger that is closed and dropped at the end of the test.
func New(tb testing.TB) *Ledger {
	tb.Helper()
	l := Empty(tb)
	var err error
	if l.Store, err = postgres.Open(tb.Context(), l.ServiceURL); err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
	tb.Cleanup(l.Store.Close)
	if _, err = l.Store.MakeLog(tb.Context(), l.Keys, time.Now()); err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
	l.AddTenant(tb, Tenant)
	l.Appender = l.StartAppender(tb, time.Now)
	return l
}

// Empty makes a migrated database and a signing key, and opens nothing.
func Empty(tb testing.TB) *Ledger {
	tb.Helper()
	l := &Ledger{AdminURL: template.NewDatabase(tb)}
	if err := postgres.Harden(tb.Context(), l.AdminURL); err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
	l.OwnerURL, l.ServiceURL = l.login(tb, postgres.OwnerRole), l.login(tb, postgres.ServiceRole)
	l.SignerKey, l.Keys = NewKeys(tb, "test.example/"+strings.ToLower(rand.Text()[:8]))
	return l
}

func (l *Ledger) login(tb testing.TB, role string) string {
	tb.Helper()
	u, err := postgres.LoginURL(l.AdminURL, databaseOf(l.AdminURL), role, password)
	if err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
	return u
}

// NewKeys makes a signing key for the origin.
func NewKeys(tb testing.TB, origin string) (signerKey string, keys postgres.Keys) {
	tb.Helper()
	skey, vkey, err := note.GenerateKey(rand.Reader, origin)
	if err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
	if keys.Signer, err = note.NewSigner(skey); err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
	if keys.Evidence, err = ledger.EvidenceSigner(skey); err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
	keys.VerifierKey = vkey
	if keys.Verifier, err = note.NewVerifier(vkey); err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
	return skey, keys
}

// AddTenant makes one more tenant; nobody knows its admin token.
func (l *Ledger) AddTenant(tb testing.TB, id string) {
	tb.Helper()
	now := time.Now()
	token := kinds.Token{
		ID: "tok_" + rand.Text(), Tenant: id, Role: kinds.Admin, Name: "unused", Hash: sha256.Sum256([]byte(rand.Text())),
		CreatedAt: now, ExpiresAt: now.Add(time.Hour),
	}
	if err := l.Store.CreateTenant(tb.Context(), kinds.Tenant{ID: id, CreatedAt: now}, token); err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
}

// StartAppender starts one more appender on the ledger, closed at the end of the test.
func (l *Ledger) StartAppender(tb testing.TB, now func() time.Time) *postgres.Appender {
	tb.Helper()
	a := postgres.StartAppender(postgres.AppenderOptions{Store: l.Store, Keys: l.Keys, Log: slog.New(slog.DiscardHandler), Now: now})
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), 20*time.Second)
		defer cancel()
		if err := a.Close(ctx); err != nil {
			tb.Errorf("ledgertest: %v", err)
		}
	})
	return a
}

// Consent is an accepted consent receipt for a provider, recorded under the given key.
func Consent(tb testing.TB, key, provider string) *kinds.Accepted {
	tb.Helper()
	artifact := `{"provider_id":"` + provider + `","scope":"` + string(receipts.ThirdPartyModel) + `","provider_name":"N","provider_version":"1",` +
		`"grantor":{"kind":"human","id":"maria@example"},"granted_at":"2026-01-10T08:00:00Z"}`
	a, err := kinds.ConsentReceipt.Accept(kinds.Submission{Artifact: []byte(artifact), Key: key}, kinds.Env{Now: time.Now()})
	if err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
	return a
}

// Count is the number of rows of a table, as the superuser sees it.
func (l *Ledger) Count(tb testing.TB, table string) int {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), l.AdminURL)
	if err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
	defer conn.Close(tb.Context())
	var n int
	if err := conn.QueryRow(tb.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		tb.Fatalf("ledgertest: %v", err)
	}
	return n
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ledgerd/api"
	"ledgerd/internal/clickhouse"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
)

// connectionFile is what `ledgerd dev` and `ledgerd bootstrap` leave for people and programs: where the ledger is and how
// to get in. It holds secrets and is readable by its owner only.
type connectionFile struct {
	URL         string                `json:"url"`
	Tokens      map[kinds.Role]string `json:"tokens"`
	PostgresURL string                `json:"postgres_url"` // of the service role
	MigrateURL  string                `json:"migrate_url"`  // of the owner
	LogKeys     []string              `json:"log_verifier_keys"`
	PrivateURL  string                `json:"private_url,omitempty"` // metrics and profiles

	ClickHouseURL string `json:"clickhouse_url,omitempty"`
	StripeURL     string `json:"stripe_url,omitempty"` // the fake's
}

const connectionName = "dev.json"

// connectionPath is where a data folder's file is.
func connectionPath(dir string) string { return filepath.Join(dir, connectionName) }

// readConnection reads the file; a missing one is fs.ErrNotExist.
func readConnection(dir string) (connectionFile, error) { return readConnectionAt(connectionPath(dir)) }

func readConnectionAt(path string) (connectionFile, error) {
	var c connectionFile
	raw, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, fmt.Errorf("reading %s: %w", path, err)
	}
	return c, nil
}

// writeConnection replaces the file in one step, so that a reader sees the old one or the new one whole.
func writeConnection(dir string, c connectionFile) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // a person copies the URLs
	enc.SetIndent("", "  ")
	if err := enc.Encode(c); err != nil {
		return err
	}
	if err := replaceFile(connectionPath(dir), b.Bytes()); err != nil {
		return err
	}
	return removeIfThere(asidePath(dir))
}

// setConnectionAside takes dev.json away, since its presence says ready, and reads it. What is aside is read too, so that a
// start that failed does not cost the tokens of the one before.
func setConnectionAside(dir string) (connectionFile, error) {
	if err := os.Rename(connectionPath(dir), asidePath(dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return connectionFile{}, err
	}
	c, err := readConnectionAt(asidePath(dir))
	if errors.Is(err, os.ErrNotExist) {
		return connectionFile{}, nil
	}
	return c, err
}

func asidePath(dir string) string { return connectionPath(dir) + ".before" }

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// replaceFile writes a secret file by renaming a complete one into place.
func replaceFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", path, err), os.Remove(f.Name()))
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes a rename durable.
func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// bootstrapCmd prepares an empty server for `ledgerd serve`.
type bootstrapCmd struct {
	AdminURL      string `required:"" env:"LEDGERD_ADMIN_URL" placeholder:"URL" help:"Postgres URL of a superuser; used by this command only."`
	MigrateURL    string `required:"" env:"LEDGERD_MIGRATE_URL" placeholder:"URL" help:"URL that the owner role (ledger_owner) shall have; its password is set from here."`
	DatabaseURL   string `required:"" env:"LEDGERD_DATABASE_URL" placeholder:"URL" help:"URL that the service role (ledger_svc) shall have; its password is set from here."`
	ClickhouseURL string `env:"LEDGERD_CLICKHOUSE_URL" placeholder:"URL" help:"ClickHouse to prepare as well: clickhouse://, http:// or https://, with a user that may create tables. None when empty."`
	DataDir       string `required:"" env:"LEDGERD_DATA_DIR" placeholder:"DIR" type:"path" help:"Folder for dev.json, which gets the URLs and the first tokens (mode 0600)."`
	URL           string `default:"http://127.0.0.1:8080" env:"LEDGERD_URL" help:"Where the service will answer; only written down."`
	Tenant        string `default:"default" env:"LEDGERD_TENANT" help:"Name of the first tenant."`

	SigningKeyFile string `env:"LEDGERD_SIGNING_KEY_FILE" placeholder:"FILE" type:"path" help:"The log's signing key is made here, unless the file exists; 'ledgerd serve' needs it."`
	Origin         string `env:"LEDGERD_ORIGIN" placeholder:"NAME" help:"Name of the log for a new signing key; a unique one is made up."`
}

// checkClickHouse refuses a malformed URL, without reaching for the server; an empty one means none.
func checkClickHouse(dsn string) error {
	if dsn == "" {
		return nil
	}
	client, err := clickhouse.Open(dsn)
	if err != nil {
		return err
	}
	return client.Close()
}

func (c *bootstrapCmd) Run(p *process) error {
	database, owner, err := loginOf(c.MigrateURL, postgres.OwnerRole)
	if err != nil {
		return fmt.Errorf("LEDGERD_MIGRATE_URL: %w", err)
	}
	same, service, err := loginOf(c.DatabaseURL, postgres.ServiceRole)
	if err != nil {
		return fmt.Errorf("LEDGERD_DATABASE_URL: %w", err)
	}
	if same != database {
		return errors.New("LEDGERD_MIGRATE_URL and LEDGERD_DATABASE_URL name different databases")
	}
	if err := checkClickHouse(c.ClickhouseURL); err != nil { // before anything is changed
		return fmt.Errorf("LEDGERD_CLICKHOUSE_URL: %w", err)
	}
	if err := postgres.Bootstrap(p.ctx, c.AdminURL, database, owner, service); err != nil {
		return err
	}
	if err := migrateUp(p.ctx, c.MigrateURL); err != nil {
		return err
	}
	if c.ClickhouseURL != "" {
		if _, err := clickhouse.Migrate(p.ctx, c.ClickhouseURL); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return err
	}
	old, err := readConnection(c.DataDir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	store, err := postgres.Open(p.ctx, c.DatabaseURL)
	if err != nil {
		return err
	}
	defer store.Close()
	tokens, err := firstTokens(p.ctx, store, c.Tenant, old.Tokens, time.Now())
	if err != nil {
		return err
	}
	conn := connectionFile{URL: c.URL, Tokens: tokens, PostgresURL: c.DatabaseURL, MigrateURL: c.MigrateURL, LogKeys: old.LogKeys, ClickHouseURL: c.ClickhouseURL}
	if c.SigningKeyFile != "" {
		keys, err := keptKey(c.SigningKeyFile, c.Origin)
		if err != nil {
			return err
		}
		conn.LogKeys = withEarlierLogs(keys.VerifierKeys(), old.LogKeys)
	}
	if err := writeConnection(c.DataDir, conn); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "ready: tenant %q; URLs and tokens are in %s\n", c.Tenant, connectionPath(c.DataDir))
	return err
}

// withEarlierLogs adds to the verifier keys of the current log those of old that are of other names: the logs before it, whose
// checkpoints fsck checks as well.
func withEarlierLogs(current, old []string) []string {
	name := func(verifierKey string) string { before, _, _ := strings.Cut(verifierKey, "+"); return before }
	all := slices.Clone(current)
	for _, key := range old {
		if !slices.ContainsFunc(current, func(k string) bool { return name(k) == name(key) }) {
			all = append(all, key)
		}
	}
	return all
}

func migrateUp(ctx context.Context, ownerURL string) error {
	m, err := postgres.OpenMigrator(ownerURL)
	if err != nil {
		return err
	}
	defer m.Close()
	_, err = m.Up(ctx)
	return err
}

// loginOf reads database and password from a URL that must be the role's.
func loginOf(raw, role string) (database, password string, err error) {
	u, err := url.Parse(raw)
	if err != nil || u.User == nil {
		return "", "", errors.New("a URL of the form postgres://role:password@host/database is required")
	}
	password, _ = u.User.Password()
	database = strings.TrimPrefix(u.Path, "/")
	if u.User.Username() != role || password == "" || database == "" {
		return "", "", fmt.Errorf("it must name the role %s, a password and a database", role)
	}
	return database, password, nil
}

// firstTokenLifetime is that of the tokens that bootstrap and dev make.
const firstTokenLifetime = 400 * 24 * time.Hour

// firstTokens makes the tenant if needed and a token for each role. Tokens of an earlier run that are good for another
// month are kept.
func firstTokens(ctx context.Context, store *postgres.Store, tenant string, old map[kinds.Role]string, now time.Time) (map[kinds.Role]string, error) {
	tokens := map[kinds.Role]string{}
	admin, secret := api.NewToken(tenant, kinds.Admin, "bootstrap", now, firstTokenLifetime)
	switch err := store.CreateTenant(ctx, kinds.Tenant{ID: tenant, CreatedAt: now.UTC()}, admin); {
	case err == nil:
		tokens[kinds.Admin] = secret
	case !errors.Is(err, kinds.ErrExists):
		return nil, fmt.Errorf("making tenant %q: %w", tenant, err)
	}
	for _, role := range kinds.Roles {
		if tokens[role] != "" {
			continue
		}
		kept, err := stillGood(ctx, store, old[role], tenant, role, now)
		if err != nil {
			return nil, err
		}
		if kept {
			tokens[role] = old[role]
			continue
		}
		of := tenant
		if role == kinds.Operator {
			of = ""
		}
		t, secret := api.NewToken(of, role, "bootstrap", now, firstTokenLifetime)
		if err := store.CreateToken(ctx, t); err != nil {
			return nil, fmt.Errorf("making the first %s token: %w", role, err)
		}
		tokens[role] = secret
	}
	return tokens, nil
}

func stillGood(ctx context.Context, store *postgres.Store, secret, tenant string, role kinds.Role, now time.Time) (bool, error) {
	if secret == "" {
		return false, nil
	}
	t, err := store.TokenByHash(ctx, api.HashToken(secret))
	if errors.Is(err, kinds.ErrNotFound) {
		return false, nil
	}
	good := t.Role == role && (t.Tenant == tenant || role == kinds.Operator) && t.RevokedAt == nil && t.ExpiresAt.After(now.AddDate(0, 1, 0))
	return good, err
}

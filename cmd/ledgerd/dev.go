package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"ledgerd/internal/devstack"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
)

// devCmd runs the whole product on one machine. It never listens beyond loopback: the tokens lie in a file, and what is
// embedded trusts its machine.
type devCmd struct {
	logFlags
	selfAuditFlags
	Listen        string `default:"127.0.0.1:8080" env:"LEDGERD_LISTEN" help:"Address to answer on; loopback only. Port 0 takes a free one."`
	PrivateListen string `default:"127.0.0.1:0" env:"LEDGERD_PRIVATE_LISTEN" help:"Address for metrics and profiles; loopback only."`
	DataDir       string `env:"LEDGERD_DATA_DIR" placeholder:"DIR" help:"Folder for everything that is kept. Default: /var/lib/ledgerd as root, else ~/.local/share/ledgerd."`
	Clickhouse    string `default:"embedded" env:"LEDGERD_CLICKHOUSE" placeholder:"embedded|off|URL" help:"ClickHouse for questions over many frames: the embedded engine, none, or a server by URL."`
	Billing       string `enum:"on,off" default:"on" env:"LEDGERD_BILLING" help:"Whether usage is billed to the Stripe fake: on or off."`
	Origin        string `env:"LEDGERD_ORIGIN" placeholder:"NAME" help:"Name of the log, used when it is first made; a unique one is made up."`
}

const (
	devDatabase = "ledger"
	devTenant   = "dev"
	signingName = "signing.key"
	keptName    = "checkpoint"
	ownerName   = "owner.password"
	serviceName = "service.password"
)

func (c *devCmd) Run(p *process) error {
	addThread()
	for _, address := range []string{c.Listen, c.PrivateListen} {
		if err := loopbackOnly(address); err != nil {
			return err
		}
	}
	dir, err := dataDir(c.DataDir)
	if err != nil {
		return err
	}
	pg, err := devstack.StartPostgres(p.ctx, devstack.PostgresOptions{DataDir: dir, Log: p.stderr})
	if err != nil {
		return err
	}
	err = c.serve(p, dir, pg)
	stop, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), drainTimeout)
	defer cancel()
	if stopped := pg.Stop(stop); stopped != nil {
		return errors.Join(err, stopped)
	}
	fmt.Fprintln(p.stderr, "stopped; the data stays in", dir)
	return err
}

// dataDir is the folder of a run, absolute: the database server gets its path and has another working directory.
func dataDir(given string) (string, error) {
	if given == "" {
		return devstack.DefaultDataDir()
	}
	return filepath.Abs(given)
}

// serve prepares the running cluster, serves until the context or the cluster ends, and leaves the cluster running.
func (c *devCmd) serve(p *process, dir string, pg *devstack.Postgres) (err error) {
	old, err := setConnectionAside(dir)
	if err != nil {
		return err
	}
	conn, keys, err := c.prepare(p.ctx, dir, pg)
	if err != nil {
		return err
	}
	conn.LogKeys = withEarlierLogs(conn.LogKeys, old.LogKeys)
	var stopEngine func() error
	if conn.ClickHouseURL, stopEngine, err = startClickHouse(p.ctx, c.Clickhouse, dir, p.stderr); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopEngine()) }()
	fake, err := startStripe(p.ctx, dir, time.Now())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fake.Close()) }()
	conn.StripeURL = fake.url
	s, err := newServer(p.ctx, serverOptions{
		Log: c.logger(p.stderr), DatabaseURL: conn.PostgresURL, Keys: keys, Listen: c.Listen, Private: c.PrivateListen,
		CheckpointFile: filepath.Join(dir, keptName), InitCheckpoint: true, ClickHouseURL: conn.ClickHouseURL, SelfAudit: c.selfAuditFlags,
		Billing:      billingFlags{Billing: c.Billing, BillingSecrets: filepath.Join(dir, devSecretsFolder), BillingRate: devBillingRate, StripeURL: fake.url},
		BillingClock: fake.Now,
	})
	if err != nil {
		return err
	}
	fake.SetWebhook(s.URL()+"/v1/stripe/webhook/"+devTenant, fake.webhook)
	if err := c.furnish(p.ctx, dir, s, &conn, old.Tokens); err != nil {
		s.close()
		return err
	}
	c.greet(p, dir, conn)
	ctx, cancel := context.WithCancelCause(p.ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-pg.Done():
			cancel(fmt.Errorf("the database server ended: %w; start again to recover", pg.Err()))
		case <-ctx.Done():
		}
	}()
	err = s.run(ctx)
	if cause := context.Cause(ctx); p.ctx.Err() == nil && cause != nil {
		err = errors.Join(err, cause)
	}
	return err
}

// furnish gives the tenant its tokens and its billing configuration, or finds them, and writes down how to get in.
func (c *devCmd) furnish(ctx context.Context, dir string, s *server, conn *connectionFile, old map[kinds.Role]string) (err error) {
	if conn.Tokens, err = firstTokens(ctx, s.store, devTenant, old, time.Now()); err != nil {
		return err
	}
	if err := configureBilling(ctx, s, time.Now()); err != nil {
		return err
	}
	conn.URL, conn.PrivateURL = s.URL(), s.PrivateURL()
	return writeConnection(dir, *conn)
}

// prepare makes roles, database, schema and signing key, or finds them.
func (c *devCmd) prepare(ctx context.Context, dir string, pg *devstack.Postgres) (connectionFile, postgres.Keys, error) {
	var conn connectionFile
	passwords := [2]string{}
	for i, name := range [2]string{ownerName, serviceName} {
		var err error
		if passwords[i], err = keptSecret(filepath.Join(dir, name), func() (string, error) { return rand.Text(), nil }); err != nil {
			return conn, postgres.Keys{}, err
		}
	}
	admin := pg.AdminURL("postgres")
	err := postgres.Bootstrap(ctx, admin, devDatabase, passwords[0], passwords[1])
	if err != nil {
		return conn, postgres.Keys{}, err
	}
	if conn.MigrateURL, err = postgres.LoginURL(admin, devDatabase, postgres.OwnerRole, passwords[0]); err != nil {
		return conn, postgres.Keys{}, err
	}
	if conn.PostgresURL, err = postgres.LoginURL(admin, devDatabase, postgres.ServiceRole, passwords[1]); err != nil {
		return conn, postgres.Keys{}, err
	}
	if err := migrateUp(ctx, conn.MigrateURL); err != nil {
		return conn, postgres.Keys{}, err
	}
	keys, err := keptKey(filepath.Join(dir, signingName), c.Origin)
	conn.LogKeys = keys.VerifierKeys()
	return conn, keys, err
}

// loopbackOnly refuses an address that another machine could reach.
func loopbackOnly(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("the address %q is not of the form host:port", address)
	}
	if ip := net.ParseIP(host); host == "localhost" || (ip != nil && ip.IsLoopback()) {
		return nil
	}
	return fmt.Errorf("`ledgerd dev` listens on loopback only, and %q is not: its tokens lie in a file on this machine; use `ledgerd serve` for a network", address)
}

// greet says what runs and what to try next.
func (c *devCmd) greet(p *process, dir string, conn connectionFile) {
	fmt.Fprintf(p.stdout, `
ledgerd is ready at %s    (Ctrl-C stops everything)

  tokens and URLs   %s
  metrics           %s/metrics
  Stripe fake       %s/_events

Try next, in a second terminal:

  make demo         posts a session, asks the auditor's question, and bills it
  curl -s %s/log/checkpoint
  curl -s -H "Authorization: Bearer $(grep -o '"auditor": *"[^"]*' %s | cut -d'"' -f4)" \
       "%s/v1/entries?limit=5"

`, conn.URL, connectionPath(dir), conn.PrivateURL, conn.StripeURL, conn.URL, connectionPath(dir), conn.URL)
}

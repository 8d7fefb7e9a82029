package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"ledgerd/client"
	"ledgerd/internal/kinds"
)

// demoCmd shows the product at work on a running instance: it does what hosts do during a session, and then asks what an
// auditor asks. It can be run again and again: policy, consents, declarations and published bundles are then replays, the session is new.
type demoCmd struct {
	DataDir string `env:"LEDGERD_DATA_DIR" placeholder:"DIR" help:"Data folder of the running 'ledgerd dev'. Default: /var/lib/ledgerd as root, else ~/.local/share/ledgerd."`
	Bundles string `placeholder:"FILE" type:"path" help:"Receipt bundles to post: a corpus file with valid_vectors. Default: the published corpus in ../shared when it is there, else bundles that the demo signs itself."`
}

func (c *demoCmd) Run(p *process) error {
	d, err := c.open(p)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\nledgerd demo against %s, session %s\n\nA host records\n", d.url, d.session)
	for _, step := range []func(context.Context) error{d.setPolicy, d.grantConsents, d.declareProviders, d.postSession, d.postWrongSum, d.grantLate, d.postReceipts, d.askAuditor, d.askUsage, d.billSession} {
		if err := step(p.ctx); err != nil {
			return err
		}
	}
	return nil
}

// demo is one run.
type demo struct {
	out        io.Writer
	url        string
	connection string // path of dev.json
	session    string // fresh for each run, the prefix of its request and turn ids
	bundles    string // file, "" for the default
	stripe     string // URL of the fake, "" for none

	host, auditor, admin *client.Client
	billing              *client.Client
	once                 *client.Client // an auditor's that takes a refusal for an answer

	from, to time.Time // the session in time: no report of another run lies in it
}

// open finds the running instance.
func (c *demoCmd) open(p *process) (*demo, error) {
	dir, err := dataDir(c.DataDir)
	if err != nil {
		return nil, err
	}
	conn, err := readConnection(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("no ledgerd runs on the data folder %s: start one with `make run` or `ledgerd dev`, or name its folder with --data-dir", dir)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("the tokens in %s can be read by their owner only: run the demo as the user who runs `ledgerd dev`", connectionPath(dir))
	case err != nil:
		return nil, err
	}
	if err := ready(p.ctx, conn.URL); err != nil {
		return nil, fmt.Errorf("the ledgerd that wrote %s does not answer, start it again with `make run` or `ledgerd dev`: %w", connectionPath(dir), err)
	}
	d := &demo{out: p.stdout, url: conn.URL, connection: connectionPath(dir), session: "demo-" + strings.ToLower(rand.Text()[:8]), bundles: c.Bundles, stripe: conn.StripeURL}
	for role, to := range map[kinds.Role]**client.Client{kinds.Host: &d.host, kinds.Auditor: &d.auditor, kinds.Admin: &d.admin, kinds.Billing: &d.billing} {
		if *to, err = client.New(conn.URL, conn.Tokens[role]); err != nil {
			return nil, err
		}
	}
	d.once, err = client.New(conn.URL, conn.Tokens[kinds.Auditor], client.WithMaxAttempts(1))
	return d, err
}

// did reports a step in one line.
func (d *demo) did(what, format string, args ...any) {
	fmt.Fprintf(d.out, "  %-15s %s\n", what, fmt.Sprintf(format, args...))
}

// tally counts what a step recorded.
type tally struct {
	seqs     []int64
	replayed int
}

func (t *tally) add(r client.Recorded) {
	t.seqs = append(t.seqs, r.Seq)
	if r.Replayed {
		t.replayed++
	}
}

func (t *tally) String() string {
	switch t.replayed {
	case 0:
		return entries(t.seqs)
	case len(t.seqs):
		return "recorded by an earlier run, " + entries(t.seqs)
	}
	return fmt.Sprintf("%d of them by an earlier run, %s", t.replayed, entries(t.seqs))
}

// statusOf is the HTTP status of a refusal, 0 for another error.
func statusOf(err error) int {
	var p *client.Problem
	if errors.As(err, &p) {
		return p.Status
	}
	return 0
}

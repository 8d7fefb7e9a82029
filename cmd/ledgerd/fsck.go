package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/note"

	"ledgerd/internal/audit"
	"ledgerd/internal/postgres"
	"ledgerd/ledger"
)

// fsckCmd checks a log as a whole. Exit status: 0 clean, 1 faults found, 2 the check could not be completed.
type fsckCmd struct {
	DatabaseURL string   `env:"LEDGERD_DATABASE_URL" placeholder:"URL" help:"Postgres URL of the service role (ledger_svc)."`
	LogKey      []string `env:"LEDGERD_LOG_KEY" sep:" " placeholder:"VKEY" help:"Verifier key of the log, as 'ledgerd key show' prints it. Repeat it for each key that the log had, and for each incarnation. Keep it elsewhere than with the database: it is what everything is held against."`
	DataDir     string   `placeholder:"DIR" type:"existingdir" help:"Take the URL from the dev.json in this folder instead, its log_verifier_keys beside --log-key, and --since from the checkpoint that is kept there."`
	Since       string   `placeholder:"FILE" type:"existingfile" help:"An older checkpoint of any incarnation's log, kept elsewhere: /log/checkpoint as it was then, or the service's own LEDGERD_CHECKPOINT_FILE. Shows that the log was neither cut back nor rewritten since."`
	Paranoid    bool     `help:"Canonicalise each content with a second, independent encoder too."`
	JSON        bool     `name:"json" help:"Print faults and result as JSON, one object a line."`
}

func (c *fsckCmd) Run(p *process) error {
	r, err := c.check(p)
	switch {
	case err != nil:
		fmt.Fprintln(p.stderr, "ledgerd: the check could not be completed:", err)
		return exitError(2)
	case r.Faults > 0:
		return exitError(1)
	}
	return nil
}

// check runs the check and prints what it finds.
func (c *fsckCmd) check(p *process) (fsckResult, error) {
	if err := c.fromDataDir(); err != nil {
		return fsckResult{}, err
	}
	verifiers, err := logVerifiers(c.LogKey)
	if err != nil {
		return fsckResult{}, err
	}
	o := postgres.FsckOptions{Verifiers: verifiers, Paranoid: c.Paranoid}
	if c.Since != "" {
		if o.Since, err = readSince(c.Since, verifiers); err != nil {
			return fsckResult{}, err
		}
	}
	store, err := openStore(p.ctx, c.DatabaseURL)
	if err != nil {
		return fsckResult{}, err
	}
	defer store.Close()
	out := newFsckOutput(p, c.JSON, time.Now)
	o.Fault, o.Progress = out.fault, out.progress
	heads, err := store.Fsck(p.ctx, o)
	if err != nil {
		return fsckResult{}, err
	}
	return out.finish(heads, o.Since, c.Paranoid)
}

// fromDataDir fills in what a data folder's file says.
func (c *fsckCmd) fromDataDir() error {
	if c.DataDir != "" {
		conn, err := readConnection(c.DataDir)
		if err != nil {
			return err
		}
		c.DatabaseURL = conn.PostgresURL
		for _, key := range conn.LogKeys {
			if !slices.Contains(c.LogKey, key) {
				c.LogKey = append(c.LogKey, key)
			}
		}
		if kept := filepath.Join(c.DataDir, keptName); c.Since == "" && exists(kept) {
			c.Since = kept
		}
	}
	if c.DatabaseURL == "" || len(c.LogKey) == 0 {
		return errors.New("it needs the database and the log's verifier key: give --database-url and --log-key, or --data-dir")
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// logVerifiers reads the verifier keys of all incarnations' logs, each of which may have several.
func logVerifiers(keys []string) ([]note.Verifier, error) {
	byName := map[string][]string{}
	for _, key := range keys {
		v, err := note.NewVerifier(key)
		if err != nil {
			return nil, fmt.Errorf("reading the verifier key: %w", err)
		}
		byName[v.Name()] = append(byName[v.Name()], key)
	}
	var all []note.Verifier
	for name, keys := range byName {
		verifiers, err := ledger.ParseVerifierKeys(name, keys...)
		if err != nil {
			return nil, fmt.Errorf("reading the verifier keys: %w", err)
		}
		all = append(all, verifiers...)
	}
	return all, nil
}

// readSince reads and verifies the user's own checkpoint, of whichever log a key was given of.
func readSince(path string, verifiers []note.Verifier) (*ledger.Checkpoint, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the older checkpoint: %w", err)
	}
	claimed, err := ledger.ReadCheckpoint(raw)
	if err != nil {
		return nil, fmt.Errorf("reading the older checkpoint: %w", err)
	}
	own := slices.DeleteFunc(slices.Clone(verifiers), func(v note.Verifier) bool { return v.Name() != claimed.Origin })
	signed, err := ledger.OpenCheckpoint(raw, claimed.Origin, own...)
	if err != nil {
		return nil, fmt.Errorf("reading the older checkpoint: %w", err)
	}
	c := signed.Checkpoint()
	return &c, nil
}

// fsckResult is the closing line of a check.
type fsckResult struct {
	Type     string    `json:"type"` // "result"
	Origin   string    `json:"origin"`
	Size     int64     `json:"size"`      // of the tree, by the head
	FirstSeq int64     `json:"first_seq"` // entries below are of an earlier incarnation's log
	RootHash string    `json:"root_hash"`
	Earlier  []fsckLog `json:"earlier"` // the logs before, which were checked too
	Entries  int64     `json:"entries"` // of all logs, that were there and were checked
	Faults   int64     `json:"faults"`
	Unlisted int64     `json:"unlisted"`   // of the faults, those not printed
	Since    *int64    `json:"since_size"` // size of the older checkpoint; null: freshness is not shown
	Paranoid bool      `json:"paranoid"`
	Seconds  float64   `json:"seconds"`
}

// fsckLog is the log of an earlier incarnation.
type fsckLog struct {
	Origin   string `json:"origin"`
	Size     int64  `json:"size"`
	FirstSeq int64  `json:"first_seq"`
	RootHash string `json:"root_hash"`
}

// fsckFault is a fault as it is printed.
type fsckFault struct {
	Type   string          `json:"type"` // "fault"
	Seq    *int64          `json:"seq"`  // null where no single entry is concerned
	Code   audit.FaultCode `json:"code"`
	Detail string          `json:"detail"`
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ledgerd/internal/postgres"
	"ledgerd/ledger"
)

type incarnationCmd struct {
	Open incarnationOpenCmd `cmd:"" help:"Open a new log after the database was restored from an older backup; its first entry commits to the last known checkpoint of the log before."`
}

// incarnationOpenCmd is the operator's way out when the service refuses to sign: the old log is never signed on.
//
// What a crash means after each step; the same command again goes on from there:
//
//  1. new key in <key file>.new — nothing has happened; the key is used by the next run.
//  2. database                  — see postgres.Store.OpenIncarnation. The service refuses to start with the old key.
//  3. old files kept aside      — copies only.
//  4. new checkpoint in place   — the service still refuses the old key.
//  5. new key in place          — done, by one rename.
type incarnationOpenCmd struct {
	logFlags
	DatabaseURL    string `required:"" env:"LEDGERD_DATABASE_URL" placeholder:"URL" help:"Postgres URL of the service role."`
	SigningKeyFile string `required:"" env:"LEDGERD_SIGNING_KEY_FILE" placeholder:"FILE" type:"path" help:"File of the log's signing key. In the end the old key is kept beside it, and the new one takes its place."`
	CheckpointFile string `required:"" env:"LEDGERD_CHECKPOINT_FILE" placeholder:"FILE" type:"path" help:"The newest known checkpoint of the old log, kept outside the database. In the end it is kept beside, and the new log's takes its place."`
	Reason         string `required:"" placeholder:"TEXT" help:"Why, for the auditors to come."`
	Force          bool   `help:"Open a new log although the old one is whole and can be signed on: for drills."`
}

func (c *incarnationOpenCmd) Run(p *process) error {
	store, err := openStore(p.ctx, c.DatabaseURL)
	if err != nil {
		return err
	}
	defer store.Close()
	old, err := readKeys("", c.SigningKeyFile)
	if err != nil {
		return err
	}
	previous, err := os.ReadFile(c.CheckpointFile)
	if err != nil {
		return fmt.Errorf("reading the last known checkpoint: %w", err)
	}
	opened, err := store.OpenIncarnation(p.ctx, postgres.OpenIncarnationOptions{
		NewKeys: c.newKeys, Old: old, Previous: previous, Force: c.Force, Reason: c.Reason, Now: time.Now, Log: c.logger(p.stderr),
	})
	if errors.Is(err, postgres.ErrUsable) {
		return fmt.Errorf("%w; --force opens a new log all the same", err)
	}
	if err != nil {
		return err
	}
	vkey, err := c.putInPlace(opened)
	if err != nil {
		return fmt.Errorf("the new log is open, its files are not in place yet; run the same command again: %w", err)
	}
	_, err = fmt.Fprintf(p.stdout, "incarnation %d is open: the log %s begins at entry %d\nverifier key: %s\n", opened.Incarnation, opened.Origin, opened.Base, vkey)
	return err
}

// newKeyFile is where the new key lies until it takes its place.
func (c *incarnationOpenCmd) newKeyFile() string { return c.SigningKeyFile + ".new" }

// newKeys makes the new log's key, or reads the one that an earlier run made.
func (c *incarnationOpenCmd) newKeys(origin string, begun bool) (postgres.Keys, error) {
	if begun && !exists(c.newKeyFile()) {
		return postgres.Keys{}, fmt.Errorf("the log %q was begun already, and its key is not in %s; run the command where it was begun", origin, c.newKeyFile())
	}
	keys, err := keptKey(c.newKeyFile(), origin)
	if err == nil && keys.Signer.Name() != origin {
		err = fmt.Errorf("%s holds a key of %q, and the new log is %q; move it away", c.newKeyFile(), keys.Signer.Name(), origin)
	}
	return keys, err
}

// putInPlace keeps the old files aside, under the number of the log that they are of, and moves the new ones in place. It
// returns the new verifier key.
func (c *incarnationOpenCmd) putInPlace(opened ledger.Head) (string, error) {
	aside := "." + strconv.Itoa(opened.Incarnation-1)
	checkpoint, err := os.ReadFile(c.CheckpointFile)
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(string(checkpoint), opened.Origin+"\n") { // else a run before put it there
		if err := keepAside(c.CheckpointFile, c.CheckpointFile+aside); err != nil {
			return "", err
		}
		if err := replaceFile(c.CheckpointFile, []byte(opened.Checkpoint)); err != nil {
			return "", err
		}
	}
	if err := keepAside(c.SigningKeyFile, c.SigningKeyFile+aside); err != nil {
		return "", err
	}
	keys, err := readKeys("", c.newKeyFile())
	if err != nil {
		return "", err
	}
	if err := os.Rename(c.newKeyFile(), c.SigningKeyFile); err != nil {
		return "", err
	}
	return keys.VerifierKey, syncFolder(filepath.Dir(c.SigningKeyFile))
}

// keepAside copies a file to another name. What is there already must be the same.
func keepAside(path, aside string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	kept, err := os.ReadFile(aside)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return replaceFile(aside, raw)
	case err != nil:
		return err
	case !bytes.Equal(kept, raw):
		return fmt.Errorf("%s is to be kept as %s, where something else is; move that away", path, aside)
	}
	return nil
}

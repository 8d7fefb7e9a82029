package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/mod/sumdb/note"

	"ledgerd/internal/postgres"
	"ledgerd/ledger"
)

type incarnationCmd struct {
	Open incarnationOpenCmd `cmd:"" help:"Open a new log after the database was restored from an older backup; its first entry commits to the last known checkpoint of the log before."`
}

// incarnationOpenCmd is the operator's way out when the service refuses to sign: the old log is never signed on.
type incarnationOpenCmd struct {
	logFlags
	DatabaseURL    string `required:"" env:"LEDGERD_DATABASE_URL" placeholder:"URL" help:"Postgres URL of the service role."`
	SigningKeyFile string `required:"" env:"LEDGERD_SIGNING_KEY_FILE" placeholder:"FILE" type:"path" help:"File of the log's signing key. The old key is kept beside it, and the new one takes its place."`
	CheckpointFile string `required:"" env:"LEDGERD_CHECKPOINT_FILE" placeholder:"FILE" type:"path" help:"The newest known checkpoint of the old log, kept outside the database. It is kept beside, and the new log's takes its place."`
	Reason         string `required:"" placeholder:"TEXT" help:"Why, for the auditors to come."`
}

func (c *incarnationOpenCmd) Run(p *process) error {
	store, err := postgres.Open(p.ctx, c.DatabaseURL)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := store.CheckSchema(p.ctx); err != nil {
		return err
	}
	head, err := store.Head(p.ctx)
	if err != nil {
		return err
	}
	n := head.Incarnation + 1
	if head.Incarnation > 0 && head.Size == 0 { // a crash came between the new log's head and its first entry
		n = head.Incarnation
	}
	key, previous, err := c.prepare(n)
	if err != nil {
		return err
	}
	opened, err := store.OpenIncarnation(p.ctx, postgres.OpenIncarnationOptions{
		Keys: key.keys, Old: key.old, Previous: previous, Reason: c.Reason, Now: time.Now, Log: c.logger(p.stderr),
	})
	if err != nil {
		return err
	}
	if err := replaceFile(c.CheckpointFile, []byte(opened.Checkpoint)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "incarnation %d is open: the log %s begins at entry %d\nverifier key: %s\n", opened.Incarnation, opened.Origin, opened.Base, key.keys.VerifierKey)
	return err
}

// prepare puts the old key and checkpoint aside under the old incarnation's number, and the new key in place. Each step is
// done once: a run after a crash finds what is there.
func (c *incarnationOpenCmd) prepare(n int) (newKey incarnationKey, previous []byte, err error) {
	aside := func(path string) string { return path + "." + strconv.Itoa(n-1) }
	for _, path := range []string{c.SigningKeyFile, c.CheckpointFile} {
		if err := keepAside(path, aside(path)); err != nil {
			return newKey, nil, err
		}
	}
	if previous, err = os.ReadFile(aside(c.CheckpointFile)); err != nil {
		return newKey, nil, err
	}
	old, err := readKeys("", aside(c.SigningKeyFile))
	if err != nil {
		return newKey, nil, err
	}
	if _, err := ledger.OpenCheckpoint(previous, old.Signer.Name(), old.Verifier); err != nil {
		return newKey, nil, fmt.Errorf("the checkpoint file is not of the signing key's log: %w", err)
	}
	newKey.old = old.Verifier
	current, err := readKeys("", c.SigningKeyFile)
	if err != nil {
		return newKey, nil, err
	}
	origin := postgres.IncarnationOrigin(old.Signer.Name(), n)
	if current.Signer.Name() != origin { // still the old key
		skey, _, err := newSigningKey(origin)
		if err != nil {
			return newKey, nil, err
		}
		if err := replaceFile(c.SigningKeyFile, []byte(skey+"\n")); err != nil {
			return newKey, nil, err
		}
	}
	newKey.keys, err = keptKey(c.SigningKeyFile, origin)
	return newKey, previous, err
}

// incarnationKey is the new log's key, and what verifies the old log.
type incarnationKey struct {
	keys postgres.Keys
	old  note.Verifier
}

// keepAside copies a file to another name, unless something is there already.
func keepAside(path, aside string) error {
	if _, err := os.Stat(aside); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return replaceFile(aside, raw)
}

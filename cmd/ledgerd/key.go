package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"ledgerd/internal/postgres"
)

type keyCmd struct {
	New  keyNewCmd  `cmd:"" help:"Make a signing key, and print its verifier key."`
	Show keyShowCmd `cmd:"" help:"Print the verifier key of a signing key, or of each in its file."`
}

type keyNewCmd struct {
	Origin string `env:"LEDGERD_ORIGIN" placeholder:"NAME" help:"Name of the log, such as audit.example.org/ledger. It never changes. A unique one is made up when it is not given."`
	Out    string `required:"" placeholder:"FILE" type:"path" help:"File to write the secret key to; it must not exist."`
}

func (c *keyNewCmd) Run(p *process) error {
	origin := c.Origin
	if origin == "" {
		origin = defaultOrigin()
	}
	skey, vkey, err := newSigningKey(origin)
	if err != nil {
		return err
	}
	if err := writeNew(c.Out, skey+"\n"); err != nil {
		return fmt.Errorf("writing the signing key: %w", err)
	}
	_, err = fmt.Fprintln(p.stdout, vkey)
	return err
}

type keyShowCmd struct {
	File string `arg:"" type:"existingfile" help:"File that holds the signing key, or several, one a line."`
}

func (c *keyShowCmd) Run(p *process) error {
	raw, err := os.ReadFile(c.File)
	if err != nil {
		return fmt.Errorf("reading the signing key: %w", err)
	}
	keys, err := parseKeys(strings.TrimSpace(string(raw)))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.stdout, strings.Join(keys.VerifierKeys(), "\n"))
	return err
}

// defaultOrigin names a log of which nothing is known, uniquely.
func defaultOrigin() string { return "ledgerd.local/" + strings.ToLower(rand.Text()) }

// newSigningKey makes a note key whose name is the log's origin.
func newSigningKey(origin string) (skey, vkey string, err error) {
	skey, vkey, err = note.GenerateKey(rand.Reader, origin)
	if err != nil {
		return "", "", fmt.Errorf("making a signing key: %w", err)
	}
	if _, err := note.NewVerifier(vkey); err != nil { // GenerateKey does not look at the name
		return "", "", errors.New("an origin has no spaces and no plus sign, and is not empty")
	}
	return skey, vkey, nil
}

// keptKey reads a log's signing key, or makes it on the first run.
func keptKey(path, origin string) (postgres.Keys, error) {
	if origin == "" {
		origin = defaultOrigin()
	}
	skey, err := keptSecret(path, func() (string, error) {
		skey, _, err := newSigningKey(origin)
		return skey, err
	})
	if err != nil {
		return postgres.Keys{}, err
	}
	return parseKeys(skey)
}

// keptSecret reads a secret file, or makes it on the first run. It is complete before it has its name, so a crash leaves
// all of it or nothing.
func keptSecret(path string, fresh func() (string, error)) (string, error) {
	raw, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(raw)), nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	secret, err := fresh()
	if err != nil {
		return "", err
	}
	return secret, replaceFile(path, []byte(secret+"\n"))
}

// writeNew writes a secret file that must not exist, readable by its owner only.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}

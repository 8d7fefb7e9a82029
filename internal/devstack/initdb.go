package devstack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// initTimeout bounds initdb, which takes a second on a small machine and much longer on a slow disk.
const initTimeout = 2 * time.Minute

// ensureCluster makes sure that the folder holds a complete cluster and returns its superuser's password.
func (s site) ensureCluster(ctx context.Context) (secret string, err error) {
	s.sweep()
	_, err = os.Stat(s.folder.versionFile())
	if errors.Is(err, fs.ErrNotExist) {
		return s.createCluster(ctx)
	}
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(s.folder.password())
	if err != nil {
		return "", fmt.Errorf("reading the cluster's password: %w: bring that file back, or move the folder away to start with an empty one", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// sweep removes what an interrupted initialisation left behind. What resists is reported and left: it harms nobody.
func (s site) sweep() {
	left, _ := filepath.Glob(filepath.Join(string(s.folder), initPattern)) // fails for a malformed pattern only
	for _, dir := range left {
		s.say("removing %s, which an interrupted start left behind", dir)
		if err := os.RemoveAll(dir); err != nil {
			s.say("could not remove it: %v", err)
		}
	}
}

// createCluster makes a new cluster beside its final place and moves it there once it is complete and on disk. A crash
// before the rename leaves a folder to sweep and a password that the next try replaces; after it, the cluster is whole.
func (s site) createCluster(ctx context.Context) (secret string, err error) {
	s.say("creating a Postgres %d cluster in %s", s.binaries.major, s.folder.cluster())
	work, err := os.MkdirTemp(string(s.folder), initPattern)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if err := s.account.own(work); err != nil {
		return "", err
	}
	secret = rand.Text()
	if err := s.runInitdb(ctx, work, secret); err != nil {
		return "", err
	}
	if err := writeSecret(s.folder.password(), secret); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(work, "cluster"), s.folder.cluster()); err != nil {
		return "", fmt.Errorf("moving the new cluster into place: %w", err)
	}
	return secret, syncPath(string(s.folder))
}

// runInitdb makes a cluster in work/cluster. Checksums let the server notice a page that the disk changed.
func (s site) runInitdb(ctx context.Context, work, secret string) error {
	pwfile := filepath.Join(work, "password")
	if err := writeSecret(pwfile, secret); err != nil {
		return err
	}
	if err := s.account.own(pwfile); err != nil {
		return err
	}
	args := []string{"-D", filepath.Join(work, "cluster"), "-U", adminRole, "--pwfile", pwfile, "--auth=scram-sha-256",
		"-E", "UTF8", "--locale=C.UTF-8", "--data-checksums"}
	if s.volatile {
		args = append(args, "--no-sync")
	}
	limited, cancel := context.WithTimeout(ctx, initTimeout)
	defer cancel()
	return s.account.runTied(limited, s.binaries.initdb(), args...)
}

// writeSecret replaces a file of mode 0600 and brings it to the disk.
func writeSecret(path, secret string) error {
	next := path + ".new"
	if err := os.WriteFile(next, []byte(secret+"\n"), 0o600); err != nil {
		return err
	}
	if err := syncPath(next); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// syncPath brings a file, or the names in a folder, to the disk.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

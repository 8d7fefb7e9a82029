package devstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrUnreachable says that the account that Postgres runs as can't get into the data folder.
var ErrUnreachable = errors.New("the data folder is out of reach")

// site is what a start finds out before it changes anything: where, as whom and with which programs.
type site struct {
	folder   folder
	account  account
	binaries binaries
	volatile bool
	progress io.Writer
}

// surveySite chooses account and programs and makes sure that the one can reach the folder.
func surveySite(ctx context.Context, f folder, opts PostgresOptions) (site, error) {
	s := site{folder: f, volatile: opts.Volatile, progress: opts.Log}
	if s.progress == nil {
		s.progress = io.Discard
	}
	var err error
	if s.account, err = serverAccount(f); err != nil {
		return site{}, err
	}
	major, err := clusterMajor(f)
	if err != nil {
		return site{}, err
	}
	if s.binaries, err = findBinaries(ctx, opts.Binaries, major, s.account); err != nil {
		return site{}, err
	}
	return s, s.checkReach(ctx)
}

// clusterMajor returns the major version of the cluster in f, 0 when there is none.
func clusterMajor(f folder) (int, error) {
	text, err := os.ReadFile(f.versionFile())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the cluster's version: %w", err)
	}
	return versionIn(string(text)), nil
}

// checkReach lets the account step into the data folder. Trying is the only sure test (modes, access lists, mounts); the
// modes then tell which folder to name.
func (s site) checkReach(ctx context.Context) error {
	cmd := s.account.command(ctx, s.binaries.postgres(), "--version")
	cmd.Dir = string(s.folder)
	err := cmd.Run()
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	if dir := closedFolder(string(s.folder), s.account); dir != "" {
		return fmt.Errorf("%w: Postgres runs as user %s, whom %s keeps out: choose another data folder such as %s, or run chmod o+x %s",
			ErrUnreachable, s.account.name, dir, systemDataDir, dir)
	}
	return fmt.Errorf("%w for user %s, as whom Postgres runs: %w", ErrUnreachable, s.account.name, err)
}

// closedFolder returns the outermost folder on the way to dir that the account may not pass through, "" when the modes
// show none.
func closedFolder(dir string, a account) string {
	path := "/"
	for _, name := range strings.Split(dir, "/") {
		path = filepath.Join(path, name)
		if info, err := os.Stat(path); err == nil && !a.maySearch(info) {
			return path
		}
	}
	return ""
}

// say tells the user about a step.
func (s site) say(format string, args ...any) {
	fmt.Fprintf(s.progress, format+"\n", args...)
}

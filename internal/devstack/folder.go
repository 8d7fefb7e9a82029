package devstack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// systemDataDir is root's data folder: unlike root's home it can be reached by the account that Postgres runs as.
const systemDataDir = "/var/lib/ledgerd"

// DefaultDataDir returns the data folder to use when the user names none: /var/lib/ledgerd for root, else ledgerd below
// $XDG_DATA_HOME or ~/.local/share.
func DefaultDataDir() (string, error) {
	if os.Geteuid() == 0 {
		return systemDataDir, nil
	}
	// The XDG specification has relative paths ignored.
	if base := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "ledgerd"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding a data folder: %w", err)
	}
	return filepath.Join(home, ".local", "share", "ledgerd"), nil
}

// folder is a data folder: an absolute path without symbolic links, so that it can be compared with what the kernel says
// about a process.
type folder string

func (f folder) cluster() string     { return filepath.Join(string(f), "postgres") }
func (f folder) password() string    { return filepath.Join(string(f), "postgres.password") }
func (f folder) log() string         { return filepath.Join(string(f), "postgres.log") }
func (f folder) lock() string        { return filepath.Join(string(f), "postgres.lock") }
func (f folder) run() string         { return filepath.Join(string(f), "run") }
func (f folder) pidFile() string     { return filepath.Join(f.cluster(), "postmaster.pid") }
func (f folder) versionFile() string { return filepath.Join(f.cluster(), "PG_VERSION") }

// initPattern is the pattern of the folders in which a cluster is made.
const initPattern = "postgres.init-*"

// openFolder creates the data folder when it is missing.
func openFolder(dir string) (folder, error) {
	if dir == "" {
		return "", errors.New("no data folder given")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := makeFolder(abs); err != nil {
		return "", fmt.Errorf("creating the data folder: %w", err)
	}
	resolved, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", err
	}
	return folder(resolved), nil
}

// makeFolder creates a missing folder. One that exists keeps its mode: it is the user's choice.
func makeFolder(dir string) error {
	if _, err := os.Stat(dir); err == nil || !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if os.Geteuid() != 0 {
		return nil
	}
	// Others may pass through, without seeing what is there: the server's account has to. An explicit chmod, since a
	// umask would take that away.
	return os.Chmod(dir, 0o711)
}

// Remove deletes a data folder and everything in it. It refuses a folder that is in use (ErrInUse) and one that never was
// a data folder.
func Remove(dir string) error {
	f := folder(dir)
	if _, err := os.Stat(f.lock()); err != nil {
		return fmt.Errorf("removing %s: not a data folder: %w", dir, err)
	}
	lock, err := lockFolder(f)
	if err != nil {
		return fmt.Errorf("removing %s: %w", dir, err)
	}
	return errors.Join(os.RemoveAll(dir), lock.release())
}

package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ErrNoBinaries says that no usable Postgres server is installed.
var ErrNoBinaries = errors.New("no usable Postgres server programs")

// oldestMajor is the oldest major version that the schema runs on: columns compressed by lz4 came with 14.
const oldestMajor = 14

// packaged are the places where packages put the server's programs: Debian, Red Hat, the source's default, Homebrew.
var packaged = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/usr/local/pgsql/bin",
	"/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin",
}

// binaries is a folder of server programs.
type binaries struct {
	dir   string
	major int
}

func (b binaries) postgres() string { return filepath.Join(b.dir, "postgres") }
func (b binaries) initdb() string   { return filepath.Join(b.dir, "initdb") }

// findBinaries chooses the server's programs: those in dir or, when it is empty, the first usable ones of PATH and then
// the newest of the packages. An existing cluster needs its own major version; 0 takes any.
func findBinaries(ctx context.Context, dir string, major int, a account) (binaries, error) {
	dirs := []string{dir}
	if dir == "" {
		dirs = searchPath()
	}
	var refused []string
	for _, dir := range dirs {
		b, err := inspect(ctx, dir, a)
		switch {
		case ctx.Err() != nil:
			return binaries{}, context.Cause(ctx)
		case err != nil:
			refused = append(refused, err.Error())
		case b.major < oldestMajor:
			refused = append(refused, fmt.Sprintf("%s is version %d, older than %d", dir, b.major, oldestMajor))
		case major != 0 && b.major != major:
			refused = append(refused, fmt.Sprintf("%s is version %d, the data folder needs %d", dir, b.major, major))
		default:
			return b, nil
		}
	}
	if len(refused) == 0 {
		return binaries{}, fmt.Errorf("%w: found none in PATH nor in %s: install the package postgresql", ErrNoBinaries, strings.Join(packaged, ", "))
	}
	return binaries{}, fmt.Errorf("%w: %s", ErrNoBinaries, strings.Join(refused, "; "))
}

// searchPath lists the folders that hold both programs, in the order of preference.
func searchPath() []string {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	for _, pattern := range packaged {
		found, _ := filepath.Glob(pattern) // fails for a malformed pattern only
		slices.SortFunc(found, func(a, b string) int { return versionIn(b) - versionIn(a) })
		dirs = append(dirs, found...)
	}
	return slices.DeleteFunc(dirs, func(dir string) bool {
		_, err := os.Stat(binaries{dir: dir}.initdb())
		return err != nil
	})
}

var firstNumber = regexp.MustCompile(`[0-9]+`)

// versionIn returns the first number in text, 0 when there is none.
func versionIn(text string) int {
	n, _ := strconv.Atoi(firstNumber.FindString(text))
	return n
}

// inspect asks the programs in dir for their version, as the account that will run them.
func inspect(ctx context.Context, dir string, a account) (binaries, error) {
	b := binaries{dir: dir}
	for _, path := range []string{b.postgres(), b.initdb()} {
		cmd := a.command(ctx, path, "--version")
		out, err := cmd.Output()
		if err != nil {
			return binaries{}, fmt.Errorf("running %s as user %s: %w", path, a.name, err)
		}
		b.major = versionIn(string(out))
	}
	return b, nil
}

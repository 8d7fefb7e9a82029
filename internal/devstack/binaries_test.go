package devstack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBinariesMustFitTheCluster(t *testing.T) {
	t.Parallel()
	me := account{name: "me", uid: os.Geteuid()}
	dir := newDir(t)
	install(t, filepath.Join(dir, "13"), 13)
	install(t, filepath.Join(dir, "16"), 16)
	for _, c := range []struct {
		dir   string
		major int
		want  string // part of the error
	}{
		{"16", 0, ""},
		{"16", 16, ""},
		{"16", 15, "needs 15"},
		{"13", 0, "older than 14"},
		{"none", 0, "no such file"},
	} {
		b, err := findBinaries(t.Context(), filepath.Join(dir, c.dir), c.major, me)
		switch {
		case c.want == "" && (err != nil || b.major != 16):
			t.Errorf("%s for %d: %+v, %v", c.dir, c.major, b, err)
		case c.want != "" && (!errors.Is(err, ErrNoBinaries) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s for %d: %v", c.dir, c.major, err)
		}
	}
}

func TestMissingBinariesFailTheStart(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	_, err := StartPostgres(t.Context(), PostgresOptions{DataDir: dir, Binaries: filepath.Join(dir, "none")})
	if !errors.Is(err, ErrNoBinaries) {
		t.Errorf("start: %v", err)
	}
}

func TestPathComesBeforePackages(t *testing.T) {
	dir := newDir(t)
	install(t, dir, 16)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if found := searchPath(); len(found) < 2 || found[0] != dir {
		t.Errorf("found %v: want the one in PATH, then an installed one", found)
	}
}

// install makes programs that know nothing but their version.
func install(t *testing.T, dir string, major int) {
	t.Helper()
	check(t, os.MkdirAll(dir, 0o755))
	for _, path := range []string{binaries{dir: dir}.postgres(), binaries{dir: dir}.initdb()} {
		script := fmt.Sprintf("#!/bin/sh\necho 'program (PostgreSQL) %d.4 (Debian %d.4-1)'\n", major, major)
		check(t, os.WriteFile(path, []byte(script), 0o755))
	}
}

package devstack

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestServerLogIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	l, err := openServerLog(path)
	check(t, err)
	line := bytes.Repeat([]byte("x"), logLimit/4-1)
	for i := range 20 {
		fmt.Fprintf(l, "%02d%s\n", i, line[3:])
	}
	check(t, l.Close())
	var kept string
	for _, p := range []string{path + ".1", path} {
		text := read(t, p)
		if len(text) > logLimit {
			t.Errorf("%s has %d bytes", p, len(text))
		}
		kept += text
	}
	if first, last := kept[:2], kept[strings.LastIndex(kept[:len(kept)-1], "\n")+1:][:2]; first > "16" || last != "19" {
		t.Errorf("kept lines %s to %s", first, last)
	}
}

func TestServerLogGoesOnWhereItEnded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	for _, text := range []string{"one\n", "two\n"} {
		l, err := openServerLog(path)
		check(t, err)
		fmt.Fprint(l, text)
		check(t, l.Close())
	}
	if got := read(t, path); got != "one\ntwo\n" {
		t.Errorf("log %q", got)
	}
}

func TestServerLogSurvivesThatItCannotWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	l, err := openServerLog(path)
	check(t, err)
	check(t, l.file.Close())
	if n, err := l.Write([]byte("text\n")); n != 5 || err != nil {
		t.Errorf("wrote %d, %v: the server would stall", n, err)
	}
	check(t, os.Remove(path))
}

func TestServerLogRemembersTheLastLines(t *testing.T) {
	t.Parallel()
	l, err := openServerLog(filepath.Join(t.TempDir(), "log"))
	check(t, err)
	fmt.Fprint(l, "2026-01-01 [7] F0001 FA", "TAL:  lock file exists\n")
	if _, held := l.last(); !held {
		t.Error("a line in two pieces is not recognised")
	}
	for i := range 20 {
		fmt.Fprintf(l, "line %d\n", i)
	}
	if lines, _ := l.last(); lines != "line 12\nline 13\nline 14\nline 15\nline 16\nline 17\nline 18\nline 19" {
		t.Errorf("last lines %q", lines)
	}
	l.forget()
	if lines, held := l.last(); lines != "" || held {
		t.Errorf("after forgetting: %q, %v", lines, held)
	}
	check(t, l.Close())
}

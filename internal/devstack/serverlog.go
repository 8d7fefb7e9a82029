package devstack

import (
	"bytes"
	"os"
	"strings"
	"sync"
)

const (
	// logLimit is the size at which the server's log is put aside and a new one begun.
	logLimit = 4 << 20
	// lastLines is how many lines an error message quotes.
	lastLines = 8
)

// serverLog keeps what the server says in a file of bounded size, with one predecessor, and remembers the last lines.
type serverLog struct {
	path string

	mu    sync.Mutex
	file  *os.File
	size  int64
	lines []string // the last complete lines
	rest  []byte   // the beginning of the next one
	held  bool     // a line had the SQLSTATE of a held folder
}

func openServerLog(path string) (*serverLog, error) {
	l := &serverLog{path: path}
	return l, l.open()
}

func (l *serverLog) open() error {
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return err
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Write appends to the log. It never fails: a full disk must not make the server's output stall, and with it the server.
func (l *serverLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remember(p)
	if l.size+int64(len(p)) > logLimit {
		l.rotate()
	}
	n, _ := l.file.Write(p)
	l.size += int64(n)
	return len(p), nil
}

// rotate puts the log aside, in place of the one before. If that fails the log goes on as it is, without a limit until
// the next write tries again.
func (l *serverLog) rotate() {
	if err := os.Rename(l.path, l.path+".1"); err != nil {
		return
	}
	old := l.file
	if err := l.open(); err == nil {
		old.Close()
	}
}

func (l *serverLog) remember(p []byte) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			break
		}
		l.held = l.held || bytes.Contains(line, []byte(" "+codeLockExists+" "))
		l.lines = append(l.lines, string(line))
		l.rest = rest
	}
	l.lines = l.lines[max(0, len(l.lines)-lastLines):]
	l.rest = bytes.Clone(l.rest[max(0, len(l.rest)-4096):])
}

// forget starts a new memory, for a new server.
func (l *serverLog) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines, l.rest, l.held = nil, nil, false
}

// last returns the last lines and whether one of them said that the folder is held by another server.
func (l *serverLog) last() (lines string, held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n"), l.held
}

// Close closes the file.
func (l *serverLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}

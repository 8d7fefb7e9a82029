package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// checkpointFile keeps the newest signed checkpoint outside the database, so that a database which was restored from an
// older backup is noticed: it would hold less than was signed for. Writing is no part of an append: the newest of what was published
// since the last write is written keepInterval after it, so that a busy log does not sync two files for each batch.
type checkpointFile struct {
	path string
	log  *slog.Logger

	mu     sync.Mutex
	newest []byte
	wake   chan struct{} // holds one token while newest waits to be written
}

func newCheckpointFile(path string, log *slog.Logger) *checkpointFile {
	return &checkpointFile{path: path, log: log, wake: make(chan struct{}, 1)}
}

// read is the kept checkpoint, nil when none was ever kept.
func (f *checkpointFile) read() ([]byte, error) {
	raw, err := os.ReadFile(f.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the kept checkpoint: %w", err)
	}
	return raw, nil
}

// publish hands over a committed checkpoint and never waits.
func (f *checkpointFile) publish(note []byte) {
	f.mu.Lock()
	f.newest = note
	f.mu.Unlock()
	f.signal()
}

// signal lets run know that there is something to write.
func (f *checkpointFile) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

const (
	// keepInterval is how far the file may be behind the log. A backup is older than that.
	keepInterval = 100 * time.Millisecond
	// keepRetry is the pause after a failure, of the disk probably.
	keepRetry = 5 * time.Second
)

// run writes what is published until ctx ends, and once more then.
func (f *checkpointFile) run(ctx context.Context) {
	defer f.write()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
		select {
		case <-f.wake:
			if f.write() {
				pause.Reset(keepInterval)
			} else {
				pause.Reset(keepRetry)
			}
		case <-ctx.Done():
			return
		}
	}
}

// write puts the newest checkpoint on disk. A failure is loud and does not stop the service: the database has the entries,
// and the same checkpoint, or a newer one, is tried again.
func (f *checkpointFile) write() (ok bool) {
	f.mu.Lock()
	note := f.newest
	f.newest = nil
	f.mu.Unlock()
	if note == nil {
		return true
	}
	err := replaceFile(f.path, note)
	if err == nil {
		return true
	}
	f.log.Error("the newest checkpoint could not be kept outside the database; a restored backup might go unnoticed", "error", err)
	f.mu.Lock()
	if f.newest == nil {
		f.newest = note
	}
	f.mu.Unlock()
	f.signal()
	return false
}

package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

// What could not be written is tried again, and gives way to what is newer.
func TestCheckpointIsKeptInTheEnd(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "not there yet")
	f := newCheckpointFile(filepath.Join(dir, "checkpoint"), slog.New(slog.DiscardHandler))
	kept := func() string {
		raw, err := f.read()
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	f.publish([]byte("first"))
	<-f.wake
	if f.write() || kept() != "" {
		t.Fatalf("written into nowhere: %q", kept())
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	<-f.wake // it asked for another try by itself
	if !f.write() || kept() != "first" {
		t.Errorf("tried again: %q", kept())
	}
	if !f.write() || kept() != "first" {
		t.Errorf("nothing new: %q", kept())
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	f.publish([]byte("second"))
	if f.write() {
		t.Error("written into nowhere")
	}
	f.publish([]byte("third"))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if !f.write() || kept() != "third" {
		t.Errorf("after a newer one: %q", kept())
	}
}

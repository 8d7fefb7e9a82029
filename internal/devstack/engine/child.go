package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// What the parent tells the child, in its environment. The listening socket is its descriptor 3.
const (
	envLibrary = "LEDGERD_ENGINE_LIBRARY"
	envFolder  = "LEDGERD_ENGINE_FOLDER"
	envSecret  = "LEDGERD_ENGINE_SECRET"

	listenerFD = 3
)

// IsChild says whether this process was started by Start, and is to call RunChild and end.
func IsChild() bool { return os.Getenv(envSecret) != "" }

// RunChild serves the engine until standard input ends.
func RunChild() error {
	socket := os.NewFile(listenerFD, "engine")
	if socket == nil {
		return errors.New("running the engine: no socket was handed over")
	}
	listener, err := net.FileListener(socket)
	if err != nil {
		return fmt.Errorf("running the engine: %w", err)
	}
	defer socket.Close()
	l, err := loadLibrary(os.Getenv(envLibrary))
	if err != nil {
		return err
	}
	dir := os.Getenv(envFolder)
	lock, err := lockFolder(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	b := &bridge{secret: os.Getenv(envSecret), spool: filepath.Join(dir, "spool")}
	if err := emptyFolder(b.spool); err != nil {
		return err
	}
	if b.pool, err = openPool(l, filepath.Join(dir, "data")); err != nil {
		return err
	}
	err = serveUntil(os.Stdin, listener, b)
	b.pool.close()
	return err
}

// lockFolder waits until an earlier child, whose parent died, has left the folder.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the engine's folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("locking the engine's folder: %w", err), f.Close())
	}
	return f, nil
}

// emptyFolder makes a folder without what an earlier child left in it.
func emptyFolder(dir string) error {
	return errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700))
}

// serveUntil serves until input ends, which cancels what still runs.
func serveUntil(input io.Reader, l net.Listener, h http.Handler) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	go func() {
		_, _ = io.Copy(io.Discard, input)
		cancel()
		srv.Close()
	}()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("running the engine: %w", err)
	}
	return nil
}

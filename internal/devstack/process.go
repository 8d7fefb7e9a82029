package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// fastShutdown is how long the server may take to end its sessions and write its pages out.
	fastShutdown = 20 * time.Second
	// immediateShutdown is how long it may take when it only has to let everything fall.
	immediateShutdown = 5 * time.Second
)

// process is a server process that this one started.
type process struct {
	cmd      *exec.Cmd
	stopping atomic.Bool   // somebody asked for the end
	done     chan struct{} // closed once the process is gone
	err      error         // what Wait said; read it after done
}

// spawn starts the server. A goroutine stays locked to the thread that starts it until the server has ended: the kernel
// would take the end of the thread for the end of this process.
func (p *Postgres) spawn() (*process, error) {
	cmd := p.site.account.command(context.Background(), p.site.binaries.postgres(), p.settings()...)
	cmd.Stdout, cmd.Stderr = p.log, p.log
	tieToParent(cmd.SysProcAttr, syscall.SIGINT)
	server := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(server.done)
		err := cmd.Start()
		started <- err
		if err == nil {
			server.err = plain(cmd.Wait())
		}
	}()
	return server, <-started
}

// plain drops the complaint that something outlived the server and held its output open: its sessions may, for a while.
func plain(err error) error {
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}

// ended says whether the process is gone.
func (s *process) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// unexpected returns how the server ended, nil when it runs or somebody asked for its end.
func (s *process) unexpected() error {
	if !s.ended() || s.stopping.Load() {
		return nil
	}
	if s.err == nil {
		return errors.New("Postgres ended unexpectedly")
	}
	return fmt.Errorf("Postgres ended unexpectedly: %w", s.err)
}

func (s *process) signal(sig syscall.Signal) error {
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// shutdown ends the server and returns when it is gone: cleanly if it can in time, else the hard way and with an error.
func (s *process) shutdown(ctx context.Context) error {
	if s.ended() {
		return nil
	}
	s.stopping.Store(true)
	clean, err := s.end(ctx, syscall.SIGINT, fastShutdown)
	if err != nil {
		return err
	}
	if clean && s.err == nil {
		return nil
	}
	if clean {
		return fmt.Errorf("stopping Postgres: it failed to shut down cleanly: %w", s.err)
	}
	if gone, err := s.end(context.Background(), syscall.SIGQUIT, immediateShutdown); gone || err != nil {
		return errors.Join(errForced, err)
	}
	_, err = s.end(context.Background(), syscall.SIGKILL, immediateShutdown)
	return errors.Join(errForced, err)
}

var errForced = errors.New("stopping Postgres: it did not shut down in time and was killed; the next start recovers what was committed")

// end sends a signal and waits for the process to be gone.
func (s *process) end(ctx context.Context, sig syscall.Signal, limit time.Duration) (gone bool, err error) {
	if err := s.signal(sig); err != nil {
		return false, fmt.Errorf("stopping Postgres: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-s.done:
		return true, nil
	case <-ctx.Done():
		return s.ended(), nil
	}
}

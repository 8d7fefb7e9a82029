package devstack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// patience is how long leftovers of an earlier run may take to end by themselves or by a polite signal.
const patience = 10 * time.Second

// leftover is a process of an earlier server on our folder.
type leftover struct {
	pid int
	// postmaster is set for the server itself, not for one of its sessions or workers.
	postmaster bool
}

// takeOver ends what an earlier run left: a server that shuts down because its parent died, or sessions of one that was
// killed. Being called again and again, it waits by doing little. When nothing is left that could hold the folder, it
// removes the lock file, whose process id must then be some other program's, or a zombie's.
func (p *Postgres) takeOver(waited time.Duration) error {
	left, err := leftovers(p.site)
	if err != nil {
		return err
	}
	if len(left) == 0 && !mayHold(p.site.folder) {
		return p.dropPIDFile()
	}
	for _, l := range left {
		if err := l.end(waited); err != nil {
			return err
		}
	}
	return nil
}

// end asks for a fast shutdown. Sessions without their server have nothing left to finish, so they are to drop everything.
func (l leftover) end(waited time.Duration) error {
	sig := syscall.SIGQUIT
	switch {
	case waited > patience:
		sig = syscall.SIGKILL
	case l.postmaster:
		sig = syscall.SIGINT
	}
	if err := syscall.Kill(l.pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("ending process %d of an earlier server: %w", l.pid, err)
	}
	return nil
}

// dropPIDFile removes the lock files of a server that is no more: the cluster's and the socket's.
func (p *Postgres) dropPIDFile() error {
	for _, path := range []string{p.site.folder.pidFile(), socketFile(p.socket) + ".lock"} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

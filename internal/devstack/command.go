package devstack

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// command prepares a program to run as the account. It gets an environment of its own, so that no PG… or LC_… variable of
// the user changes what it does, and a process group of its own, so that Ctrl-C reaches us and not it.
func (a account) command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = "/" // the account may not be able to enter ours
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential(), Setpgid: true}
	cmd.WaitDelay = 200 * time.Millisecond // for children that outlive it and hold its output open
	return cmd
}

// runTied runs a program to its end. It and its children are killed when ctx is done and when this process dies.
func (a account) runTied(ctx context.Context, path string, args ...string) error {
	// The kernel sends the signal when the thread that started the child ends, so that thread must not end before.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var said bytes.Buffer
	cmd := a.command(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	tieToParent(cmd.SysProcAttr, syscall.SIGKILL)
	err := cmd.Run()
	if ctx.Err() != nil {
		return fmt.Errorf("running %s: %w", path, context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("running %s: %w: %s", path, err, strings.TrimSpace(said.String()))
	}
	return nil
}

// maySearch says whether the modes let the account pass through a folder.
func (a account) maySearch(info os.FileInfo) bool {
	stat, mode := info.Sys().(*syscall.Stat_t), info.Mode()
	switch {
	case int(stat.Uid) == a.uid:
		return mode&0o100 != 0
	case int(stat.Gid) == a.gid:
		return mode&0o010 != 0
	}
	return mode&0o001 != 0
}

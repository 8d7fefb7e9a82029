package devstack

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ErrInUse says that another process, or another part of this one, uses the data folder.
var ErrInUse = errors.New("the data folder is in use")

// folderLock is the lock that makes its holder the only user of a data folder. Postgres has a lock of its own, but it
// speaks too late: a second start would connect to the first one's server and look fine.
type folderLock struct{ file *os.File }

// lockFolder takes the lock without waiting. The kernel frees it when this process ends, however it ends; the server
// doesn't inherit it.
func lockFolder(f folder) (*folderLock, error) {
	file, err := os.OpenFile(f.lock(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the data folder: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("%w%s: stop that one first, or choose another folder", ErrInUse, holder(file))
	}
	if err == nil {
		err = sign(file)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &folderLock{file}, nil
}

// sign writes our process id into the lock file, for whoever finds it locked.
func sign(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// holder names the process that signed the lock file.
func holder(file *os.File) string {
	text := make([]byte, 20)
	n, _ := file.ReadAt(text, 0) // what can't be read is left out of the message
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" by process %d", pid)
}

func (l *folderLock) release() error {
	return l.file.Close()
}

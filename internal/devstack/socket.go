package devstack

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// serverPort only names the socket: the server listens on no network port.
const serverPort = "5432"

// longestSocket is the longest path of a unix socket on Linux, without its NUL; other systems allow a few bytes less.
const longestSocket = 103

// socketDir returns the folder of the server's socket, mode 0700: run/ in the data folder or, when that path is too long
// for a socket, a folder named by the path's hash among the system's runtime files. The same data folder always gets
// the same one, so a URL outlives restarts.
func socketDir(f folder, a account) (string, error) {
	if fitsSocket(f.run()) {
		return f.run(), privateDir(f.run(), a)
	}
	var refused error
	for _, base := range runtimeDirs() {
		dir := filepath.Join(base, "ledgerd-"+f.tag())
		if !fitsSocket(dir) {
			continue
		}
		err := privateDir(dir, a)
		if err == nil {
			return dir, nil
		}
		refused = errors.Join(refused, err)
	}
	return "", fmt.Errorf("finding a folder for the server's socket: %w", refused)
}

// socketFile is where the server puts its socket in dir.
func socketFile(dir string) string {
	return filepath.Join(dir, ".s.PGSQL."+serverPort)
}

func fitsSocket(dir string) bool {
	return len(socketFile(dir)) <= longestSocket
}

// runtimeDirs lists where a socket may live, the best first. /tmp comes last: it is always there and always short.
func runtimeDirs() []string {
	if os.Geteuid() == 0 {
		return []string{"/run", "/tmp"}
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return []string{dir, "/tmp"}
	}
	return []string{"/tmp"}
}

// tag is a short name for the folder, the same at every start.
func (f folder) tag() string {
	sum := sha256.Sum256([]byte(f))
	return hex.EncodeToString(sum[:6])
}

// privateDir makes a folder that belongs to the account alone. In a shared place somebody else may have made it first, to
// listen in: one that is a link, another user's or open to others is refused.
func privateDir(dir string, a account) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || owner != a.uid && owner != os.Geteuid() {
		return fmt.Errorf("%s is not a private folder of user %s: remove it", dir, a.name)
	}
	return a.own(dir)
}

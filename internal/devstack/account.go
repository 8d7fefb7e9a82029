package devstack

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// account is the user that the server runs as.
type account struct {
	name     string
	uid, gid int
	// dropped is set when it isn't the user of this process.
	dropped bool
}

// candidates are the accounts to which root hands a new cluster, the best first. The account must have an entry in the
// user database: Postgres looks itself up.
var candidates = []string{"postgres", "nobody"}

// serverAccount chooses the account for the cluster in f. An existing cluster stays with its owner.
func serverAccount(f folder) (account, error) {
	info, err := os.Stat(f.cluster())
	owner := os.Geteuid()
	if err == nil {
		owner = int(info.Sys().(*syscall.Stat_t).Uid)
	}
	switch {
	case os.Geteuid() != 0 && owner != os.Geteuid():
		return account{}, fmt.Errorf("the cluster belongs to %s: run as that user, or choose another data folder", userName(owner))
	case os.Geteuid() != 0:
		return account{name: userName(owner), uid: owner, gid: os.Getegid()}, nil
	case owner != 0:
		return lookUp(user.LookupId(strconv.Itoa(owner)))
	}
	return unprivileged()
}

// unprivileged returns the first candidate that exists.
func unprivileged() (account, error) {
	for _, name := range candidates {
		if a, err := lookUp(user.Lookup(name)); err == nil {
			return a, nil
		}
	}
	return account{}, fmt.Errorf("Postgres refuses to run as root, and this machine has none of the users %q to run it as: run as another user", candidates)
}

func lookUp(u *user.User, err error) (account, error) {
	if err != nil {
		return account{}, err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return account{}, err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return account{}, err
	}
	return account{name: u.Username, uid: uid, gid: gid, dropped: true}, nil
}

func userName(uid int) string {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return "user " + strconv.Itoa(uid)
	}
	return "user " + u.Username
}

// own gives a file or folder to the account.
func (a account) own(path string) error {
	if !a.dropped {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}

// credential is what a child process needs to run as the account; nil when that is who we are.
func (a account) credential() *syscall.Credential {
	if !a.dropped {
		return nil
	}
	return &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
}

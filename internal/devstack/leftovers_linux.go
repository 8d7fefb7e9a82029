package devstack

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// leftovers finds the processes of an earlier server on our folder by their arguments and titles, which everybody may
// read. A working folder would be surer, but in a container root may not look at another user's.
func leftovers(s site) ([]leftover, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var found []leftover
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || !isPostgres(pid) {
			continue
		}
		args := arguments(pid)
		switch {
		case startedOn(args, s.folder.cluster()):
			found = append(found, leftover{pid, true})
		case bytes.HasPrefix(args, []byte("postgres: "+s.clusterName()+": ")):
			found = append(found, leftover{pid, false})
		}
	}
	return found, nil
}

// startedOn says whether a command line is that of a server on the cluster.
func startedOn(args []byte, cluster string) bool {
	words := bytes.Split(args, []byte{0})
	i := slices.IndexFunc(words, func(w []byte) bool { return string(w) == "-D" })
	return i >= 0 && i+1 < len(words) && string(words[i+1]) == cluster
}

// mayHold says whether the process named in postmaster.pid can be a server on our folder, as far as we are allowed to see.
func mayHold(f folder) bool {
	pid, err := readPID(f)
	if err != nil || !isPostgres(pid) {
		return false
	}
	cwd, err := os.Readlink(procFile(pid, "cwd"))
	return err != nil || cwd == f.cluster()
}

// isPostgres says whether a process is a Postgres server's and more than a zombie, whose command line is empty.
func isPostgres(pid int) bool {
	comm, err := os.ReadFile(procFile(pid, "comm"))
	return err == nil && string(comm) == "postgres\n" && len(arguments(pid)) > 0
}

// arguments returns a process's command line, its words ended by NUL. Postgres puts a title in their place.
func arguments(pid int) []byte {
	args, _ := os.ReadFile(procFile(pid, "cmdline")) // a process that is gone has none
	return args
}

func procFile(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}

// Package devstack runs what ledgerd needs besides itself on one machine, from locally installed programs: no container,
// no account, no network port.
//
// [StartPostgres] runs a private Postgres cluster as a child process. Its data folder holds
//
//	postgres/            the cluster
//	postgres.password    the superuser's password, mode 0600
//	postgres.log         what the server said; at most two files of 4 MiB, the older one is postgres.log.1
//	postgres.lock        an flock held for as long as somebody uses the folder
//	run/                 the unix socket; elsewhere when the path is too long for one, see socketDir
//	postgres.init-*/     a cluster in the making
//
// # Who runs it
//
// Postgres refuses to run as root. A process of root hands the cluster to the account "postgres", or "nobody" where that
// doesn't exist; any other process runs it as itself. The server listens on a unix socket in a 0700 folder and nowhere
// else, and asks for a password even there.
//
// # What a crash leaves behind
//
//   - During initialisation: a folder postgres.init-*, which the next start removes. A cluster becomes visible as postgres/
//     by one rename, once it is complete and on disk.
//   - This process dies: the kernel sends the server SIGINT, its signal for a fast and clean shutdown. The lock is free at
//     once, so a next start may find the server still shutting down: it waits for it.
//   - The server dies: Done is closed and Err says how. Sessions that outlive it keep its shared memory, and no server
//     can start until they are gone: a start ends them. It can take what runs on the folder for its own leftovers
//     because it holds the lock.
//   - A process id in postmaster.pid that now belongs to some other program: the file is removed.
package devstack

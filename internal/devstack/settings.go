package devstack

// settings returns the server's arguments. Being arguments they win over postgresql.conf and ALTER SYSTEM, so whoever
// runs this version gets these.
func (p *Postgres) settings() []string {
	args := []string{"-D", p.site.folder.cluster()}
	set := func(assignments ...string) {
		for _, a := range assignments {
			args = append(args, "-c", a)
		}
	}
	set(
		// No network: one socket that only the server's account and root can reach.
		"listen_addresses=",
		"port="+serverPort,
		"unix_socket_directories="+p.socket,
		"unix_socket_permissions=0700",
		// The name stands in the title of every server process and tells ours from others'; see leftover.
		"cluster_name="+p.site.clusterName(),
		"max_connections=200",
		"timezone=UTC",
		"log_timezone=UTC",
	)
	// A small box that also runs the service: a modest cache, no compiler for queries that take a millisecond, and fewer
	// checkpoints, each of which makes every page be logged in full once more.
	set("shared_buffers=128MB", "jit=off", "random_page_cost=1.1", "checkpoint_timeout=10min", "max_wal_size=2GB")
	// The log carries SQLSTATEs (see serverLog) and must not carry what clients stored: neither the statement nor the
	// DETAIL line, which quotes keys. What is erased from the ledger may not live on in a log.
	set("logging_collector=off", "log_destination=stderr", "log_line_prefix=%m [%p] %e %q%u@%d ",
		"log_min_error_statement=panic", "log_error_verbosity=terse", "log_checkpoints=off")
	if p.site.volatile {
		// Autovacuum would only get into the way of CREATE DATABASE … TEMPLATE, which wants the template to itself.
		set("fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off")
	} else {
		set("fsync=on", "synchronous_commit=on", "full_page_writes=on")
	}
	return args
}

// clusterName is the server's name for itself.
func (s site) clusterName() string {
	return "ledgerd-" + s.folder.tag()
}

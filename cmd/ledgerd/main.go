// Command ledgerd is the audit ledger of AI context: the service, its tools, and the whole product on one machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	_ "time/tzdata" // time zones of questions, on machines that have none

	"github.com/alecthomas/kong"
)

// cli is the command line. Every setting is a flag and an environment variable; `ledgerd COMMAND --help` lists both.
type cli struct {
	Dev         devCmd         `cmd:"" help:"Run the whole product on this machine: a private Postgres and the service, on loopback."`
	Serve       serveCmd       `cmd:"" help:"Run the service against a Postgres given by URL."`
	Migrate     migrateCmd     `cmd:"" help:"Change the database schema, as its owner."`
	Bootstrap   bootstrapCmd   `cmd:"" help:"Make roles, database, schema, tenant and first tokens on an empty server, as superuser."`
	Key         keyCmd         `cmd:"" help:"Make a signing key for a log."`
	Incarnation incarnationCmd `cmd:"" help:"Open a new log after a restore."`
	Token       tokenCmd       `cmd:"" help:"Make, list and revoke bearer tokens of your tenant, over the API."`
	Dispute     disputeCmd     `cmd:"" help:"Dispute a charge or an egress, and get the evidence."`
	Bill        billCmd        `cmd:"" help:"Bill usage to Stripe, see how billing stands, and decide about what waits."`
	Fsck        fsckCmd        `cmd:"" help:"Derive the whole log again from what is stored, and report every fault."`
	Clickhouse  clickhouseCmd  `cmd:"" help:"Rebuild and check the projection of usage in ClickHouse."`
	Engine      engineCmd      `cmd:"" hidden:""`
	Verify      verifyCmd      `cmd:"" help:"Judge files offline: evidence, receipt bundles, conformance corpora. Watch a log."`
	Demo        demoCmd        `cmd:"" help:"Post a session to a running 'ledgerd dev' and ask the auditor's question."`
	Healthcheck healthcheckCmd `cmd:"" help:"Exit 0 if the service at --url is ready, 1 if not."`
	Version     versionCmd     `cmd:"" help:"Print the version."`
}

// process is what commands use of the process that they run in, so that tests can run them too.
type process struct {
	ctx    context.Context //nolint:containedctx // a command is the process's only call; it ends on SIGINT and SIGTERM
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	tuneMemory()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// tuneMemory lets the heap grow to five times what is live before it is collected, unless the user says otherwise. Requests
// are short and leave little, so memory stays small, and collecting less often is worth a fifth of the append rate.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// addThread lets one thread more than there are cores run Go code in a service, unless the user says otherwise: whoever
// feeds the database or answers a request would else wait for milliseconds until another goroutine is done with its core.
var addThread = sync.OnceFunc(func() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
})

// exitError ends the process with a status of its own; what there was to say has been said.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// run executes one command line and returns the exit status: 0 done, 1 failed, 2 not understood.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &process{ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr}
	exited := -1
	parser, err := kong.New(&cli{},
		kong.Name("ledgerd"),
		kong.Description("The audit ledger of AI context: what left the machine, to whom, who agreed, when; what it cost, frame by frame; and a proof that none of it was changed since.\n\nTo begin on this machine: ledgerd dev, then ledgerd demo in a second terminal."),
		kong.Writers(stdout, stderr), kong.Bind(p), kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		fmt.Fprintln(stderr, "ledgerd:", err)
		return 2
	}
	command, err := parser.Parse(args)
	if exited >= 0 { // --help
		return exited
	}
	if err != nil {
		fmt.Fprintf(stderr, "ledgerd: %v\nTry: ledgerd --help\n", err)
		return 2
	}
	return status(stderr, command.Run())
}

func status(stderr io.Writer, err error) int {
	var exit exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "ledgerd: interrupted")
		return 1
	}
	fmt.Fprintln(stderr, "ledgerd:", err)
	return 1
}

type versionCmd struct{}

func (versionCmd) Run(p *process) error {
	_, err := fmt.Fprintln(p.stdout, "ledgerd", version())
	return err
}

// version is the module's version, or the revision that was built.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-modified"
		}
	}
	if revision == "" {
		return info.Main.Version
	}
	return revision[:min(12, len(revision))] + dirty
}

package devstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"sync"
	"syscall"
)

// adminRole is the cluster's superuser.
const adminRole = "ledger_admin"

// PostgresOptions says where and how a private cluster runs.
type PostgresOptions struct {
	// DataDir is the data folder. It is created when missing. Required.
	DataDir string
	// Binaries is the folder with postgres and initdb. Empty searches PATH and the places where packages put them.
	Binaries string
	// Volatile gives up durability for speed: a crash of the machine may lose or damage the cluster. For tests only.
	Volatile bool
	// Log gets a line for each step that takes a while, for a person to read. Nil discards them.
	Log io.Writer
}

// Postgres is a running private cluster. Its methods may be called from several goroutines.
type Postgres struct {
	site   site
	socket string // folder of the unix socket
	secret string // the superuser's password
	lock   *folderLock
	log    *serverLog

	mu     sync.Mutex // held by whoever starts or ends the server
	server *process
	closed bool

	state   sync.Mutex // guards current, so that Done and Err never wait for a start or a stop
	current *process
}

// StartPostgres starts the cluster in opts.DataDir, creating it first when there is none, and returns once it answers.
//
// It takes over whatever a crash left in the folder, waiting up to 30 seconds for processes of an earlier run to end. The
// context bounds the start only; the server runs until Stop, or until this process ends.
//
// Errors to tell apart: ErrInUse, ErrNoBinaries, ErrUnreachable.
func StartPostgres(ctx context.Context, opts PostgresOptions) (*Postgres, error) {
	p, err := openPostgres(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("starting Postgres in %s: %w", opts.DataDir, err)
	}
	if err := p.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("starting Postgres in %s: %w", opts.DataDir, err), p.release())
	}
	return p, nil
}

// openPostgres locks the data folder and makes sure that there is a cluster in it.
func openPostgres(ctx context.Context, opts PostgresOptions) (_ *Postgres, err error) {
	f, err := openFolder(opts.DataDir)
	if err != nil {
		return nil, err
	}
	lock, err := lockFolder(f)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.release())
		}
	}()
	s, err := surveySite(ctx, f, opts)
	if err != nil {
		return nil, err
	}
	secret, err := s.ensureCluster(ctx)
	if err != nil {
		return nil, err
	}
	socket, err := socketDir(f, s.account)
	if err != nil {
		return nil, err
	}
	log, err := openServerLog(f.log())
	if err != nil {
		return nil, err
	}
	return &Postgres{site: s, socket: socket, secret: secret, lock: lock, log: log}, nil
}

// AdminURL returns the superuser's URL of a database, in the form that pgx and psql take. It holds the password.
func (p *Postgres) AdminURL(database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(adminRole, p.secret),
		Path:     "/" + database,
		RawQuery: url.Values{"host": {p.socket}, "port": {serverPort}}.Encode(),
	}
	return u.String()
}

// Done returns a channel that is closed when the server that now runs has ended, for whatever reason. After Restart, ask
// for a new one.
func (p *Postgres) Done() <-chan struct{} {
	return p.running().done
}

// Err says why the server ended by itself. It is nil while the server runs and after Stop.
func (p *Postgres) Err() error {
	return p.running().unexpected()
}

// Stop shuts the server down and lets go of the data folder. When it returns, the server is gone: it gets 20 seconds, or
// until ctx is done, for a clean shutdown; after that it is ended the hard way, which loses nothing that was committed,
// and Stop returns an error. Calling it again does nothing.
func (p *Postgres) Stop(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	return errors.Join(p.server.shutdown(ctx), p.release())
}

// Kill sends the server a signal and returns when it is gone: SIGKILL is what the kernel does when memory runs out,
// SIGQUIT is the server's own immediate shutdown. It is there for tests of faults, and for signals that end the server
// only. The data folder stays locked; continue with Restart or Stop.
func (p *Postgres) Kill(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.server.signal(sig); err != nil {
		return fmt.Errorf("killing Postgres: %w", err)
	}
	<-p.server.done
	return nil
}

// Restart starts the server again on the same folder with the same URL. A running one is shut down first.
func (p *Postgres) Restart(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errors.New("restarting Postgres: it was stopped for good")
	}
	if err := p.server.shutdown(ctx); err != nil {
		return fmt.Errorf("restarting Postgres: %w", err)
	}
	if err := p.start(ctx); err != nil {
		return fmt.Errorf("restarting Postgres: %w", err)
	}
	return nil
}

// start runs the server until it answers. The caller holds p.mu, or is the only one to know p.
func (p *Postgres) start(ctx context.Context) error {
	server, err := p.launch(ctx)
	if err != nil {
		return err
	}
	p.server = server
	p.state.Lock()
	defer p.state.Unlock()
	p.current = server
	return nil
}

func (p *Postgres) running() *process {
	p.state.Lock()
	defer p.state.Unlock()
	return p.current
}

func (p *Postgres) release() error {
	os.Remove(p.socket) // empty now; a leftover socket keeps it, for the next start
	return errors.Join(p.log.Close(), p.lock.release())
}

package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Options say how to run an engine. All are required but Log.
type Options struct {
	Folder  string    // for data; created when missing
	Library string    // path, see FindLibrary
	Command []string  // starts this program so that it calls RunChild
	Log     io.Writer // gets what the child says, and a line when it dies
}

const (
	startLimit = 30 * time.Second
	stopLimit  = 10 * time.Second
	// A child that dies is started again after a wait that doubles from firstWait to longestWait, and begins anew once a
	// child has lived for longestWait.
	firstWait   = 100 * time.Millisecond
	longestWait = 5 * time.Second
)

// Engine is a running engine, or the one that is being started after it died.
type Engine struct {
	options Options
	secret  string
	address *net.TCPAddr
	socket  *os.File // the listener that every child inherits
	cancel  context.CancelFunc
	done    chan struct{} // closed once no child runs and none will

	mu    sync.Mutex
	child *child
}

// child is one process.
type child struct {
	cmd   *exec.Cmd
	input io.Closer // its end ends the child
	gone  chan struct{}
	err   error // of Wait; read it after gone
}

// Start starts an engine and returns once it answers.
func Start(ctx context.Context, o Options) (*Engine, error) {
	if o.Log == nil {
		o.Log = io.Discard
	}
	if err := os.MkdirAll(o.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("starting the engine: %w", err)
	}
	e := &Engine{options: o, secret: rand.Text(), done: make(chan struct{})}
	if err := e.listen(ctx); err != nil {
		return nil, fmt.Errorf("starting the engine: %w", err)
	}
	first, err := e.spawn()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the engine: %w", err), e.socket.Close())
	}
	supervised, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e.cancel = cancel
	if err := e.await(ctx, first); err != nil {
		cancel()
		first.stop()
		return nil, errors.Join(fmt.Errorf("starting the engine: %w", err), e.socket.Close())
	}
	go e.supervise(supervised, first)
	return e, nil
}

func (e *Engine) listen(ctx context.Context) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close() // the file below is another descriptor of the socket
	tcp := l.(*net.TCPListener)
	e.address = tcp.Addr().(*net.TCPAddr)
	e.socket, err = tcp.File()
	return err
}

// URL is the engine's address with its secret, in the form that internal/clickhouse takes.
func (e *Engine) URL() string {
	u := url.URL{Scheme: "http", User: url.UserPassword("ledgerd", e.secret), Host: e.address.String(), Path: "/default"}
	return u.String()
}

func (e *Engine) spawn() (*child, error) {
	c := &child{cmd: exec.CommandContext(context.Background(), e.options.Command[0], e.options.Command[1:]...), gone: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), envLibrary+"="+e.options.Library, envFolder+"="+e.options.Folder, envSecret+"="+e.secret)
	c.cmd.ExtraFiles = []*os.File{e.socket}
	c.cmd.Stdout, c.cmd.Stderr = e.options.Log, e.options.Log
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches us, and we end it in order
	c.cmd.WaitDelay = time.Second
	var err error
	if c.input, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.gone)
		c.err = c.cmd.Wait()
	}()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.child = c
	return c, nil
}

// await returns once the child answers, or why it never will.
func (e *Engine) await(ctx context.Context, c *child) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	answered := make(chan error, 1)
	go func() { answered <- e.ping(ctx) }() // waits in the socket's queue until the child accepts
	select {
	case err := <-answered:
		return err
	case <-c.gone:
		return fmt.Errorf("it ended at once: %w", errors.Join(c.err, errors.New("see the log")))
	}
}

func (e *Engine) ping(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+e.address.String()+"/ping", nil)
	if err != nil {
		return err
	}
	req.SetBasicAuth("ledgerd", e.secret)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return errors.New("it answers " + res.Status)
	}
	return nil
}

// supervise starts the engine again whenever it dies, until ctx ends; then it stops it.
func (e *Engine) supervise(ctx context.Context, c *child) {
	defer close(e.done)
	wait := firstWait
	for {
		began := time.Now()
		select {
		case <-c.gone:
		case <-ctx.Done():
			c.stop()
			return
		}
		if time.Since(began) > longestWait {
			wait = firstWait
		}
		fmt.Fprintf(e.options.Log, "the embedded ClickHouse engine died (%v); starting it again\n", c.err)
		for next := (*child)(nil); next == nil; wait = min(2*wait, longestWait) {
			if !pause(ctx, wait) {
				return
			}
			var err error
			if next, err = e.spawn(); err != nil {
				fmt.Fprintf(e.options.Log, "starting the embedded ClickHouse engine: %v\n", err)
				next = nil
			}
			if next != nil {
				c = next
			}
		}
	}
}

// pause waits; false when ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// stop ends the child in order, or by force when it takes too long.
func (c *child) stop() {
	c.input.Close() // an error says that it is gone already
	timer := time.NewTimer(stopLimit)
	defer timer.Stop()
	select {
	case <-c.gone:
	case <-timer.C:
		_ = c.cmd.Process.Kill() // fails when it is gone
		<-c.gone
	}
}

// Kill ends the child as a crash would, for tests; it is started again.
func (e *Engine) Kill() error {
	e.mu.Lock()
	c := e.child
	e.mu.Unlock()
	err := c.cmd.Process.Kill()
	<-c.gone
	if errors.Is(err, os.ErrProcessDone) { // an earlier kill, of which the supervisor has yet to hear
		return nil
	}
	return err
}

// Stop ends the engine.
func (e *Engine) Stop() error {
	e.cancel()
	<-e.done
	return e.socket.Close()
}

package api

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"
)

// progressTimeout is how long either direction of a bulk request may stand still. The server's own timeouts are for whole
// requests, and don't apply.
const progressTimeout = 30 * time.Second

// stopTimeout is how long a client may leave its last results unread when the service stops: less than the service waits.
const stopTimeout = 5 * time.Second

// errStopping ends a body that came while the service was stopping.
var errStopping = &fault{code: "unavailable", detail: "the service is stopping; this line and those after it were not recorded, send them again"}

// exchange is both directions of a bulk request, which flow at the same time. One goroutine may read while another writes.
type exchange struct {
	http     *http.Request
	writer   http.ResponseWriter
	control  *http.ResponseController
	body     *body
	patience time.Duration   // for a direction that stands still
	stopping <-chan struct{} // closed when the body may not be read on
	closed   chan struct{}
	begun    bool // the answer's header was sent
	ended    bool // the body was read to its end
}

func (a *API) exchangeOf(c *call) *exchange {
	return &exchange{http: c.http, writer: c.writer, control: http.NewResponseController(c.writer), patience: a.progress, stopping: a.stopping, closed: make(chan struct{})}
}

// newExchange opens the body, of at most limit decoded bytes unless that is 0. Close it.
func (a *API) newExchange(c *call, limit int64) (*exchange, error) {
	x := a.exchangeOf(c)
	// Without this HTTP/1 reads the body to its end before it sends the first result.
	if err := x.control.EnableFullDuplex(); err != nil {
		return nil, fmt.Errorf("answering while the body comes: %w", err)
	}
	if err := x.control.SetWriteDeadline(time.Time{}); err != nil { // each write sets its own
		return nil, fmt.Errorf("deadlines of a bulk request: %w", err)
	}
	go x.watch()
	var err error
	if x.body, err = openBody(c.http.Header, (*upload)(x), limit); err != nil {
		close(x.closed)
		return nil, err
	}
	return x, nil
}

// Close also closes the request's body if the answer was begun, and leaves it to failEarly if it was not.
func (x *exchange) Close() {
	close(x.closed)
	x.body.Close()
	if !x.begun {
		return
	}
	if !x.ended {
		_ = x.interrupt() // else closing waits for some more of it
	}
	closeBody(x.http)
}

// closeBody closes a request's body: left to the server in full duplex, what is unread of it makes the next read of the
// connection panic (golang/go#68560).
func closeBody(r *http.Request) {
	_ = r.Body.Close() // there is nothing to be done about a connection that failed
}

// failEarly answers a bulk request of which no line has a result. The answer is sent at once, since a client may wait for it
// before it sends more; then the body is drained for a client that waits for nothing.
func (a *API) failEarly(c *call, err error) {
	x := a.exchangeOf(c)
	defer close(x.closed)
	defer closeBody(c.http)
	_ = x.control.EnableFullDuplex()                           // else the answer waits for some of the body
	_ = x.control.SetWriteDeadline(time.Now().Add(x.patience)) // else the server's, which may be over
	a.fail(c.writer, c.http, err)
	if x.control.Flush() != nil || x.control.SetReadDeadline(time.Now().Add(x.patience)) != nil {
		return
	}
	go x.watch() // after the deadline was set, which would undo an interruption
	drain(c.http)
}

// upload is the body as it arrives, with a deadline for each read.
type upload exchange

func (u *upload) Read(p []byte) (int, error) {
	if !u.ended { // at the end the server clears the deadline: it would pass for the client's leaving while results are due
		if err := u.control.SetReadDeadline(time.Now().Add(u.patience)); err != nil {
			return 0, err
		}
		if stopped(u.stopping) { // looked at after the deadline was set, or an interruption before that were lost
			return 0, errStopping
		}
	}
	n, err := u.http.Body.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) && stopped(u.stopping) {
		err = errStopping
	}
	u.ended = u.ended || err != nil
	return n, err
}

// write sends results at once.
func (x *exchange) write(results []byte) error {
	if err := x.control.SetWriteDeadline(time.Now().Add(x.patience)); err != nil {
		return err
	}
	if stopped(x.stopping) { // after it as well
		x.hurry()
	}
	if !x.begun {
		h := x.writer.Header()
		h.Set("Content-Type", ndjsonType)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		x.writer.WriteHeader(http.StatusOK)
		x.begun = true
	}
	if _, err := x.writer.Write(results); err != nil {
		return err
	}
	return x.control.Flush()
}

// hurry bounds what is still written when the service stops.
func (x *exchange) hurry() {
	_ = x.control.SetWriteDeadline(time.Now().Add(min(x.patience, stopTimeout)))
}

// watch ends a read, and soon a write, when the service stops.
func (x *exchange) watch() {
	select {
	case <-x.stopping:
		_ = x.interrupt()
		x.hurry()
	case <-x.closed:
	}
}

func stopped(stopping <-chan struct{}) bool {
	select {
	case <-stopping:
		return true
	default:
		return false
	}
}

// interrupt ends a read that waits for the body.
func (x *exchange) interrupt() error { return x.control.SetReadDeadline(time.Unix(1, 0)) }

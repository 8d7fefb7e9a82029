package api

import (
	"fmt"
	"net/http"
	"time"
)

// progressTimeout is how long either direction of a bulk request may stand still. The server's own timeouts are for whole
// requests, and don't apply.
const progressTimeout = 30 * time.Second

// exchange is both directions of a bulk request, which flow at the same time. One goroutine may read while another writes.
type exchange struct {
	http     *http.Request
	writer   http.ResponseWriter
	control  *http.ResponseController
	body     *body
	patience time.Duration
	begun    bool // the answer's header was sent
	ended    bool // the body was read to its end
}

// newExchange opens the body, of at most limit decoded bytes unless that is 0. patience is for a direction that stands
// still. Close it.
func newExchange(c *call, limit int64, patience time.Duration) (*exchange, error) {
	x := &exchange{http: c.http, writer: c.writer, control: http.NewResponseController(c.writer), patience: patience}
	// Without this HTTP/1 reads the body to its end before it sends the first result.
	if err := x.control.EnableFullDuplex(); err != nil {
		return nil, fmt.Errorf("answering while the body comes: %w", err)
	}
	if err := x.control.SetWriteDeadline(time.Time{}); err != nil { // each write sets its own
		return nil, fmt.Errorf("deadlines of a bulk request: %w", err)
	}
	var err error
	if x.body, err = openBody(c.http.Header, (*upload)(x), limit); err != nil {
		_ = c.http.Body.Close()
		return nil, err
	}
	return x, nil
}

// Close also closes the request's body: left to the server in full duplex, what is unread of it makes the next read of the
// connection panic (golang/go#68560).
func (x *exchange) Close() {
	x.body.Close()
	_ = x.http.Body.Close() // there is nothing to be done about a connection that failed
}

// upload is the body as it arrives, with a deadline for each read.
type upload exchange

func (u *upload) Read(p []byte) (int, error) {
	if !u.ended { // at the end the server clears the deadline: it would pass for the client's leaving while results are due
		if err := u.control.SetReadDeadline(time.Now().Add(u.patience)); err != nil {
			return 0, err
		}
	}
	n, err := u.http.Body.Read(p)
	u.ended = u.ended || err != nil
	return n, err
}

// write sends results at once.
func (x *exchange) write(results []byte) error {
	if err := x.control.SetWriteDeadline(time.Now().Add(x.patience)); err != nil {
		return err
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

// interrupt ends a read that waits for the body.
func (x *exchange) interrupt() error { return x.control.SetReadDeadline(time.Unix(1, 0)) }

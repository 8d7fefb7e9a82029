package relay_test

import (
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"ledgerd/internal/clickhouse"
	"ledgerd/internal/relay"
)

// cutter passes TCP connections on, and resets the first few after some bytes of what the client sends.
type cutter struct {
	listener net.Listener
	target   string
	cuts     atomic.Int64 // connections still to be cut
	after    int64        // bytes
}

func newCutter(t *testing.T, target string, cuts, after int64) *cutter {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c := &cutter{listener: l, target: target, after: after}
	c.cuts.Store(cuts)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go c.pass(conn)
		}
	}()
	return c
}

func (c *cutter) pass(from net.Conn) {
	defer from.Close()
	to, err := new(net.Dialer).Dial("tcp", c.target)
	if err != nil {
		return
	}
	defer to.Close()
	go io.Copy(from, to) //nolint:errcheck // it ends when either side does
	n, err := io.CopyN(to, from, c.after)
	if err != nil || n < c.after {
		return
	}
	if c.cuts.Add(-1) >= 0 {
		from.(*net.TCPConn).SetLinger(0) //nolint:errcheck // a reset instead of an orderly end, where it can be had
		return
	}
	io.Copy(to, from) //nolint:errcheck // it ends when either side does
}

// The connection is reset in the middle of a block, several times.
func TestConnectionsAreResetInTheMiddleOfABlock(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.post(t, 500)
	u, err := url.Parse(r.dsn)
	if err != nil {
		t.Fatal(err)
	}
	cut := newCutter(t, u.Host, 5, 20_000)
	u.Host = cut.listener.Addr().String()
	through, err := clickhouse.Open(u.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { through.Close() })
	s := relay.NewShipper(relay.Options{Log: r.Store, Projection: through, Rejects: rejects, Holder: "a", Logger: quiet, MaxLines: 400, Poll: 5 * time.Millisecond})
	failed := 0
	for range 50 {
		more, err := s.Step(t.Context())
		if err != nil {
			failed++
		} else if !more {
			break
		}
	}
	if failed == 0 || cut.cuts.Load() >= 0 {
		t.Fatalf("%d failures, %d connections left to cut", failed, cut.cuts.Load())
	}
	if n := r.equal(t); n != 1000 {
		t.Fatalf("%d lines", n)
	}
}

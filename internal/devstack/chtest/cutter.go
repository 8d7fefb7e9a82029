package chtest

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
)

// Cutter passes TCP connections on, and resets the first few after some bytes of what the client sends.
type Cutter struct {
	target string
	after  int64
	cuts   atomic.Int64
	addr   string
}

// NewCutter listens on loopback for as long as the test runs. It cuts the first connections that send more than after bytes,
// as many as cuts says.
func NewCutter(tb testing.TB, target string, cuts, after int64) *Cutter {
	tb.Helper()
	l, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	c := &Cutter{target: target, after: after, addr: l.Addr().String()}
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

// Addr is where it listens.
func (c *Cutter) Addr() string { return c.addr }

// Left is how many connections are still to be cut; negative once one has passed whole.
func (c *Cutter) Left() int64 { return c.cuts.Load() }

func (c *Cutter) pass(from net.Conn) {
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

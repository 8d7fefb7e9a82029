package postgres_test

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
)

// garbler stands between a process and its database and spoils the next BEGIN that a look at the head follows.
type garbler struct {
	url   string
	armed atomic.Bool
}

func newGarbler(t *testing.T, serviceURL string) *garbler {
	t.Helper()
	g := &garbler{}
	g.url = between(t, serviceURL, g.pass, func(client, server net.Conn) { _, _ = io.Copy(client, server) })
	return g
}

// between stands between a process and its database. It gives the URL to connect to, and both directions of each
// connection to somebody who passes on what comes; whoever returns ends his direction's destination.
func between(t *testing.T, serviceURL string, up, down func(to, from net.Conn)) string {
	t.Helper()
	u, err := url.Parse(serviceURL)
	if err != nil {
		t.Fatal(err)
	}
	in, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	config, err := pgconn.ParseConfig(serviceURL)
	if err != nil {
		t.Fatal(err)
	}
	network, database := pgconn.NetworkAddress(config.Host, config.Port)
	go func() {
		for {
			client, err := in.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(network, database)
			if err != nil {
				client.Close()
				return
			}
			go func() { up(server, client); server.Close() }()
			go func() { down(client, server); client.Close() }()
		}
	}()
	u.Host, u.RawQuery = in.Addr().String(), "sslmode=disable"
	return u.String()
}

func (g *garbler) pass(server, client net.Conn) {
	b := make([]byte, 64<<10)
	for {
		n, err := client.Read(b)
		if at := bytes.Index(b[:n], []byte("BEGIN; SELECT ledger.expect_head")); at >= 0 && g.armed.CompareAndSwap(true, false) {
			copy(b[at:], "BEGUN")
		}
		if _, failed := server.Write(b[:n]); err != nil || failed != nil {
			return
		}
	}
}

// A batch that is sent without a look at the log is one transaction even where the server refuses its BEGIN, for whatever
// reason: nothing of it runs by itself, least of all the head's new root over one that another process made.
func TestAheadIsAllOrNothing(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	g := newGarbler(t, l.ServiceURL)
	store, err := postgres.Open(t.Context(), g.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	a := postgres.StartAppender(postgres.AppenderOptions{Store: store, Keys: l.Keys, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	post := func(a *postgres.Appender, key string) (kinds.Recorded, error) {
		return a.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, key, "p"))
	}
	for seq, by := range []*postgres.Appender{a, l.Appender} {
		if r, err := post(by, []string{"a", "b"}[seq]); err != nil || r.Seq != int64(seq) {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	g.armed.Store(true)
	if r, err := post(a, "c"); err == nil || g.armed.Load() {
		t.Fatalf("%+v, with a BEGIN that was refused", r)
	}
	checkLog(t, l)
	if r, err := post(a, "c"); err != nil || r.Seq != 2 || r.Replayed {
		t.Errorf("%+v, %v", r, err)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkLog(t, l)
}

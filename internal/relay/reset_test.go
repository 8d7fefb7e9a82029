package relay_test

import (
	"net/url"
	"testing"
	"time"

	"ledgerd/internal/clickhouse"
	"ledgerd/internal/devstack/chtest"
	"ledgerd/internal/relay"
)

// The connection is reset in the middle of a block, several times.
func TestConnectionsAreResetInTheMiddleOfABlock(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.post(t, 500)
	u, err := url.Parse(r.dsn)
	if err != nil {
		t.Fatal(err)
	}
	cut := chtest.NewCutter(t, u.Host, 5, 20_000)
	u.Host = cut.Addr()
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
	if failed == 0 || cut.Left() >= 0 {
		t.Fatalf("%d failures, %d connections left to cut", failed, cut.Left())
	}
	if n := r.equal(t); n != 1000 {
		t.Fatalf("%d lines", n)
	}
}

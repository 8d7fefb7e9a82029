package relay_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"ledgerd/internal/relay"
	"ledgerd/metering"
)

// endless is a log of which there is always more to ship, and which tells that it was looked at.
type endless struct {
	relay.Log
	looked chan struct{}
}

func (endless) HoldShipping(context.Context, string, time.Duration) (bool, error) { return true, nil }

func (endless) ReleaseShipping(context.Context, string) error { return nil }

func (endless) NextBatch(context.Context, string, int, *metering.Batch) (*metering.Batch, error) {
	return &metering.Batch{}, nil
}

func (endless) CloseBatch(context.Context, string, *metering.Batch, []metering.Rejected) error {
	return nil
}

func (e endless) Shipping(context.Context) (metering.Shipping, error) {
	select {
	case e.looked <- struct{}{}:
	default:
	}
	return metering.Shipping{LagEntries: 7}, nil
}

// bottomless takes everything.
type bottomless struct{}

func (bottomless) Insert(context.Context, string, []metering.Line) error { return nil }

func (bottomless) Delete(context.Context, []int64) error { return nil }

// The status is looked after while there is always more to ship, when a lag matters most.
func TestTheStatusIsFreshUnderLoad(t *testing.T) {
	t.Parallel()
	log := endless{looked: make(chan struct{})}
	s := relay.NewShipper(relay.Options{Log: log, Projection: bottomless{}, Rejects: rejects, Holder: "a", Logger: quiet})
	ctx, cancel := context.WithCancel(t.Context())
	var loop sync.WaitGroup
	loop.Go(func() { s.Run(ctx) })
	for range 2 { // the second one follows what the first one stored
		<-log.looked
	}
	if v := s.Status(); v.LagEntries != 7 {
		t.Errorf("%+v", v)
	}
	cancel()
	loop.Wait()
}

// ClickHouse is away for a while: recording goes on, the status says so, and then everything arrives.
func TestClickHouseIsAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.net.down.Store(true)
	r.post(t, 10)
	s := r.shipper("a", 7)
	ctx, cancel := context.WithCancel(t.Context())
	var loop sync.WaitGroup
	loop.Go(func() { s.Run(ctx) })
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for s.Status().Attempts < 2 {
		<-tick.C
	}
	r.post(t, 10)
	for s.Status().LagEntries < 20 {
		<-tick.C
	}
	if v := s.Status(); v.Lag <= 0 || v.LastError == "" || v.NextSeq != 0 {
		t.Errorf("%+v", v)
	}
	r.net.down.Store(false)
	r.settle(t, time.Minute)
	cancel()
	loop.Wait()
	if n := r.equal(t); n != 40 {
		t.Errorf("%d lines", n)
	}
}

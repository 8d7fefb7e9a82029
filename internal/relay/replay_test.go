package relay_test

import (
	"context"
	"errors"
	"testing"

	"ledgerd/internal/devstack/chtest"
	"ledgerd/internal/postgres"
	"ledgerd/internal/relay"
	"ledgerd/metering"
)

// latecomer is a quarantine of which a line is erased, and the erasure shipped, just after it was read for the first time.
type latecomer struct {
	*postgres.Store
	meanwhile func()
}

func (o *latecomer) QuarantinedLine(ctx context.Context, r metering.Rejected) (metering.Line, error) {
	line, err := o.Store.QuarantinedLine(ctx, r)
	if o.meanwhile != nil {
		o.meanwhile()
		o.meanwhile = nil
	}
	return line, err
}

// quarantined is a rig whose entry 3 has a line in quarantine that the projection would take by now.
func quarantined(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.post(t, 10)
	chtest.Exec(t, r.dsn, "ALTER TABLE usage_events ADD CONSTRAINT bad CHECK NOT (request_id = 'req-3' AND provider_id = 'north')")
	r.drain(t, r.shipper("a", 100))
	chtest.Exec(t, r.dsn, "ALTER TABLE usage_events DROP CONSTRAINT bad")
	return r
}

// erasedIn demands that an erased entry has left the projection whole, and all of its lines are there.
func (r *rig) erasedIn(t *testing.T) {
	t.Helper()
	if n := r.equal(t); n != 20 {
		t.Errorf("%d lines", n)
	}
	chtest.Exec(t, r.dsn, "SELECT throwIf(count() != 0) FROM usage_events WHERE entry_seq = 3 AND (customer_id != '' OR turn_id != '' OR notEmpty(frames.frame_id))")
	if v, err := r.Store.Shipping(t.Context()); err != nil || v.Changing || v.Quarantined != 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

// What a replay read before an erasure does not come back after it, whatever becomes of the sending.
func TestReplayIsOvertakenByAnErasure(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		faults []fault // of the replay's calls: insert, delete, insert
		ships  bool    // the erasure is shipped at once, and not only recorded
	}{
		"shipped":                        {ships: true},
		"recorded":                       {},
		"shipped, and an answer is lost": {faults: []fault{answerLost}, ships: true},
		"recorded, and one is lost":      {faults: []fault{answerLost}},
		"nothing destroyed":              {faults: []fault{none, notWritten}, ships: true},
		"destroyed, and not sent again":  {faults: []fault{none, none, notWritten}, ships: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := quarantined(t)
			ward := &latecomer{Store: r.Store, meanwhile: func() {
				r.erase(t, 3)
				if c.ships {
					r.drain(t, r.shipper("a", 100))
				}
				r.net.faults = c.faults
			}}
			n, err := relay.Replay(t.Context(), ward, r.net, rejects)
			if len(c.faults) > 0 {
				if n != 0 || !errors.Is(err, errFault) {
					t.Fatalf("%d, %v", n, err)
				}
				n, err = relay.Replay(t.Context(), r.Store, r.net, rejects)
			}
			if n != 1 || err != nil {
				t.Fatalf("%d, %v", n, err)
			}
			r.drain(t, r.shipper("a", 100))
			r.erasedIn(t)
		})
	}
}

// An erased line that is refused still stays in quarantine.
func TestReplayOfAnErasedLineIsRefused(t *testing.T) {
	t.Parallel()
	r := quarantined(t)
	r.erase(t, 3)
	chtest.Exec(t, r.dsn, "ALTER TABLE usage_events ADD CONSTRAINT bad CHECK NOT (request_id = 'req-3' AND provider_id = 'north')")
	if n, err := relay.Replay(t.Context(), r.Store, r.client, rejects); n != 0 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	chtest.Exec(t, r.dsn, "ALTER TABLE usage_events DROP CONSTRAINT bad")
	if n, err := relay.Replay(t.Context(), r.Store, r.client, rejects); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	r.drain(t, r.shipper("a", 100))
	r.erasedIn(t)
}

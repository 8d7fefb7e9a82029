package relay_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/internal/relay"
)

// The same reports come twice, before and after they are shipped and after the service was started anew: each counts once.
func TestTheSameReportAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.post(t, 20)
	r.postAgain(t, r.Appender, 3)
	s := r.shipper("a", 8)
	if _, err := s.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.postAgain(t, r.Appender, 0)
	r.drain(t, s)
	restarted := r.StartAppender(t, time.Now)
	for n := range 20 {
		r.postAgain(t, restarted, n)
	}
	r.release(t)
	r.drain(t, r.shipper("b", 8))
	if n := r.equal(t); n != 40 {
		t.Fatalf("%d lines", n)
	}
}

// An append commits late, after the shipper has looked: the cursor has not passed it.
func TestALateCommit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.post(t, 10)
	conn, err := pgx.Connect(t.Context(), r.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`UPDATE ledger.head SET size = size + 1, root = sha256('made up')`,
		`INSERT INTO ledger.usage_lines (seq, tenant, line, request_id, turn_id, customer_id, provider_id, as_of, frames_served, frames_rejected, tokens)
		 VALUES (10, '` + ledgertest.Tenant + `', 0, 'late', 't', 'c', 'north', now(), 0, 0, 7)`,
	} {
		if _, err := tx.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	s := r.shipper("a", 100)
	r.drain(t, s)
	if n := r.equal(t); n != 20 {
		t.Fatalf("%d lines before the commit", n)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.drain(t, s)
	if n := r.equal(t); n != 21 {
		t.Fatalf("%d lines", n)
	}
}

// Several processes append while several ship, in batches of a few lines: nothing is passed over.
func TestAppendersAndShippersAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	var loops, posts sync.WaitGroup
	for _, holder := range []string{"a", "b"} {
		s := relay.NewShipper(relay.Options{Log: r.Store, Projection: r.client, Rejects: rejects, Holder: holder, Logger: quiet, MaxLines: 5, Poll: time.Millisecond})
		loops.Go(func() { s.Run(ctx) })
	}
	const each = 40
	for by := range 3 {
		appender := r.StartAppender(t, time.Now)
		posts.Go(func() {
			for n := range each {
				if _, err := appender.Append(t.Context(), ledgertest.Host, report(t, by*each+n, time.Now())); err != nil {
					t.Error(err)
				}
			}
		})
	}
	posts.Wait()
	r.settle(t, time.Minute)
	cancel()
	loops.Wait()
	if n := r.equal(t); n != 3*2*each {
		t.Fatalf("%d lines", n)
	}
}

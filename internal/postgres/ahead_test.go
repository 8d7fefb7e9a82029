package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/mod/sumdb/tlog"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
)

// aheadOf is enough submissions that a batch of them is taken while the one before is being committed.
const aheadOf = 300

// held is a ledger whose head somebody holds, so that the first batch waits for it while a second one gathers.
type held struct {
	*ledgertest.Ledger
	holder *pgx.Conn
}

func hold(t *testing.T) held {
	t.Helper()
	h := held{ledgertest.New(t), nil}
	h.Appender.SetPatience(time.Minute) // what is sealed ahead must not depend on how busy the machine is
	h.holder = connect(t, h.ServiceURL)
	for _, sql := range []string{"BEGIN", "SELECT size FROM ledger.head FOR UPDATE"} {
		if _, err := h.holder.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// waiting returns once the given number of appenders wait for the head.
func (h held) waiting(t *testing.T, n int) {
	t.Helper()
	admin := connect(t, h.AdminURL)
	for {
		var got int
		err := admin.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`).Scan(&got)
		if err != nil {
			t.Fatal(err)
		}
		if got == n {
			return
		}
	}
}

func (h held) release(t *testing.T) {
	t.Helper()
	if _, err := h.holder.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
}

func consents(t *testing.T, prefix string, n int) []*kinds.Accepted {
	t.Helper()
	list := make([]*kinds.Accepted, n)
	for i := range list {
		list[i] = ledgertest.Consent(t, fmt.Sprintf("%s%d", prefix, i), "p")
	}
	return list
}

// A batch that is sealed while the one before it is being committed continues it.
func TestAheadContinues(t *testing.T) {
	t.Parallel()
	h := hold(t)
	first := h.Appender.Submit(t.Context(), ledgertest.Host, consents(t, "first", 1))
	h.waiting(t, 1)
	second := h.Appender.Submit(t.Context(), ledgertest.Host, consents(t, "second", aheadOf))
	h.release(t)
	wantInOrder(t, slices.Concat(first(), second()))
	wantPredictions(t, h.Appender, 1, 0)
	checkLog(t, h.Ledger)
}

// wantInOrder demands that all were recorded for the first time, in their order from the log's beginning on.
func wantInOrder(t *testing.T, outcomes []kinds.Outcome) {
	t.Helper()
	for i, o := range outcomes {
		if o.Err != nil || o.Recorded.Seq != int64(i) || o.Recorded.Replayed {
			t.Fatalf("outcome %d: %+v", i, o)
		}
	}
}

func wantPredictions(t *testing.T, a *postgres.Appender, made, failed int64) {
	t.Helper()
	if m, f := a.Predictions(); m != made || f != failed {
		t.Errorf("%d batches were predicted and %d of them in vain, want %d and %d", m, f, made, failed)
	}
}

// What a batch that is sealed ahead takes for granted may not hold: each of its submissions gets the answer that it would
// have got in its turn, and they still share one transaction.
func TestAheadMispredicts(t *testing.T) {
	t.Parallel()
	h := hold(t)
	first := h.Appender.Submit(t.Context(), ledgertest.Host, consents(t, "k", 2))
	h.waiting(t, 1)
	list := append(consents(t, "other", aheadOf), ledgertest.Consent(t, "k0", "p"), ledgertest.Consent(t, "k1", "another"))
	second := h.Appender.Submit(t.Context(), ledgertest.Host, list)
	h.release(t)
	wantInOrder(t, slices.Concat(first(), second()[:aheadOf]))
	wantPredictions(t, h.Appender, 1, 1)
	rest := second()[aheadOf:]
	if r := rest[0].Recorded; rest[0].Err != nil || r.Seq != 0 || !r.Replayed {
		t.Errorf("the same again: %+v", rest[0])
	}
	wantConflict(t, rest[1], 1)
	if n := h.Count(t, "(SELECT DISTINCT xmin FROM ledger.entries) AS transactions"); n != 2 {
		t.Errorf("recorded in %d transactions", n)
	}
	checkLog(t, h.Ledger)
}

// Another process has appended between the two batches, says the server.
func TestAheadOfAnotherHead(t *testing.T) {
	t.Parallel()
	h := hold(t)
	_, err := connect(t, h.AdminURL).Exec(t.Context(), `CREATE OR REPLACE FUNCTION ledger.expect_head(incarnation integer, size bigint, root bytea) RETURNS void
		LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'moved' USING ERRCODE = 'LG001'; END $$`)
	if err != nil {
		t.Fatal(err)
	}
	first := h.Appender.Submit(t.Context(), ledgertest.Host, consents(t, "first", 1))
	h.waiting(t, 1)
	second := h.Appender.Submit(t.Context(), ledgertest.Host, consents(t, "second", aheadOf))
	h.release(t)
	wantInOrder(t, slices.Concat(first(), second()))
	wantPredictions(t, h.Appender, 1, 1)
	checkLog(t, h.Ledger)
}

// The head is what was expected in every respect, or the transaction fails.
func TestExpectHead(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	if _, err := l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, "k", "p")); err != nil {
		t.Fatal(err)
	}
	head, err := l.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other := head.Root
	other[31] ^= 1
	service := connect(t, l.ServiceURL)
	expect := func(incarnation int, size int64, root tlog.Hash) error {
		_, err := service.Exec(t.Context(), `SELECT ledger.expect_head($1, $2, $3)`, incarnation, size, root[:])
		return err
	}
	if err := expect(head.Incarnation, head.Size, head.Root); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"size": expect(head.Incarnation, head.Size+1, head.Root), "root": expect(head.Incarnation, head.Size, other), "incarnation": expect(head.Incarnation+1, head.Size, head.Root),
	} {
		wantMoved(t, name, err)
	}
	_, err = connect(t, l.AdminURL).Exec(t.Context(), `INSERT INTO ledger.head SELECT incarnation + 1, origin || '/1', base + size, 0, root, recorded_at, checkpoint FROM ledger.head`)
	if err != nil {
		t.Fatal(err)
	}
	wantMoved(t, "a newer incarnation", expect(head.Incarnation, head.Size, head.Root))
}

func wantMoved(t *testing.T, name string, err error) {
	t.Helper()
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != "LG001" {
		t.Errorf("%s: %v, want SQLSTATE LG001", name, err)
	}
}

// Claims that the batch under way is about to make count for the one that is sealed ahead of its commit.
func TestAheadSeesClaims(t *testing.T) {
	t.Parallel()
	h := hold(t)
	first := h.Appender.Submit(t.Context(), ledgertest.Host, []*kinds.Accepted{claiming(t, "a", "one", true)})
	h.waiting(t, 1)
	second := h.Appender.Submit(t.Context(), ledgertest.Host, append(consents(t, "k", aheadOf), claiming(t, "c", "one", true)))
	h.release(t)
	if o := first()[0]; o.Err != nil {
		t.Fatal(o.Err)
	}
	if o := second()[aheadOf]; o.Err != nil || o.Recorded.Seq != aheadOf+1 {
		t.Errorf("an equal claim: %+v", o)
	}
	wantPredictions(t, h.Appender, 1, 0)
	checkLog(t, h.Ledger)
}

// Whatever is refused is refused under the lock, where the keys are known: what seems to contradict a claim may be the very
// submission that was recorded before the claim was made, and then it is acknowledged again.
func TestAheadRefusesNothing(t *testing.T) {
	t.Parallel()
	h := hold(t)
	first := h.Appender.Submit(t.Context(), ledgertest.Host, []*kinds.Accepted{claiming(t, "before", "two", false), claiming(t, "a", "one", true)})
	h.waiting(t, 1)
	list := append(consents(t, "k", aheadOf), claiming(t, "before", "two", false), claiming(t, "b", "two", false))
	second := h.Appender.Submit(t.Context(), ledgertest.Host, list)
	h.release(t)
	for _, o := range first() {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	rest := second()[aheadOf:]
	if o := rest[0]; o.Err != nil || o.Recorded.Seq != 0 || !o.Recorded.Replayed {
		t.Errorf("the same again: %+v", o)
	}
	wantConflict(t, rest[1], 1)
	wantPredictions(t, h.Appender, 0, 0)
	checkLog(t, h.Ledger)
}

func claiming(t *testing.T, key, value string, reserves bool) *kinds.Accepted {
	t.Helper()
	a := ledgertest.Consent(t, key, "p")
	a.Claims = []kinds.Claim{{Space: "test", Name: "name", Value: value, Reserves: reserves}}
	return a
}

// Sessions that end in the middle of batches that follow closely on each other lose nothing, and nothing is there twice.
func TestAheadLosesNothing(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	admin := connect(t, l.AdminURL)
	const streams, each = 4, 3000
	var wg sync.WaitGroup
	for s := range streams {
		wg.Go(func() {
			rest := consents(t, fmt.Sprintf("s%d-", s), each)
			for range 50 {
				if rest = unknown(t, l, rest); len(rest) == 0 {
					return
				}
			}
			t.Errorf("stream %d: %d were never recorded", s, len(rest))
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for kills := 0; ; kills++ {
		select {
		case <-done:
			dropDead(t, l)
			if head := checkLog(t, l); head.Size != streams*each {
				t.Errorf("the log has %d entries, want %d", head.Size, streams*each)
			}
			if made, _ := l.Appender.Predictions(); made == 0 {
				t.Error("no batch was predicted")
			}
			return
		default:
		}
		if kills < 10 {
			_, err := admin.Exec(t.Context(), `SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity WHERE usename = 'ledger_svc' AND datname = current_database()`)
			if err != nil {
				t.Error(err)
			}
		}
	}
}

// unknown submits a stream and returns what it must submit again.
func unknown(t *testing.T, l *ledgertest.Ledger, list []*kinds.Accepted) (rest []*kinds.Accepted) {
	t.Helper()
	for i, o := range l.Appender.Submit(t.Context(), ledgertest.Host, slices.Clone(list))() {
		if errors.Is(o.Err, kinds.ErrUnavailable) {
			rest = append(rest, list[i])
		} else if o.Err != nil {
			t.Error(o.Err)
		}
	}
	return rest
}

// Single posts go in one round trip while nobody else appends; what is known already is found all the same, and makes the
// appender look first for a while.
func TestPredictsSingles(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	post := func(key, provider string) (kinds.Recorded, error) {
		return l.Appender.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, key, provider))
	}
	for seq, key := range []string{"a", "b", "c"} {
		if r, err := post(key, "p"); err != nil || r.Seq != int64(seq) || r.Replayed {
			t.Fatalf("%s: %+v, %v", key, r, err)
		}
	}
	wantPredictions(t, l.Appender, 2, 0)
	if r, err := post("b", "p"); err != nil || r.Seq != 1 || !r.Replayed {
		t.Errorf("the same again: %+v, %v", r, err)
	}
	wantPredictions(t, l.Appender, 3, 1)
	_, err := post("b", "another")
	wantConflict(t, kinds.Outcome{Err: err}, 1)
	if r, err := post("d", "p"); err != nil || r.Seq != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	wantPredictions(t, l.Appender, 3, 1)
	checkLog(t, l)
}

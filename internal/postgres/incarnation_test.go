package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
	"ledgerd/ledger"
)

// only gives the same keys always.
func only(keys postgres.Keys) func(string, bool) (postgres.Keys, error) {
	return func(string, bool) (postgres.Keys, error) { return keys, nil }
}

// drill are the options that open the next log of a whole one.
func drill(t *testing.T, l *ledgertest.Ledger) (o postgres.OpenIncarnationOptions, keys postgres.Keys) {
	t.Helper()
	head, err := l.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, keys = ledgertest.NewKeys(t, postgres.IncarnationOrigin(head.Origin, head.Incarnation+1))
	return postgres.OpenIncarnationOptions{
		NewKeys: only(keys), Old: l.Keys, Previous: []byte(head.Checkpoint), Force: true, Reason: "a drill", Now: time.Now,
		Log: slog.New(slog.DiscardHandler),
	}, keys
}

// writers post until the log is closed to them, and remember what was acknowledged.
func writers(t *testing.T, l *ledgertest.Ledger, n int, enough chan<- struct{}) (wait func() map[int64]string) {
	t.Helper()
	var group sync.WaitGroup
	var mu sync.Mutex
	acknowledged := map[int64]string{}
	for w := range n {
		a := l.StartAppender(t, time.Now)
		group.Go(func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("w%d-%d", w, i)
				r, err := a.Append(t.Context(), ledgertest.Host, ledgertest.Consent(t, key, "p"))
				if errors.Is(err, kinds.ErrReadOnly) {
					return
				}
				if err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
				mu.Lock()
				acknowledged[r.Seq] = key
				mu.Unlock()
				if i == 20 {
					enough <- struct{}{}
				}
			}
		})
	}
	return func() map[int64]string {
		group.Wait()
		return acknowledged
	}
}

// Several processes append while a new log is opened: what they were promised is there, the new log begins just after it,
// and they are read-only from then on.
func TestIncarnationBesideLiveWriters(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	appendConsents(t, l.Appender, 0, 3)
	options, keys := drill(t, l)
	const n = 4
	enough := make(chan struct{}, n)
	wait := writers(t, l, n, enough)
	for range n {
		<-enough
	}
	head, err := l.Store.OpenIncarnation(t.Context(), options)
	acknowledged := wait()
	if err != nil {
		t.Fatal(err)
	}
	before, err := l.Store.HeadOf(t.Context(), 0)
	if err != nil || head.Base != before.Next() || head.Size != 1 || before.Size != int64(3+len(acknowledged)) {
		t.Fatalf("the old log ends at %d with %d acknowledged, the new one: %+v, %v", before.Next(), len(acknowledged), head, err)
	}
	for seq, key := range acknowledged {
		if e, err := l.Store.Entry(t.Context(), ledgertest.Tenant, auditor, seq); err != nil || e.Meta.Key != key {
			t.Errorf("entry %d was acknowledged as %s: %+v, %v", seq, key, e.Meta, err)
		}
	}
	l.Keys = keys
	appendConsents(t, l.StartAppender(t, time.Now), 3, 5)
}

// The new log is added only once nobody else holds the old head.
func TestIncarnationWaitsForTheHead(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	appendConsents(t, l.Appender, 0, 3)
	options, _ := drill(t, l)
	holder := connect(t, l.ServiceURL)
	if _, err := holder.Exec(t.Context(), `BEGIN; SELECT 1 FROM ledger.head FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		_, err := l.Store.OpenIncarnation(t.Context(), options)
		opened <- err
	}()
	waitForLock(t, connect(t, l.AdminURL))
	if n := l.Count(t, "ledger.head"); n != 1 {
		t.Errorf("there are %d heads although the old one is held", n)
	}
	if _, err := holder.Exec(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// waitForLock returns when some session of the database waits for a lock.
func waitForLock(t *testing.T, admin *pgx.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for waiting := false; !waiting; {
		err := admin.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A log that can be signed on needs no other, and a checkpoint or key of another log opens none.
func TestIncarnationRefusals(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	appendConsents(t, l.Appender, 0, 3)
	good, _ := drill(t, l)
	_, other := ledgertest.NewKeys(t, "other.example/log")
	foreign, err := ledger.Checkpoint{Origin: "other.example/log", Root: ledger.Frontier{}.Root()}.Sign(other.Signer)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*postgres.OpenIncarnationOptions)
		want   error
	}{
		"a whole log":              {func(o *postgres.OpenIncarnationOptions) { o.Force = false }, postgres.ErrUsable},
		"another log's checkpoint": {func(o *postgres.OpenIncarnationOptions) { o.Previous = foreign }, ledger.ErrCheckpoint},
		"another log's key":        {func(o *postgres.OpenIncarnationOptions) { o.Old = other }, postgres.ErrOrigin},
	} {
		o := good
		o.NewKeys = func(string, bool) (postgres.Keys, error) {
			t.Errorf("%s: a key was made", name)
			return postgres.Keys{}, nil
		}
		c.change(&o)
		if _, err := l.Store.OpenIncarnation(t.Context(), o); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var rejected *kinds.Rejection
	good.Reason = ""
	if _, err := l.Store.OpenIncarnation(t.Context(), good); !errors.As(err, &rejected) {
		t.Errorf("no reason: %v", err)
	}
	if n := l.Count(t, "ledger.head"); n != 1 {
		t.Errorf("there are %d heads", n)
	}
}

// A crash between the new log's head and its first entry: only the same key goes on, and does.
func TestIncarnationGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	appendConsents(t, l.Appender, 0, 3)
	options, keys := drill(t, l)
	empty := ledger.Checkpoint{Origin: keys.Signer.Name(), Root: ledger.Frontier{}.Root()}
	signed, err := empty.Sign(keys.Signer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connect(t, l.ServiceURL).Exec(t.Context(), `INSERT INTO ledger.head SELECT 1, $1, size, 0, $2, recorded_at, $3 FROM ledger.head`,
		empty.Origin, empty.Root[:], string(signed)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Store.OpenLog(t.Context(), keys, nil, time.Now); !errors.Is(err, kinds.ErrReadOnly) {
		t.Errorf("starting on a log without its first entry: %v", err)
	}
	_, other := ledgertest.NewKeys(t, keys.Signer.Name())
	wrong := options
	wrong.NewKeys = only(other)
	if _, err := l.Store.OpenIncarnation(t.Context(), wrong); !errors.Is(err, kinds.ErrReadOnly) {
		t.Errorf("going on with another key: %v", err)
	}
	var begun bool
	options.NewKeys = func(_ string, b bool) (postgres.Keys, error) {
		begun = b
		return keys, nil
	}
	if head, err := l.Store.OpenIncarnation(t.Context(), options); err != nil || head.Base != 3 || head.Size != 1 || !begun {
		t.Errorf("going on: %+v, begun %v, %v", head, begun, err)
	}
}

// The last known checkpoint may be from before the log changed its key: any of its keys will do.
func TestIncarnationOfALogThatChangedItsKey(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	options, _ := drill(t, l)
	_, next := ledgertest.NewKeys(t, l.Keys.Signer.Name())
	next.Others = []postgres.Keys{l.Keys}
	options.Old = next
	if head, err := l.Store.OpenIncarnation(t.Context(), options); err != nil || head.Size != 1 {
		t.Errorf("%+v, %v", head, err)
	}
}

package postgres_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/postgres/ledgertest"
)

// behind is so many submissions that two lists of them need two batches, of which the second is sent before the first is
// answered.
const behind = 700

// A batch that was sent behind a refused one is refused with it, and both are recorded in their order, on the same connection.
func TestBehindAMisprediction(t *testing.T) {
	t.Parallel()
	h := hold(t)
	var said bytes.Buffer
	a := postgres.StartAppender(postgres.AppenderOptions{Store: h.Store, Keys: h.Keys, Log: slog.New(slog.NewTextHandler(&said, nil)), Now: time.Now})
	first := a.Submit(t.Context(), ledgertest.Host, consents(t, "k", 1))
	h.waiting(t, 1)
	second := a.Submit(t.Context(), ledgertest.Host, append(consents(t, "second", behind), ledgertest.Consent(t, "k0", "p")))
	third := a.Submit(t.Context(), ledgertest.Host, consents(t, "third", behind))
	h.release(t)
	wantInOrder(t, slices.Concat(first(), second()[:behind], third()))
	if o := second()[behind]; o.Err != nil || o.Recorded.Seq != 0 || !o.Recorded.Replayed {
		t.Errorf("the same again: %+v", o)
	}
	wantPredictions(t, a, 2, 2) // the third was on its way already
	if n := h.Count(t, "(SELECT DISTINCT xmin FROM ledger.entries) AS transactions"); n != 3 {
		t.Errorf("recorded in %d transactions", n)
	}
	checkLog(t, h.Ledger)
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if said.Len() > 0 {
		t.Errorf("nothing was to be said: %s", said.String())
	}
}

// A batch that the server refuses for one of its entries is tried in parts, of which only the culprit fails, and no other
// batch is sent between them, whatever comes meanwhile.
func TestBehindAPoisonedBatch(t *testing.T) {
	t.Parallel()
	h := hold(t)
	if _, err := connect(t, h.AdminURL).Exec(t.Context(), `ALTER TABLE ledger.consents ADD CONSTRAINT poison CHECK (provider_id <> 'poison')`); err != nil {
		t.Fatal(err)
	}
	const alone = 5
	poisoned := consents(t, "alone", alone)
	poisoned[0] = ledgertest.Consent(t, "poison", "poison")
	var a *postgres.Appender
	var last func() []kinds.Outcome
	commits := 0
	options := postgres.AppenderOptions{Store: h.Store, Keys: h.Keys, Now: time.Now, Publish: func([]byte) {
		if commits++; commits == 2 { // the first of those that are tried alone
			last = a.Submit(t.Context(), ledgertest.Host, consents(t, "last", behind))
		}
	}}
	var said bytes.Buffer
	options.Log = slog.New(slog.NewTextHandler(&said, nil))
	a = postgres.StartAppender(options)
	first := a.Submit(t.Context(), ledgertest.Host, consents(t, "first", 1))
	h.waiting(t, 1)
	second := a.Submit(t.Context(), ledgertest.Host, poisoned)
	h.release(t)
	outcomes := slices.Concat(first(), second())
	if o := outcomes[1]; o.Err == nil {
		t.Errorf("the culprit: %+v", o)
	}
	wantInOrder(t, slices.Concat(slices.Delete(outcomes, 1, 2), last()))
	if n := h.Count(t, "(SELECT DISTINCT xmin FROM ledger.entries) AS transactions"); n != 1+alone-1+1 {
		t.Errorf("recorded in %d transactions", n)
	}
	checkLog(t, h.Ledger)
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if n := strings.Count(said.String(), "unknown"); n > 0 {
		t.Errorf("%d outcomes were unknown: %s", n, said.String())
	}
}

// A batch of many more rows than entries is no harder to send than another: the server's answers to its COPYs, which nobody
// reads before all is written, have room on the connection.
func TestABatchOfManyRows(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	const reports, providers = 10, 9000
	list := make([]*kinds.Accepted, reports)
	for i := range list {
		list[i] = wideReport(t, fmt.Sprintf("r%d", i), providers)
	}
	wantInOrder(t, l.Appender.Submit(t.Context(), ledgertest.Host, list)())
	if n := l.Count(t, "ledger.usage_lines"); n != reports*providers {
		t.Errorf("%d usage lines, want %d", n, reports*providers)
	}
	checkLog(t, l)
}

func wideReport(t *testing.T, request string, providers int) *kinds.Accepted {
	t.Helper()
	now := time.Now()
	var rows strings.Builder
	for i := range providers {
		fmt.Fprintf(&rows, `,{"provider_id":"%x","frames_served":0,"frames_rejected":0,"token_cost":0,"served_frames":[]}`, i)
	}
	a, err := kinds.UsageReport.Accept(kinds.Submission{
		Artifact: fmt.Appendf(nil, `{"budget_requested":0,"budget_consumed":0,"as_of":%q,"providers":[%s]}`, now.UTC().Format(time.RFC3339), rows.String()[1:]),
		Context:  fmt.Appendf(nil, `{"request_id":%q,"turn_id":"turn","customer_id":"c"}`, request),
	}, kinds.Env{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A connection that breaks after any number of bytes, in either direction, while batches follow each other: each submission
// is recorded once and in its order, and nobody is told that it was there before.
func TestBehindOnAConnectionThatBreaks(t *testing.T) {
	t.Parallel()
	l := ledgertest.New(t)
	var up, down scissors
	store, err := postgres.Open(t.Context(), between(t, l.ServiceURL, up.pass, down.pass))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	a := postgres.StartAppender(postgres.AppenderOptions{Store: store, Keys: l.Keys, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	const each = aheadOf
	round := func(name string) {
		size := l.Count(t, "ledger.entries")
		first := a.Submit(t.Context(), ledgertest.Host, consents(t, name+"-first-", 1))
		second := a.Submit(t.Context(), ledgertest.Host, consents(t, name+"-second-", each))
		third := a.Submit(t.Context(), ledgertest.Host, consents(t, name+"-third-", each))
		for i, o := range slices.Concat(first(), second(), third()) {
			if o.Err != nil || o.Recorded.Seq != int64(size+i) || o.Recorded.Replayed {
				t.Fatalf("%s: outcome %d: %+v", name, i, o)
			}
		}
	}
	round("whole")
	for _, after := range []int64{1, 30, 90, 150, 210, 270, 330, 390} {
		down.after(after)
		round(fmt.Sprintf("down-%d", after))
		if down.left.Load() > 0 {
			t.Errorf("the answers were not cut after %d bytes", after)
		}
	}
	for after := int64(1); after < 1<<19; after += 1 << 16 {
		up.after(after)
		round(fmt.Sprintf("up-%d", after))
		if up.left.Load() > 0 {
			t.Errorf("the batches were not cut after %d bytes", after)
		}
	}
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if made, _ := a.Predictions(); made == 0 {
		t.Error("no batch was predicted")
	}
	checkLog(t, l)
}

// scissors cut a connection once so many more bytes were passed on. None at first.
type scissors struct{ left atomic.Int64 }

func (s *scissors) after(bytes int64) { s.left.Store(bytes) }

func (s *scissors) pass(to, from net.Conn) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		cut := false
		if left := s.left.Load(); left > 0 {
			n = int(min(int64(n), left))
			cut = s.left.Add(int64(-n)) == 0
		}
		if _, failed := to.Write(b[:n]); err != nil || failed != nil || cut {
			from.Close()
			return
		}
	}
}

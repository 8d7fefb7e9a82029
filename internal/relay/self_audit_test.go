package relay_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"ledgerd/internal/audit"
	"ledgerd/internal/relay"
)

// auditable is a log of some entries, whose clock is moved by hand.
type auditable struct {
	size, sampleNext, fullNext, fullEnd int
	now, sampled, began                 time.Duration
	done, samples                       int
	holder                              string
	fail                                error
	news                                []audit.SelfAuditNews
	most                                int // entries of one stretch
}

func (a *auditable) Hold(_ context.Context, holder string, _ time.Duration) (bool, error) {
	if a.holder == "" || a.holder == holder {
		a.holder = holder
		return true, nil
	}
	return false, nil
}

func (a *auditable) Release(_ context.Context, holder string) error {
	if a.holder == holder {
		a.holder = ""
	}
	return nil
}

func (a *auditable) State(context.Context) (audit.SelfAuditState, error) {
	return audit.SelfAuditState{
		SinceSample: a.now - a.sampled, SinceFullBegan: a.now - a.began, FullNext: int64(a.fullNext), FullEnd: int64(a.fullEnd),
	}, nil
}

func (a *auditable) BeginFull(context.Context) error {
	a.began, a.fullNext, a.fullEnd = a.now, 0, a.size
	return nil
}

func (a *auditable) NextFull(_ context.Context, limit int) (int, []audit.SelfAuditNews, error) {
	if a.fail != nil {
		return 0, nil, a.fail
	}
	a.most = max(a.most, limit)
	n := min(limit, a.fullEnd-a.fullNext)
	if a.fullNext += n; a.fullNext == a.fullEnd {
		a.done++
	}
	news := a.news
	a.news = nil
	return n, news, nil
}

func (a *auditable) NextSample(_ context.Context, limit int) (int, []audit.SelfAuditNews, error) {
	if a.sampleNext >= a.size {
		a.sampleNext = 0
	}
	n := min(limit, a.size-a.sampleNext)
	a.sampleNext += n
	return n, nil, nil
}

func (a *auditable) Sampled(context.Context) error {
	a.sampled = a.now
	a.samples++
	return nil
}

func auditorOf(log *auditable, holder string, to *bytes.Buffer) *relay.SelfAuditor {
	return relay.NewSelfAuditor(relay.SelfAuditOptions{
		Log: log, SampleEvery: time.Minute, Sample: 300, FullEvery: time.Hour, Rate: 100, Holder: holder, Logger: slog.New(slog.NewTextHandler(to, nil)),
	})
}

func steps(t *testing.T, a *relay.SelfAuditor, n int) (checked int) {
	t.Helper()
	for range n {
		done, err := a.Step(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		checked += done
	}
	return checked
}

func TestSelfAuditorDoesWhatIsDue(t *testing.T) {
	t.Parallel()
	log := &auditable{size: 1000}
	a := auditorOf(log, "a", &bytes.Buffer{})
	if n := steps(t, a, 3); n != 0 || log.holder != "" {
		t.Fatalf("nothing is due: %d entries", n)
	}
	log.now = time.Minute
	if n := steps(t, a, 3); n != 300 || log.samples != 1 || log.sampleNext != 300 {
		t.Fatalf("a sample: %d entries, %+v", n, log)
	}
	if n := steps(t, a, 3); n != 0 {
		t.Fatalf("the sample is over: %d", n)
	}
	log.now = time.Hour // a full pass begins, samples go on between
	steps(t, a, 1)
	if log.fullEnd != 1000 {
		t.Fatalf("%+v", log)
	}
	if n := steps(t, a, 13); n != 1300 || log.done != 1 || log.samples != 2 || log.most != 100 {
		t.Errorf("%d entries, %+v", n, log)
	}
	if n := steps(t, a, 2); n != 0 {
		t.Errorf("all is done: %d", n)
	}
}

func TestSelfAuditorGoesOnWhereAnotherStopped(t *testing.T) {
	t.Parallel()
	log := &auditable{size: 500, now: time.Hour, sampled: time.Hour}
	steps(t, auditorOf(log, "a", &bytes.Buffer{}), 3)
	b := auditorOf(log, "b", &bytes.Buffer{})
	if n := steps(t, b, 2); n != 0 {
		t.Fatalf("a holds the lease, b checks %d", n)
	}
	log.holder = ""
	if n := steps(t, b, 3); n != 300 || log.done != 1 {
		t.Errorf("%d entries, %+v", n, log)
	}
}

func TestSelfAuditorTellsAndEnds(t *testing.T) {
	t.Parallel()
	log := &auditable{size: 10, now: time.Hour, sampled: time.Hour, news: []audit.SelfAuditNews{
		{Seq: 7, Failures: "content: x"}, {Seq: 8, Ended: true}, {Seq: 9, Failures: "leaf: y", Unrecorded: true},
	}}
	var to bytes.Buffer
	a := auditorOf(log, "a", &to)
	steps(t, a, 2)
	text := to.String()
	for _, want := range []string{"DOES NOT VERIFY", "seq=7", `failed="content: x"`, "does so again", "seq=8", "the log is read-only"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the log:\n%s", want, text)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a.Run(ctx) // returns, and gives the lease back
	if log.holder != "" {
		t.Errorf("%s holds the lease", log.holder)
	}
	log.fail, log.fullEnd, log.fullNext = errors.New("away"), 10, 0
	if _, err := a.Step(t.Context()); !errors.Is(err, log.fail) {
		t.Errorf("%v", err)
	}
}

func TestSelfAuditorOff(t *testing.T) {
	t.Parallel()
	log := &auditable{size: 10, now: 100 * time.Hour}
	a := relay.NewSelfAuditor(relay.SelfAuditOptions{Log: log, Rate: 100, Holder: "a", Logger: slog.New(slog.DiscardHandler)})
	if n := steps(t, a, 5); n != 0 || log.samples+log.done != 0 {
		t.Errorf("%d, %+v", n, log)
	}
}

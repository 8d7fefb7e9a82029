package relay

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"ledgerd/metering"
)

// Log is the truth that is shipped, with the cursor that says how far. Its methods are safe for several processes at once:
// only the holder of the lease gets and closes batches.
type Log interface {
	// HoldShipping takes or prolongs the lease; false when another process has it.
	HoldShipping(ctx context.Context, holder string, lease time.Duration) (bool, error)
	ReleaseShipping(ctx context.Context, holder string) error
	// NextBatch returns the batch under way or a new one, committed; nil when everything is shipped. What was read ahead is
	// taken where it is what comes next; nil when nothing was.
	NextBatch(ctx context.Context, holder string, maxLines int, ahead *metering.Batch) (*metering.Batch, error)
	// ReadAhead reads what follows a batch that is not closed yet, and commits nothing.
	ReadAhead(ctx context.Context, after *metering.Batch, maxLines int) (*metering.Batch, error)
	// BeginErasing notes, before the lines of a batch's erasures are destroyed, that the projection is short of them until the
	// batch is closed.
	BeginErasing(ctx context.Context, b *metering.Batch) error
	// CloseBatch moves the cursor past a batch, or fails when a rebuild has begun meanwhile.
	CloseBatch(ctx context.Context, holder string, b *metering.Batch, rejected []metering.Rejected) error
	FailBatch(ctx context.Context, id int64, reason string) error
	Shipping(ctx context.Context) (metering.Shipping, error)
}

// Projection is what is shipped to. Insert may be called again with lines that it has; after an error that is not a
// rejection it is unknown whether it wrote them.
type Projection interface {
	Insert(ctx context.Context, token string, lines []metering.Line) error
	Delete(ctx context.Context, seqs []int64) error
}

// Options are a Shipper's parts; those without a comment are required.
type Options struct {
	Log        Log
	Projection Projection
	Rejects    func(error) bool // tells a refusal of rows from every other error
	Reconcile  func(context.Context) error
	Every      time.Duration // of reconciliations; 0 for none
	Holder     string        // names this process among all
	Logger     *slog.Logger
	MaxLines   int           // of a batch; 0 for defaultLines
	Poll       time.Duration // pause when nothing is to be shipped; 0 for defaultPoll
}

const (
	defaultLines = 15_000
	defaultPoll  = 250 * time.Millisecond
	// lease is how long a process that has died keeps the others from shipping. A batch may take longer: its holder prolongs.
	lease = 15 * time.Second
	// lookEvery is how old the status gets, whether there is always more to ship or nobody takes it.
	lookEvery = 500 * time.Millisecond
	// attemptLimit bounds one batch, so that a server that hangs is asked again.
	attemptLimit = 2 * time.Minute
)

// Shipper is the loop that ships. One goroutine runs it.
type Shipper struct {
	o      Options
	status atomic.Pointer[metering.Shipping]
	due    time.Time // of the next reconciliation
	looked time.Time
	ahead  *metering.Batch // what probably comes next; nil when nothing was read ahead
}

// NewShipper makes a shipper, which ships nothing until Run.
func NewShipper(o Options) *Shipper {
	if o.MaxLines == 0 {
		o.MaxLines = defaultLines
	}
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	s := &Shipper{o: o}
	s.status.Store(&metering.Shipping{})
	return s
}

// Status is how far the projection was behind when the loop last looked.
func (s *Shipper) Status() metering.Shipping { return *s.status.Load() }

// Run ships until ctx ends. Neither an error nor a server that is away ends it.
func (s *Shipper) Run(ctx context.Context) {
	defer s.release(ctx)
	var wait backoff
	for ctx.Err() == nil {
		more, err := s.Step(ctx)
		if err != nil && ctx.Err() == nil {
			pause := wait.next()
			s.o.Logger.Warn("shipping usage to ClickHouse", "error", err, "retry_in", pause)
			s.lookFor(ctx, pause)
			continue
		}
		wait.reset()
		if !more {
			s.reconcile(ctx)
		}
		if !more || time.Since(s.looked) > lookEvery {
			s.look(ctx)
		}
		if !more {
			sleep(ctx, s.o.Poll)
		}
	}
}

// release lets another process ship at once. It is given a moment although ctx has ended.
func (s *Shipper) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := s.o.Log.ReleaseShipping(ctx, s.o.Holder); err != nil {
		s.o.Logger.Debug("giving the lease back", "error", err) // it ends by itself
	}
}

func (s *Shipper) look(ctx context.Context) {
	s.looked = time.Now()
	if v, err := s.o.Log.Shipping(ctx); err == nil { // the log's absence is noticed by everything else
		s.status.Store(&v)
	}
}

// lookFor waits, and keeps the status fresh: a server that is away is when a lag matters most.
func (s *Shipper) lookFor(ctx context.Context, pause time.Duration) {
	for end := time.Now().Add(pause); ctx.Err() == nil; {
		s.look(ctx)
		left := time.Until(end)
		if left <= 0 {
			return
		}
		sleep(ctx, min(left, lookEvery))
	}
}

// Step ships one batch and says whether there may be more. It returns false without an error when another process ships.
func (s *Shipper) Step(ctx context.Context) (more bool, err error) {
	held, err := s.o.Log.HoldShipping(ctx, s.o.Holder, lease)
	if err != nil || !held {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, attemptLimit)
	defer cancel()
	batch, err := s.o.Log.NextBatch(ctx, s.o.Holder, s.o.MaxLines, s.ahead)
	s.ahead = nil
	if err != nil || batch == nil {
		return false, err
	}
	ahead := s.readAhead(ctx, batch)
	rejected, err := s.send(ctx, batch)
	next := <-ahead
	if err != nil {
		return false, errors.Join(err, s.o.Log.FailBatch(ctx, batch.ID, err.Error()))
	}
	if held, err = s.o.Log.HoldShipping(ctx, s.o.Holder, lease); err != nil || !held {
		return false, err // whoever took over sends the batch again
	}
	for _, r := range rejected {
		s.o.Logger.Error("ClickHouse refuses a usage line; it is in quarantine", "seq", r.Seq, "reason", r.Reason)
	}
	if err := s.o.Log.CloseBatch(ctx, s.o.Holder, batch, rejected); err != nil {
		return false, err
	}
	s.ahead = next
	return true, nil
}

// readAhead reads what follows while a batch is being sent, when there is more than one batch to send: one processor reads
// while another one's work is waited for. It gives nil when there is nothing, or no luck: NextBatch reads again then.
func (s *Shipper) readAhead(ctx context.Context, b *metering.Batch) <-chan *metering.Batch {
	read := make(chan *metering.Batch, 1)
	if !b.Cut {
		close(read)
		return read
	}
	go func() {
		defer close(read)
		if next, err := s.o.Log.ReadAhead(ctx, b, s.o.MaxLines); err == nil {
			read <- next
		}
	}()
	return read
}

// reconcile runs when it is due, on the process that ships: a second one would only find the same.
func (s *Shipper) reconcile(ctx context.Context) {
	if s.o.Every == 0 || time.Now().Before(s.due) {
		return
	}
	s.due = time.Now().Add(s.o.Every)
	if held, err := s.o.Log.HoldShipping(ctx, s.o.Holder, lease); err != nil || !held {
		return
	}
	if err := s.o.Reconcile(ctx); err != nil && ctx.Err() == nil {
		s.o.Logger.Warn("reconciling ClickHouse with Postgres", "error", err)
	}
}

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"ledgerd/api"
	"ledgerd/internal/clickhouse"
	"ledgerd/internal/kinds"
	"ledgerd/internal/postgres"
	"ledgerd/internal/relay"
	"ledgerd/ledger"
	"ledgerd/web"
)

// Time limits of the listeners. The write timeout is longer than the API's own deadline, so that a slow answer is still
// an answer.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 60 * time.Second
	writeTimeout  = 60 * time.Second
	idleTimeout   = 120 * time.Second
	drainTimeout  = 20 * time.Second
	maxHeader     = 32 << 10
)

// server is the running service: public and private listeners, the store and the append path.
type server struct {
	log      *slog.Logger
	store    *postgres.Store
	appender *postgres.Appender
	public   net.Listener
	private  net.Listener // nil for none
	handler  http.Handler
	ready    http.Handler // of the private listener
	endBulk  func()       // see api.API.EndStreams
	metrics  *prometheus.Registry
	kept     *checkpointFile
	usage    *clickhouse.Client // nil for none
	shipper  *relay.Shipper     // nil for none
	auditor  *relay.SelfAuditor // nil for none
	billing  *billingService    // nil for none
	disputes *relay.Disputes
}

// serverOptions are what a server is made of.
type serverOptions struct {
	Log         *slog.Logger
	DatabaseURL string // of the service role
	Keys        postgres.Keys
	Listen      string
	Private     string // "" for no private listener

	CheckpointFile string
	InitCheckpoint bool   // a file that is not there yet is a first start, and no loss
	ClickHouseURL  string // "" for none
	SelfAudit      selfAuditFlags

	Billing      billingFlags
	BillingClock func() time.Time // nil for the machine's
}

// openStore connects as the service role, to a database whose schema is this program's.
func openStore(ctx context.Context, url string) (*postgres.Store, error) {
	store, err := postgres.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	if err := store.CheckSchema(ctx); err != nil {
		store.Close()
		return nil, err
	}
	return store, nil
}

// warnOfLoss says of a database that it can't keep what ledgerd acknowledges. It is not refused: somebody tries things out on it.
func (s *server) warnOfLoss(ctx context.Context) error {
	settings, err := s.store.Volatile(ctx)
	for _, name := range settings {
		s.log.Error("this Postgres may lose or damage acknowledged entries when it crashes: a setting is off that must be on", "setting", name)
	}
	return err
}

// newServer connects, checks, listens and starts the append path. What it starts ends with run.
func newServer(ctx context.Context, o serverOptions) (_ *server, err error) {
	s := &server{log: o.Log, metrics: prometheus.NewRegistry()}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.store, err = openStore(ctx, o.DatabaseURL); err != nil {
		return nil, err
	}
	if err := s.warnOfLoss(ctx); err != nil {
		return nil, err
	}
	appending, err := s.openLog(ctx, o)
	if err != nil {
		return nil, err
	}
	if s.public, err = listen(ctx, o.Listen); err != nil {
		return nil, err
	}
	if o.Private != "" {
		if s.private, err = listen(ctx, o.Private); err != nil {
			return nil, err
		}
	}
	if o.ClickHouseURL != "" {
		if s.usage, err = clickhouse.Open(o.ClickHouseURL); err != nil {
			return nil, err
		}
		s.shipper = newShipper(s.store, s.usage, o.Log)
		shippingMetrics(s.metrics, s.shipper)
	}
	s.appender = postgres.StartAppender(appending)
	if s.auditor = newSelfAuditor(o.SelfAudit, s.store, s.appender, o.Keys, o.Log); s.auditor != nil {
		selfAuditMetrics(s.metrics, s.auditor)
	}
	if s.billing = newBilling(o, s.store, s.appender); s.billing != nil {
		billingMetrics(s.metrics, s.billing.Biller)
	}
	disputes := &postgres.Disputes{Store: s.store, Append: s.appender.Append, Verifiers: o.Keys.Verifiers()}
	s.disputes = &relay.Disputes{Queue: disputes, Holder: rand.Text(), Logger: o.Log}
	s.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	a, err := api.New(api.Options{
		Store: s.store, Appender: s.appender, VerifierKeys: o.Keys.VerifierKeys(), Log: o.Log, Now: time.Now, Metrics: s.metrics, Version: version(), Console: web.Handler(),
		Disputes: disputes, Usage: s.projection(), EvidenceSigners: o.Keys.EvidenceSigners(), Biller: s.biller(),
	})
	if err != nil {
		return nil, err
	}
	s.handler, s.ready, s.endBulk = a.Handler(), a.ReadyDetail(), a.EndStreams
	return s, nil
}

// projection is what questions about frames go to. A nil client in the interface would not be nil.
func (s *server) projection() api.UsageProjection {
	if s.usage == nil {
		return nil
	}
	return s.usage
}

// biller is what billing requests go to.
func (s *server) biller() api.Biller {
	if s.billing == nil {
		return nil
	}
	return s.billing
}

// openLog compares the log with the checkpoint that was kept outside the database. A log that must not be signed on is
// still served: reading it is how an operator finds out what happened.
func (s *server) openLog(ctx context.Context, o serverOptions) (postgres.AppenderOptions, error) {
	s.kept = newCheckpointFile(o.CheckpointFile, o.Log)
	a := postgres.AppenderOptions{Store: s.store, Keys: o.Keys, Log: o.Log, Now: time.Now, Publish: s.kept.publish}
	note, err := s.kept.read()
	if err != nil {
		return a, err
	}
	a.Known, err = s.store.OpenLog(ctx, o.Keys, note, time.Now)
	var head ledger.Head
	if err == nil {
		head, err = s.store.Head(ctx)
	}
	if err == nil && note == nil && !o.InitCheckpoint {
		err = neverKept(head, o.CheckpointFile)
	}
	if errors.Is(err, kinds.ErrReadOnly) {
		o.Log.Error("THE LOG IS READ-ONLY: nothing is recorded until an operator has looked. After a restore from a backup: ledgerd incarnation open", "error", err)
		a.Refuse, err = err, nil
		return a, err
	}
	if err != nil {
		return a, err
	}
	s.kept.publish([]byte(head.Checkpoint))
	return a, nil
}

// neverKept refuses to sign a log that has entries where no checkpoint of it is kept: a disk that is not mounted, beside a
// database that was restored, would look just like a first start.
func neverKept(head ledger.Head, file string) error {
	if head.Next() == 0 {
		return nil
	}
	return fmt.Errorf("%w: the log has %d entries and no checkpoint is kept at %s, so a database that was restored from an older backup could not be noticed: "+
		"look for the file, copy that of another process, or start with --init-checkpoint once, if this is a first start on this machine", kinds.ErrReadOnly, head.Next(), file)
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", address, err)
	}
	return l, nil
}

// URL is where the service answers.
func (s *server) URL() string { return "http://" + s.public.Addr().String() }

// PrivateURL is where metrics and profiles are, "" for nowhere.
func (s *server) PrivateURL() string {
	if s.private == nil {
		return ""
	}
	return "http://" + s.private.Addr().String()
}

// run serves until ctx ends, then stops taking requests, ends bulk streams, answers what it has, commits what is queued and closes. It also
// ends when the listener fails.
func (s *server) run(ctx context.Context) error {
	stopKeeping := s.startKeeping(ctx)
	defer stopKeeping() // after close: what is committed while draining is kept too
	defer s.close()
	group, ctx := errgroup.WithContext(ctx)
	s.serve(ctx, group, s.public, s.handler)
	if s.private != nil {
		s.serve(ctx, group, s.private, s.privateHandler())
	}
	if s.shipper != nil {
		group.Go(func() error {
			s.shipper.Run(ctx)
			return nil
		})
	}
	if s.auditor != nil {
		group.Go(func() error {
			s.auditor.Run(ctx)
			return nil
		})
	}
	if s.billing != nil {
		group.Go(func() error {
			s.billing.Run(ctx)
			return nil
		})
	}
	group.Go(func() error {
		s.disputes.Run(ctx)
		return nil
	})
	return group.Wait()
}

// startKeeping writes committed checkpoints to their file until the function that it returns is called.
func (s *server) startKeeping(ctx context.Context) (stop func()) {
	keeping, cancel := context.WithCancel(context.WithoutCancel(ctx))
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		s.kept.run(keeping)
	}()
	return func() {
		cancel()
		<-kept
	}
}

// serve runs one listener in the group, and its orderly end.
func (s *server) serve(ctx context.Context, group *errgroup.Group, l net.Listener, h http.Handler) {
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	srv.RegisterOnShutdown(s.endBulk)
	group.Go(func() error {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serving on %s: %w", l.Addr(), err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
		defer cancel()
		if err := srv.Shutdown(drain); err != nil {
			return errors.Join(fmt.Errorf("ending requests on %s: %w", l.Addr(), err), srv.Close())
		}
		return nil
	})
}

// privateHandler is for the operator's network only: metrics, profiles and the details of /readyz, without a token.
func (s *server) privateHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /readyz", s.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// close ends what newServer started, the append path first: it commits what is queued.
func (s *server) close() {
	if s.appender != nil {
		drain, cancel := context.WithTimeout(context.Background(), drainTimeout)
		defer cancel()
		if err := s.appender.Close(drain); err != nil {
			s.log.Error("stopping", "error", err)
		}
	}
	for _, l := range []net.Listener{s.public, s.private} {
		if l != nil {
			l.Close() // a second close of a served listener; its error says just that
		}
	}
	if s.usage != nil {
		s.usage.Close() // nothing is written on closing
	}
	if s.store != nil {
		s.store.Close()
	}
}

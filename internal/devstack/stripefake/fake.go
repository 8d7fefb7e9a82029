package stripefake

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Options make a fake.
type Options struct {
	Key  string           // the secret key that calls must carry; any when ""
	Now  func() time.Time // nil for the machine's clock; PUT /_clock moves the fake's away from it
	File string           // keeps what was taken over restarts; "" for memory only
}

// Fake is an account at the fake. It is safe for concurrent use.
type Fake struct {
	key string
	now func() time.Time
	mux *http.ServeMux

	mu        sync.Mutex
	state     state
	journal   *journal // nil for memory only
	faults    []Fault
	lanes     map[lane]bool // calls under way
	calls     map[string]int
	requests  int
	webhook   webhook
	delivered []Delivery

	server     *http.Server
	deliveries sync.WaitGroup
	ctx        context.Context //nolint:containedctx // of what the fake does by itself; Close ends it
	cancel     context.CancelFunc
}

// lane is what Stripe serves one call at a time for.
type lane struct{ eventName, customer string }

// New makes a fake that listens nowhere yet.
func New(o Options) (*Fake, error) {
	f := &Fake{key: o.Key, now: o.Now, lanes: map[lane]bool{}, calls: map[string]int{}, state: newState()}
	if f.now == nil {
		f.now = time.Now
	}
	if o.File != "" {
		var err error
		if f.journal, err = openJournal(o.File, &f.state); err != nil {
			return nil, fmt.Errorf("the Stripe fake's file: %w", err)
		}
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.mux = f.routes()
	return f, nil
}

func (f *Fake) routes() *http.ServeMux {
	m := http.NewServeMux()
	for pattern, h := range map[string]http.HandlerFunc{
		"POST /v1/billing/meter_events":               f.authorized(f.createEvent),
		"GET /v1/billing/meters/{id}":                 f.authorized(f.faulty("meter", f.readMeter)),
		"GET /v1/billing/meters/{id}/event_summaries": f.authorized(f.faulty("summaries", f.listSummaries)),
		"GET /v1/customers/{id}":                      f.authorized(f.faulty("customer", f.readCustomer)),
		"GET /v1/subscriptions":                       f.authorized(f.faulty("subscriptions", f.listSubscriptions)),
		"GET /v2/core/events/{id}":                    f.authorized(f.faulty("event", f.readEvent)),
		"GET /_clock":                                 f.getClock,
		"PUT /_clock":                                 f.putClock,
		"GET /_faults":                                f.getFaults,
		"PUT /_faults":                                f.putFaults,
		"PUT /_meters":                                f.putMeter,
		"PUT /_customers":                             f.putCustomer,
		"GET /_events":                                f.getEvents,
		"GET /_totals":                                f.getTotals,
		"GET /_invoice":                               f.getInvoice,
		"POST /_deliver":                              f.postDeliver,
		"/":                                           f.unknown,
	} {
		m.HandleFunc(pattern, h)
	}
	return m
}

// ServeHTTP answers as Stripe would.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	f.mux.ServeHTTP(w, r)
}

// Start listens on an address of this machine and answers until Close. It returns the URL.
func (f *Fake) Start(ctx context.Context, address string) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return "", fmt.Errorf("the Stripe fake: %w", err)
	}
	f.server = &http.Server{Handler: f, ReadHeaderTimeout: 10 * time.Second}
	go f.server.Serve(l) //nolint:errcheck // it ends with Close
	return "http://" + l.Addr().String(), nil
}

// Close ends calls and deliveries under way, and keeps what was taken.
func (f *Fake) Close() error {
	f.cancel()
	var err error
	if f.server != nil {
		err = f.server.Close()
	}
	f.deliveries.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.journal != nil {
		err = errors.Join(err, f.journal.close())
	}
	return err
}

// time is the fake's own; the caller holds mu.
func (f *Fake) time() time.Time { return f.now().Add(f.state.Offset).UTC() }

// Now is the fake's own time.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.time()
}

// Advance moves the fake's clock.
func (f *Fake) Advance(d time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.Offset += d
	return f.keep(record{Offset: &f.state.Offset})
}

// Calls counts the calls that came by their name: create, meter, summaries, customer, subscriptions, event.
func (f *Fake) Calls(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[name]
}

// Package api is the HTTP room: one route table, one file per resource, strict JSON in, RFC 9457 problems out.
//
// Who asks comes from the bearer token and from nowhere else, and every record read or written is of that token's tenant.
// A handler checks (a pure core, by way of the kind registry) and stores; it holds no rule of its own. The route table is
// also the source of the API description and of the documentation page, so neither can miss an endpoint.
package api

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/mod/sumdb/note"
)

// Store is all that the handlers read and write, from the small interfaces beside them.
type Store interface {
	tokenReader
	tokenStore
	tenantStore
	entryReader
	entryVerifier
	egressReader
	consentReader
	findingReader
	usageReader
	billingStateReader
	contextReader
	turnReader
	policyReader
	billingReader
	bundleReader
	erasureStore
	evidenceReader
	disputeReader
	headReader
	tileReader
	prover
}

// Options are an API's parts. All are required but Usage and Biller.
type Options struct {
	Store        Store
	Appender     appender
	VerifierKeys []string // of the log, as C2SP signed-note verifier keys; several while it changes its key
	Log          *slog.Logger
	Now          func() time.Time // the server's clock
	Metrics      *prometheus.Registry
	Version      string       // of the binary, shown in the API description
	Console      http.Handler // answers GET / and the assets below it

	Usage    UsageProjection // nil for none
	Biller   Biller          // nil: billing is off
	Disputes Disputes

	EvidenceSigners []note.Signer // of the log's keys, for evidence: see ledger.EvidenceSigner
}

// API is the service over HTTP.
type API struct {
	store        Store
	appender     appender
	verifierKeys []string
	verifiers    []note.Verifier // of the same keys
	evidence     []note.Signer   // of evidence files
	log          *slog.Logger
	now          func() time.Time
	registry     *prometheus.Registry
	version      string
	console      http.Handler
	disputes     Disputes
	usage        UsageProjection
	wideLines    int // see the constant
	biller       Biller
	tokens       tokenCache
	streams      *slots        // bulk requests
	groups       *slots        // atomic ones, each of which is held in memory
	large        *memoryRoom   // of atomic ones
	lines        *lineRoom     // of bulk requests
	downloads    *slots        // of evidence, each of which takes a connection and a snapshot
	memory       *memoryRoom   // of large answers and large records
	bodies       *memoryRoom   // of bodies that are read whole
	progress     time.Duration // see progressTimeout
	stopping     chan struct{} // closed when bulk streams are to end
	endStreams   func()        // closes it
	routes       []*Route
	metrics      metrics
	openapi      []byte
	docs         []byte
}

// New puts the API together. An error is a mistake in the route table, or a verifier key that is none.
func New(o Options) (*API, error) {
	a := &API{
		store: o.Store, appender: keeper{o.Appender}, verifierKeys: o.VerifierKeys, log: o.Log, now: o.Now, registry: o.Metrics, version: o.Version, console: o.Console, usage: o.Usage, biller: o.Biller, disputes: o.Disputes,
		wideLines: wideLines,
		tokens:    tokenCache{known: map[[32]byte]cachedToken{}},
		streams:   newSlots(16, 8), groups: newSlots(4, 2), lines: newLineRoom(), downloads: newSlots(4, 2), evidence: o.EvidenceSigners,
		memory: newMemoryRoom(readMemory, tenantMemory, tenantReads, readPatience), bodies: newMemoryRoom(bodyMemory, tenantBodyMemory, math.MaxInt, readPatience),
		large:    newMemoryRoom(groupMemory, groupMemory, math.MaxInt, groupPatience),
		progress: progressTimeout, stopping: make(chan struct{}),
		metrics: newMetrics(o.Metrics, o.Appender),
	}
	for _, key := range o.VerifierKeys {
		v, err := note.NewVerifier(key)
		if err != nil {
			return nil, fmt.Errorf("reading a verifier key of the log: %w", err)
		}
		a.verifiers = append(a.verifiers, v)
	}
	a.routes = a.table()
	a.endStreams = sync.OnceFunc(func() { close(a.stopping) })
	var err error
	if a.openapi, err = describe(a.routes, o.Version); err != nil {
		return nil, err
	}
	a.docs, err = documentation(a.routes)
	return a, err
}

// Routes is the route table, for the tests that must not forget a route.
func (a *API) Routes() []*Route { return a.routes }

// EndStreams stops reading the bodies of bulk requests, now and from now on: what was read of them is answered, then they end and
// say so. A server that stops would else wait for clients that have no end. It returns at once.
func (a *API) EndStreams() { a.endStreams() }

// Handler is the public listener's.
func (a *API) Handler() http.Handler {
	r := chi.NewRouter()
	r.Use(a.recovered, a.measured, middleware.GetHead)
	for _, route := range a.routes {
		r.Method(route.Method, route.Path, a.serve(route))
	}
	r.Method(http.MethodGet, "/", a.console)
	r.Method(http.MethodGet, "/assets/*", a.console)
	r.NotFound(func(w http.ResponseWriter, r *http.Request) {
		a.fail(w, r, &fault{code: "not-found", detail: "there is no such path"})
	})
	r.MethodNotAllowed(func(w http.ResponseWriter, req *http.Request) {
		methods := allowed(r, req.URL.Path)
		if methods == "" { // an unknown method, of which the router does not look at the path
			a.fail(w, req, &fault{code: "not-found", detail: "there is no such path"})
			return
		}
		w.Header().Set("Allow", methods)
		a.fail(w, req, &fault{code: "method-not-allowed", detail: "see the Allow header"})
	})
	return r
}

// allowed lists the methods that a path answers (RFC 9110 §10.2.1).
func allowed(router chi.Routes, path string) string {
	var methods []string
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete} {
		if router.Match(chi.NewRouteContext(), m, path) || (m == http.MethodHead && slices.Contains(methods, http.MethodGet)) {
			methods = append(methods, m)
		}
	}
	return strings.Join(methods, ", ")
}

// recovered turns a panic, which is always our bug, into a problem and keeps the process alive.
func (a *API) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(v)
			}
			a.log.Error("panic in a handler", "method", r.Method, "route", routePattern(r), "panic", v)
			a.fail(w, r, &fault{code: "internal"})
		}()
		next.ServeHTTP(w, r)
	})
}

// routePattern is the route that matched, never the path, which holds what the caller wrote.
func routePattern(r *http.Request) string {
	if c := chi.RouteContext(r.Context()); c != nil && c.RoutePattern() != "" {
		return c.RoutePattern()
	}
	return "unmatched"
}

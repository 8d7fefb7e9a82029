package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"

	"ledgerd/internal/audit"
)

// metrics are the HTTP room's own. Labels are route patterns and codes, never what a caller wrote.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	findings *prometheus.GaugeVec
}

func newMetrics(r *prometheus.Registry, q appender) metrics {
	m := metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ledgerd_http_requests_total", Help: "Requests by route and status.",
		}, []string{"method", "route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ledgerd_http_request_seconds", Help: "Time to answer, by route.", Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20},
		}, []string{"method", "route"}),
	}
	m.findings = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "ledgerd_findings", Help: "Findings in a tenant's newest unfiltered answer of /v1/findings, by kind.",
	}, []string{"tenant", "kind"})
	queue := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ledgerd_append_queue_entries", Help: "Entries that wait for the append transaction.",
	}, func() float64 { return float64(q.Depth()) })
	predicted := prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "ledgerd_append_predicted_total", Help: "Append batches that were sealed before the head was locked, and sent.",
	}, func() float64 { made, _ := q.Predictions(); return float64(made) })
	mispredicted := prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "ledgerd_append_mispredicted_total", Help: "Of these, batches that were done again: another process had appended, or an entry was known, in it or in the batch before it.",
	}, func() float64 { _, failed := q.Predictions(); return float64(failed) })
	readOnly := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ledgerd_log_read_only", Help: "1 while the log refuses to sign, until an operator has looked.",
	}, func() float64 {
		if q.Refusal() != nil {
			return 1
		}
		return 0
	})
	r.MustRegister(m.requests, m.seconds, m.findings, queue, predicted, mispredicted, readOnly)
	return m
}

// measured counts and logs requests: method, route pattern, status, time. Nothing that a caller wrote is logged.
func (a *API) measured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := a.now()
		ww := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		next.ServeHTTP(ww, r)
		took, route, method := a.now().Sub(start), routePattern(r), knownMethod(r.Method)
		a.metrics.requests.WithLabelValues(method, route, strconv.Itoa(ww.Status())).Inc()
		a.metrics.seconds.WithLabelValues(method, route).Observe(took.Seconds())
		a.log.Debug("request", "method", method, "route", route, "status", ww.Status(), "took", took.Round(time.Microsecond))
	})
}

// showFindings refreshes a tenant's gauges from an answer. Findings take joins over many entries, so they are not counted at
// ingest, and a scrape must not cost a question per tenant: whoever wants to be alerted asks regularly.
func (m metrics) showFindings(tenant string, counts map[audit.FindingKind]int) {
	for kind, n := range counts {
		m.findings.WithLabelValues(tenant, string(kind)).Set(float64(n))
	}
}

// knownMethod keeps a caller's invention out of labels and logs.
func knownMethod(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return m
	}
	return "other"
}

package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"ledgerd/internal/kinds"
)

// call is one request on its way through a handler: who asks, and what the route's table says it may ask.
type call struct {
	http   *http.Request
	writer http.ResponseWriter
	route  *Route
	who    kinds.Poster // zero on a public route
	query  query
	memory *memoryRoom
	leave  func() // gives back what the answer took of the memory for answers
	bodies *memoryRoom

	leaveBodies func() // gives back what the body took of the memory for bodies
}

func (c *call) ctx() context.Context { return c.http.Context() }

// reply is what a handler answers.
type reply struct {
	status int
	body   any               // marshalled as JSON, unless raw
	raw    []byte            // sent as it stands, with contentType
	header map[string]string // further headers
	sent   bool              // the handler has answered itself
}

// handler answers a call or fails; one adapter writes both.
type handler func(*call) (reply, error)

const (
	jsonType    = "application/json"
	problemType = "application/problem+json"
)

// requestTimeout bounds the work behind one request. It is shorter than the server's write timeout, so that a slow answer
// is still an answer.
const requestTimeout = 20 * time.Second

// serve adapts a route's handler to net/http: deadline, authorization, parameters, then the handler, then its answer.
func (a *API) serve(route *Route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := &call{http: r, writer: w, route: route, memory: a.memory, leave: func() {}, bodies: a.bodies, leaveBodies: func() {}}
		defer func() {
			c.leave()
			c.leaveBodies()
		}()
		if !route.Streams {
			ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
			defer cancel()
			c.http = r.WithContext(ctx)
		}
		answer, err := a.answer(c)
		switch {
		case err != nil && route.Streams && route.Body != nil:
			a.failEarly(c, err)
			return
		case err != nil:
			a.fail(w, r, err)
			return
		}
		a.write(w, r, answer)
	}
}

func (a *API) answer(c *call) (reply, error) {
	if !c.route.Public {
		who, err := a.authenticate(c.http)
		if err != nil {
			return reply{}, err
		}
		if !c.route.allows(who.Role) {
			return reply{}, &fault{code: "forbidden", detail: "a token of another role is needed, see the API description"}
		}
		c.who = who
	}
	var err error
	if c.query, err = parseQuery(c.http.URL.RawQuery, c.route.Query); err != nil {
		return reply{}, err
	}
	if c.route.Body == nil { // else once it is read
		if err := c.takeMemory(c.route.Memory); err != nil {
			return reply{}, err
		}
	}
	return c.route.handle(c)
}

// takeMemory waits for some MiB until the answer is sent. It is called before anything large is held and after the body was read: who
// sends slowly keeps nobody out.
func (c *call) takeMemory(mib int64) error {
	leave, err := c.memory.enter(c.ctx(), c.who.Tenant, mib)
	before := c.leave
	c.leave = func() {
		leave()
		before()
	}
	return err
}

// fail answers an error. What nobody foresaw is logged in full and shown as "internal".
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // the caller has gone
	}
	p, known := problemOf(err)
	if !known {
		a.log.Error("unforeseen error", "method", r.Method, "route", routePattern(r), "error", err)
	} else if p.Status >= 500 {
		a.log.Warn("request failed", "method", r.Method, "route", routePattern(r), "code", p.Code, "error", err)
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="ledgerd"`)
	}
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	if p.Status == http.StatusUnsupportedMediaType && w.Header().Get("Accept-Encoding") == "" {
		w.Header().Set("Accept-Encoding", acceptedEncodings)
	}
	body, err := json.Marshal(p)
	if err != nil {
		a.log.Error("writing a problem", "error", err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	send(w, p.Status, problemType, body)
}

func (a *API) write(w http.ResponseWriter, r *http.Request, answer reply) {
	if answer.sent {
		return
	}
	for name, value := range answer.header {
		w.Header().Set(name, value)
	}
	if answer.raw != nil {
		send(w, answer.status, w.Header().Get("Content-Type"), answer.raw)
		return
	}
	if answer.body == nil {
		w.WriteHeader(answer.status)
		return
	}
	body, err := json.Marshal(answer.body, json.Deterministic(true))
	if err != nil {
		a.fail(w, r, err)
		return
	}
	send(w, answer.status, jsonType, body)
}

// send writes a whole answer. A failed write means that the caller has gone, and there is nobody to tell.
func send(w http.ResponseWriter, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		slog.Debug("the caller left before the answer", "error", err)
	}
}

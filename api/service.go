package api

import (
	"bytes"
	"net/http"

	"github.com/prometheus/common/expfmt"

	"ledgerd/internal/kinds"
)

// HealthBody says that the process runs, or that it can do its work.
type HealthBody struct {
	Status string `json:"status"`
}

func (a *API) serviceRoutes() []*Route {
	health := []Reply{{Status: 200, Doc: "Yes.", Body: HealthBody{}}}
	return []*Route{
		{Method: "GET", Path: "/healthz", Name: "healthz", Summary: "Is the process alive?", Public: true, Replies: health, handle: a.healthz},
		{
			Method: "GET", Path: "/readyz", Name: "readyz", Summary: "Can it record and answer now?", Public: true, Replies: health,
			Doc: "Public for load balancers; it says nothing but yes or no.", Problems: []string{"unavailable", "log-read-only"}, handle: a.readyz,
		},
		{
			Method: "GET", Path: "/metrics", Name: "metrics", Summary: "Metrics in the Prometheus text format",
			Doc: "For operators; the private listener serves the same without a token.", Roles: operator,
			Replies: []Reply{{Status: 200, Doc: "Metrics.", Body: "", Type: string(expfmt.NewFormat(expfmt.TypeTextPlain))}}, handle: a.getMetrics,
		},
		{Method: "GET", Path: "/openapi.json", Name: "openapi", Summary: "This description, OpenAPI 3.1", Public: true, Replies: []Reply{{Status: 200, Doc: "OpenAPI.", Body: map[string]any{}}}, handle: func(*call) (reply, error) {
			return reply{status: 200, raw: a.openapi, header: map[string]string{"Content-Type": jsonType}}, nil
		}},
		{Method: "GET", Path: "/docs", Name: "docs", Summary: "This description as a page, with every problem type", Public: true, Replies: []Reply{{Status: 200, Doc: "A page.", Body: "", Type: htmlType}}, handle: func(*call) (reply, error) {
			return reply{status: 200, raw: a.docs, header: map[string]string{"Content-Type": htmlType, "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}}, nil
		}},
	}
}

func (a *API) healthz(*call) (reply, error) {
	return reply{status: 200, body: HealthBody{Status: "ok"}}, nil
}

// readyz is yes when the store answers, and the log was made and may be signed on.
func (a *API) readyz(c *call) (reply, error) {
	if err := a.store.Ping(c.ctx()); err != nil {
		return reply{}, err
	}
	if _, err := a.store.Head(c.ctx()); err != nil {
		return reply{}, kinds.ErrUnavailable
	}
	if err := a.appender.Refusal(); err != nil {
		return reply{}, err
	}
	return reply{status: 200, body: HealthBody{Status: "ready"}}, nil
}

// ReadyBody is the private listener's answer: what a load balancer need not know.
type ReadyBody struct {
	HealthBody
	Entries    int64        `json:"entries"` // recorded
	ClickHouse ShippingBody `json:"clickhouse"`
}

// ReadyDetail answers GET /readyz on the private listener: as the public one, with how much is recorded, and how far ClickHouse
// is behind and differs. Neither decides.
func (a *API) ReadyDetail() http.Handler {
	return a.serve(&Route{Method: "GET", Path: "/readyz", Name: "readyDetail", Public: true, handle: func(c *call) (reply, error) {
		yes, err := a.readyz(c)
		if err != nil {
			return reply{}, err
		}
		head, err := a.store.Head(c.ctx())
		if err != nil {
			return reply{}, err
		}
		shipping, err := a.shipping(c)
		return reply{status: yes.status, body: ReadyBody{HealthBody{Status: "ready"}, head.Next(), shipping}}, err
	}})
}

func (a *API) getMetrics(*call) (reply, error) {
	families, err := a.registry.Gather()
	if err != nil {
		return reply{}, err
	}
	var b bytes.Buffer
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	enc := expfmt.NewEncoder(&b, format)
	for _, f := range families {
		if err := enc.Encode(f); err != nil {
			return reply{}, err
		}
	}
	return reply{status: http.StatusOK, raw: b.Bytes(), header: map[string]string{"Content-Type": string(format)}}, nil
}

package api

import (
	"context"
	"strconv"
	"time"

	"ledgerd/internal/audit"
)

// egressReader reads what the egress question needs. kinds.ErrTooMuch when it covers too many reports.
type egressReader interface {
	Egress(ctx context.Context, tenant string, q audit.EgressQuery) ([]audit.UsageLine, []audit.Grant, error)
}

// EgressBody answers what left the machine, to whom, who agreed, when.
type EgressBody struct {
	Period   PeriodBody         `json:"period" jsonschema:"half-open; of as_of, the effective time that the hosts claimed"`
	TreeSize int64              `json:"tree_size" jsonschema:"the answer covers entries below this size; each seq can be re-verified"`
	Lines    []audit.EgressLine `json:"lines" jsonschema:"one per provider"`
	Totals   EgressTotals       `json:"totals"`
	Notes    []string           `json:"notes" jsonschema:"what the answer does not show"`
}

// PeriodBody is a half-open period of instants.
type PeriodBody struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// EgressTotals are sums over all lines; each token is counted once, however many scopes its provider has.
type EgressTotals struct {
	Reports      int    `json:"reports" jsonschema:"reports per provider, added up"`
	FramesServed string `json:"frames_served"`
	Tokens       string `json:"tokens"`
}

// egressNotes are the answer's own limits: freshness and authorship are never implied.
var egressNotes = []string{
	"who agreed is what a host's token claimed when it posted the consent",
	"without a checkpoint kept outside this server a truncated log can't be told from a short one",
	"a report without served frames is not nothing left: the query itself reached the provider",
}

func (a *API) auditRoutes() []*Route {
	return []*Route{{
		Method: "GET", Path: "/v1/audit/egress", Name: "auditEgress", Summary: "What left the machine, to whom, who agreed, when",
		Doc: "One line per provider over the period: the frames served by identity, tokens counted once, and the scopes with who agreed and when, " +
			"judged at each report's as_of and by when the consent was recorded. Every statement names the entries behind it.",
		Roles: auditors,
		Query: []Param{
			{Name: "from", Required: true, Form: "date-time", Doc: "First instant of as_of."},
			{Name: "to", Required: true, Form: "date-time", Doc: "End of the period, not included."},
			{Name: "provider_id", Form: "string", Doc: "Only this provider."},
			{Name: "customer_id", Form: "string", Doc: "Only this customer's requests."},
		},
		Replies: []Reply{{Status: 200, Doc: "The answer.", Body: EgressBody{}}}, Problems: []string{"question-too-wide"}, handle: a.getEgress,
	}}
}

func (a *API) getEgress(c *call) (reply, error) {
	q, err := a.egressQuery(c)
	if err != nil {
		return reply{}, err
	}
	usage, grants, err := a.store.Egress(c.ctx(), c.who.Tenant, q)
	if err != nil {
		return reply{}, err
	}
	lines := audit.Egress(usage, grants)
	return reply{status: 200, body: EgressBody{
		Period: PeriodBody{q.From.UTC(), q.To.UTC()}, TreeSize: q.Size, Lines: lines, Totals: egressTotals(usage), Notes: egressNotes,
	}}, nil
}

func (a *API) egressQuery(c *call) (q audit.EgressQuery, err error) {
	from, to, err := c.query.period()
	if err != nil {
		return q, err
	}
	if q.ProviderID, err = c.query.identifier("provider_id"); err != nil {
		return q, err
	}
	if q.CustomerID, err = c.query.identifier("customer_id"); err != nil {
		return q, err
	}
	head, err := a.store.Head(c.ctx())
	q.From, q.To, q.Size = *from, *to, head.Next()
	return q, err
}

func egressTotals(usage []audit.UsageLine) EgressTotals {
	var served, tokens int64
	for _, u := range usage {
		served += u.FramesServed
		tokens += u.Tokens
	}
	return EgressTotals{Reports: len(usage), FramesServed: strconv.FormatInt(served, 10), Tokens: strconv.FormatInt(tokens, 10)}
}

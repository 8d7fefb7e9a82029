package api

import (
	"context"
	"slices"
	"strconv"

	"ledgerd/internal/audit"
	"ledgerd/ledger"
)

// findingReader reads what findings are computed from. kinds.ErrTooMuch when the period holds too much.
type findingReader interface {
	Findings(ctx context.Context, tenant string, q audit.FindingQuery) (audit.FindingEvidence, error)
}

// FindingListBody is what the entries of a period show together.
type FindingListBody struct {
	Period   PeriodBody                `json:"period" jsonschema:"half-open; of effective time"`
	TreeSize int64                     `json:"tree_size"`
	Findings []audit.LedgerFinding     `json:"findings"`
	Counts   map[audit.FindingKind]int `json:"counts" jsonschema:"findings per kind; every kind that the answer can tell about is there"`
	Notes    []string                  `json:"notes"`
}

var findingNotes = []string{
	"findings are computed from the entries when they are asked for: the usage and verdicts of the period, the last verdict before it on each frame that was " +
		"served in it, and what was served before it, up to " + strconv.Itoa(audit.MaxLookBack) + " of the newest usage lines",
	"a receipt names no provider of frames, so usage-missing is not told of one provider",
	"the ledger holds no frame content: d1-conflict is a provider calling a frame changed while giving the digest that was asked about",
	"a cost is derived, so cost-drift breaks no requirement",
	"as_of and verified_at are hosts' clocks, the time of recording is this ledger's",
}

func (a *API) findingRoutes() []*Route {
	return []*Route{{
		Method: "GET", Path: "/v1/findings", Name: "listFindings", Memory: 128, Summary: "What only a ledger can see: contradictions over time",
		Doc: "d1-conflict, cost-drift, usage-missing (a recorded exchange whose request has no usage report), as-of-far (more than 24 hours from the time of recording), " +
			"rubber-stamp (valid was said of a digest after another was served for the frame), stale-reuse (served after it was called stale or gone) and " +
			"unconsented-egress (what the egress answer does not call covered, with its verdict). Each names the entries that show it.",
		Roles: auditors,
		Query: []Param{
			{Name: "from", Required: true, Form: "date-time", Doc: "First instant of the period."},
			{Name: "to", Required: true, Form: "date-time", Doc: "End of the period, not included."},
			{Name: "kind", Form: "string", Doc: "Only findings of this kind."},
			{Name: "provider_id", Form: "string", Doc: "Only findings about this provider."},
			{Name: "size", Form: "integer", Doc: "As of this earlier tree size."},
		},
		Replies: []Reply{{Status: 200, Doc: "The findings.", Body: FindingListBody{}}}, Problems: []string{"question-too-wide"}, handle: a.listFindings,
	}}
}

func (a *API) listFindings(c *call) (reply, error) {
	head, err := a.store.Head(c.ctx())
	if err != nil {
		return reply{}, err
	}
	q, err := findingQuery(c, head)
	if err != nil {
		return reply{}, err
	}
	evidence, err := a.store.Findings(c.ctx(), c.who.Tenant, q)
	if err != nil {
		return reply{}, err
	}
	found, err := audit.Findings(c.ctx(), evidence, q)
	if err != nil {
		return reply{}, err
	}
	body := FindingListBody{
		Period: PeriodBody{q.From.UTC(), q.To.UTC()}, TreeSize: q.Size, Findings: found, Counts: map[audit.FindingKind]int{}, Notes: findingNotes,
	}
	for _, kind := range q.Kinds() {
		body.Counts[kind] = 0
	}
	for _, f := range body.Findings {
		body.Counts[f.Kind]++
	}
	if q.Kind == "" && q.ProviderID == "" {
		a.metrics.showFindings(c.who.Tenant, body.Counts)
	}
	return reply{status: 200, body: body}, nil
}

func findingQuery(c *call, head ledger.Head) (q audit.FindingQuery, err error) {
	from, to, err := c.query.period()
	if err != nil {
		return q, err
	}
	q.From, q.To = *from, *to
	if kind, ok := c.query["kind"]; ok {
		if q.Kind = audit.FindingKind(kind); !slices.Contains(audit.FindingKinds[:], q.Kind) {
			return q, badParam("kind", "there is no such kind of finding, see the API description")
		}
	}
	if q.ProviderID, err = c.query.identifier("provider_id"); err != nil {
		return q, err
	}
	if len(q.Kinds()) == 0 {
		return q, badParam("provider_id", "a receipt names no provider of frames, so usage-missing can't be told of one")
	}
	q.Size, err = c.query.treeSize(head)
	return q, err
}

package api

import (
	"context"
	"math/big"
	"path"
	"slices"
	"strings"
	"time"

	"ledgerd/internal/audit"
	"ledgerd/ledger"
	"ledgerd/metering"
)

// usageReader answers questions about usage from the truth. kinds.ErrTooMuch when an answer would be too long.
type usageReader interface {
	Usage(ctx context.Context, q metering.Question) ([]metering.Group, error)
	UsageTotal(ctx context.Context, q metering.Question) (tokens *big.Int, reports int64, err error)
	// UsageIsWide says whether an answer would read more than so many lines.
	UsageIsWide(ctx context.Context, q metering.Question, lines int) (bool, error)
	UsageSeqs(ctx context.Context, q metering.Question, limit int) ([]int64, error)
	UsageLines(ctx context.Context, q metering.Question, from int64, limit int) ([]metering.Line, error)
	Shipping(ctx context.Context) (metering.Shipping, error)
}

// UsageProjection answers the same questions, and those about frames, as far as it was told. It gives at most one group more
// than the question's limit.
type UsageProjection interface {
	Usage(ctx context.Context, q metering.Question) ([]metering.Group, error)
	UsageTotal(ctx context.Context, q metering.Question) (tokens *big.Int, reports int64, err error)
}

const (
	maxGroups = 10_000
	maxTop    = 1_000
	maxLines  = 1_000
	// wideLines is how many lines Postgres sums up unasked: some tenths of a second. More are a question for ClickHouse.
	wideLines = 100_000

	sourcePostgres   = "postgres"
	sourceClickHouse = "clickhouse"
)

// UsageBody is an answer about usage. Sums are decimal strings, exact.
type UsageBody struct {
	Period       PeriodBody          `json:"period" jsonschema:"half-open; of as_of"`
	GroupBy      metering.Grouping   `json:"group_by"`
	TimeZone     string              `json:"tz"`
	Source       string              `json:"source" jsonschema:"postgres, the truth, or clickhouse, a projection of it"`
	Freshness    FreshnessBody       `json:"freshness"`
	Groups       []UsageGroup        `json:"groups"`
	Totals       UsageTotals         `json:"totals" jsonschema:"of all lines that the question selects"`
	Verification *EgressVerification `json:"verification,omitzero" jsonschema:"when it was asked for: each report behind the answer was checked again, its arithmetic included"`
}

// FreshnessBody says what an answer covers.
type FreshnessBody struct {
	TreeSize   int64 `json:"tree_size" jsonschema:"entries below this are recorded"`
	Covers     int64 `json:"covers" jsonschema:"entries below this are in what comes from the answer's source; less than tree_size while clickhouse is behind"`
	LagSeconds int64 `json:"lag_seconds" jsonschema:"age of the oldest entry that is not covered"`
	Changing   bool  `json:"changing" jsonschema:"clickhouse was being rewritten, by an erasure, a repair or a rebuild, while it answered: sums may be short, ask again"`
}

// UsageGroup is one sum.
type UsageGroup struct {
	Key            string     `json:"key,omitzero" jsonschema:"customer, provider, turn or request; absent for other groupings and once erased"`
	Start          *time.Time `json:"start,omitzero" jsonschema:"of an hour, day or month, in the zone that was asked for"`
	ProviderID     string     `json:"provider_id,omitzero" jsonschema:"of a frame"`
	FrameID        string     `json:"frame_id,omitzero"`
	ContentDigest  string     `json:"content_digest,omitzero"`
	Reports        int64      `json:"reports"`
	FramesServed   string     `json:"frames_served"`
	FramesRejected string     `json:"frames_rejected,omitzero" jsonschema:"absent for frames"`
	Tokens         string     `json:"tokens"`
	FirstSeq       int64      `json:"first_seq" jsonschema:"the entries lie between first_seq and last_seq; /v1/usage/lines lists them"`
	LastSeq        int64      `json:"last_seq"`
}

// UsageTotals are the sums over all lines of a question.
type UsageTotals struct {
	Reports int64  `json:"reports"`
	Tokens  string `json:"tokens"`
	Source  string `json:"source" jsonschema:"postgres, except for a question that is too wide for it"`
}

func (a *API) getUsage(c *call) (reply, error) {
	by := metering.Grouping(c.query["group_by"])
	if !slices.Contains(metering.Groupings(), by) {
		return reply{}, badParam("group_by", "it is customer, provider, turn, request, frame, hour, day or month")
	}
	return a.answerUsage(c, metering.Question{By: by, Limit: maxGroups})
}

func (a *API) getUsageTop(c *call) (reply, error) {
	by := metering.Grouping(c.query["by"])
	if by != metering.ByProvider && by != metering.ByFrame {
		return reply{}, badParam("by", "it is provider or frame")
	}
	limit, err := c.query.number("limit", 10, 1, maxTop)
	if err != nil {
		return reply{}, err
	}
	return a.answerUsage(c, metering.Question{By: by, Limit: int(limit), Top: true})
}

// answerUsage completes the question from the parameters that both routes share, and answers it.
func (a *API) answerUsage(c *call, q metering.Question) (reply, error) {
	format, err := formatOf(c)
	if err != nil {
		return reply{}, err
	}
	if format == formatLines {
		return reply{}, badParam("format", "it is json or csv")
	}
	head, err := a.store.Head(c.ctx())
	if err != nil {
		return reply{}, err
	}
	if err := c.usageQuestion(&q, head); err != nil {
		return reply{}, err
	}
	body, err := a.sumUsage(c, q)
	if err != nil {
		return reply{}, err
	}
	verify, err := c.query.flag("verify")
	if err == nil && verify {
		body.Verification, err = a.verifyUsage(c, q, head)
	}
	if err != nil {
		return reply{}, err
	}
	return sendUsage(c, format, body), nil
}

// usageQuestion reads the period and the filters.
func (c *call) usageQuestion(q *metering.Question, head ledger.Head) error {
	from, to, err := c.query.period()
	if err != nil {
		return err
	}
	q.Tenant, q.From, q.To = c.who.Tenant, *from, *to
	if err := c.usageFilter(q); err != nil {
		return err
	}
	q.Below, err = c.query.treeSize(head)
	return err
}

// usageFilter reads what lines are selected by beside their time.
func (c *call) usageFilter(q *metering.Question) error {
	return c.query.identifiers(map[string]*string{
		"provider_id": &q.ProviderID, "customer_id": &q.CustomerID, "request_id": &q.RequestID, "turn_id": &q.TurnID, "frame_id": &q.FrameID,
	})
}

// sumUsage answers a question from the source that the caller names or that fits it.
func (a *API) sumUsage(c *call, q metering.Question) (UsageBody, error) {
	body := UsageBody{Period: PeriodBody{q.From.UTC(), q.To.UTC()}, GroupBy: q.By}
	zone, err := zoneOf(c.query)
	if err != nil {
		return body, err
	}
	q.Zone = zone.String()
	body.TimeZone = q.Zone
	if body.Source, body.Totals.Source, err = a.sourcesOf(c, q); err != nil {
		return body, err
	}
	before, err := a.shippedFor(c.ctx(), body)
	if err != nil {
		return body, err
	}
	body.Freshness = freshness(q, before)
	groups, err := a.usageGroups(c.ctx(), q, body)
	if err != nil {
		return body, err
	}
	body.Groups = groupBodies(groups, q.By, zone)
	if body.Totals, err = a.usageTotals(c.ctx(), q, body); err != nil {
		return body, err
	}
	after, err := a.shippedFor(c.ctx(), body)
	if before != nil && after != nil {
		body.Freshness.Changing = before.Changing || after.Changing || before.Changes != after.Changes
	}
	return body, err
}

// zoneOf is the zone of hours, days and months, by a name that both databases know: files that are not zones of IANA, some with
// leap seconds, and those that are the server's own zone are none.
func zoneOf(q query) (*time.Location, error) {
	name, given := q["tz"]
	if !given {
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(name)
	own := name == "" || name == "Local" || name == "localtime" || name == "posixrules"
	if err != nil || own || path.Clean(name) != name || strings.HasPrefix(name, "right/") {
		return nil, badParam("tz", "it is an IANA time zone such as Europe/Berlin")
	}
	return zone, nil
}

func groupBodies(groups []metering.Group, by metering.Grouping, zone *time.Location) []UsageGroup {
	list := make([]UsageGroup, 0, len(groups))
	for _, g := range groups {
		digest, _ := g.Frame.ID.ContentDigest.Value()
		u := UsageGroup{
			Key: g.Key, ProviderID: g.Frame.ID.ProviderID, FrameID: g.Frame.ID.FrameID, ContentDigest: digest, Reports: g.Reports,
			FramesServed: g.FramesServed.String(), Tokens: g.Tokens.String(), FirstSeq: g.FirstSeq, LastSeq: g.LastSeq,
		}
		if by != metering.ByFrame {
			u.FramesRejected = g.FramesRejected.String()
		}
		if !g.Start.IsZero() {
			start := g.Start.In(zone)
			u.Start = &start
		}
		list = append(list, u)
	}
	return list
}

// verifyUsage checks the reports behind an answer again: leaf, commitments, the arithmetic identity and the derived rows.
func (a *API) verifyUsage(c *call, q metering.Question, head ledger.Head) (*EgressVerification, error) {
	seqs, err := a.store.UsageSeqs(c.ctx(), q, audit.MaxVerifiedEntries)
	if err != nil {
		return nil, err
	}
	checked, err := a.store.VerifyEntries(c.ctx(), c.who.Tenant, seqs, head, a.verifiers...)
	if err != nil {
		return nil, err
	}
	v := &EgressVerification{Entries: len(seqs), Checkpoint: head.Checkpoint}
	for _, seq := range seqs {
		if !checked.Verifies(seq) {
			v.Failed++
		}
	}
	v.Verified = v.Failed == 0
	return v, nil
}

package kinds

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"time"

	"ledgerd/internal/strictjson"
	"ledgerd/ledger"
	"ledgerd/metering"
)

// UsageReport is one request's usage report (context-reuse §2). Context: request_id, turn_id, customer_id. The key is the
// request_id on every route, so that a report that comes by two of them is one entry.
var UsageReport = Kind{
	Name:     "usage-report",
	Core:     "is_consistent: every sum of the report holds (context-reuse UR1), and its events add up to it",
	Unjudged: "how far as_of lay from the server's clock when the report came: only the later time of recording is kept",
	Gated:    true,
	PostedBy: []Role{Host},
	ReadBy:   []Role{Billing},
	MaxBytes: 1 << 20,
	Tables:   []*Table{&usageLines, &reportsWithoutLines},
	check:    checkUsageReport,
	project:  projectUsageReport,
	shape:    func(d *strictjson.Decoder) { metering.DecodeUsageReport(d) },
}

// reportsWithoutLines has a row for each report that reached no provider. Without it such a report would be in no projection,
// and an erasure by customer would not find it; a row for every report would make each append pay for the rare one.
var reportsWithoutLines = Table{Name: "reports_without_lines", Columns: []Column{
	{Name: "request_id"}, {Name: "turn_id", Personal: true}, {Name: "customer_id", Personal: true}, {Name: "as_of"},
}}

var usageLines = Table{Name: "usage_lines", Columns: []Column{
	{Name: "line"}, {Name: "request_id"}, {Name: "turn_id", Personal: true}, {Name: "customer_id", Personal: true},
	{Name: "provider_id"}, {Name: "as_of"}, {Name: "frames_served"}, {Name: "frames_rejected"}, {Name: "tokens"},
	{Name: "frame_providers", Personal: true}, {Name: "frame_ids", Personal: true}, {Name: "frame_digests", Personal: true},
	{Name: "frame_tokens"}, {Name: "corrects"},
}}

type usageContext struct{ requestID, turnID, customerID string }

func checkUsageReport(s Submission, env Env) (*Accepted, error) {
	ctx, report, err := readUsage(s)
	if err != nil {
		return nil, err
	}
	if err := checkAsOf(report, s.ArtifactAt, env.Now); err != nil {
		return nil, err
	}
	rows, err := usageRows(ctx, report, s.ArtifactAt)
	if err != nil {
		return nil, err
	}
	findings := metering.Findings(report)
	content, err := canonical(s, withFindings(findings))
	if err != nil {
		return nil, err
	}
	return &Accepted{Key: ctx.requestID, Content: content, Findings: findings, Rows: rows}, nil
}

// projectUsageReport does not judge again whether as_of was near the receiver's clock: when the report came is not recorded,
// only when it was sealed, and between the two it waited in a queue.
func projectUsageReport(c ledger.Content) (Projection, error) {
	ctx, report, err := readUsage(recorded(c))
	if err != nil {
		return Projection{}, err
	}
	rows, err := usageRows(ctx, report, "")
	if err != nil {
		return Projection{}, err
	}
	return Projection{Key: ctx.requestID, Rows: rows}, nil
}

func readUsage(s Submission) (usageContext, metering.UsageReport, error) {
	ctx, err := parseUsageContext(s)
	if err != nil {
		return ctx, metering.UsageReport{}, err
	}
	d := strictjson.NewDecoder(s.Artifact, strictjson.Open)
	report := metering.DecodeUsageReport(d)
	if err := finish(d, s.ArtifactAt); err != nil {
		return ctx, report, err
	}
	return ctx, report, boundReport(report, s.ArtifactAt)
}

func parseUsageContext(s Submission) (usageContext, error) {
	var c usageContext
	d := strictjson.NewDecoder(s.context(), strictjson.Closed)
	d.Object(
		strictjson.Req("request_id", func() { c.requestID = d.String() }),
		strictjson.Req("turn_id", func() { c.turnID = d.String() }),
		strictjson.Req("customer_id", func() { c.customerID = d.String() }),
	)
	if err := finish(d, s.ContextAt); err != nil {
		return c, err
	}
	if err := CheckKey(s.ContextAt+"/request_id", c.requestID); err != nil {
		return c, err
	}
	b := bounds{}
	b.name(s.ContextAt+"/turn_id", c.turnID)
	b.name(s.ContextAt+"/customer_id", c.customerID)
	return c, b.err
}

// boundReport and checkAsOf apply the ledger's own rules, which the protocol does not have.
func boundReport(r metering.UsageReport, base string) error {
	b := bounds{}
	for i, p := range r.Providers {
		row := base + "/providers/" + strconv.Itoa(i)
		b.id(row+"/provider_id", p.ProviderID)
		for j, f := range p.ServedFrames {
			within := bounds{}
			if within.frame("", f.Frame); within.err != nil { // only then its place is worth spelling out
				b.frame(row+"/served_frames/"+strconv.Itoa(j)+"/frame", f.Frame)
			}
		}
	}
	return b.err
}

func checkAsOf(r metering.UsageReport, base string, now time.Time) error {
	_, err := metering.CheckAsOf(r, now)
	var e *metering.AsOfError
	if errors.As(err, &e) {
		return &Rejection{Code: "as-of-not-acceptable", Pointer: base + e.Pointer(), Detail: e.Problem}
	}
	return err
}

func inconsistent(err error, base string) error {
	var e *metering.InconsistentError
	if !errors.As(err, &e) {
		return err
	}
	return &Rejection{
		Code: "usage-inconsistent", Pointer: base + e.Pointer(),
		Detail: "the " + string(e.Identity) + " identity does not hold (context-reuse UR1): declared " +
			strconv.FormatUint(e.Declared, 10) + ", summed " + e.Summed.String(),
		Causes: []Cause{{Rule: string(e.Identity), Pointer: base + e.Pointer(), Detail: "declared and summed differ"}},
	}
}

// usageRows makes a row per provider, in canonical order of providers so that the projection depends on nothing else, or one
// for a report without any. It demands that the report's sums hold.
func usageRows(c usageContext, r metering.UsageReport, base string) ([]Rows, error) {
	verified, err := metering.Verify(r)
	if err != nil {
		return nil, inconsistent(err, base)
	}
	events, err := metering.Events(verified)
	if err != nil {
		return nil, err
	}
	asOf, ok := r.AsOfInstant()
	if !ok {
		return nil, &Rejection{Code: "as-of-not-acceptable", Pointer: base + "/as_of", Detail: metering.AsOfMalformed}
	}
	asOf = Kept(asOf)
	if len(events) == 0 {
		return []Rows{{Table: &reportsWithoutLines, Values: [][]any{{c.requestID, c.turnID, c.customerID, asOf}}}}, nil
	}
	slices.SortFunc(events, func(a, b metering.Event) int { return cmp.Compare(a.ProviderID, b.ProviderID) })
	rows := Rows{Table: &usageLines}
	for i, e := range events {
		f := splitFrames(e)
		rows.Values = append(rows.Values, []any{
			int32(i), c.requestID, c.turnID, c.customerID, e.ProviderID, asOf, e.FramesServed, e.FramesRejected, e.Tokens,
			f.providers, f.ids, f.digests, f.tokens, nil,
		})
	}
	return []Rows{rows}, nil
}

// frameColumns are the frames of one event as parallel arrays; providers is nil when all frames name the event's own.
type frameColumns struct {
	providers []string
	ids       []string
	digests   []*string
	tokens    []int64
}

func splitFrames(e metering.Event) frameColumns {
	n := len(e.Frames)
	c := frameColumns{ids: make([]string, 0, n), digests: make([]*string, 0, n), tokens: make([]int64, 0, n)}
	foreign := false
	providers, digests := make([]string, 0, n), make([]string, n) // pointed into, instead of an allocation each
	for i, f := range e.Frames {
		providers = append(providers, f.Frame.ProviderID)
		foreign = foreign || f.Frame.ProviderID != e.ProviderID
		c.ids = append(c.ids, f.Frame.FrameID)
		var digest *string
		if v, ok := f.Frame.ContentDigest.Value(); ok {
			digests[i], digest = v, &digests[i]
		}
		c.digests = append(c.digests, digest)
		c.tokens = append(c.tokens, int64(f.TokenCost))
	}
	if foreign {
		c.providers = providers
	}
	return c
}

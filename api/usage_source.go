package api

import (
	"context"
	"errors"

	"ledgerd/internal/kinds"
	"ledgerd/metering"
)

// sourcesOf chooses where groups and totals come from. Unasked, frames and wide questions go to ClickHouse, if there is one;
// totals come from the truth unless that is what a wide question must spare.
func (a *API) sourcesOf(c *call, q metering.Question) (groups, totals string, err error) {
	source, given := c.query["source"]
	switch {
	case given && source != sourcePostgres && source != sourceClickHouse:
		return "", "", badParam("source", "it is postgres or clickhouse")
	case source == sourcePostgres && q.By == metering.ByFrame:
		return "", "", badParam("source", "sums by frame come from clickhouse only; /v1/usage/lines lists frames from postgres")
	case source == sourcePostgres, a.usage == nil && !given && q.By != metering.ByFrame:
		return sourcePostgres, sourcePostgres, nil
	}
	wide, err := a.store.UsageIsWide(c.ctx(), q, a.wideLines)
	switch {
	case err != nil:
		return "", "", err
	case wide:
		return sourceClickHouse, sourceClickHouse, nil
	case source == sourceClickHouse, q.By == metering.ByFrame:
		return sourceClickHouse, sourcePostgres, nil
	}
	return sourcePostgres, sourcePostgres, nil
}

// shippedFor says how far the source of an answer is; nil where it is the truth itself.
func (a *API) shippedFor(ctx context.Context, body UsageBody) (*metering.Shipping, error) {
	if body.Source == sourcePostgres {
		return nil, nil
	}
	if a.usage == nil {
		return nil, &fault{code: "projection-unavailable", detail: "this server has no ClickHouse; sums by anything but frame are answered from postgres"}
	}
	shipped, err := a.store.Shipping(ctx)
	return &shipped, err
}

// freshness says what an answer from a source covers.
func freshness(q metering.Question, shipped *metering.Shipping) FreshnessBody {
	f := FreshnessBody{TreeSize: q.Below, Covers: q.Below}
	if shipped != nil && shipped.NextSeq < q.Below {
		f.Covers, f.LagSeconds = shipped.NextSeq, int64(shipped.Lag.Seconds())
	}
	return f
}

// usageGroups asks the source that the body names. ClickHouse is asked for what the answer covers and not for a batch that is
// just being sent, so that two of its answers agree.
func (a *API) usageGroups(ctx context.Context, q metering.Question, body UsageBody) ([]metering.Group, error) {
	if body.Source == sourcePostgres {
		return a.store.Usage(ctx, q)
	}
	q.Below = body.Freshness.Covers
	groups, err := a.usage.Usage(ctx, q)
	if err != nil {
		return nil, a.projectionAway(err)
	}
	if len(groups) > q.Limit && !q.Top {
		return nil, kinds.ErrTooMuch
	}
	return groups[:min(len(groups), q.Limit)], nil
}

// usageTotals asks the source that the totals name.
func (a *API) usageTotals(ctx context.Context, q metering.Question, body UsageBody) (UsageTotals, error) {
	t := body.Totals
	ask := a.store.UsageTotal
	if t.Source == sourceClickHouse {
		ask, q.Below = a.usage.UsageTotal, body.Freshness.Covers
	}
	tokens, reports, err := ask(ctx, q)
	if err != nil {
		if t.Source == sourceClickHouse {
			err = a.projectionAway(err)
		}
		return t, err
	}
	t.Reports, t.Tokens = reports, tokens.String()
	return t, nil
}

// projectionAway is the problem of a question that ClickHouse was to answer and did not.
func (a *API) projectionAway(err error) error {
	if errors.Is(err, context.Canceled) { // by the caller, who is gone
		return err
	}
	a.log.Warn("asking ClickHouse", "error", err)
	return &fault{code: "projection-unavailable", detail: "ClickHouse does not answer, and the question needs it: it is by frame, or of more lines than are summed up from " +
		"postgres unasked; sums by anything but frame are also answered by source=postgres, and fast for a shorter period or one customer"}
}

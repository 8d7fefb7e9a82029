package api

import (
	"slices"

	"ledgerd/internal/kinds"
)

var meters = []kinds.Role{kinds.Auditor, kinds.Billing}

// usageFilters select lines; the three routes share them.
var usageFilters = []Param{
	{Name: "from", Required: true, Form: "date-time", Doc: "First instant of as_of."},
	{Name: "to", Required: true, Form: "date-time", Doc: "End of the period, not included."},
	{Name: "customer_id", Form: "string", Doc: "Only this customer."},
	{Name: "provider_id", Form: "string", Doc: "Only this provider."},
	{Name: "request_id", Form: "string", Doc: "Only this request."},
	{Name: "turn_id", Form: "string", Doc: "Only this turn."},
	{Name: "frame_id", Form: "string", Doc: "Only reports that served this frame."},
	{Name: "size", Form: "integer", Doc: "As of this earlier tree size."},
}

// usageForms say how a sum is made and sent.
var usageForms = []Param{
	{Name: "tz", Form: "string", Doc: "IANA time zone of hours, days and months, such as Europe/Berlin; UTC when absent. A day has 23 or 25 hours when its clocks change."},
	{Name: "source", Form: "string", Doc: "postgres or clickhouse. When absent: clickhouse for sums by frame and for wide questions, of more than 100,000 lines of the period, customer and provider, where this server has one; else postgres."},
	{Name: "verify", Form: "boolean", Doc: "true: check every report behind the answer again, at most 5,000."},
	{Name: "format", Form: "string", Doc: "json or csv; it goes before the Accept header."},
}

func (a *API) usageRoutes() []*Route {
	replies := []Reply{{Status: 200, Doc: "The answer.", Body: UsageBody{}}, {Status: 200, Body: "", Type: "text/csv"}}
	problems := []string{"question-too-wide", "projection-unavailable"}
	return []*Route{
		{
			Method: "GET", Path: "/v1/usage", Name: "usage", Summary: "What was used, summed up",
			Doc:   "Sums of tokens and frames by customer, provider, turn, request, frame, hour, day or month. Names where the sums come from and how fresh that is.",
			Roles: meters, Query: slices.Concat(usageFilters, []Param{{Name: "group_by", Required: true, Form: "string", Doc: "customer, provider, turn, request, frame, hour, day or month."}}, usageForms),
			Replies: replies, Problems: problems, handle: a.getUsage,
		},
		{
			Method: "GET", Path: "/v1/usage/top", Name: "usageTop", Summary: "What cost most",
			Doc:   "The providers or frames of the greatest token sums, greatest first.",
			Roles: meters, Query: slices.Concat(usageFilters, []Param{
				{Name: "by", Required: true, Form: "string", Doc: "provider or frame."},
				{Name: "limit", Form: "integer", Doc: "How many, at most 1,000; 10 when absent."},
			}, usageForms),
			Replies: replies, Problems: problems, handle: a.getUsageTop,
		},
		{
			Method: "GET", Path: "/v1/usage/lines", Name: "usageLines", Summary: "The reports and frames behind a sum",
			Doc:   "Line by line, in the order of the log, with the seq of each entry: what an auditor walks from a sum to the frames, and can verify by /v1/entries/{seq}.",
			Roles: meters, Query: slices.Concat(usageFilters, []Param{
				{Name: "after", Form: "integer", Doc: "Only entries after this seq: the next of the page before."},
				{Name: "limit", Form: "integer", Doc: "How many lines, at most 1,000; 100 when absent. An entry's lines are not torn apart."},
			}),
			Replies: []Reply{{Status: 200, Doc: "The lines.", Body: UsageLinesBody{}}}, handle: a.getUsageLines,
		},
	}
}

package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// UsageQuery asks what was used. Empty strings select all, or the server's choice.
type UsageQuery struct {
	From, To   time.Time // half-open; instants of as_of
	CustomerID string
	ProviderID string
	RequestID  string
	TurnID     string
	FrameID    string
	TimeZone   string // IANA name, of hours, days and months
	Source     string // postgres or clickhouse
	Verify     bool   // check every report behind the answer again
}

// Values is the question as the API's query string has it.
func (q UsageQuery) Values() url.Values {
	v := url.Values{"from": {q.From.UTC().Format(time.RFC3339Nano)}, "to": {q.To.UTC().Format(time.RFC3339Nano)}}
	for name, value := range map[string]string{
		"customer_id": q.CustomerID, "provider_id": q.ProviderID, "request_id": q.RequestID, "turn_id": q.TurnID, "frame_id": q.FrameID,
		"tz": q.TimeZone, "source": q.Source,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if q.Verify {
		v.Set("verify", "true")
	}
	return v
}

// UsageAnswer is a sum per group, with where it comes from and what it covers.
type UsageAnswer struct {
	GroupBy   string         `json:"group_by"`
	Source    string         `json:"source"` // postgres or clickhouse
	Freshness UsageFreshness `json:"freshness"`
	Groups    []UsageGroup   `json:"groups"`
	Totals    struct {
		Reports int64  `json:"reports"`
		Tokens  string `json:"tokens"`
		Source  string `json:"source"` // postgres, but for a wide question
	} `json:"totals"`
	Verification *struct {
		Verified bool `json:"verified"`
		Entries  int  `json:"entries"`
		Failed   int  `json:"failed"`
	} `json:"verification"` // nil when it was not asked for
}

// UsageFreshness says what an answer covers: entries below Covers, of TreeSize.
type UsageFreshness struct {
	TreeSize   int64 `json:"tree_size"`
	Covers     int64 `json:"covers"`
	LagSeconds int64 `json:"lag_seconds"`
}

// UsageGroup is one sum. Its numbers are decimal strings, exact.
type UsageGroup struct {
	Key            string     `json:"key"`         // customer, provider, turn or request
	Start          *time.Time `json:"start"`       // of an hour, day or month
	ProviderID     string     `json:"provider_id"` // of a frame, like the next two
	FrameID        string     `json:"frame_id"`
	ContentDigest  string     `json:"content_digest"`
	Reports        int64      `json:"reports"`
	FramesServed   string     `json:"frames_served"`
	FramesRejected string     `json:"frames_rejected"`
	Tokens         string     `json:"tokens"`
	FirstSeq       int64      `json:"first_seq"`
	LastSeq        int64      `json:"last_seq"`
}

// Usage sums up by customer, provider, turn, request, frame, hour, day or month.
func (c *Client) Usage(ctx context.Context, by string, q UsageQuery) (UsageAnswer, error) {
	v := q.Values()
	v.Set("group_by", by)
	var a UsageAnswer
	_, err := c.call(ctx, request{doing: "asking for usage", method: http.MethodGet, path: "/v1/usage", query: v}, &a)
	return a, err
}

// UsageTop tells the providers or frames that cost most, greatest first.
func (c *Client) UsageTop(ctx context.Context, by string, limit int, q UsageQuery) (UsageAnswer, error) {
	v := q.Values()
	v.Set("by", by)
	v.Set("limit", strconv.Itoa(limit))
	var a UsageAnswer
	_, err := c.call(ctx, request{doing: "asking for the top usage", method: http.MethodGet, path: "/v1/usage/top", query: v}, &a)
	return a, err
}

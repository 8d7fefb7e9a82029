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
	Period    Period         `json:"period"`
	GroupBy   string         `json:"group_by"`
	TimeZone  string         `json:"tz"`
	Source    string         `json:"source"` // postgres or clickhouse
	Freshness UsageFreshness `json:"freshness"`
	Groups    []UsageGroup   `json:"groups"`
	Totals    UsageTotals    `json:"totals"`
	// Verification is nil unless it was asked for.
	Verification *EgressVerification `json:"verification,omitzero"`
}

// UsageTotals are the sums over all lines that a question selects.
type UsageTotals struct {
	Reports int64  `json:"reports"`
	Tokens  string `json:"tokens"`
	Source  string `json:"source"` // postgres, but for a question that is too wide for it
}

// UsageFreshness says what an answer covers: entries below Covers, of TreeSize.
type UsageFreshness struct {
	TreeSize   int64 `json:"tree_size"`
	Covers     int64 `json:"covers"`
	LagSeconds int64 `json:"lag_seconds"`
	// Changing says that ClickHouse was being rewritten while it answered, by an erasure, a repair or a rebuild: sums may be short.
	Changing bool `json:"changing"`
}

// UsageGroup is one sum. Its numbers are decimal strings, exact.
type UsageGroup struct {
	Key            string     `json:"key,omitzero"`         // customer, provider, turn or request
	Start          *time.Time `json:"start,omitzero"`       // of an hour, day or month
	ProviderID     string     `json:"provider_id,omitzero"` // of a frame, like the next two
	FrameID        string     `json:"frame_id,omitzero"`
	ContentDigest  string     `json:"content_digest,omitzero"`
	Reports        int64      `json:"reports"`
	FramesServed   string     `json:"frames_served"`
	FramesRejected string     `json:"frames_rejected,omitzero"` // "" for frames
	Tokens         string     `json:"tokens"`
	FirstSeq       int64      `json:"first_seq"`
	LastSeq        int64      `json:"last_seq"`
}

// UsageLines is a page of the lines behind a sum, by whole entries in the order of the log.
type UsageLines struct {
	TreeSize int64       `json:"tree_size"` // it covers entries below
	Lines    []UsageLine `json:"lines"`
	Next     *int64      `json:"next"` // where the next page goes on; nil on the last one
}

// UsageLine is what one report used of one provider. A correction's numbers may be negative.
type UsageLine struct {
	Seq            int64        `json:"seq"`
	RequestID      string       `json:"request_id"`
	TurnID         string       `json:"turn_id,omitzero"` // "" once erased, like CustomerID and Frames
	CustomerID     string       `json:"customer_id,omitzero"`
	ProviderID     string       `json:"provider_id"`
	AsOf           time.Time    `json:"as_of"`
	FramesServed   string       `json:"frames_served"`
	FramesRejected string       `json:"frames_rejected"`
	Tokens         string       `json:"tokens"`
	Frames         []UsageFrame `json:"frames"`
	ErasedBy       *int64       `json:"erased_by,omitzero"` // seq of the erasure
	Corrects       *int64       `json:"corrects,omitzero"`  // the entry that this line, of a correction, corrects
}

// UsageFrame is a served frame of a line.
type UsageFrame struct {
	ProviderID    string  `json:"provider_id"`
	FrameID       string  `json:"frame_id"`
	ContentDigest *string `json:"content_digest"`
	Tokens        string  `json:"tokens"`
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

// UsageLines drills down: the lines that a question selects, of entries after a seq, -1 for all; at most limit of them (1 to
// 1,000) and the rest of the last entry. The question's zone, source and verification play no part.
func (c *Client) UsageLines(ctx context.Context, q UsageQuery, after int64, limit int) (UsageLines, error) {
	q.TimeZone, q.Source, q.Verify = "", "", false
	v := q.Values()
	v.Set("limit", strconv.Itoa(limit))
	if after >= 0 {
		v.Set("after", strconv.FormatInt(after, 10))
	}
	var a UsageLines
	_, err := c.call(ctx, request{doing: "asking for usage lines", method: http.MethodGet, path: "/v1/usage/lines", query: v}, &a)
	return a, err
}

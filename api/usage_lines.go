package api

import (
	"strconv"
	"time"

	"ledgerd/metering"
)

// UsageLinesBody is a page of the drill-down.
type UsageLinesBody struct {
	TreeSize int64           `json:"tree_size" jsonschema:"the answer covers entries below this size"`
	Lines    []UsageLineBody `json:"lines"`
	Next     *int64          `json:"next" jsonschema:"after for the next page; null on the last one"`
}

// UsageLineBody is what one report used of one provider.
type UsageLineBody struct {
	Seq            int64            `json:"seq"`
	RequestID      string           `json:"request_id"`
	TurnID         string           `json:"turn_id,omitzero" jsonschema:"absent once erased, like customer_id and frames"`
	CustomerID     string           `json:"customer_id,omitzero"`
	ProviderID     string           `json:"provider_id"`
	AsOf           time.Time        `json:"as_of"`
	FramesServed   string           `json:"frames_served"`
	FramesRejected string           `json:"frames_rejected"`
	Tokens         string           `json:"tokens"`
	Frames         []UsageFrameBody `json:"frames"`
	ErasedBy       *int64           `json:"erased_by,omitzero" jsonschema:"seq of the erasure"`
	Corrects       *int64           `json:"corrects,omitzero" jsonschema:"the entry that this line, of a correction, corrects; what it takes back is negative"`
}

// UsageFrameBody is a served frame.
type UsageFrameBody struct {
	ProviderID    string  `json:"provider_id"`
	FrameID       string  `json:"frame_id"`
	ContentDigest *string `json:"content_digest"`
	Tokens        string  `json:"tokens"`
}

func (a *API) getUsageLines(c *call) (reply, error) {
	head, err := a.store.Head(c.ctx())
	if err != nil {
		return reply{}, err
	}
	var q metering.Question
	if err := c.usageQuestion(&q, head); err != nil {
		return reply{}, err
	}
	after, err := c.query.number("after", -1, -1, head.Next())
	if err != nil {
		return reply{}, err
	}
	limit, err := c.query.number("limit", 100, 1, maxLines)
	if err != nil {
		return reply{}, err
	}
	lines, err := a.store.UsageLines(c.ctx(), q, after+1, int(limit))
	if err != nil {
		return reply{}, err
	}
	body := UsageLinesBody{TreeSize: q.Below, Lines: make([]UsageLineBody, 0, len(lines))}
	for _, l := range lines {
		body.Lines = append(body.Lines, usageLine(l))
	}
	if len(lines) >= int(limit) {
		body.Next = &lines[len(lines)-1].Seq
	}
	return reply{status: 200, body: body}, nil
}

func usageLine(l metering.Line) UsageLineBody {
	b := UsageLineBody{
		Seq: l.Seq, RequestID: l.RequestID, TurnID: l.TurnID, CustomerID: l.CustomerID, ProviderID: l.ProviderID, AsOf: l.AsOf,
		FramesServed: strconv.FormatInt(l.FramesServed, 10), FramesRejected: strconv.FormatInt(l.FramesRejected, 10),
		Tokens: strconv.FormatInt(l.Tokens, 10), Frames: make([]UsageFrameBody, 0, len(l.Frames)), Corrects: l.Corrects,
	}
	if l.ErasedBy != 0 {
		b.ErasedBy = &l.ErasedBy
	}
	for _, f := range l.Frames {
		frame := UsageFrameBody{ProviderID: f.ID.ProviderID, FrameID: f.ID.FrameID, Tokens: strconv.FormatInt(f.Tokens, 10)}
		if digest, ok := f.ID.ContentDigest.Value(); ok {
			frame.ContentDigest = &digest
		}
		b.Frames = append(b.Frames, frame)
	}
	return b
}

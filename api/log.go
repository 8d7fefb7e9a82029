package api

import (
	"context"
	"net/http"

	"ledgerd/ledger"
)

// headReader reads the newest committed state of the log, and says whether the store answers at all.
type headReader interface {
	Head(ctx context.Context) (ledger.Head, error)
	Ping(ctx context.Context) error
}

const textType = "text/plain; charset=utf-8"

func (a *API) logRoutes() []*Route {
	return []*Route{{
		Method: "GET", Path: "/log/checkpoint", Name: "getCheckpoint", Summary: "The newest signed checkpoint",
		Doc:    "A C2SP tlog-checkpoint, byte for byte as it was signed. Last-Modified is the time of the newest entry.",
		Public: true, Replies: []Reply{{Status: 200, Doc: "A signed note.", Body: "", Type: textType}}, handle: a.getCheckpoint,
	}}
}

func (a *API) getCheckpoint(c *call) (reply, error) {
	head, err := a.store.Head(c.ctx())
	if err != nil {
		return reply{}, err
	}
	return reply{status: 200, raw: []byte(head.Checkpoint), header: map[string]string{
		"Content-Type": textType, "Cache-Control": "no-cache", "Last-Modified": head.RecordedAt.UTC().Format(http.TimeFormat),
	}}, nil
}

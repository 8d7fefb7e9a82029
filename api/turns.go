package api

import (
	"context"

	"github.com/go-chi/chi/v5"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
)

// turnReader reads a turn as of a tree size; its entries are empty where the asker may see none. kinds.ErrTooMuch when it
// holds too much for one answer.
type turnReader interface {
	Turn(ctx context.Context, tenant string, see kinds.Visibility, turnID string, size int64) (audit.TurnEvidence, error)
}

// TurnBody is a turn whole.
type TurnBody struct {
	TurnID   string `json:"turn_id"`
	TreeSize int64  `json:"tree_size"`
	audit.TurnAnswer
	Notes []string `json:"notes" jsonschema:"what the answer does not show"`
}

// turnNotes are the answer's own limits.
var turnNotes = []string{
	"a verdict says that the recorded outcome follows from the record, not that what the kernel attests was true; see its verification's coverage",
	"a contribution is joined to usage where its source's namespace is a provider and its stable_ref names a frame; joins counts those that could be, other sources can't",
	"it is held to the usage report of its own request where one has that request_id, and otherwise to all reports of the turn: a report names no assembly",
	"an erased usage report names no turn any more, so what only it served reads as not served",
	"a payload digest and a frame's content digest are over different bytes and are not compared",
	"the report has no tokens per contribution beyond what the kernel measured before rendering; served cost may be by another estimator",
}

func (a *API) turnRoutes() []*Route {
	return []*Route{{
		Method: "GET", Path: "/v1/turns/{turn_id}", Name: "getTurn", Memory: 192, Summary: "A turn whole: what went into each model context, and what was left out and why",
		Doc: "Profile, snapshot and plans with the ledger's own times, each assembly with its recorded outcome and our verdict, compactions, recoveries, what was refused as a " +
			"conflict, and findings that join the turn with its usage reports and consent.",
		Roles:    contextReaders,
		Segments: []Param{{Name: "turn_id", Required: true, Form: "string", Doc: "The turn, a UUID as context records have it."}},
		Query:    []Param{{Name: "size", Form: "integer", Doc: "As of this earlier tree size."}},
		Replies:  []Reply{{Status: 200, Doc: "The turn.", Body: TurnBody{}}}, Problems: []string{"not-found", "question-too-wide"}, handle: a.getTurn,
	}}
}

func (a *API) getTurn(c *call) (reply, error) {
	turnID := chi.URLParam(c.http, "turn_id")
	if turnID == "" || kinds.CheckName(turnID) != nil {
		return reply{}, kinds.ErrNotFound
	}
	head, err := a.store.Head(c.ctx())
	if err != nil {
		return reply{}, err
	}
	size, err := c.query.treeSize(head)
	if err != nil {
		return reply{}, err
	}
	evidence, err := a.store.Turn(c.ctx(), c.who.Tenant, kinds.VisibleTo(c.who.Role, c.who.TokenID), turnID, size)
	if err != nil {
		return reply{}, err
	}
	if len(evidence.Entries) == 0 {
		return reply{}, kinds.ErrNotFound
	}
	answer, err := audit.Turn(evidence)
	return reply{status: 200, body: TurnBody{TurnID: turnID, TreeSize: size, TurnAnswer: answer, Notes: turnNotes}}, err
}

package api

import (
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"

	"ledgerd/internal/audit"
	"ledgerd/internal/audit/evidence"
	"ledgerd/internal/kinds"
)

// DisputeBody is a dispute whole.
type DisputeBody struct {
	DisputeStateBody
	Events          []audit.DisputedEvent  `json:"events" jsonschema:"the billing events of the chain, read again now"`
	Reports         []audit.DisputedReport `json:"reports" jsonschema:"a page of the reports, read and verified again now"`
	NextCursor      *string                `json:"next_cursor" jsonschema:"null at the end of the reports"`
	Reverifications []ReverificationBody   `json:"reverifications" jsonschema:"the newest 50, oldest first"`
}

// ReverificationBody is what was found when a dispute was decided again.
type ReverificationBody struct {
	Seq        int64                        `json:"seq"`
	RecordedAt time.Time                    `json:"recorded_at"`
	Found      kinds.ReverificationArtifact `json:"found" jsonschema:"changed names what differs from the dispute as it was recorded; empty for nothing"`
	Proof      *ProofBody                   `json:"proof,omitzero" jsonschema:"of the entry, with proof=true where it is made"`
}

// DisputeListBody is a page of disputes.
type DisputeListBody struct {
	Disputes   []kinds.DisputeRow `json:"disputes"`
	NextCursor *string            `json:"next_cursor" jsonschema:"null at the end"`
	TreeSize   int64              `json:"tree_size"`
}

const maxReverifications = 50

func disputeSegment(c *call) string { return chi.URLParam(c.http, "id") }

// disputeState says how far a dispute is, with the decision when there is one.
func (a *API) disputeState(c *call, id string) (DisputeStateBody, error) {
	b := DisputeStateBody{DisputeID: id, State: kinds.DisputeRecorded}
	if kinds.CheckKey("", id) != nil {
		return b, kinds.ErrNotFound
	}
	job, err := a.store.DisputeJob(c.ctx(), c.who.Tenant, id)
	if err != nil && !errors.Is(err, kinds.ErrNotFound) {
		return b, err
	}
	worked := err == nil
	e, decision, err := a.store.Dispute(c.ctx(), c.who.Tenant, id)
	switch {
	case err == nil:
		b.Seq, b.RecordedAt, b.RaisedBy, b.Decision = &e.Seq, &e.RecordedAt, &e.Meta.Actor, &decision
		worked = worked && job.Reverifies != nil
	case errors.Is(err, kinds.ErrNotFound) && worked:
		b.State, b.Problem = job.State, job.Problem
	default:
		return b, err
	}
	if worked && job.State != "done" {
		b.Progress = &DisputeProgress{State: job.State, Done: job.Done, Total: job.Total, Reverifying: job.Reverifies != nil, FailedProblem: job.Problem}
	}
	return b, nil
}

func (a *API) getDispute(c *call) (reply, error) {
	limit, err := c.query.number("limit", defaultPage, 1, maxPage)
	if err != nil {
		return reply{}, err
	}
	state, err := a.disputeState(c, disputeSegment(c))
	if err != nil {
		return reply{}, err
	}
	after, size, err := a.pageStart(c)
	if err != nil {
		return reply{}, err
	}
	body := DisputeBody{DisputeStateBody: state, Events: []audit.DisputedEvent{}, Reports: []audit.DisputedReport{}, Reverifications: []ReverificationBody{}}
	if state.Decision == nil {
		return reply{status: http.StatusOK, body: body}, nil
	}
	page, next := pageOf(state.Decision.Entries.Reports, after, int(limit))
	e, err := a.disputes.Page(c.ctx(), c.who.Tenant, *state.Decision, page)
	if err != nil {
		return reply{}, err
	}
	body.Events, body.Reports = e.Events(), e.Reports()
	if next >= 0 {
		if body.NextCursor, err = encodeCursor(cursor{After: next, Size: size, Filter: filterOf(c)}); err != nil {
			return reply{}, err
		}
	}
	body.Reverifications, err = a.reverifications(c, *state.Seq)
	return reply{status: http.StatusOK, body: body}, err
}

// pageOf cuts a page out of seqs, in order, after the last one seen; next is -1 at the end.
func pageOf(seqs []int64, after int64, limit int) (page []int64, next int64) {
	from, _ := slices.BinarySearch(seqs, after+1)
	to := min(from+limit, len(seqs))
	if to == len(seqs) {
		return seqs[from:to], -1
	}
	return seqs[from:to], seqs[to-1]
}

func (a *API) reverifications(c *call, seq int64) ([]ReverificationBody, error) {
	entries, err := a.store.Reverifications(c.ctx(), c.who.Tenant, seq, maxReverifications)
	if err != nil {
		return nil, err
	}
	list := make([]ReverificationBody, 0, len(entries))
	for _, e := range entries {
		found, err := kinds.ReadReverification(e)
		if err != nil {
			return nil, err
		}
		list = append(list, ReverificationBody{Seq: e.Seq, RecordedAt: e.RecordedAt, Found: found})
	}
	return list, nil
}

func (a *API) listDisputes(c *call) (reply, error) {
	q := kinds.DisputeQuery{}
	limit, err := c.query.number("limit", defaultPage, 1, maxPage)
	if err != nil {
		return reply{}, err
	}
	if q.CustomerID, err = c.query.identifier("customer_id"); err != nil {
		return reply{}, err
	}
	if q.Result = c.query["result"]; q.Result != "" && !slices.Contains([]string{kinds.DisputeExplained, kinds.DisputeUpheld, kinds.DisputeInconclusive}, q.Result) {
		return reply{}, badParam("result", "it is explained, upheld or inconclusive")
	}
	if q.After, q.Size, err = a.pageStart(c); err != nil {
		return reply{}, err
	}
	q.Limit = int(limit)
	list, err := a.store.Disputes(c.ctx(), c.who.Tenant, q)
	if err != nil {
		return reply{}, err
	}
	body := DisputeListBody{Disputes: list, TreeSize: q.Size}
	if body.Disputes == nil {
		body.Disputes = []kinds.DisputeRow{}
	}
	if len(list) == q.Limit {
		body.NextCursor, err = encodeCursor(cursor{After: list[len(list)-1].Seq, Size: q.Size, Filter: filterOf(c)})
	}
	return reply{status: http.StatusOK, body: body}, err
}

func (a *API) reverifyDispute(c *call) (reply, error) {
	prove, err := c.query.flag("proof")
	if err != nil {
		return reply{}, err
	}
	id := disputeSegment(c)
	if kinds.CheckKey("", id) != nil {
		return reply{}, kinds.ErrNotFound
	}
	recorded, err := a.disputes.Reverify(c.ctx(), c.who, id, "rev_"+rand.Text())
	if err != nil {
		return reply{}, err
	}
	if recorded == nil {
		state, err := a.disputeState(c, id)
		return reply{status: http.StatusAccepted, body: state, header: map[string]string{"Location": "/v1/disputes/" + id}}, err
	}
	e, err := a.store.Entry(c.ctx(), c.who.Tenant, kinds.VisibleTo(c.who.Role, c.who.TokenID), recorded.Seq)
	if err != nil {
		return reply{}, err
	}
	body := ReverificationBody{Seq: e.Seq, RecordedAt: e.RecordedAt}
	if body.Found, err = kinds.ReadReverification(e); err == nil && prove {
		body.Proof, err = a.proofOf(c, e.Seq)
	}
	return reply{status: http.StatusCreated, body: body}, err
}

func (a *API) getDisputeEvidence(c *call) (reply, error) {
	id := disputeSegment(c)
	if kinds.CheckKey("", id) != nil {
		return reply{}, kinds.ErrNotFound
	}
	e, _, err := a.store.Dispute(c.ctx(), c.who.Tenant, id)
	if err != nil {
		return reply{}, err
	}
	subject := evidence.Subject{Title: "Evidence of a dispute", Tenant: c.who.Tenant, Question: []evidence.Field{{Name: "asked as", Value: string(c.who.Role)}, {Name: "dispute", Value: id}}}
	return a.sendEvidence(c, subject, evidence.Selection{Picks: []evidence.Pick{{Seq: e.Seq, Relation: kinds.Dispute.Name}}})
}

package api

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/internal/strictjson"
	"ledgerd/ledger"
)

// Disputes decides what is disputed from what is recorded. kinds.ErrTooMuch when a dispute covers too much.
type Disputes interface {
	Raise(ctx context.Context, who kinds.Poster, r kinds.DisputeRequest) (kinds.DisputeRaised, error)
	// Reverify returns nil when it is queued.
	Reverify(ctx context.Context, who kinds.Poster, id, key string) (*kinds.Recorded, error)
	Page(ctx context.Context, tenant string, a kinds.DisputeArtifact, reports []int64) (audit.DisputeEvidence, error)
}

// disputeReader reads disputes. kinds.ErrNotFound for one that is not there.
type disputeReader interface {
	Dispute(ctx context.Context, tenant, id string) (ledger.Entry, kinds.DisputeArtifact, error)
	DisputeJob(ctx context.Context, tenant, id string) (kinds.DisputeJob, error)
	Disputes(ctx context.Context, tenant string, q kinds.DisputeQuery) ([]kinds.DisputeRow, error)
	Reverifications(ctx context.Context, tenant string, seq int64, limit int) ([]ledger.Entry, error)
}

// DisputeAskBody raises a dispute: about a customer's usage in a period, one billing event, one request, or one receipt.
type DisputeAskBody struct {
	kinds.DisputeQuestion
	Reason string `json:"reason" jsonschema:"why, 1 to 512 bytes"`
}

// DisputeStateBody says how far a dispute is. When it is recorded it has the decision.
type DisputeStateBody struct {
	DisputeID  string                 `json:"dispute_id"`
	State      string                 `json:"state" jsonschema:"queued, running, failed or recorded; of a recorded one that is decided again queued or running in reverifying"`
	Progress   *DisputeProgress       `json:"progress,omitzero" jsonschema:"while it is worked on"`
	Problem    string                 `json:"problem,omitzero" jsonschema:"of a failed one: the code of a problem"`
	Seq        *int64                 `json:"seq" jsonschema:"the entry, null until it is recorded"`
	RecordedAt *time.Time             `json:"recorded_at"`
	RaisedBy   *ledger.Actor          `json:"raised_by" jsonschema:"who a token claimed to be"`
	Decision   *kinds.DisputeArtifact `json:"decision" jsonschema:"as it was recorded; null until then"`
	Proof      *ProofBody             `json:"proof,omitzero" jsonschema:"of the entry; with proof=true, when it is recorded by the time of the answer"`
}

// DisputeProgress is how much of a dispute's chain is verified.
type DisputeProgress struct {
	State         string `json:"state"`
	Done          int64  `json:"done"`
	Total         int64  `json:"total" jsonschema:"0 while it is not known"`
	Reverifying   bool   `json:"reverifying" jsonschema:"a recorded dispute is decided again"`
	FailedProblem string `json:"problem,omitzero"`
}

var disputers = []kinds.Role{kinds.Auditor, kinds.Billing}

const disputeRules = "explained: every billed token maps to a consistent, included and consented report. upheld: some rule is broken, and failures names it (arithmetic, inclusion, altered, missing, " +
	"recorded-verdict, claim-unfounded, claim-amount, billed-twice, wrong-customer, outside-window, unconsented). inconclusive: nothing failed, and something is open (erased, not-checkable, " +
	"reach-unknown, unbilled, unconfirmed, unreported, nothing-found)."

func (a *API) disputeRoutes() []*Route {
	id := []Param{{Name: "id", Required: true, Form: "string", Doc: "The dispute's id."}}
	return []*Route{
		{
			Method: "POST", Path: "/v1/disputes", Name: "raiseDispute", Memory: 256, Summary: "Dispute a charge or an egress",
			Doc: "The whole chain is read and every entry of it verified again: the payment processor's event, the intent, its claims, the usage reports, their frames, consent at the instant of each, and the " +
				"receipts of the same requests. What is recorded is the entries by seq, the totals at each level and where they differ, and the result. " + disputeRules +
				" One of many reports is worked on after the answer, 202: ask its location how far it is.",
			Roles: disputers, Query: []Param{proofParam}, Header: []Param{{Name: "Idempotency-Key", Form: "string", Doc: "1 to 256 bytes: the same dispute sent again finds itself by it."}}, Body: DisputeAskBody{},
			Replies: []Reply{
				{Status: 201, Doc: "Decided and recorded.", Body: DisputeStateBody{}}, {Status: 202, Doc: "Queued; see Location.", Body: DisputeStateBody{}},
				{Status: 200, Doc: "Raised before; the header Idempotent-Replayed is true.", Body: DisputeStateBody{}},
			},
			Problems: []string{"invalid-json", "unknown-member", "missing-member", "invalid-value", "dispute-unclear", "identifier-too-long", "identifier-malformed", "question-too-wide", "conflict", "erased", "busy"}, handle: a.raiseDispute,
		},
		{
			Method: "GET", Path: "/v1/disputes", Name: "listDisputes", Summary: "List recorded disputes", Roles: disputers,
			Doc: "In order of seq. The cursor pins the tree and the filters.",
			Query: []Param{
				{Name: "customer_id", Form: "string", Doc: "Only disputes about this customer's usage."}, {Name: "result", Form: "string", Doc: "explained, upheld or inconclusive."},
				{Name: "cursor", Form: "string", Doc: "next_cursor of the page before."}, {Name: "limit", Form: "integer", Doc: "Disputes per page at most, 1 to 200, 50 by default."},
			},
			Replies: []Reply{{Status: 200, Doc: "A page.", Body: DisputeListBody{}}}, handle: a.listDisputes,
		},
		{
			Method: "GET", Path: "/v1/disputes/{id}", Name: "getDispute", Memory: 256, Summary: "Read a dispute whole", Roles: disputers, Segments: id,
			Doc: "The decision as it was recorded; the billing events, and page by page the reports with their frames, claims, consent and receipts, read again from the entries and verified now; and what was found when it was " +
				"decided again. While it is worked on: how far it is.",
			Query:   []Param{{Name: "cursor", Form: "string", Doc: "next_cursor of the page before."}, {Name: "limit", Form: "integer", Doc: "Reports per page at most, 1 to 200, 50 by default."}},
			Replies: []Reply{{Status: 200, Doc: "The dispute.", Body: DisputeBody{}}}, Problems: []string{"not-found", "erased", "log-read-only"}, handle: a.getDispute,
		},
		{
			Method: "POST", Path: "/v1/disputes/{id}/reverify", Name: "reverifyDispute", Memory: 256, Summary: "Decide a dispute again", Roles: disputers, Segments: id, Query: []Param{proofParam},
			Doc: "From what the ledger has now. What changed since the dispute was recorded is recorded as an entry of kind reverification; the dispute stays as it is. A large one is queued, as when it was raised.",
			Replies: []Reply{
				{Status: 201, Doc: "Decided again and recorded.", Body: ReverificationBody{}}, {Status: 202, Doc: "Queued; see Location.", Body: DisputeStateBody{}},
			},
			Problems: []string{"not-found", "erased", "question-too-wide", "busy", "log-read-only"}, handle: a.reverifyDispute,
		},
		{
			Method: "GET", Path: "/v1/disputes/{id}/evidence", Name: "getDisputeEvidence", Summary: "A dispute with all that proves it, as one file", Streams: true, Roles: disputers, Segments: id,
			Doc:     "The dispute's entry and every entry that it names, as far as who asks may read them, in the form of /v1/evidence.",
			Replies: []Reply{{Status: 200, Doc: "The file.", Body: "", Type: zipType}}, Problems: []string{"not-found", "erased", "question-too-wide", "busy", "log-read-only"}, handle: a.getDisputeEvidence,
		},
	}
}

func (a *API) raiseDispute(c *call) (reply, error) {
	prove, err := c.query.flag("proof")
	if err != nil {
		return reply{}, err
	}
	body, err := readBody(c, 16<<10)
	if err != nil {
		return reply{}, err
	}
	r, err := parseDispute(body)
	if err != nil {
		return reply{}, err
	}
	if r.ID, err = disputeID(c); err != nil {
		return reply{}, err
	}
	raised, err := a.disputes.Raise(c.ctx(), c.who, r)
	if err != nil {
		return reply{}, err
	}
	state, err := a.disputeState(c, r.ID)
	if err != nil {
		return reply{}, err
	}
	if prove && state.Seq != nil {
		if state.Proof, err = a.proofOf(c, *state.Seq); err != nil {
			return reply{}, err
		}
	}
	answer := reply{status: http.StatusCreated, body: state, header: map[string]string{"Location": "/v1/disputes/" + r.ID}}
	switch {
	case raised.Replayed:
		answer.status, answer.header["Idempotent-Replayed"] = http.StatusOK, "true"
	case raised.Recorded == nil:
		answer.status = http.StatusAccepted
	}
	return answer, nil
}

func parseDispute(body []byte) (kinds.DisputeRequest, error) {
	var r kinds.DisputeRequest
	d := strictjson.NewDecoder(body, strictjson.Closed)
	d.Object(append(r.Question.Members(d), strictjson.Req("reason", func() { r.Reason = d.String() }))...)
	if err := d.Finish(); err != nil {
		return r, err
	}
	if r.Reason == "" || kinds.CheckName(r.Reason) != nil {
		return r, &kinds.Rejection{Code: "identifier-malformed", Pointer: "/reason", Detail: "a reason has 1 to 512 bytes and no control characters"}
	}
	return r, r.Question.Check("")
}

// disputeID makes an id: a random one, or the one that an Idempotency-Key always gives within the tenant.
func disputeID(c *call) (string, error) {
	key, err := idempotencyKey(c)
	if err != nil || key == "" {
		return "dsp_" + rand.Text(), err
	}
	sum := sha256.Sum256([]byte("ledgerd/dispute/v1\x00" + c.who.Tenant + "\x00" + key))
	return "dsp_" + hex.EncodeToString(sum[:16]), nil
}

package api

import (
	"context"
	"time"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/internal/strictjson"
	"ledgerd/ledger"
	"ledgerd/receipts"
)

// consentReader reads the history of consent. kinds.ErrTooMuch when the question covers too much.
type consentReader interface {
	Consents(ctx context.Context, tenant string, q audit.ConsentQuery) (audit.Consents, error)
}

// ConsentListBody tells what was agreed to and how it stands at a moment.
type ConsentListBody struct {
	At       time.Time            `json:"at" jsonschema:"the moment in question, of effective time"`
	TreeSize int64                `json:"tree_size" jsonschema:"the answer covers entries below this size"`
	Consents []audit.ConsentState `json:"consents" jsonschema:"one per provider and scope"`
	Notes    []string             `json:"notes"`
}

// GateBody asks the consent gate.
type GateBody struct {
	ProviderID string                `json:"provider_id"`
	Provider   receipts.ProviderInfo `json:"provider" jsonschema:"as it introduced itself"`
	At         *time.Time            `json:"at,omitzero" jsonschema:"the moment in question, now when absent"`
}

// GateAnswerBody is the gate's answer.
type GateAnswerBody struct {
	audit.GateAnswer
	TreeSize int64 `json:"tree_size"`
}

var consentNotes = []string{
	"who agreed and who revoked is what a host's token claimed",
	"a state is told by the instants that the consents state; recorded_after says that the deciding one, or what took it back, was recorded only later",
	"whether something was recorded later compares the moment asked about, of a host's clock, with this ledger's clock",
}

func (a *API) consentRoutes() []*Route {
	return []*Route{
		{
			Method: "GET", Path: "/v1/consents", Name: "listConsents", Memory: 64, Summary: "What was agreed to, by whom, and how it stands at a moment",
			Doc: "The whole history of each provider and scope, never pruned: grants, boolean consents, revocations, and the state at the moment: live, expired, " +
				"revoked, granted-after, undated or never-granted. With grantor it tells what a person or policy agreed to.",
			Roles: auditors,
			Query: []Param{
				{Name: "provider_id", Form: "string", Doc: "Only this provider."},
				{Name: "scope", Form: "string", Doc: "Only this scope. Named together with a provider, one that was never agreed to is told too."},
				{Name: "grantor", Form: "string", Doc: "Only what this human or policy agreed to."},
				{Name: "grantor_kind", Form: "string", Doc: "human or policy: the grantor is one. Without it both of that name are meant."},
				{Name: "at", Form: "date-time", Doc: "The moment in question; now when absent."},
				{Name: "size", Form: "integer", Doc: "As of this earlier tree size."},
			},
			Replies: []Reply{{Status: 200, Doc: "The history.", Body: ConsentListBody{}}}, Problems: []string{"question-too-wide"}, handle: a.listConsents,
		},
		{
			Method: "POST", Path: "/v1/consents/evaluate", Name: "evaluateConsent", Summary: "Ask the consent gate whether a provider may be queried",
			Doc: "context-reuse C6, from the recorded consents. The answer is the one by time: consent that lapsed, was revoked or has not begun does not permit, and " +
				"exactly the scopes that would leave unconsented are named. by_presence is what the reference's gate without a clock says. The finding recorded-after says that what decides was recorded only " +
				"after the moment: a host that asked then was told something else. Nothing is recorded.",
			Roles: bundleReaders, Body: GateBody{}, Replies: []Reply{{Status: 200, Doc: "The decision, permitted or not.", Body: GateAnswerBody{}}},
			Problems: []string{"invalid-json", "duplicate-member", "missing-member", "unknown-member", "invalid-value", "identifier-too-long", "question-too-wide"}, handle: a.evaluateConsent,
		},
	}
}

func (a *API) listConsents(c *call) (reply, error) {
	head, err := a.store.Head(c.ctx())
	if err != nil {
		return reply{}, err
	}
	q, err := a.consentQuery(c, head)
	if err != nil {
		return reply{}, err
	}
	events, err := a.store.Consents(c.ctx(), c.who.Tenant, q)
	if err != nil {
		return reply{}, err
	}
	return reply{status: 200, body: ConsentListBody{At: q.At, TreeSize: q.Size, Consents: audit.ConsentStates(events, q), Notes: consentNotes}}, nil
}

func (a *API) consentQuery(c *call, head ledger.Head) (q audit.ConsentQuery, err error) {
	if err := c.query.identifiers(map[string]*string{"provider_id": &q.ProviderID, "scope": &q.Scope, "grantor": &q.Grantor}); err != nil {
		return q, err
	}
	if q.GrantorKind, err = c.query.grantorKind(); err != nil {
		return q, err
	}
	at, err := c.query.instant("at")
	if err != nil {
		return q, err
	}
	if q.At = a.now().UTC(); at != nil {
		q.At = at.UTC()
	}
	q.Size, err = c.query.treeSize(head)
	return q, err
}

// maxGateBytes bounds a question to the gate, like the declaration that it holds.
const maxGateBytes = 64 << 10

func (a *API) evaluateConsent(c *call) (reply, error) {
	body, err := readBody(c, maxGateBytes)
	if err != nil {
		return reply{}, err
	}
	ask, err := parseGate(body)
	if err != nil {
		return reply{}, err
	}
	if kinds.CheckName(ask.ProviderID) != nil {
		return reply{}, &kinds.Rejection{Code: "identifier-too-long", Pointer: "/provider_id", Detail: "a provider id is at most 512 bytes without control characters"}
	}
	at := a.now().UTC()
	if ask.At != nil {
		at = ask.At.UTC()
	}
	head, err := a.store.Head(c.ctx())
	if err != nil {
		return reply{}, err
	}
	q := audit.ConsentQuery{ProviderID: ask.ProviderID, At: at, Size: head.Next()}
	var events audit.Consents
	if ask.ProviderID != "" { // consent to nobody is none
		events, err = a.store.Consents(c.ctx(), c.who.Tenant, q)
	}
	return reply{status: 200, body: GateAnswerBody{GateAnswer: audit.Evaluate(events, ask.ProviderID, ask.Provider, at), TreeSize: q.Size}}, err
}

// parseGate reads a question: the wrapper is ours and closed, the provider's part is the protocol's and open.
func parseGate(body []byte) (GateBody, error) {
	return strictjson.Parse(body, strictjson.Closed, func(d *strictjson.Decoder) (ask GateBody) {
		d.Object(
			strictjson.Req("provider_id", func() { ask.ProviderID = d.String() }),
			strictjson.Req("provider", func() { d.Artifact(func() { ask.Provider = receipts.DecodeProviderInfo(d) }) }),
			strictjson.Opt("at", func() { ask.At = optInstant(d) }),
		)
		return ask
	})
}

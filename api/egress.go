package api

import (
	"context"
	"time"

	"golang.org/x/mod/sumdb/note"

	"ledgerd/internal/audit"
	"ledgerd/ledger"
	"ledgerd/receipts"
)

// egressReader reads what the egress question needs, and verifies entries again. kinds.ErrTooMuch when it covers too much.
type egressReader interface {
	Egress(ctx context.Context, tenant string, q audit.EgressQuery) (audit.Evidence, error)
	VerifyEntries(ctx context.Context, tenant string, seqs []int64, head ledger.Head, verifiers ...note.Verifier) (audit.Checked, error)
}

// EgressBody answers what left the machine, to whom, who agreed, when.
type EgressBody struct {
	Period       PeriodBody          `json:"period" jsonschema:"half-open; of as_of, the effective time that the hosts claimed"`
	TreeSize     int64               `json:"tree_size" jsonschema:"the answer covers entries below this size; each seq can be re-verified"`
	Lines        []audit.EgressLine  `json:"lines" jsonschema:"one per provider and declaration in force"`
	Totals       audit.EgressTotals  `json:"totals"`
	Erased       audit.Erased        `json:"erased" jsonschema:"entries of the period whose personal part was erased, whatever the filters: what they named can't be found any more"`
	Verification *EgressVerification `json:"verification,omitzero" jsonschema:"when it was asked for"`
	Notes        []string            `json:"notes" jsonschema:"what the answer does not show"`
}

// PeriodBody is a half-open period of instants.
type PeriodBody struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// EgressVerification says that every entry behind the answer was checked again: its leaf and commitments, its own kind's
// check, and its place in the tree of the checkpoint.
type EgressVerification struct {
	Verified   bool   `json:"verified"`
	Entries    int    `json:"entries"`
	Failed     int    `json:"failed" jsonschema:"the lines name them"`
	Checkpoint string `json:"checkpoint" jsonschema:"the signed note that the entries were proven under; check its signature with the log's key"`
}

// egressNotes are the answer's own limits: freshness and authorship are never implied.
var egressNotes = []string{
	"who agreed is what a host's token claimed when it posted the consent",
	"without a checkpoint kept outside this server a truncated log can't be told from a short one",
	"a report without served frames is not nothing left: the query itself may have reached the provider",
	"scopes are what a provider declared; of an undeclared one they are what somebody agreed to, not where content went",
	"in time means recorded by as_of: a host's clock is compared with this ledger's",
	"what was erased is only counted: it can't be found by the frame, customer or request that it named",
}

func (a *API) auditRoutes() []*Route {
	return []*Route{{
		Method: "GET", Path: "/v1/audit/egress", Name: "auditEgress", Memory: 128, Summary: "What left the machine, to whom, who agreed, when",
		Doc: "One line per provider and declaration in force at the reports' as_of: the frames served by identity, tokens counted once, the receipts of " +
			"exchanges that share a request, and the scopes with who agreed and when. Each scope has a verdict per report, judged at its as_of and by when the " +
			"consent was recorded; shown is the worst, in the order local-only, consented, legacy-consented, reach-unknown, recorded-after, expired, revoked, " +
			"granted-after, undeclared-provider, unconsented. A line is undeclared-provider where no declaration was on record by then, whatever its scopes say; a " +
			"declaration that was recorded later is shown beside the one that was known (known_declaration), and the worse of the two counts. Every statement names the entries behind it. As JSON, CSV (text/csv) or lines of JSON " +
			"(application/x-ndjson), by format or the Accept header.",
		Roles: auditors,
		Query: []Param{
			{Name: "from", Required: true, Form: "date-time", Doc: "First instant of as_of."},
			{Name: "to", Required: true, Form: "date-time", Doc: "End of the period, not included."},
			{Name: "provider_id", Form: "string", Doc: "Only this provider."},
			{Name: "customer_id", Form: "string", Doc: "Only this customer's requests."},
			{Name: "grantor", Form: "string", Doc: "Only lines with a scope that this human or policy agreed to."},
			{Name: "grantor_kind", Form: "string", Doc: "human or policy: the grantor is one. Without it both of that name are meant."},
			{Name: "scope", Form: "string", Doc: "Only lines with this scope."},
			{Name: "frame_id", Form: "string", Doc: "Only this frame: counts and tokens are then the frame's."},
			{Name: "content_digest", Form: "string", Doc: "Only frames with this digest."},
			{Name: "size", Form: "integer", Doc: "As of this earlier tree size."},
			{Name: "verify", Form: "boolean", Doc: "true: verify every entry behind the answer again, at most 5,000."},
			{Name: "format", Form: "string", Doc: "json, csv or ndjson; it goes before the Accept header."},
		},
		Replies: []Reply{
			{Status: 200, Doc: "The answer.", Body: EgressBody{}}, {Status: 200, Body: "", Type: "text/csv"}, {Status: 200, Body: "", Type: "application/x-ndjson"},
		},
		Problems: []string{"question-too-wide"}, handle: a.getEgress,
	}}
}

func (a *API) getEgress(c *call) (reply, error) {
	format, err := formatOf(c)
	if err != nil {
		return reply{}, err
	}
	head, err := a.store.Head(c.ctx())
	if err != nil {
		return reply{}, err
	}
	q, err := egressQuery(c, head)
	if err != nil {
		return reply{}, err
	}
	evidence, err := a.store.Egress(c.ctx(), c.who.Tenant, q)
	if err != nil {
		return reply{}, err
	}
	answer, err := audit.EgressWithin(c.ctx(), evidence, q)
	if err != nil {
		return reply{}, err
	}
	body := EgressBody{
		Period: PeriodBody{q.From.UTC(), q.To.UTC()}, TreeSize: q.Size, Lines: answer.Lines, Totals: answer.Totals, Erased: evidence.Erased, Notes: egressNotes,
	}
	verify, err := c.query.flag("verify")
	if err == nil && verify {
		body.Verification, err = a.verifyEgress(c, answer, head)
	}
	if err != nil {
		return reply{}, err
	}
	return sendEgress(c, format, body), nil
}

func egressQuery(c *call, head ledger.Head) (q audit.EgressQuery, err error) {
	from, to, err := c.query.period()
	if err != nil {
		return q, err
	}
	q.From, q.To = *from, *to
	if err := c.query.identifiers(map[string]*string{
		"provider_id": &q.ProviderID, "customer_id": &q.CustomerID, "grantor": &q.Grantor, "scope": &q.Scope,
		"frame_id": &q.FrameID, "content_digest": &q.ContentDigest,
	}); err != nil {
		return q, err
	}
	if q.GrantorKind, err = c.query.grantorKind(); err != nil {
		return q, err
	}
	q.Size, err = c.query.treeSize(head)
	return q, err
}

// grantorKind reads grantor_kind: a human and a policy may have the same id.
func (q query) grantorKind() (string, error) {
	kind, ok := q["grantor_kind"]
	if ok && kind != string(receipts.Human) && kind != string(receipts.Policy) {
		return "", badParam("grantor_kind", "it is human or policy")
	}
	return kind, nil
}

// treeSize reads size, an earlier tree size that an answer is to be of; the newest when it is not given.
func (q query) treeSize(head ledger.Head) (int64, error) {
	return q.number("size", head.Next(), 0, head.Next())
}

// verifyEgress checks the entries behind the answer and writes into each line what came of it.
func (a *API) verifyEgress(c *call, answer audit.EgressAnswer, head ledger.Head) (*EgressVerification, error) {
	seqs := answer.Behind()
	checked, err := a.store.VerifyEntries(c.ctx(), c.who.Tenant, seqs, head, a.verifiers...)
	if err != nil {
		return nil, err
	}
	answer.Verify(checked)
	v := &EgressVerification{Entries: len(seqs), Checkpoint: head.Checkpoint}
	for _, seq := range seqs {
		if !checked.Verifies(seq) {
			v.Failed++
		}
	}
	v.Verified = v.Failed == 0
	return v, nil
}

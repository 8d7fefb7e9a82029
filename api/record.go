package api

import (
	"context"
	"encoding/base64"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/frames"
	"ledgerd/internal/kinds"
	"ledgerd/internal/strictjson"
	"ledgerd/ledger"
	"ledgerd/metering"
	"ledgerd/receipts"
	"ledgerd/receipts/air"
)

// appender is the one way into the log. Append returns when the entry is committed under a signed checkpoint; it is
// idempotent by the entry's key. Errors are those of internal/kinds.
type appender interface {
	Append(ctx context.Context, who kinds.Poster, acc *kinds.Accepted) (kinds.Recorded, error)
	// Submit queues submissions in their order, waiting for room, and returns; wait has an outcome for each, as of Append. It
	// empties the list on the way.
	Submit(ctx context.Context, who kinds.Poster, list []*kinds.Accepted) (wait func() []kinds.Outcome)
	// AppendAll appends all in one transaction or none. It empties the list as well.
	AppendAll(ctx context.Context, who kinds.Poster, list []*kinds.Accepted) []kinds.Outcome
	Depth() int
	// Predictions counts the batches that were sealed before the head was locked, and of these the ones that had to be done again.
	Predictions() (made, failed int64)
	// Refusal is why nothing can be appended until an operator has looked, nil while all is well.
	Refusal() error
}

// policyReader reads the tenant's newest trust policy, nil when it never set one.
type policyReader interface {
	TrustPolicy(ctx context.Context, tenant string) (*kinds.TrustPolicy, error)
}

// RecordedBody acknowledges an append: the entry is committed, and a signed checkpoint covers it.
type RecordedBody struct {
	Seq        int64            `json:"seq"`
	Kind       string           `json:"kind"`
	Key        string           `json:"key"`
	RecordedAt time.Time        `json:"recorded_at"`
	LeafHash   string           `json:"leaf_hash" jsonschema:"SHA-256 of 0x00 and the envelope, standard base64"`
	Findings   []frames.Finding `json:"findings" jsonschema:"what an auditor wants to know although the entry was accepted"`
	Verdict    *air.Result      `json:"verdict,omitzero" jsonschema:"of a receipt bundle: what was found, and in disclosures what that does not prove; indeterminate is not accepted as valid"`
	Proof      *ProofBody       `json:"proof,omitzero" jsonschema:"with proof=true; that of an entry of an earlier incarnation is of that one's log"`
}

// UsageReportBody is what a host posts for one request.
type UsageReportBody struct {
	RequestID  string               `json:"request_id" jsonschema:"the entry's key, at most 256 bytes"`
	TurnID     string               `json:"turn_id"`
	CustomerID string               `json:"customer_id"`
	Report     metering.UsageReport `json:"report"`
}

var keyHeader = []Param{{Name: "Idempotency-Key", Form: "string", Doc: "The entry's key, 1 to 256 bytes. Without it the same artifact finds itself by an HMAC under the tenant's secret."}}

var recordReplies = []Reply{
	{Status: 201, Doc: "Recorded: committed, and covered by a signed checkpoint.", Body: RecordedBody{}},
	{Status: 200, Doc: "Recorded before; the header Idempotent-Replayed is true.", Body: RecordedBody{}},
}

func (a *API) recordRoutes() []*Route {
	common := []string{"invalid-json", "duplicate-member", "missing-member", "number-not-representable", "identifier-too-long", "conflict", "erased", "body-too-large", "unsupported-media-type", "busy"}
	return []*Route{
		{
			Method: "POST", Path: "/v1/usage-reports", Name: "postUsageReport", Summary: "Record a usage report",
			Doc:   "One request's usage report (context-reuse §2). The arithmetic identity must hold. The key is request_id on every route.",
			Roles: kinds.UsageReport.PostedBy, Query: []Param{proofParam}, Body: UsageReportBody{}, Replies: recordReplies, Problems: append([]string{"usage-inconsistent", "as-of-not-acceptable"}, common...),
			handle: func(c *call) (reply, error) { return a.record(c, &kinds.UsageReport, wrappedUsage) },
		},
		{
			Method: "POST", Path: "/v1/consent-receipts", Name: "postConsentReceipt", Summary: "Record a grant of consent",
			Doc: "The protocol's ConsentReceipt (context-reuse §3). Unknown members are kept and become findings. Without an Idempotency-Key the same bytes are a " +
				"replay of the first post: a consent that is given again states its own granted_at, or has a key of its own.",
			Roles: kinds.ConsentReceipt.PostedBy, Query: []Param{proofParam}, Header: keyHeader, Body: receipts.ConsentReceipt{}, Replies: recordReplies, Problems: append([]string{"artifact-refused"}, common...),
			handle: func(c *call) (reply, error) { return a.record(c, &kinds.ConsentReceipt, bareArtifact) },
		},
		{
			Method: "POST", Path: "/v1/receipt-bundles", Name: "postReceiptBundle", Summary: "Record an AI Interaction Receipt bundle",
			Doc:   "A profile v1 bundle, verified under the tenant's trust policy at the time of receipt. An invalid one is refused with every rule that it breaks; a valid or indeterminate one is recorded with its verdict.",
			Roles: kinds.ReceiptBundle.PostedBy, Query: []Param{{Name: "request_id", Form: "string", Doc: "The request that the exchange belongs to."}, proofParam},
			Body: jsontext.Value{}, Replies: recordReplies, Problems: append([]string{"receipt-invalid"}, common...),
			handle: func(c *call) (reply, error) { return a.record(c, &kinds.ReceiptBundle, bundleWithRequest) },
		},
	}
}

// record is the three hops of every write: read, check, append. A proof that was asked for is read afterwards; when that
// fails, the same request again is a replay with its proof.
func (a *API) record(c *call, kind *kinds.Kind, split func(*call, []byte) (kinds.Submission, error)) (reply, error) {
	prove, err := c.query.flag("proof")
	if err != nil {
		return reply{}, err
	}
	accepted, err := a.accept(c, kind, split)
	if err != nil {
		return reply{}, err
	}
	return a.appendAndProve(c, accepted, prove)
}

func (a *API) appendAndProve(c *call, accepted *kinds.Accepted, prove bool) (reply, error) {
	recorded, err := a.appender.Append(c.ctx(), c.who, accepted)
	if err != nil {
		return reply{}, err
	}
	body := recordedBody(recorded)
	if prove {
		if body.Proof, err = a.proofOf(c, recorded.Seq); err != nil {
			return reply{}, err
		}
	}
	if accepted.Kind == &kinds.ReceiptBundle {
		if body.Verdict, err = a.recordedVerdict(c, recorded.Seq); err != nil {
			return reply{}, err
		}
	}
	return recordedReply(recorded, body), nil
}

// accept reads the request's body and checks it as an artifact of the kind.
func (a *API) accept(c *call, kind *kinds.Kind, split func(*call, []byte) (kinds.Submission, error)) (*kinds.Accepted, error) {
	body, err := readBody(c, kind.MaxBytes+wrapperBytes)
	if err != nil {
		return nil, err
	}
	if len(body) > ledger.MaxContent+wrapperBytes {
		if err := c.takeMemory(largeRecordMemory); err != nil {
			return nil, err
		}
	}
	s, err := split(c, body)
	if err != nil {
		return nil, err
	}
	env := kinds.Env{Now: a.now().UTC()}
	if kind.UsesPolicy {
		if env.Policy, err = a.store.TrustPolicy(c.ctx(), c.who.Tenant); err != nil {
			return nil, err
		}
	}
	if err := a.billingEnv(c, kind, s, &env); err != nil {
		return nil, err
	}
	leave, err := a.joinContext(c.ctx(), c.who.Tenant, kind, s, &env)
	defer leave()
	if err != nil {
		return nil, err
	}
	return kind.Accept(s, env)
}

// recordedVerdict reads the verdict that is on record, which for a replay is that of the first time.
func (a *API) recordedVerdict(c *call, seq int64) (*air.Result, error) {
	e, err := a.store.Entry(c.ctx(), c.who.Tenant, kinds.Visibility{All: true}, seq)
	if err != nil {
		return nil, err
	}
	b, err := kinds.ReadBundle(e)
	if err != nil {
		return nil, err
	}
	return &b.Receiver.Verdict, nil
}

func recordedBody(r kinds.Recorded) RecordedBody {
	findings := r.Findings
	if findings == nil {
		findings = []frames.Finding{}
	}
	return RecordedBody{
		Seq: r.Seq, Kind: r.Kind, Key: r.Key, RecordedAt: r.RecordedAt, Findings: findings,
		LeafHash: base64.StdEncoding.EncodeToString(r.LeafHash[:]),
	}
}

func recordedReply(r kinds.Recorded, body RecordedBody) reply {
	answer := reply{status: http.StatusCreated, header: map[string]string{}, body: body}
	if r.Replayed {
		answer.status = http.StatusOK
		answer.header["Idempotent-Replayed"] = "true"
	}
	return answer
}

// wrapperBytes is what a wrapper may add to the artifact's own limit: three identifiers, escaped, and its punctuation.
const wrapperBytes = 16 << 10

// requireMedia refuses a body of another media type than the route's, or another charset than JSON's.
func requireMedia(r *http.Request, want string) error {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, given := params["charset"]
	if err != nil || media != want || (given && !strings.EqualFold(charset, "utf-8")) {
		return &fault{code: "unsupported-media-type", param: "Content-Type", detail: want + " in UTF-8 is required"}
	}
	return nil
}

// idempotencyKey is the caller's own key, "" when none was sent.
func idempotencyKey(c *call) (string, error) {
	values := c.http.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 || kinds.CheckKey("", values[0]) != nil {
		return "", badParam("Idempotency-Key", "it must be given once, 1 to 256 bytes of UTF-8 without control characters")
	}
	return values[0], nil
}

// bareArtifact: the body is the artifact.
func bareArtifact(c *call, body []byte) (kinds.Submission, error) {
	key, err := idempotencyKey(c)
	return kinds.Submission{Artifact: body, Key: key}, err
}

// bundleWithRequest: the body is the artifact, its context comes from the query.
func bundleWithRequest(c *call, body []byte) (kinds.Submission, error) {
	s := kinds.Submission{Artifact: body}
	if id, ok := c.query["request_id"]; ok {
		if kinds.CheckKey("", id) != nil {
			return s, badParam("request_id", "it must be 1 to 256 bytes of UTF-8 without control characters")
		}
		quoted, err := jsontext.AppendQuote(nil, id)
		if err != nil {
			return s, badParam("request_id", "it must be valid UTF-8")
		}
		s.Context = []byte(`{"request_id":` + string(quoted) + `}`)
	}
	return s, nil
}

// wrappedUsage: the body holds the report and, beside it, what the host says about it.
func wrappedUsage(_ *call, body []byte) (kinds.Submission, error) {
	s := kinds.Submission{ArtifactAt: "/report"}
	context := []byte("{")
	d := strictjson.NewWrapper(body)
	member := func(name string) strictjson.Member {
		return strictjson.Req(name, func() {
			if len(context) > 1 {
				context = append(context, ',')
			}
			context = append(context, `"`+name+`":`...)
			context = append(context, d.RawValue()...)
		})
	}
	d.Object(
		member("request_id"), member("turn_id"), member("customer_id"),
		strictjson.Req("report", func() { s.Artifact = d.RawValue() }),
	)
	s.Context = append(context, '}')
	if err := d.Finish(); err != nil {
		return s, placeInReport(body, err)
	}
	return s, nil
}

// placeInReport reads a malformed body again with the report's own shape, whose known members name the place of the error
// more closely than the wrapper's.
func placeInReport(body []byte, err error) error {
	d := strictjson.NewDecoder(body, strictjson.Closed)
	skip := func() { d.RawValue() }
	d.Object(
		strictjson.Req("request_id", skip), strictjson.Req("turn_id", skip), strictjson.Req("customer_id", skip),
		strictjson.Req("report", func() { metering.DecodeUsageReport(d) }),
	)
	if closer := d.Finish(); closer != nil {
		return closer
	}
	return err
}

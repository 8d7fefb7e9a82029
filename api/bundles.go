package api

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
	"ledgerd/receipts/air"
)

// bundleReader reads recorded bundles and the trust policies that they were judged under. What is not visible is
// kinds.ErrNotFound.
type bundleReader interface {
	ReceiptBundles(ctx context.Context, tenant string, see kinds.Visibility, q kinds.BundleQuery) (list []ledger.Entry, next int64, err error)
	TrustPolicyAt(ctx context.Context, tenant string, seq int64) (*kinds.TrustPolicy, error)
}

// BundleBody is a recorded bundle with the verdict of its receipt. The verdict's disclosures say what it does not prove,
// and belong to it wherever it is shown.
type BundleBody struct {
	Seq           int64            `json:"seq"`
	RecordedAt    time.Time        `json:"recorded_at"`
	RequestID     *string          `json:"request_id" jsonschema:"the request that the host said it belongs to"`
	ReceiptDigest string           `json:"receipt_digest"`
	PolicySeq     *int64           `json:"policy_seq" jsonschema:"the trust-policy entry that it was judged under, null for none"`
	VerifiedAt    string           `json:"verified_at"`
	Verdict       *air.Result      `json:"verdict" jsonschema:"null once erased"`
	Disclosures   []air.Disclosure `json:"disclosures" jsonschema:"what the verdict does not prove"`
	Bundle        jsontext.Value   `json:"bundle" jsonschema:"null once erased"`
	ErasedBy      *int64           `json:"erased_by,omitzero" jsonschema:"the erasure that destroyed it"`
}

// BundleListBody is one page of recorded bundles.
type BundleListBody struct {
	Bundles    []BundleBody `json:"bundles"`
	NextCursor *string      `json:"next_cursor" jsonschema:"null at the end; a page may be short before it"`
	TreeSize   int64        `json:"tree_size"`
}

// BundleVerificationBody re-runs the verifier over a recorded bundle.
type BundleVerificationBody struct {
	Seq int64 `json:"seq"`
	audit.BundleVerification
}

// BundleVerdictBody is the verdict on a bundle that is not recorded.
type BundleVerdictBody struct {
	audit.BundleVerdict
	ReceiptDigest *string `json:"receipt_digest" jsonschema:"null for an invalid bundle, of which nothing is handed on"`
}

// maxBundlePage bounds a page of bundles, each of which may be 256 KiB.
const maxBundlePage = 100

var (
	bundleReaders = []kinds.Role{kinds.Host, kinds.Auditor}
	underPolicy   = []Param{
		{Name: "policy", Form: "string", Doc: "The seq of a trust-policy entry, or none; the tenant's newest when absent."},
		{Name: "at", Form: "date-time", Doc: "The instant to judge at, cut to whole seconds; now when absent."},
	}
)

func (a *API) bundleRoutes() []*Route {
	search := []Param{
		{Name: "receipt_id", Form: "string", Doc: "The receipt's id."}, {Name: "receipt_digest", Form: "string", Doc: "Digest of the receipt."},
		{Name: "request_digest", Form: "string", Doc: "sha256:… of a request body: did this request leave?"},
		{Name: "response_digest", Form: "string", Doc: "sha256:… of a response body."},
		{Name: "endpoint_host", Form: "string", Doc: "Host of the endpoint, lower case."}, {Name: "model", Form: "string", Doc: "Provider-qualified model id."},
		{Name: "class", Form: "string", Doc: "Retention class. A class is a declaration."}, {Name: "provider", Form: "string", Doc: "openai, anthropic or google."},
		{Name: "witness_mode", Form: "string", Doc: "mpc-tls, proxy-tls, tee-quote or provider-signature."}, {Name: "status", Form: "string", Doc: "The recorded verdict: valid or indeterminate."},
		{Name: "request_id", Form: "string", Doc: "The request that the host said it belongs to."},
		{Name: "from", Form: "date-time", Doc: "The receipt's timestamp, from this instant on."}, {Name: "to", Form: "date-time", Doc: "The receipt's timestamp, before this instant."},
		{Name: "cursor", Form: "string", Doc: "next_cursor of the page before."}, {Name: "limit", Form: "integer", Doc: "Bundles per page at most, 1 to 100, 50 by default."},
	}
	return []*Route{
		{
			Method: "GET", Path: "/v1/receipt-bundles", Name: "searchReceiptBundles", Memory: 64, Summary: "Search recorded bundles", Roles: bundleReaders, Query: search,
			Doc:     "In order of seq. All conditions must hold. Times are the receipts' own, effective times. A page ends early where the contents in it reach 8 MiB; next_cursor then leads on.",
			Replies: []Reply{{Status: 200, Doc: "A page.", Body: BundleListBody{}}}, handle: a.searchBundles,
		},
		{
			Method: "GET", Path: "/v1/receipt-bundles/{seq}", Name: "getReceiptBundle", Summary: "Read a recorded bundle and its verdict", Roles: bundleReaders,
			Segments: seqParam("The bundle's entry."), Replies: []Reply{{Status: 200, Doc: "The bundle.", Body: BundleBody{}}}, Problems: []string{"not-found", "erased"}, handle: a.getBundle,
		},
		{
			Method: "GET", Path: "/v1/receipt-bundles/{seq}/verification", Name: "reverifyReceiptBundle", Summary: "Run the verifier over a recorded bundle again", Roles: bundleReaders,
			Doc:      "Under the recorded policy and time it must give the recorded verdict (reproduced); under the policy and time of the question it may give another, and both are shown.",
			Segments: seqParam("The bundle's entry."), Query: underPolicy,
			Replies: []Reply{{Status: 200, Doc: "Both verdicts.", Body: BundleVerificationBody{}}}, Problems: []string{"not-found", "erased"}, handle: a.reverifyBundle,
		},
		{
			Method: "POST", Path: "/v1/verify/receipt-bundle", Name: "verifyReceiptBundle", Summary: "Verify a bundle without recording it", Roles: bundleReaders,
			Doc: "The whole verdict, also of an invalid bundle; a body that is no JSON is 400.", Query: underPolicy, Body: jsontext.Value{},
			Replies: []Reply{{Status: 200, Doc: "The verdict.", Body: BundleVerdictBody{}}}, Problems: []string{"invalid-json", "duplicate-member", "not-found"}, handle: a.verifyBundle,
		},
	}
}

func (a *API) recordedBundle(c *call) (*kinds.RecordedBundle, error) {
	seq, err := seqSegment(c)
	if err != nil {
		return nil, err
	}
	e, err := a.store.Entry(c.ctx(), c.who.Tenant, kinds.VisibleTo(c.who.Role, c.who.TokenID), seq)
	if err != nil {
		return nil, err
	}
	if e.Meta.Kind != kinds.ReceiptBundle.Name {
		return nil, kinds.ErrNotFound
	}
	return kinds.ReadBundle(e)
}

func (a *API) getBundle(c *call) (reply, error) {
	b, err := a.recordedBundle(c)
	if err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusOK, body: bundleBody(b)}, nil
}

func bundleBody(b *kinds.RecordedBundle) BundleBody {
	r := b.Receiver
	return BundleBody{
		Seq: b.Seq, RecordedAt: b.RecordedAt, RequestID: b.RequestID, ReceiptDigest: r.ReceiptDigest, PolicySeq: r.PolicySeq,
		VerifiedAt: r.VerifiedAt, Verdict: &r.Verdict, Disclosures: r.Verdict.Disclosures, Bundle: b.Bundle,
	}
}

func (a *API) reverifyBundle(c *call) (reply, error) {
	b, err := a.recordedBundle(c)
	if err != nil {
		return reply{}, err
	}
	var stored *kinds.TrustPolicy
	if b.Receiver.PolicySeq != nil {
		if stored, err = a.store.TrustPolicyAt(c.ctx(), c.who.Tenant, *b.Receiver.PolicySeq); err != nil {
			return reply{}, err
		}
	}
	policy, at, err := a.askedPolicy(c)
	if err != nil {
		return reply{}, err
	}
	v, err := audit.ReverifyBundle(b, stored, policy, at)
	return reply{status: http.StatusOK, body: BundleVerificationBody{Seq: b.Seq, BundleVerification: v}}, err
}

// askedPolicy is the policy and instant that a question names, the newest and now by default.
func (a *API) askedPolicy(c *call) (*kinds.TrustPolicy, time.Time, error) {
	at := a.now().UTC()
	asked, err := c.query.instant("at")
	if err != nil {
		return nil, at, err
	}
	if asked != nil {
		at = asked.UTC()
	}
	text, ok := c.query["policy"]
	switch {
	case !ok:
		p, err := a.store.TrustPolicy(c.ctx(), c.who.Tenant)
		return p, at, err
	case text == "none":
		return nil, at, nil
	}
	seq, ok := decimal(text)
	if !ok {
		return nil, at, badParam("policy", "the seq of a trust-policy entry, or none, is required")
	}
	p, err := a.store.TrustPolicyAt(c.ctx(), c.who.Tenant, seq)
	return p, at, err
}

func (a *API) verifyBundle(c *call) (reply, error) {
	body, err := readBody(c, air.MaxBundleBytes)
	if err != nil {
		return reply{}, err
	}
	policy, at, err := a.askedPolicy(c)
	if err != nil {
		return reply{}, err
	}
	v, err := audit.VerifyBundle(body, policy, at)
	if err != nil {
		return reply{}, err
	}
	if v.Verdict.Unreadable() {
		return reply{}, kinds.UnreadableBundle(kinds.Submission{Artifact: body}, v.Verdict)
	}
	answer := BundleVerdictBody{BundleVerdict: v}
	if digest := v.Verdict.ReceiptDigest(); digest != "" {
		answer.ReceiptDigest = &digest
	}
	return reply{status: http.StatusOK, body: answer}, nil
}

func (a *API) searchBundles(c *call) (reply, error) {
	q, err := a.bundleQuery(c)
	if err != nil {
		return reply{}, err
	}
	list, next, err := a.store.ReceiptBundles(c.ctx(), c.who.Tenant, kinds.VisibleTo(c.who.Role, c.who.TokenID), q)
	if err != nil {
		return reply{}, err
	}
	page := BundleListBody{Bundles: make([]BundleBody, 0, len(list)), TreeSize: q.Size}
	for _, e := range list {
		b, err := listedBundle(e)
		if err != nil {
			return reply{}, err
		}
		page.Bundles = append(page.Bundles, b)
	}
	if next >= 0 {
		page.NextCursor, err = encodeCursor(cursor{After: next, Size: q.Size, Filter: filterOf(c)})
	}
	return reply{status: http.StatusOK, body: page}, err
}

// listedBundle is a bundle in a listing. An erased one is still named, with what its erasure left, so that a list never
// looks shorter than it was.
func listedBundle(e ledger.Entry) (BundleBody, error) {
	if e.Erased() {
		return BundleBody{Seq: e.Seq, RecordedAt: e.RecordedAt, ErasedBy: &e.ErasedBy, Disclosures: []air.Disclosure{}}, nil
	}
	b, err := kinds.ReadBundle(e)
	if err != nil {
		return BundleBody{}, err
	}
	return bundleBody(b), nil
}

func (a *API) bundleQuery(c *call) (q kinds.BundleQuery, err error) {
	fields := map[string]**string{
		"receipt_id": &q.ReceiptID, "receipt_digest": &q.ReceiptDigest, "request_digest": &q.RequestDigest, "response_digest": &q.ResponseDigest,
		"endpoint_host": &q.EndpointHost, "model": &q.ModelID, "class": &q.RetentionClass, "provider": &q.Provider,
		"witness_mode": &q.WitnessMode, "status": &q.Status, "request_id": &q.RequestID,
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if _, ok := c.query[name]; !ok {
			continue
		}
		value, err := c.query.identifier(name)
		if err != nil {
			return q, err
		}
		*fields[name] = &value
	}
	if q.From, q.To, err = c.query.period(); err != nil {
		return q, err
	}
	limit, err := c.query.number("limit", defaultPage, 1, maxBundlePage)
	if err != nil {
		return q, err
	}
	q.Limit, q.Bytes = int(limit), pageBytes
	q.After, q.Size, err = a.pageStart(c)
	return q, err
}

package api

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ledgerd/frames"
	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/internal/strictjson"
	"ledgerd/receipts"
)

// RevocationBody takes consent back.
type RevocationBody struct {
	ProviderID string                `json:"provider_id"`
	Scope      *receipts.EgressScope `json:"scope" jsonschema:"null for the provider's boolean consents"`
	RevokedBy  receipts.Grantor      `json:"revoked_by"`
	RevokedAt  string                `json:"revoked_at" jsonschema:"a protocol timestamp"`
	Reason     *string               `json:"reason,omitzero"`
}

// graphRoutes record the Context Graph's artifacts beside usage reports and consent receipts.
func (a *API) graphRoutes() []*Route {
	common := []string{"artifact-refused", "invalid-json", "duplicate-member", "missing-member", "number-not-representable", "identifier-too-long", "instant-out-of-range", "conflict", "erased", "body-too-large", "unsupported-media-type", "busy"}
	post := func(path, name, summary, doc string, kind *kinds.Kind, body any, problems ...string) *Route {
		return &Route{
			Method: "POST", Path: path, Name: name, Summary: summary, Doc: doc, Roles: kind.PostedBy,
			Query: []Param{proofParam}, Header: keyHeader, Body: body,
			Replies: recordReplies, Problems: append(problems, common...),
			handle: func(c *call) (reply, error) { return a.record(c, kind, bareArtifact) },
		}
	}
	return []*Route{
		post("/v1/consent-revocations", "postConsentRevocation", "Record that consent was taken back",
			"Our own event: the protocol demands that consent can be revoked and has no event for it. It adds to the record and erases nothing; it ends the earlier grants "+
				"of exactly this provider and scope from revoked_at on, and a later grant opens the scope again. A scope of null ends the provider's boolean consents.",
			&kinds.ConsentRevocation, RevocationBody{}, "unknown-member", "invalid-value"),
		post("/v1/consent-records", "postConsentRecord", "Record the older, boolean consent",
			"The host's ConsentRecord: it covers a provider that declares egress without scopes, and never a scope (context-reuse C6). One without granted_at needs an Idempotency-Key: "+
				"without either, the same consent given again after a revocation would be taken for the first post repeated.",
			&kinds.ConsentRecord, receipts.ConsentRecord{}),
		post("/v1/provider-declarations", "postProviderDeclaration", "Record what a provider declares",
			"Our own event: how a provider introduced itself, and from when on. One whose scopes contradict its egress flag, or are malformed, is refused (context-reuse C5). "+
				"What left is judged by the declaration in force at the time and by the one that was on record then, whichever is worse. One that is dated more than five "+
				"minutes ahead gets the finding declared-ahead.",
			&kinds.ProviderDeclaration, receipts.Declaration{}, "unknown-member"),
		post("/v1/frame-verifications", "postFrameVerification", "Record a verification of held frames",
			"Our own event: one round of context/verify with one provider (context-reuse §4). capability is null when the host knows no such provider, response is null "+
				"when nothing was answered. The claimed outcome must be the default-deny partition of the messages; frame bodies are refused (V4), and so is any member of the "+
				"messages that the protocol does not know.",
			&kinds.FrameVerification, frames.Verification{}, "frame-body", "unknown-member", "invalid-value"),
	}
}

// verifyRoutes judge artifacts without recording them.
func (a *API) verifyRoutes() []*Route {
	var list []*Route
	for _, kind := range audit.ArtifactKinds() {
		list = append(list, &Route{
			Method: "POST", Path: "/v1/verify/" + kind, Name: "verify-" + kind, Summary: "Verify a " + kind + " without recording it",
			Doc: "Verdict and findings of the bare artifact, as leniently as the protocol's reference: what only the ledger's door demands is not asked. " +
				"A document that can't be read is the verdict reject at stage parse.",
			Roles: []kinds.Role{kinds.Host, kinds.Auditor, kinds.Billing}, Body: jsontext.Value{},
			Replies: []Reply{{Status: 200, Doc: "The verdict.", Body: audit.ArtifactVerdict{}}},
			handle:  func(c *call) (reply, error) { return verifyArtifact(c, kind) },
		})
	}
	return list
}

// maxArtifactBytes bounds what is verified without being recorded, in bytes.
const maxArtifactBytes = 1 << 20

func verifyArtifact(c *call, kind string) (reply, error) {
	body, err := readBody(c, maxArtifactBytes)
	if err != nil {
		return reply{}, err
	}
	verdict, ok := audit.VerifyArtifact(kind, body)
	if !ok {
		return reply{}, kinds.ErrNotFound
	}
	return reply{status: 200, body: verdict}, nil
}

// optInstant reads an RFC 3339 time with any offset, or null.
func optInstant(d *strictjson.Decoder) *time.Time {
	text := d.OptString()
	if text == nil {
		return nil
	}
	t, ok := frames.ParseRFC3339(*text)
	if !ok || t.Year() < 1 {
		d.Fail(strictjson.RuleValue, "an RFC 3339 time is required")
		return nil
	}
	return &t
}
